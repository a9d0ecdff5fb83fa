"""Profiles of customers in the running system: a log each in the ledger, one row that can be rebuilt from it.

`declared` finds what may be known beside which agent, `logs` loads and appends, `learning` lets sessions teach,
`rebuild` proves that rows are the fold of their logs. The rules are in `agentstate.engine.profile`; who may ask for
what is in `sessions.profiles.commands` and `sessions.profiles.queries`.
"""
