"""Exports of many sessions: chosen by a filter, built in the background, kept sealed, put together at the download.

Read in this order: `choosing` (which sessions, who may, the record of it), `building` (a worker makes bundle after
bundle and may be killed anywhere), `keeping` (how a bundle lies in the database, and its end), `packing` (the archive
that is handed out). audit/verify.py reads the archive back.
"""
