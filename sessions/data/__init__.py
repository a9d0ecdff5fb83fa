"""Data messages of a session."""
