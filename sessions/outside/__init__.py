"""Calls to the outside: which addresses may be reached, how long and how much, and what comes back.

Used by every part that sends something to an address that data names: tools over HTTP, MCP servers.
"""
