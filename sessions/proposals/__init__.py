"""Proposals: an act that destroys or releases takes effect once every team that it concerns agrees.

`tables` has the rows, `standing` says which teams have agreed (pure), `acts` lists what can be proposed, `carrying`
makes, answers and carries out proposals. Commands and queries are beside all others.
"""
