"""What a session's state is and how it may change: pure functions over one vocabulary of events.

No Django, no I/O, no clock: time, identifiers and randomness are arguments. Read in this order: `events`, `lifecycle`,
`state` (what a session holds, and what each event changes), `decide` (the rules: what becomes of a command), `advance`
(what is next), then `policy`, `guards`, `scratchpad`, `conversation`.
"""
