"""Triggers: an entry of a session, a changed row of another application, the clock or a webhook starts or continues a
session.

Pure: `definition`, `schedule` (when a trigger is due), `conditions` (whether it acts, and with what). `repository`
stores triggers; `entries`, `rows`, `clock` and `hooks` take in occurrences; `firings` carries them out. `leader`
elects the beat.
"""
