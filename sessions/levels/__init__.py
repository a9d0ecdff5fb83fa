"""Service levels: targets of a team (how soon we answer, decide, settle), measured with its business hours.

Pure: `definition` (what a target is) and `clocks` (how the entries of a session move its measurements). The rows stand
in `sessions.alerts.tables`, because the same look at a session moves the clocks and judges the rules.
"""
