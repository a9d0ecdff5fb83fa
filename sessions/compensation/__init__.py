"""Calls that undo what a rolled-back call did."""
