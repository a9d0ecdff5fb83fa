"""Profiles of customers: one log each in the ledger, and one row that can be rebuilt from it.

`declarations` finds what an agent may know, `logs` loads and appends, `learning` takes facts from sessions,
`adaptation` gives a session's agent its view, `rebuild` proves that rows are the fold of their logs. The rules are in
`agentstate.engine.profile`.
"""
