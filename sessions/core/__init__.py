"""Loads sessions and appends to them. The only package that appends; it imports no feature."""
