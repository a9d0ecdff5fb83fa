"""The card of one request: everything needed to decide it, and what became of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from django.http import HttpRequest

from agentstate.engine.speech import SAY
from agentstate.engine.state.participants import people
from agentstate.engine.state.session import Request
from agentstate.ids import new_id
from agentstate.people.queries import display_names
from sessions.approvals import decisive_turns, forms, retyping, reviewer_view
from sessions.approvals import queries as approvals_queries
from sessions.approvals.customer_turns import customer_turns, differences_of, own_accounts
from sessions.approvals.differences import Difference, Turn, as_data, withheld
from sessions.core import entry_lines, transcript, visibility
from sessions.descriptions import approvals, values
from sessions.descriptions import differences as descriptions_differences
from sessions.descriptions import entries as descriptions_entries
from sessions.text import money
from sessions.tools import registry as tools


@dataclass
class Earlier:
    """An earlier request for a call of the same tool, shown between the turns."""

    seq: int
    request: str
    outcome: str
    ended_at: str
    kind: str = "earlier"


@dataclass
class Card:
    """Everything that the page of one request shows."""

    line: approvals_queries.RequestLine
    held: Request
    fields: list[forms.Field]
    said: list[transcript.Item | Earlier]
    turns: list[Turn]
    story: list[dict[str, Any]]
    names: dict[str, str]
    key: str
    reason: str = ""
    reason_error: str = ""
    refusal: str = ""
    evidence: list[tuple[str, Any]] = field(default_factory=list)
    retype: list[retyping.Retyped] = field(default_factory=list)
    code: str = ""
    code_error: str = ""
    me: str = ""
    whom: list[tuple[str, str]] = field(default_factory=list)  # the people it may be assigned to
    shown: dict[str, Any] = field(default_factory=dict)  # what the card shows, as recorded with the decision
    view: str = ""  # `shown`, signed: the form sends it back with the decision
    differences: list[tuple[str, dict[str, Any]]] = field(default_factory=list)  # in a sentence, and as recorded
    check: bool = False  # whether the person must check the differences before the form is sent

    @property
    def waits(self) -> bool:
        """Whether the request is open for a decision: it is pending, and not approved under a delay."""
        return self.line.state == "pending" and not (self.line.held_until and self.held.terms.gate != "hold")

    @property
    def rejectable(self) -> bool:
        """Whether this person may reject it and not approve it."""
        return self.waits and not self.line.may_decide and self.line.may_reject

    @property
    def stoppable(self) -> bool:
        """Whether this person may object before the call is done without a decision."""
        return bool(self.line.held_until) and self.line.state == "pending" and self.line.may_object

    @property
    def may_pass_on(self) -> bool:
        """Whether its chain names further reviewers."""
        return self.held.step < len(self.held.terms.chain)

    @property
    def next_reviewers(self) -> str:
        """Returns the next reviewers of its chain, in words."""
        return approvals.groups_of_people(self.held.terms.chain[self.held.step].reviewers) if self.may_pass_on else ""

    @property
    def reviewers(self) -> str:
        """Returns its reviewers, in words; empty: everybody with the permission."""
        return approvals.groups_of_people(self.held.reviewers)

    @property
    def lost_to(self) -> str:
        """Returns the person who took it from this person; empty if nobody did."""
        return self.line.claimed_by if self.held.claimed_from == self.me else ""

    @property
    def open(self) -> bool:
        """Whether the page shows the form: the request waits, and this person may decide it."""
        return self.waits and self.line.may_decide

    @property
    def since(self) -> int:
        """Returns the number of the first thing said after the request was made; -1: nothing was."""
        return next((item.seq for item in self.said if item.seq > self.held.seq), -1)

    def show(self, found: Sequence[Difference]) -> None:
        """Puts these differences on the card, and into the record of what it shows."""
        named = {each.id: f"{each.kind} ··{each.last4}" for each in own_accounts(self.held.asked.basis)}
        self.shown["differences"] = as_data(found)
        self.differences = [
            (descriptions_differences.difference(each, named), each) for each in self.shown["differences"]
        ]
        self.view = reviewer_view.signed(self.me, self.line.id, self.shown) if self.open or self.rejectable else ""

    @property
    def call(self) -> str:
        """The exact call as JSON."""
        return transcript.raw({"tool": self.held.asked.tool, "arguments": self.held.arguments})

    @property
    def editor(self) -> str:
        """Returns the person who edited the call; empty if nobody did. An edit voids earlier approvals."""
        if self.held.approved_arguments is None:
            return ""
        return self.held.approvals[0] if self.held.approvals else self.held.decided_by

    @property
    def is_speech(self) -> bool:
        """Whether the request is about words that the agent wants to say."""
        return self.held.asked.tool == SAY

    @property
    def short(self) -> str:
        """Returns the tool and its amount: Transfer $1,150.00."""
        amounts = [money.show(each) for each in self.held.arguments.values() if money.is_money(each)]
        return " ".join([values.plain(self.held.asked.tool), *(amounts if len(amounts) == 1 else ())])

    @property
    def changed(self) -> str:
        """Returns the fields that people edited, with their values; empty if nobody edited the proposal."""
        if self.held.approved_arguments is None:
            return ""
        was, now = self.held.asked.arguments, self.held.arguments
        told = {each.name: each.named(now[each.name]) for each in self.fields if now[each.name] != was.get(each.name)}
        return ", ".join(f"{values.plain(name).lower()} {value}" for name, value in told.items())

    @property
    def errors(self) -> list[tuple[str, str, str]]:
        """Returns the fields with an error: id, name, and what to type. The page focuses the first."""
        fields = [(each.id, each.label, each.error) for each in self.fields]
        again = [(each.id, each.label, each.error) for each in self.retype]
        others = [("code", "Reason", self.code_error), ("reason", "Note", self.reason_error)]
        return [each for each in (*fields, *again, *others) if each[2]]

    @property
    def to_check(self) -> bool:
        """Whether the page goes to the differences: no field has an error."""
        return self.check and not self.errors

    @property
    def focus(self) -> str:
        """Returns the id of the field that the page focuses."""
        return self.errors[0][0] if self.errors else ""

    @property
    def proposed(self) -> str:
        """Returns a sentence that names the proposers."""
        return approvals.proposed(self.held.asked.proposed_by, self.names)

    @property
    def is_by_people(self) -> bool:
        """Whether a person proposed the call or an argument of it."""
        return bool(people(self.held.asked.proposed_by))

    @property
    def decided(self) -> bool:
        """Whether a person has decided on it, alone or as one of several."""
        return bool(self.held.decision)

    @property
    def tool(self) -> tools.Tool | None:
        """The tool, while it is registered."""
        return tools.find(self.held.asked.tool)

    @property
    def decider(self) -> str:
        """Returns the name of the person who decided."""
        return self.names.get(self.held.decided_by, "Somebody")


def card_of(request: HttpRequest, request_id: UUID, typed: dict[str, str] | None = None) -> Card:
    """Returns the card of one request, with what the person has `typed` into its form."""
    line, held, state = approvals_queries.request_of(request.user, request_id)
    asked = held.asked
    schema = found.arguments if (found := tools.find(asked.tool)) else {}
    seen = visibility.of_reader(request.user, line.session, line.team)
    evidence, masked = seen.basis(asked.basis)
    visibility.note(request.user, line.session, line.team, seen)
    typed = typed if line.state == "pending" and line.may_decide else None
    entries = entry_lines.conversation(request.user, line.session)
    story, said = _story(entries, line, held), _said(entries, held)
    turns = customer_turns(line.session, state.seq)
    card = Card(
        line=line,
        held=held,
        fields=forms.fields(schema, asked.arguments, held.arguments, [value for _, value in evidence], typed),
        said=said,
        turns=turns,
        story=story,
        names=display_names({entry["actor"] for entry in story} | _people(line, held)),
        key=str(new_id()),
        evidence=evidence,
        retype=retyping.retyped(held.terms.retype, held.arguments, typed or {}) if line.may_decide else [],
        me=getattr(request.user, "actor", ""),
        whom=approvals_queries.assignable(request.user, line.id) if line.state == "pending" else [],
        shown=reviewer_view.view(
            held,
            line.digest,
            surface="page",
            said=[item.seq for item in said if item.kind == "said"],
            told=[entry["seq"] for entry in story],
            masked=masked,
        ),
    )
    card.show(not_blind(card, differences_of(held, turns)))
    return card


def _people(line: approvals_queries.RequestLine, held: Request) -> set[str]:
    """Returns the actors that the card names."""
    asked, now = held.asked, (held.decided_by, held.claimed_from, line.claimed_by, line.assigned_to)
    return {*asked.proposed_by, *(each.by for each in asked.changed), *held.approvals, *held.behalf, *now}


def not_blind(card: Card, found: Sequence[Difference]) -> Sequence[Difference]:
    """Returns the differences, without those of values that the reviewer must retype and has not typed yet."""
    if card.line.state != "pending":
        return found
    typed = {each.path for each in card.retype if each.text.strip()}
    return withheld(found, [path for path in card.held.terms.retype if path not in typed])


def _said(entries: list[entry_lines.EntryLine], held: Request) -> list[transcript.Item | Earlier]:
    """Returns the decisive turns, with the earlier requests for the same tool between them."""
    items = transcript.items(entries)
    spoken = [item for item in items if item.kind == "said" and item.role != "note"]
    accounts = own_accounts(held.asked.basis)
    ended = {each.data["request"]: each.at for each in entries if each.kind == "request.ended" and each.data}
    earlier = [
        Earlier(item.seq, item.request, item.state, ended.get(item.request, ""))
        for item in items
        if item.kind == "request" and item.seq < held.seq and item.tool == held.asked.tool
    ]
    shown = decisive_turns.shown_turns(spoken, held.seq, held.arguments, accounts)
    return sorted((*shown, *earlier), key=lambda each: each.seq)


def _story(
    entries: list[entry_lines.EntryLine], line: approvals_queries.RequestLine, held: Request
) -> list[dict[str, Any]]:
    """Returns the entries of the log about this request and its call, in words."""
    told = []
    for entry in entries:
        data = entry.data or {}
        earlier = entry.kind == "decision.made" and entry.seq < held.seq
        later = entry.seq > held.seq and data.get("call") == held.asked.call
        about = earlier or later or data.get("request") == str(line.id)
        if about and not (entry.kind == "request.ended" and not data.get("because")):
            sentence = descriptions_entries.entry(entry.kind, entry.data, held.asked.tool)
            told.append({"seq": entry.seq, "at": entry.at, "actor": entry.actor, "sentence": sentence})
    return told
