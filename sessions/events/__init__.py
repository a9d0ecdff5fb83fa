"""Committed entries on their way to rules, and alerts of a team."""
