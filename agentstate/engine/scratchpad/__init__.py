"""The scratchpad: a session's live memory between steps, written by outputs, people and agents, read by references.

`paths` reads, writes and merges by path; `marks` keeps what an output has written from being written again; `messages`
folds data messages into objects, one for each kind and instance; `form` says what a schema still lacks and what is
private; `scopes` cuts out what a tool, a delegate or a model may see.
"""

from __future__ import annotations

from agentstate.engine.scratchpad.paths import MAX_DEPTH, BadPath, Pad, merge, parts, read, write

__all__ = ["MAX_DEPTH", "BadPath", "Pad", "merge", "parts", "read", "write"]
