"""After a plan was approved, only what deviates from it stops for a person: what of a proposed call was approved, and
what was not.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

import msgspec

from agentstate.engine import references
from agentstate.engine.plan.difference import Property
from agentstate.engine.plan.model import Call, Plan, titled, written
from agentstate.engine.references import BadReference, Found, Never, Views

NOTHING_SEEN: Views = {}


class Deviation(msgspec.Struct, frozen=True):
    """A proposed call beside the approved one that it is most like. `approved` is empty where there is none; `alike`
    are the properties that stand as they were approved. Falsy where nothing deviates.
    """

    call: str
    tool: str
    approved: str
    alike: tuple[str, ...] = ()
    changes: tuple[Property, ...] = ()

    def __bool__(self) -> bool:
        return not self.approved or bool(self.changes)

    def __str__(self) -> str:
        title = titled(self.tool, self.call)
        if not self.approved:
            return f"{title} is not in the approved plan"
        return f"{title}: {'; '.join(map(str, self.changes))}" if self.changes else f"{title} as approved"


def deviation(
    approved: Plan, proposed: Call, views: Views = NOTHING_SEEN, used: Collection[str] = frozenset()
) -> Deviation:
    """How `proposed` deviates from what was approved. A value in the place of an approved reference is as approved if
    it is the value that the reference has in `views`. `used` are approved calls that were made already: each was
    approved once.
    """
    candidates = [
        _beside(call, proposed, views) for call in approved.calls if call.tool == proposed.tool and call.id not in used
    ]
    if not candidates:
        return Deviation(proposed.id, proposed.tool, "")
    return min(candidates, key=lambda found: len(found.changes))


def deviations(approved: Plan, proposed: Plan, views: Views = NOTHING_SEEN) -> tuple[Deviation, ...]:
    """How each call of a proposed plan deviates; what is as approved takes its approved call first."""
    found: dict[str, Deviation] = {}
    used: set[str] = set()
    for final in (False, True):
        for call in proposed.calls:
            if call.id in found:
                continue
            answer = deviation(approved, call, views, used)
            if final or not answer:
                found[call.id] = answer
                used.add(answer.approved)
    return tuple(found[call.id] for call in proposed.calls)


def _beside(approved: Call, proposed: Call, views: Views) -> Deviation:
    old, new = _properties(approved), _properties(proposed)
    alike, changes = [], []
    for name in dict.fromkeys((*old, *new)):
        before, after = old.get(name, msgspec.UNSET), new.get(name, msgspec.UNSET)
        if _as_approved(before, after, views):
            alike.append(name)
        else:
            changes.append(Property(name, before, after))
    return Deviation(proposed.id, proposed.tool, approved.id, tuple(alike), tuple(changes))


def _properties(call: Call) -> Mapping[str, Any]:
    found = {name: value for name, value in written(call).items() if name != "_id"}
    if call.output_path:
        found["_outputPath"] = str(references.output(call.output_path))
    return found


def _as_approved(before: Any, after: Any, views: Views) -> bool:
    if before is msgspec.UNSET or after is msgspec.UNSET:
        return False
    if _encoded(before) == _encoded(after):
        return True
    try:
        if any(references.within(after)):
            return False  # another reference may mean another value by the time it is read
        meant, given = _value(before, views), _value(after, views)
    except BadReference:
        return False
    return isinstance(meant, Found) and isinstance(given, Found) and _encoded(meant.value) == _encoded(given.value)


def _value(value: Any, views: Views) -> references.Resolution:
    return references.filled(value, lambda path: references.read(views, path) or Never(f"there is no {path}"))


def _encoded(value: Any) -> bytes:
    return _encoder.encode(value)


_encoder = msgspec.json.Encoder(decimal_format="number", order="sorted")
