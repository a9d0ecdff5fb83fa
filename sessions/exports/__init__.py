"""Exports: one session at once, or many that a filter selects, built in the background.

Read in this order: `selection` (which sessions, who may, the record of it), `builder` (a worker makes one bundle after
the other and may be killed anywhere), `storage` (a bundle in the database, until it expires), `archive` (the download).
audit/verify.py reads the archive.
"""
