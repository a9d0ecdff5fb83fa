"""Pages for auditors: readings, samples, staff actions, altered sessions, one session's ledger."""
