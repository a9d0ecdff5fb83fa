"""The acts that can be proposed, by the name of their kind."""

from __future__ import annotations

from sessions.proposals import profiles, retention, subjects
from sessions.proposals.kinds import Kind

_ALL = (retention.KIND, subjects.ERASURE, subjects.LIFT, subjects.REPORT, profiles.KIND)
KINDS: dict[str, Kind] = {each.name: each for each in _ALL}
