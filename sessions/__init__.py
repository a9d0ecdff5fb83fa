"""Runs and shows agent sessions. A feature is a package; ARCHITECTURE.md lists them from top to bottom."""
