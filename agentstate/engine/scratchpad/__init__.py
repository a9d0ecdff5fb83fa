"""The scratchpad: a session's live memory between steps, written by outputs, people and agents, read by references.

`paths` reads, writes and merges by path; `marks` keeps what an output has written from being written again; `form`
says what a schema still lacks and what is private; `messages` keeps data of other kinds beside it; `scopes` cuts out
what a tool or a delegate may see.
"""

from __future__ import annotations

from agentstate.engine.scratchpad.paths import MAX_DEPTH, BadPath, Pad, merge, parts, put, read, write

__all__ = ["MAX_DEPTH", "BadPath", "Pad", "merge", "parts", "put", "read", "write"]
