"""The legacy database of an invented bank: its people, its accounts, and the one function that moves money.

Not a Django app and never one: a schema `core` in a PostgreSQL database of its own, as an agent finds it in
a company that is older than the agent. Read `schema.sql` first, then `people.py` for who banks here.
"""
