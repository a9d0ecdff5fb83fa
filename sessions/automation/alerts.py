"""Alerts: rules of a team find what wants a person's eye, in a session or in the team's own affairs.

Pure: `definition` (what a rule is), `hits` (what in a session makes it hit, what is over, what is due next), `phrases`
(words among words). The rest touches the world: `keeping` stores rules, `watching` takes in what was committed and what
has become due, `raising` writes the alerts of a team that are about no session.
"""
