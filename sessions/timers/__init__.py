"""Timers of a session, and the tool that sets them."""
