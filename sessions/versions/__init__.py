"""Checkpoints, rollbacks, forks and replays of a session."""
