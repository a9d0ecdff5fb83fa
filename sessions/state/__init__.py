"""State of a session: changes, conflicts and votes."""
