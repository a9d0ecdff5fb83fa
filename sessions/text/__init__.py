"""Amounts, figures and calendars as text. Pure."""
