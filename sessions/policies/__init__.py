"""Policies: versions, cases, dry runs, and the record of what is in force."""
