"""A customer's profile as its subject and staff see it: what was said, what was learned and whence, and for what."""

from __future__ import annotations

from decimal import Decimal
from typing import Annotated, Any
from uuid import UUID

import msgspec
from msgspec import Meta

from agentstate.clock import now
from agentstate.engine import profile as core
from agentstate.engine.instants import stamp
from agentstate.engine.profile import Declaration, ProfileState, agreed, beliefs, effective
from agentstate.engine.profile.changes import FEEDBACK
from agentstate.engine.profile.declared import PreferenceKind
from agentstate.engine.profile.state import Learned
from audit import ledger
from sessions.core import access
from sessions.core.entry_lines import EntryLine, opened
from sessions.core.projections import open_session_card
from sessions.core.session_lines import PAGE, Person
from sessions.http.bodies import About
from sessions.models.sessions import AgentSession
from sessions.profiles import logs
from sessions.profiles.access import Known, kept_in, known, spoken_in
from sessions.profiles.partial import seen_from

FEEDBACK_WHY = "The customer said so."
RULE_GONE = "A rule that is declared no longer."


_TYPES = ["boolean", "integer", "string", "object"]
Value = Annotated[Any, Meta(extra_json_schema={"type": _TYPES})]  # whether it is one of a preference, its `kind` says
ValueOrNull = Annotated[Any, Meta(extra_json_schema={"type": [*_TYPES, "null"]})]


class SourceLine(msgspec.Struct, frozen=True):
    """An entry that a learned value is known from, and why it speaks for the value, or against it (weight below 0)."""

    session: Annotated[str, About("empty for feedback")]
    seq: Annotated[int, About("the entry that it is known from")]
    at: Annotated[str, About(format="date-time")]
    rule: str
    why: str
    weight: Annotated[int, About("below zero it speaks against the value")]


class LearnedLine(msgspec.Struct, frozen=True):
    """A value that was learned, how sure that is (0 to 1) and from where."""

    value: Value
    confidence: Annotated[Decimal, About("0 to 1; it falls while nothing new comes")]
    count: Annotated[int, About("how often anything spoke of it")]
    sources: tuple[SourceLine, ...]


class SettingLine(msgspec.Struct, frozen=True):
    """What the customer said they want."""

    value: Value
    purpose: str
    at: Annotated[str, About(format="date-time")]
    by: Annotated[str, About("customer, or user:<id> on their behalf")]
    corrects: Annotated[bool, About("it took the place of what was learned")]


class PreferenceLine(msgspec.Struct, frozen=True):
    """A preference: what counts now and whether it was said or learned, and all that is held of it."""

    name: str
    words: str
    purpose: str
    kind: Annotated[dict[str, Any], About("what values are possible")]
    counts: Annotated[ValueOrNull, About("the value that counts now; null: none")]
    said: Annotated[bool, About("whether the customer said so; else it was learned")]
    confidence: Decimal | None
    setting: SettingLine | None
    learned: tuple[LearnedLine, ...]
    refused: Annotated[bool, About("whether it must not be learned")]
    refused_values: tuple[Value, ...]
    learnable: Annotated[bool, About("whether any rule learns it from what happens in sessions")]
    threshold: Annotated[int, About("percent of confidence from which a learned value counts")]
    half_life: Annotated[int, About("days in which what was learned loses half of its weight")]


class PurposeLine(msgspec.Struct, frozen=True):
    """A purpose, and whether the customer agrees to it: since when, and who said so."""

    name: str
    words: str
    required: Annotated[bool, About("part of the contract: it rests on no consent")]
    agreed: bool
    at: Annotated[str, About("since when; empty where nothing was said")]
    by: str
    note: str


class RecordLine(msgspec.Struct, frozen=True):
    """What happened, how often, and the newest entry that it is known from."""

    values: dict[str, Any]
    times: int
    session: str
    seq: Annotated[int, About("the newest entry that it is known from")]
    at: Annotated[str, About(format="date-time")]


class HistoryLine(msgspec.Struct, frozen=True):
    """A part of the derived history: its records, each with the entry it is known from."""

    name: str
    words: str
    purpose: str
    records: tuple[RecordLine, ...]


class ProfileLine(msgspec.Struct, frozen=True):
    """A customer's profile as of `seq` entries. `adapted` names the mappings that apply to an agent's next step.
    `needs_others`: what the reader changes waits for other teams that serve the customer. `outstanding`: parts are
    known from sessions that the reader may not read, and are left out.
    """

    customer: UUID
    name: str
    declared: Annotated[str, About("the declaration of what may be known, and its version")]
    seq: Annotated[int, About("entries of the profile so far")]
    at: Annotated[str, About("when confidence was reckoned", format="date-time")]
    purposes: tuple[PurposeLine, ...]
    preferences: tuple[PreferenceLine, ...]
    histories: tuple[HistoryLine, ...]
    adapted: Annotated[tuple[str, ...], About("the declared mappings that apply to an agent's next step")]
    may_keep: Annotated[bool, About("whether you may change it")]
    needs_others: Annotated[bool, About("what you change waits for other teams that serve the customer")]
    outstanding: Annotated[bool, About("parts are known from sessions that you may not read: left out")]


def profile(user: Person, customer: UUID) -> ProfileLine:
    """Returns the profile, as far as the person may read the sessions that it is known from. Raises UnknownCustomer,
    NoProfile, keys.Erased.
    """
    found = _known(user, customer)
    state, at = logs.read(found.subject), stamp(now())
    if not found.whole:
        state = seen_from(state, found.sessions)
    declared = found.declared
    own = kept_in(user, found.teams) | spoken_in(user, found.teams)
    return ProfileLine(
        customer=customer,
        name=_name(found),
        declared=declared.reference,
        seq=state.seq,
        at=at,
        purposes=tuple(_purposes(state, declared)),
        preferences=tuple(_preference(state, declared, kind, at) for kind in declared.preferences),
        histories=tuple(_histories(state, declared)),
        adapted=core.adapt(state, declared, at).mappings,
        may_keep=bool(own),
        needs_others=bool(own) and own != found.teams,
        outstanding=not found.whole,
    )


def profile_entries(user: Person, customer: UUID, *, after: int = -1, limit: int = PAGE) -> list[EntryLine]:
    """Returns entries of the profile's log with seq above `after`, oldest first: opened where the person may read all
    sessions, or the one that the entry is known from. Raises as `profile`.
    """
    found = _known(user, customer)
    start = after + 1
    lines = opened(ledger.read_rows(found.subject.log, start, start + limit))
    return [line if _readable(found, line) else msgspec.structs.replace(line, data=None, actor="") for line in lines]


def _readable(found: Known, line: EntryLine) -> bool:
    return found.whole or (line.data or {}).get("session") in found.sessions


def _known(user: Person, customer: UUID) -> Known:
    found = known(user, customer)
    read = AgentSession.objects.filter(pk__in=found.sessions).values_list("team_id", flat=True)
    access.note(user, "profile", [access.Seen(customer, team) for team in sorted(set(read))])
    return found


def _name(found: Known) -> str:
    """Returns what the newest session that the reader may read calls the customer."""
    row = AgentSession.objects.filter(pk__in=found.sessions).order_by("-opened_at").first()
    assert row is not None
    card = open_session_card(row.kid, row.pk, bytes(row.card))
    return card.name or card.customer


def _purposes(state: ProfileState, declared: Declaration) -> list[PurposeLine]:
    lines = []
    for purpose in declared.purposes:
        consent = state.consents.get(purpose.name)
        at, by, note = (consent.at, consent.by, consent.note) if consent else ("", "", "")
        holds = agreed(state, declared, purpose.name)
        lines.append(PurposeLine(purpose.name, purpose.words, purpose.required, holds, at, by, note))
    return lines


def _preference(state: ProfileState, declared: Declaration, kind: PreferenceKind, at: str) -> PreferenceLine:
    counting = effective(state, declared, kind, at)
    setting = state.settings.get(kind.name)
    refusals = [refusal.value for refusal in state.refused if refusal.name == kind.name]
    return PreferenceLine(
        name=kind.name,
        words=kind.words,
        purpose=kind.purpose,
        kind=msgspec.to_builtins(kind.value),
        counts=counting.value if counting else None,
        said=counting.said if counting else False,
        confidence=counting.confidence if counting else None,
        setting=SettingLine(*msgspec.structs.astuple(setting)) if setting else None,
        learned=tuple(_learned(declared, item, sure) for item, sure in beliefs(state, kind, at)),
        refused=None in refusals,
        refused_values=tuple(value for value in refusals if value is not None),
        learnable=any(rule.preference == kind.name for rule in declared.learning),
        threshold=kind.threshold,
        half_life=kind.half_life,
    )


def _learned(declared: Declaration, item: Learned, sure: Decimal) -> LearnedLine:
    whys = {rule.name: rule.why for rule in declared.learning} | {FEEDBACK: FEEDBACK_WHY}
    sources = tuple(
        SourceLine(each.session, each.seq, each.at, each.rule, whys.get(each.rule, RULE_GONE), each.weight)
        for each in reversed(item.sources)
    )
    return LearnedLine(item.value, sure, item.count, sources)


def _histories(state: ProfileState, declared: Declaration) -> list[HistoryLine]:
    return [
        HistoryLine(
            kind.name,
            kind.words,
            kind.purpose,
            tuple(
                RecordLine(record.values, record.count, record.source.session, record.source.seq, record.source.at)
                for record in state.histories[kind.name].records
            ),
        )
        for kind in declared.histories
        if kind.name in state.histories
    ]
