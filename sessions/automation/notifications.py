"""Notifications: who of the house is told of what, by which way, and what becomes of it.

Pure: `definition` (what a rule is), `judging` (whether a rule tells, and under which key), `quiet` (hours in which
nobody is disturbed), `pacing` (when what failed is tried again). The rest touches the world: `keeping` stores rules,
`endpoints` where webhooks go, `wishes` what a person wants; `intake` takes in what happened, `telling` makes deliveries
of it, `sending` sends them by `mail` and `webhook`; `wording` is what they say. docs/notifications.md is the manual.
"""
