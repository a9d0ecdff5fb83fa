"""The queue and the card: what waits for a person, everything needed to decide it, and what became of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from django.contrib import messages
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from agentstate.engine.decide import AlreadyDecided, ClaimedByOther, NotYours, Outdated
from agentstate.engine.state import Request
from agentstate.engine.state.involvement import people
from agentstate.errors import Invalid, Refused
from agentstate.ids import new_id
from agentstate.people.queries import display_names
from sessions import access, commands, decisive_turns, forms, money, queries, retyping, showing, transcript, words
from sessions.customer_turns import CUSTOMER, SPOKEN, differences_of, own_accounts
from sessions.differences import Difference, Turn, as_data, not_shown, withheld
from sessions.queries.changes import shown_basis
from sessions.tools import registry as tools
from sessions.views.frame import as_id, console

OFFERED = ("approve", "reject", "respond", "ignore", "escalate")  # an approval of changed fields is an edit
CHECK = "check"  # sent by a script while somebody edits: what would differ, and nothing is decided
MAX_NOTE = 2000  # characters, as in the API
NOTHING_YET = "Nothing was decided yet."
TO_CHECK = "Nothing was sent yet. Check what differs, then approve again."
NO_NOTE = "Type a note: it is needed to edit, reject or pass on."
ASK_AGAIN = "Ask the customer again before this is done."  # what the agent is told unless the person writes more


@dataclass
class Earlier:
    """A request for a call of the same tool before this one, in the place where it was made."""

    seq: int
    request: str
    outcome: str
    ended_at: str
    kind: str = "earlier"


@dataclass
class Card:
    """Everything that the page of one request shows."""

    line: queries.RequestLine
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
    whom: list[tuple[str, str]] = field(default_factory=list)  # to whom it may be given
    shown: dict[str, Any] = field(default_factory=dict)  # what all this shows, as it is recorded
    view: str = ""  # the same signed: it comes back with the decision
    differences: list[tuple[str, dict[str, Any]]] = field(default_factory=list)  # in a sentence, and as recorded
    check: bool = False  # whether what was sent waits until they were seen

    @property
    def waits(self) -> bool:
        """Whether somebody may decide it: it is pending, and not approved and held already."""
        return self.line.state == "pending" and not (self.line.held_until and self.held.terms.gate != "hold")

    @property
    def rejectable(self) -> bool:
        """Whether this person may reject it and not approve it."""
        return self.waits and not self.line.may_decide and self.line.may_reject

    @property
    def stoppable(self) -> bool:
        """Whether this person may object before it is done by itself."""
        return bool(self.line.held_until) and self.line.state == "pending" and self.line.may_object

    @property
    def may_pass_on(self) -> bool:
        """Whether there is somebody left in its chain."""
        return self.held.step < len(self.held.terms.chain)

    @property
    def next_reviewers(self) -> str:
        """Whom it goes to next, in words."""
        return words.groups_of_people(self.held.terms.chain[self.held.step].reviewers) if self.may_pass_on else ""

    @property
    def reviewers(self) -> str:
        """Whom it is for, in words; empty: whoever has the permission."""
        return words.groups_of_people(self.held.reviewers)

    @property
    def lost_to(self) -> str:
        """Who took it from this person, if somebody did; empty otherwise."""
        return self.line.claimed_by if self.held.claimed_from == self.me else ""

    @property
    def open(self) -> bool:
        """Whether the form is shown: it waits, and this person may decide it."""
        return self.waits and self.line.may_decide

    @property
    def since(self) -> int:
        """The first thing the customer said after the request was made."""
        return next((item.seq for item in self.said if item.seq > self.held.seq), -1)

    def show(self, found: Sequence[Difference]) -> None:
        """Put these differences on the card, and into what it says that it showed."""
        named = {each.id: f"{each.kind} ··{each.last4}" for each in own_accounts(self.held.asked.basis)}
        self.shown["differences"] = as_data(found)
        self.differences = [(words.difference(each, named), each) for each in self.shown["differences"]]
        self.view = showing.signed(self.me, self.line.id, self.shown) if self.open or self.rejectable else ""

    @property
    def call(self) -> str:
        """The exact call as JSON."""
        return transcript.raw({"tool": self.held.asked.tool, "arguments": self.held.arguments})

    @property
    def editor(self) -> str:
        """Who edited what is asked for now: with an edit the count of those who stand behind it begins anew."""
        if self.held.approved_arguments is None:
            return ""
        return self.held.approvals[0] if self.held.approvals else self.held.decided_by

    @property
    def short(self) -> str:
        """The tool and the amount as it stands: Transfer $1,150.00."""
        amounts = [money.show(each) for each in self.held.arguments.values() if money.is_money(each)]
        return " ".join([words.plain(self.held.asked.tool), *(amounts if len(amounts) == 1 else ())])

    @property
    def changed(self) -> str:
        """What people made of the agent's proposal, field by field; empty while nobody has edited it."""
        if self.held.approved_arguments is None:
            return ""
        was, now = self.held.asked.arguments, self.held.arguments
        told = {each.name: each.named(now[each.name]) for each in self.fields if now[each.name] != was.get(each.name)}
        return ", ".join(f"{words.plain(name).lower()} {value}" for name, value in told.items())

    @property
    def errors(self) -> list[tuple[str, str, str]]:
        """The fields that cannot be taken as they are: id, name, and what to type. The first has the focus."""
        fields = [(each.id, each.label, each.error) for each in self.fields]
        again = [(each.id, each.label, each.error) for each in self.retype]
        others = [("code", "Reason", self.code_error), ("reason", "Note", self.reason_error)]
        return [each for each in (*fields, *again, *others) if each[2]]

    @property
    def to_check(self) -> bool:
        """Whether the page goes to what differs: nothing else is in the way."""
        return self.check and not self.errors

    @property
    def focus(self) -> str:
        """The id of the field that the page goes to."""
        return self.errors[0][0] if self.errors else ""

    @property
    def proposed(self) -> str:
        """Who proposed the call, in a sentence."""
        return words.proposed(self.held.asked.proposed_by, self.names)

    @property
    def is_by_people(self) -> bool:
        """Whether a person proposed the call or an argument of it."""
        return bool(people(self.held.asked.proposed_by))

    @property
    def decided(self) -> bool:
        """Whether anybody has decided on it, alone or as one of several."""
        return bool(self.held.decision)

    @property
    def tool(self) -> tools.Tool | None:
        """The tool, while it is registered."""
        return tools.find(self.held.asked.tool)

    @property
    def decider(self) -> str:
        """The name of who decided."""
        return self.names.get(self.held.decided_by, "Somebody")


@console
@require_safe
def decisions(request: HttpRequest) -> HttpResponse:
    """A list: what is open (with the first of it beside), what was decided, what expired."""
    access.live("decisions", "wall", goes_on=False)
    view = request.GET.get("view", "open")
    if view == "open":
        mine = queries.requests(request.user, mine=True, limit=1)
        if mine:
            return _card_page(request, _card(request, mine[0].id), view)
    return render(request, "agent_sessions/decisions.html", _queue(request, view))


@console
@require_http_methods(["GET", "HEAD", "POST"])
def decision(request: HttpRequest, request_id: UUID) -> HttpResponse:
    """One request beside the list; POST decides it."""
    if request.method == "POST":
        return _decide(request, request_id)
    access.live("decisions", "wall", goes_on=False)
    return _card_page(request, _card(request, request_id), request.GET.get("view", "open"))


@console
@require_safe
def decision_changes(request: HttpRequest) -> HttpResponse:
    """The list as it stands now, and of the request on the page (`r`) what may change while somebody reads it."""
    access.live("decisions", "wall", goes_on=True)
    context = _queue(request, request.GET.get("view", "open"))
    if shown := request.GET.get("r"):
        context["card"] = _card(request, as_id(shown, "r"))
    return render(request, "agent_sessions/decision_changes.html", context)


def _card_page(request: HttpRequest, card: Card, view: str, status: int = 200) -> HttpResponse:
    return render(request, "agent_sessions/decision.html", {**_queue(request, view), "card": card}, status=status)


def _queue(request: HttpRequest, view: str) -> dict[str, Any]:
    if view == "decided":
        lines = queries.decided(request.user)
    elif view == "expired":
        lines = queries.requests(request.user, state="expired")
    else:
        view, lines = "open", queries.requests(request.user)
    concerned = {actor for line in lines for actor in (line.decided_by, line.claimed_by, line.assigned_to)}
    names = display_names(concerned)
    groups: dict[str, list[queries.RequestLine]] = {}
    for line in lines:
        groups.setdefault(_group(line, view), []).append(line)
    mine = queries.decidable(request.user).count() if view == "open" else 0
    return {"here": "decisions", "view": view, "groups": groups, "names": names, "mine": mine}


def _group(line: queries.RequestLine, view: str) -> str:
    if view != "open":
        return ""
    if line.held_until:
        return "held"
    return str(line.tier) if line.may_decide else "others"


def _card(request: HttpRequest, request_id: UUID, typed: dict[str, str] | None = None) -> Card:
    line, held, state = queries.request_of(request.user, request_id)
    asked = held.asked
    schema = found.arguments if (found := tools.find(asked.tool)) else {}
    evidence, masked = shown_basis(request.user, line.session, line.team, state, asked.basis)
    accounts = [value for _, value in evidence]
    typed = typed if line.state == "pending" and line.may_decide else None
    retype = retyping.retyped(held.terms.retype, held.arguments, typed or {}) if line.may_decide else []
    entries = queries.conversation(request.user, line.session)
    story, said = _story(entries, line, held), _said(entries, held)
    turns = [Turn(each.seq, each.data["text"]) for each in entries if _is_customers(each) and each.data]
    seen = showing.view(
        held,
        line.digest,
        surface="page",
        said=[item.seq for item in said if item.kind == "said"],
        told=[entry["seq"] for entry in story],
        masked=masked,
    )
    me = getattr(request.user, "actor", "")
    others = {
        held.decided_by,
        *held.asked.proposed_by,
        *held.approvals,
        *held.behalf,
        line.claimed_by,
        held.claimed_from,
        line.assigned_to,
    }
    others |= {each.by for each in asked.changed}
    names = display_names({entry["actor"] for entry in story} | others)
    card = Card(
        line=line,
        held=held,
        fields=forms.fields(schema, asked.arguments, held.arguments, accounts, typed),
        said=said,
        turns=turns,
        story=story,
        names=names,
        key=str(new_id()),
        evidence=evidence,
        retype=retype,
        me=me,
        whom=queries.assignable(request.user, line.id) if line.state == "pending" else [],
        shown=seen,
    )
    card.show(_still_blind(card, differences_of(held, turns)))
    return card


def _still_blind(card: Card, found: Sequence[Difference]) -> Sequence[Difference]:
    """The differences without those of values that the reviewer is to type and has not typed yet."""
    if card.line.state != "pending":
        return found
    typed = {each.path for each in card.retype if each.text.strip()}
    return withheld(found, [path for path in card.held.terms.retype if path not in typed])


def _is_customers(entry: queries.EntryLine) -> bool:
    return entry.kind == SPOKEN and entry.data is not None and entry.data["role"] == CUSTOMER


def _said(entries: list[queries.EntryLine], held: Request) -> list[transcript.Item | Earlier]:
    """What bears on the decision of what was said, and the earlier requests for the same tool where they were made."""
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


def _story(entries: list[queries.EntryLine], line: queries.RequestLine, held: Request) -> list[dict[str, Any]]:
    """What the log says of this request and its call, in words."""
    told = []
    for entry in entries:
        data = entry.data or {}
        earlier = entry.kind == "decision.made" and entry.seq < held.seq
        later = entry.seq > held.seq and data.get("call") == held.asked.call
        about = earlier or later or data.get("request") == str(line.id)
        if about and not (entry.kind == "request.ended" and not data.get("because")):
            sentence = words.entry(entry.kind, entry.data, held.asked.tool)
            told.append({"seq": entry.seq, "at": entry.at, "actor": entry.actor, "sentence": sentence})
    return told


def _decide(request: HttpRequest, request_id: UUID) -> HttpResponse:
    post = request.POST
    typed = {name: post[name] for name in post if name.startswith((forms.PREFIX, retyping.PREFIX))}
    if post.get("decision") == CHECK:
        return _checked(request, request_id, typed)
    card = _card(request, request_id, typed)
    card.reason, card.code = post.get("reason", ""), post.get("code", "")
    try:
        done = _given(request, card, post.get("decision", ""))
    except Refused as refusal:
        return _told(request, card, refusal)
    if not done:
        card.refusal = TO_CHECK if card.check else NOTHING_YET
        return _card_page(request, card, "open", status=422)
    return _onward(request, card)


def _checked(request: HttpRequest, request_id: UUID, typed: dict[str, str]) -> HttpResponse:
    """The card with what would differ if the form were sent as it stands. Nothing is decided."""
    access.live("decisions", "wall", goes_on=True)
    card = _card(request, request_id, typed)
    arguments = forms.read(card.fields)
    if card.open and arguments is not None:
        card.show(_still_blind(card, differences_of(card.held, card.turns, arguments)))
    return render(request, "agent_sessions/decision_check.html", {"card": card})


def _given(request: HttpRequest, card: Card, chosen: str) -> bool:
    """Give the decision. False when a field cannot be read, or when the page has not shown how what would be sent
    differs: then the card does. An approval of changed fields is an edit.
    """
    note = card.reason.strip()
    if len(note) > MAX_NOTE:
        raise Invalid(f"got {len(note)} characters, at most {MAX_NOTE}", field="reason")
    if chosen not in OFFERED:
        raise Invalid("choose Approve, Reject or Ask again", field="decision")
    if (card.open or card.rejectable) and not (request.POST.get("seen") and request.POST.get("view")):
        raise Outdated("the page did not say what it showed: look at it again")
    sent: dict[str, Any] = {name: request.POST.get(name, "") for name in ("key", "seen", "view")}
    if chosen == "respond":
        commands.decide(request.user, card.line.id, "respond", response=f"{ASK_AGAIN} {note}".strip(), **sent)
        return True
    sent |= {"reason": note, "code": card.code}
    if chosen in ("reject", "ignore", "escalate"):
        commands.decide(request.user, card.line.id, chosen, **sent)  # type: ignore[arg-type]  # one of three
        return True
    arguments, again = forms.read(card.fields), retyping.read(card.retype)
    if arguments is None or again is None:
        return False
    if card.open and sent["seen"] == card.line.digest:
        _compare(card, arguments, sent["view"])
        _must_be_whole(card, arguments)
        if card.check:
            return False
    sent["retyped"] = again
    if arguments == card.held.arguments:
        commands.decide(request.user, card.line.id, "approve", **sent)
    else:
        commands.decide(request.user, card.line.id, "edit", arguments=arguments, **sent)
    return True


def _compare(card: Card, arguments: dict[str, Any], view: str) -> None:
    """Put on the card how what would be sent differs, to be checked where the page of `view` did not show it."""
    found = differences_of(card.held, card.turns, arguments)
    seen = showing.read(card.me, card.line.id, view).data
    card.show(found)
    card.check = bool(not_shown(found, seen.get("differences", ())))


def _must_be_whole(card: Card, arguments: dict[str, Any]) -> None:
    """What the command would refuse in a form, told together with what is to be checked. Raises Invalid."""
    if card.tool is not None:
        card.tool.check(arguments)
    if arguments != card.held.arguments and not card.reason.strip() and not card.code:
        raise Invalid("say why", field="reason")


def _told(request: HttpRequest, card: Card, refusal: Refused) -> HttpResponse:
    """The card again, with what was refused: beside its field, or above, and read-only when it is decided already."""
    path = str(refusal.facts.get("field", ""))
    again = next((each for each in card.retype if path == f"retyped.{each.path}"), None)
    card.refusal = NOTHING_YET
    if again is not None:
        again.error = again.to_type if not again.text else again.is_other
    elif path == "code":
        card.code_error = "Choose one of the reasons."
    elif path == "reason":
        card.reason_error = NO_NOTE if not card.reason.strip() else f"{refusal.detail[:1].upper()}{refusal.detail[1:]}."
    elif not forms.blame(card.fields, path, refusal.detail):
        card = _card(request, card.line.id)
        card.refusal = _who_was_first(request, card, refusal)
    return _card_page(request, card, "open", status=422 if refusal.status == 400 else refusal.status)


def _who_was_first(request: HttpRequest, card: Card, refusal: Refused) -> str:
    if not isinstance(refusal, AlreadyDecided) or not card.held.decided_by:
        return f"Nothing was decided. {refusal}"
    act = words.OUTCOMES[card.line.state][1].lower()
    when = card.held.ended_at[11:19]
    mine = card.held.decided_by == getattr(request.user, "actor", "")
    who = "You" if mine else card.decider
    return f"{who} closed this at {when} before you: {act}. What you sent changed nothing."


def _onward(request: HttpRequest, card: Card) -> HttpResponse:
    """To the next request that waits for this person, or back to the one just decided."""
    line = queries.request_line(request.user, card.line.id)
    counted = f"Your approval counts, {line.approvals} of {line.quorum}"
    if line.held_until:
        counted = f"Approved and held until {line.held_until:%H:%M:%S}"
    elif request.POST.get("decision") == "escalate":
        counted = "Passed on"
    word = counted if line.state == "pending" else words.OUTCOMES[line.state][1]
    if line.state == "superseded":
        word = "Your edit waits for another person"
    text = f"{word}: {words.plain(line.tool)}"  # kept in clear until it is shown, so without the call's own words
    messages.success(request, text, extra_tags=reverse("decision", args=[line.id]))
    following = [other.id for other in queries.requests(request.user, mine=True, limit=2) if other.id != line.id]
    target = following[0] if following else line.id
    return redirect(f"{reverse('decision', args=[target])}#ask")


@console
@require_POST
def decision_act(request: HttpRequest, request_id: UUID, act: str) -> HttpResponse:
    """Claim, take, keep, release or assign a request, undo one that is held, withdraw an approved call. A script asks
    for JSON, a form goes back.
    """
    scripted = request.headers.get("Accept", "") == "application/json"
    try:
        _act(request, request_id, act)
    except Refused as refusal:
        if scripted:
            status = 200 if _lost_unasked(request, act, refusal) else refusal.status
            return JsonResponse({"code": refusal.code, "detail": str(refusal)}, status=status)
        card = _card(request, request_id)
        card.refusal = str(refusal)
        return _card_page(request, card, "open", status=refusal.status)
    return JsonResponse({}) if scripted else redirect(f"{reverse('decision', args=[request_id])}#ask")


def _lost_unasked(request: HttpRequest, act: str, refusal: Refused) -> bool:
    """Whether a claim that the page made or kept by itself came too late: no error, nobody asked for it, and the page
    is told by its own changes who has the request or how it ended.
    """
    unasked = act in ("claim", "keep") and request.POST.get("unasked") == "yes"
    return unasked and isinstance(refusal, AlreadyDecided | ClaimedByOther | NotYours)


def _act(request: HttpRequest, request_id: UUID, act: str) -> None:
    key = request.POST.get("key", "")
    if act in ("claim", "take"):
        commands.claim(request.user, request_id, take=act == "take", key=key)
    elif act == "keep":
        commands.keep(request.user, request_id)
    elif act == "release":
        commands.release(request.user, request_id, key=key)
    elif act == "assign":
        session, to = queries.request_line(request.user, request_id).session, request.POST.get("to", "")
        holder = request.POST.get("holder", "")
        commands.assign(request.user, session, to, request=request_id, holder=holder, key=key and f"{key}-assign")
    elif act == "undo":
        commands.undo(request.user, request_id, reason=request.POST.get("reason", "")[:MAX_NOTE], key=key)
    elif act == "withdraw":
        session, reason = queries.request_line(request.user, request_id).session, request.POST.get("reason", "")
        commands.withdraw(request.user, session, reason, request=str(request_id), key=key)
    else:
        raise Invalid("choose Claim, Take, Release, Assign, Undo or Withdraw", field="act")
