"""Alerts: something in a session, or in a team's own affairs, wants a person's eye.

`rows` is what a session's alerts amount to as rows, `of_sessions` raises, passes on and closes them in a session's log,
`raising` those of a team that are about no session; `escalating` passes on what nobody acknowledged.
"""
