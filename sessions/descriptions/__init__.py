"""Entries, statuses and values as sentences for people. Pure."""
