"""Blocked calls and failed sessions: people settle or retry them."""
