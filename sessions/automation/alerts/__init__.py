"""Alerts: rules of a team find sessions, and affairs of the team, that need a person.

Pure: `definition`, `matches` (what matches a rule, what is over, what is due next), `phrases`. `repository` stores
rules, `evaluation` judges what was committed or has become due. `sessions.events.team_alerts` writes alerts about no
session.
"""
