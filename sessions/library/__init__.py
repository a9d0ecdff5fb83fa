"""Versioned files of an installation: policies, charts, state schemas."""
