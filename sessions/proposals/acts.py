"""The acts that can be proposed, by the name of their kind."""

from __future__ import annotations

from sessions.proposals import retention
from sessions.proposals.kinds import Kind

KINDS: dict[str, Kind] = {each.name: each for each in (retention.KIND,)}
