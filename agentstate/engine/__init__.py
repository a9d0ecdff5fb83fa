"""What a session's state is and how it may change: pure functions over one vocabulary of events.

No Django, no I/O, no clock: time, identifiers and randomness are arguments. Read in this order: `events`, `lifecycle`,
`state`, `decide`, `policy`, `guards`, `scratchpad`, `conversation`.
"""
