"""What a reader may see of a session's entries and of its state: the one place that decides it, for every door.

Two things are withheld from some who may read. *Guidance*, what colleagues tell the agent (whispers, summaries of a
hand-back, summaries that an agent wrote of both), from the customer's side. *Private values*, what a schema marks
`x-private`, from those without `unmask`. `contents` says which field holds which, `slots` where private values are.
What a masked export or proof shows is less than anybody here sees: the list in `sessions/core/masks.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from decimal import Decimal
from functools import cached_property
from typing import Any
from uuid import UUID

import msgspec
from msgspec.structs import replace

from agentstate.engine import events as ev
from agentstate.engine.conversation import Item
from agentstate.engine.memory.sight import with_result
from agentstate.engine.merge.kept import Changes, Conflict
from agentstate.engine.scratchpad import Pad, messages
from agentstate.engine.state.rounds import Instance, Plans
from agentstate.engine.state.session import SessionState
from agentstate.engine.state.supervision import BACK, GUIDANCE
from agentstate.engine.understanding.held import Talk
from agentstate.people.permissions import PermissionDenied, can
from agentstate.people.roles import Permission
from sessions.core import access, states
from sessions.core.access import Person, Seen
from sessions.core.contents import CONTENTS, Content, Fields
from sessions.core.slots import HIDDEN, UNREADABLE, Places
from sessions.models.sessions import AgentSession

_UNMASK, _WHISPER = Permission.UNMASK.value, Permission.WHISPER.value
WITHHELD = "Guidance between colleagues."
Data = dict[str, Any]
_decoder = msgspec.json.Decoder(float_hook=Decimal)


class Visibility:
    """What one reader may see of one session. `used_unmask` says whether they were shown a private value."""

    def __init__(
        self, session: UUID, *, guidance: Callable[[], bool], private: Callable[[], bool], agent: str = ""
    ) -> None:
        self._session = session
        self._ask_guidance, self._ask_private = guidance, private
        self._places = Places(session, agent)
        self.used_unmask = False

    @cached_property
    def sees_guidance(self) -> bool:
        """Whether the reader may see what colleagues tell the agent."""
        return self._ask_guidance()

    @cached_property
    def sees_private(self) -> bool:
        """Whether the reader may see private values."""
        return self._ask_private()

    def entry(self, kind: str, data: Data) -> Data:
        """Returns the data of an entry without what is withheld. A kind or field without a row is withheld."""
        fields = CONTENTS.get(kind, {})
        return {name: self._field(fields, name, data) for name in data}

    def _field(self, fields: Fields, name: str, data: Data) -> Any:
        content, value = fields.get(name), data[name]
        if content is Content.OPEN:
            return value
        if content is Content.GUIDANCE:
            return value if not value or self.sees_guidance else WITHHELD
        if content is None or content is Content.SNAPSHOT:
            return self._unless_hidden(value if self.sees_guidance else _unguided(value), HIDDEN)
        try:
            open_part = self._open_part(content, value, data)
        except UNREADABLE:
            open_part = HIDDEN
        return self._unless_hidden(value, open_part)

    def _unless_hidden(self, value: Any, open_part: Any) -> Any:
        """`value`, or its open part for those who may not see private values."""
        if value == open_part:
            return value
        if not self.sees_private:
            return open_part
        self.used_unmask = True
        return value

    def _open_part(self, content: Content, value: Any, data: Data) -> Any:
        at = self._places.shown
        match content:
            case Content.RESULT:
                return self._places.shown_result(data.get("output_path"), value)
            case Content.NOT_TAKEN:
                return self._places.shown_anywhere(value)
            case Content.VALUE:
                return at(data["path"], value)
            case Content.WRITES:
                return [self._open_write(each) for each in value]
            case Content.EVIDENCE:
                return [{**each, "value": at(each["path"], each["value"])} for each in value]
            case Content.VIEW:
                return self._open_view(value)
            case Content.ENTITIES:
                return self._open_ids(value)
            case Content.REFERENCES:
                return [{**each, "entities": self._open_ids(each["entities"])} for each in value]
            case Content.STATE:
                return {name: at(f"{messages.STATE}.{name}", each) for name, each in value.items()}
            case Content.MESSAGE:
                return at(data["of"], value)
            case _:
                return self._open_contested(content, value, data)

    def _open_ids(self, ids: Sequence[str]) -> list[str]:
        """An id is made of values of a result: it is private where that result is."""
        return [self._places.shown_entity(each) for each in ids]

    def _open_write(self, write: Data) -> Data:
        value = self._places.shown(write["path"], write.get("value"))
        lost = [self._places.shown(write["path"], each) for each in write.get("lost", ())]
        if (value, lost) == (write.get("value"), list(write.get("lost", ()))):
            return write
        return {**write, "value": value, "lost": lost, "marks": []}  # marks may repeat values of a set

    def _open_view(self, view: Data | None) -> Data | None:
        evidence = ((view or {}).get("data") or {}).get("evidence")
        if view is None or not isinstance(evidence, list):
            return view
        shown = [{**each, "value": self._places.shown(each["path"], each["value"])} for each in evidence]
        return view if shown == evidence else {**view, "data": {**view["data"], "evidence": shown}}

    def _open_contested(self, content: Content, value: Any, data: Data) -> Any:
        path = data.get("path") or self._places.contested(data["conflict"])

        def values(found: Iterable[Any]) -> list[Any]:
            places = self._places
            return [places.shown(path, each) if path else places.shown_anywhere(each) for each in found]

        if content is Content.VALUES:
            return values(value)
        if content is Content.PROPOSAL:
            return {**value, "value": values(value["value"])}
        return [{**each, "value": values(each["value"])} for each in value]

    def fields_shown(self, kind: str, payload: bytes) -> Callable[[str, bytes], bool]:
        """Which fields of an entry the reader may see, by JSON Pointer and value: for proofs, which show them alone."""
        shown = self.entry(kind, _decoder.decode(payload))
        return lambda pointer, value: _at(shown, pointer) == _decoder.decode(value)

    def state(self, state: SessionState) -> SessionState:
        """Returns the state without what is withheld, for reading: it is not fit to decide anything on."""
        plans, talk = self._plans(state.plans), self._talk(state.talk)
        memory = state.memory
        if not self._is_silent(state) and not self.sees_guidance:
            summaries = tuple(replace(each, text=WITHHELD) for each in memory.summaries)
            pins = tuple(replace(each, why=WITHHELD if each.why else "") for each in memory.pins)
            memory = replace(memory, summaries=summaries, pins=pins)
        return replace(
            state,
            pad=self.pad(state.pad),
            items=self._items(state),
            changes=self._changes(state.changes),
            plans=plans,
            memory=memory,
            talk=talk,
        )

    def _talk(self, talk: Talk) -> Talk:
        if not talk.entities and not talk.heard:
            return talk
        shown = self._places.talk(talk)
        return talk if shown == talk else self._unless_hidden(talk, shown)  # type: ignore[no-any-return]

    def _is_silent(self, state: SessionState) -> bool:
        return not state.memory.summaries and not state.memory.pins and not any(map(_is_guidance, state.items))

    def pad(self, pad: Pad) -> Pad:
        """Returns a scratchpad without what is withheld."""
        shown: Pad = self._unless_hidden(pad, self._open_part(Content.STATE, pad, {}))
        return shown

    def basis(self, basis: Sequence[ev.Evidence]) -> tuple[list[tuple[str, Any]], list[str]]:
        """Returns what a request rests on, by path, and the paths whose values are withheld."""
        found = [(each.path, each.value, self._places.shown(each.path, each.value)) for each in basis]
        shown = [(path, self._unless_hidden(value, open_part)) for path, value, open_part in found]
        return shown, [path for (path, value, _), (_, told) in zip(found, shown, strict=True) if value != told]

    def must_see_all(self, items: Iterable[Item], summaries: Sequence[Any] = ()) -> None:
        """Raises PermissionDenied where what a model was shown holds guidance and the reader may not see it: its exact
        bytes cannot be shown in part.
        """
        if (summaries or any(map(_is_guidance, items))) and not self.sees_guidance:
            raise PermissionDenied(f"It holds guidance between colleagues: this needs {_WHISPER}.", permission=_WHISPER)

    def _items(self, state: SessionState) -> tuple[Item, ...]:
        paths = {call.id: call.output_path for item in state.items for call in item.calls}
        paths |= {call.id: call.output_path for call in state.calls.values()}
        return tuple(self._item(item, item.place or paths.get(item.call)) for item in state.items)

    def _item(self, item: Item, output_path: str | None) -> Item:
        if _is_guidance(item):
            return item if self.sees_guidance else replace(item, text=WITHHELD)
        if not output_path:
            return item
        return replace(item, text=self._unless_hidden(item.text, self._open_answer(item.text, output_path)))

    def _open_answer(self, text: str, output_path: str) -> str:
        try:
            return with_result(text, lambda result: self._places.shown_result(output_path, result))
        except msgspec.MsgspecError:
            return HIDDEN

    def _changes(self, changes: Changes) -> Changes:
        return replace(changes, conflicts={key: self._conflict(each) for key, each in changes.conflicts.items()})

    def _conflict(self, conflict: Conflict) -> Conflict:
        def values(found: tuple[Any, ...]) -> tuple[Any, ...]:
            return tuple(self._unless_hidden(each, self._places.shown(conflict.path, each)) for each in found)

        proposals = tuple(replace(each, value=values(each.value)) for each in conflict.proposals)
        return replace(conflict, base=values(conflict.base), standing=values(conflict.standing), proposals=proposals)

    def _plans(self, plans: Plans) -> Plans:
        instances = {name: self._instance(each) for name, each in plans.instances.items()}
        return replace(plans, own=self._instance(plans.own), instances=instances)

    def _instance(self, part: Instance) -> Instance:
        if not part.pad and not part.data:
            return part
        data = {kind: replace(held, value=self._object(kind, held.value)) for kind, held in part.data.items()}
        return replace(part, pad=self.pad(part.pad), data=data)

    def _object(self, kind: str, value: Any) -> Any:
        return self._unless_hidden(value, self._places.shown(kind, value))


def _at(data: Any, pointer: str) -> Any:
    """The value at a JSON Pointer (RFC 6901) through objects; what equals nothing where there is none."""
    for name in pointer.split("/")[1:]:
        name = name.replace("~1", "/").replace("~0", "~")
        if not isinstance(data, dict) or name not in data:
            return object()
        data = data[name]
    return data


def _unguided(value: Any) -> Any:
    """A state as an entry carries it, without guidance among its items, without why items are pinned, and without
    summaries, which may repeat it.
    """
    if isinstance(value, list):
        return [_unguided(each) for each in value]
    if not isinstance(value, dict):
        return value
    if isinstance(value.get("pins"), list):
        pins = [{**pin, "why": WITHHELD} if isinstance(pin, dict) and pin.get("why") else pin for pin in value["pins"]]
        value = {**value, "pins": pins}
    told = str(value.get("text", ""))
    if "covers" in value or (value.get("role") == "note" and told.startswith((GUIDANCE, BACK))):
        value = {**value, "text": WITHHELD}
    return {name: _unguided(each) for name, each in value.items()}


def _is_guidance(item: Item) -> bool:
    return item.role == "note" and item.text.startswith((GUIDANCE, BACK))


def of_reader(user: Person, session: UUID, team: UUID, agent: str = "") -> Visibility:
    """What this person may see of a session of this team that they may read. `agent`: its agent, if it is known."""
    return Visibility(
        session,
        agent=agent,
        guidance=lambda: not is_customers_side(user, team),
        private=lambda: access.may(user, Permission.UNMASK, session, team),
    )


def is_customers_side(user: Person, team: UUID) -> bool:
    """Whether this person speaks as the customers of a team, and may not whisper: then guidance is not for them."""
    return can(user, Permission.SPEAK_AS_CUSTOMER, team) and not can(user, Permission.WHISPER, team)


def of_outsider(session: UUID) -> Visibility:
    """What somebody outside is shown to whom a part of the session is disclosed."""
    return Visibility(session, guidance=lambda: False, private=lambda: False)


def of_subject(session: UUID) -> Visibility:
    """What the data subject is told of their own session: everything but what colleagues told the agent."""
    return Visibility(session, guidance=lambda: False, private=lambda: True)


def may_open(user: Person, session: UUID) -> UUID:
    """The session's team, if `user` may take all of it out in clear: it needs `export` and `unmask`, and that nothing
    is withheld from them. Raises UnknownSession to those who may not see it, else PermissionDenied.
    """
    team = may_export(user, session)
    if not access.may(user, Permission.UNMASK, session, team):
        raise PermissionDenied(f"This needs the permission {_UNMASK}.", permission=_UNMASK)
    must_see_guidance(user, team)
    return team


def must_see_guidance(user: Person, team: UUID) -> None:
    """Raises PermissionDenied to those on the customer's side."""
    if is_customers_side(user, team):
        raise PermissionDenied(f"It holds guidance between colleagues: this needs {_WHISPER}.", permission=_WHISPER)


def may_export(user: Person, session: UUID) -> UUID:
    """The session's team, if `user` may export it. Raises UnknownSession to those who may not see it, else
    PermissionDenied.
    """
    team = AgentSession.objects.filter(pk=session).values_list("team_id", flat=True).first()
    if team is None or not access.may(user, Permission.SEE, session, team):
        raise states.UnknownSession()
    if not access.may(user, Permission.EXPORT, session, team):
        needed = Permission.EXPORT.value
        raise PermissionDenied(f"This needs the permission {needed}.", permission=needed)
    return team


def note(user: Person, session: UUID, team: UUID, seen: Visibility) -> None:
    """Puts on record that the reader was shown private values, if they were. Raises NotRecorded."""
    if seen.used_unmask:
        access.note(user, "private", [Seen(session, team)])


def shown_state(user: Person, session: UUID, team: UUID, state: SessionState) -> SessionState:
    """Returns a state of the session as this person may see it; that they see private values is noted."""
    seen = of_reader(user, session, team)
    shown = seen.state(state)
    note(user, session, team, seen)
    return shown
