"""Triggers: what makes sessions begin or go on without anybody asking. An entry of a session, a changed row of another
application, the clock, a webhook.

Pure: `definition` (what a trigger is), `schedule` (when it is time), `signature` (whether a webhook is genuine),
`judging` (whether a trigger acts, and with what). The rest touches the world: `keeping` stores triggers, `entries`,
`rows`, `clock` and `hooks` take in what happened, `firing` acts.
"""
