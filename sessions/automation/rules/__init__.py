"""Rules of a team: triggers, alert rules, notification rules, and what they refer to (targets, calendars, endpoints).

`definition` reads and checks what a rule is, `matching` asks its condition, `store` holds its versions and the switch,
`commands` says who may do what, `pages` shows what was refused. A kind of rule adds its effect and its own columns.
"""
