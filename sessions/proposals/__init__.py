"""Proposals: what destroys or releases takes effect once every team that it concerns agrees.

`tables` has the rows, `standing` says who has agreed (pure), `acts` what can be proposed, `carrying` moves a
proposal on. Commands and queries are beside all others.
"""
