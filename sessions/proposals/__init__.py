"""Proposals: an act that destroys or releases data takes effect after every team that it concerns agrees.

`kinds` registers what can be proposed, `tally` says which teams have agreed (pure), `workflow` makes proposals, answers
them and carries them out.
"""
