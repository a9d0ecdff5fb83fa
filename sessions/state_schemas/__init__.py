"""State schemas: declarations and migrations."""
