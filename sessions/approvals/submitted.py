"""The form of a card as a browser sent it, and the decision that it means."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.http import QueryDict

from agentstate.engine.decide import Outdated
from agentstate.engine.decide.reviewing import approving, must_be_entitled
from agentstate.engine.lifecycle import RequestStatus
from agentstate.engine.speech import SAY
from agentstate.engine.state.session import Request, digest_of
from agentstate.errors import Invalid, Refused
from audit import ledger
from sessions.approvals import forms, retyping, reviewer_view
from sessions.approvals.commands import Decision
from sessions.approvals.customer_turns import customer_turns, differences_of
from sessions.approvals.differences import not_shown
from sessions.approvals.guards import RequestExpired, not_expired
from sessions.core import visibility
from sessions.core.authority import Person, Reviewer
from sessions.core.states import Loaded
from sessions.tools import registry as tools

OFFERED = ("approve", "reject", "respond", "ignore", "escalate")  # an approval of changed fields is an edit
MAX_NOTE = 2000  # characters, as in the API
ASK_AGAIN = "Ask the customer again before this is done."  # the agent reads this, and the note if there is one
REVISE = "The customer has not heard this. Revise it."


class Unfinished(Refused):
    """A field of the form cannot be read, or its page did not show every difference of what it sends."""

    code = "unfinished"


@dataclass(frozen=True)
class Submitted:
    """What the form sent. `typed`: the fields of the call, and the values that the reviewer typed again."""

    chosen: str
    reason: str
    code: str
    seen: str
    view: str
    typed: dict[str, str]

    @classmethod
    def of(cls, post: QueryDict) -> Submitted:
        """Returns the form of a POST."""
        typed = {name: str(post[name]) for name in post if name.startswith((forms.PREFIX, retyping.PREFIX))}
        chosen, reason, code, seen, view = (
            post.get(name, "") for name in ("decision", "reason", "code", "seen", "view")
        )
        return cls(chosen, reason, code, seen, view, typed)

    def must_be_offered(self) -> None:
        """Raises Invalid for a note that is too long, or a decision that no card offers."""
        if len(self.reason.strip()) > MAX_NOTE:
            raise Invalid(f"got {len(self.reason.strip())} characters, at most {MAX_NOTE}", field="reason")
        if self.chosen not in OFFERED:
            raise Invalid("choose Approve, Reject or Ask again", field="decision")

    def decision(self, user: Person, request: UUID, loaded: Loaded, reviewer: Reviewer) -> Decision:
        """Returns the decision that the form means for the request as it is now. An approval of changed fields is an
        edit. Raises Unfinished, Invalid; of a request that waits also DecisionNotAllowed, Outdated.
        """
        held, note = loaded.state.requests.get(str(request)), self.reason.strip()
        if held is not None and _waits(held):
            must_be_entitled(reviewer, held, held.asked.tier)
            if not (self.seen and self.view):
                raise _not_shown(held)
        if self.chosen == "respond":
            told = REVISE if held is not None and held.asked.tool == SAY else ASK_AGAIN
            return Decision("respond", response=f"{told} {note}".strip(), seen=self.seen, view=self.view)
        if held is None or self.chosen != "approve":
            return Decision(self.chosen, note, seen=self.seen, code=self.code, view=self.view)  # type: ignore[arg-type]
        return self._approval(user, held, loaded, reviewer)

    def _approval(self, user: Person, held: Request, loaded: Loaded, reviewer: Reviewer) -> Decision:
        waits = _waits(held)
        if waits:
            approving(reviewer, loaded.state, held, held.asked.tier)
        typed = self.typed if waits else {}
        arguments = forms.read(_fields(user, held, loaded, typed))
        again = retyping.read(retyping.retyped(held.terms.retype, held.arguments, typed) if waits else [])
        if arguments is None or again is None:
            raise Unfinished()
        if waits and self.seen == digest_of(loaded.state, held):
            self._must_be_checked(held, arguments, loaded, reviewer)
        edited = arguments != held.arguments
        return Decision(
            "edit" if edited else "approve",
            self.reason.strip(),
            arguments if edited else None,
            seen=self.seen,
            code=self.code,
            retyped=again,
            view=self.view,
        )

    def _must_be_checked(self, held: Request, arguments: dict[str, Any], loaded: Loaded, reviewer: Reviewer) -> None:
        """Raises Unfinished for a difference that the page did not show; first Invalid for what the command would
        refuse in a form.
        """
        found = differences_of(held, customer_turns(loaded.place.id, loaded.state.seq), arguments)
        unchecked = not_shown(found, self.shown_differences(reviewer.by, UUID(held.asked.request)))
        must_be_whole(held, arguments, bool(self.reason.strip() or self.code))
        if unchecked:
            raise Unfinished()

    def shown_differences(self, actor: str, request: UUID) -> list[dict[str, Any]]:
        """Returns the differences that the page of this form showed. Raises Invalid."""
        return list(reviewer_view.read(actor, request, self.view).data.get("differences", ()))


def must_be_whole(held: Request, arguments: dict[str, Any], says_why: bool) -> None:
    """Raises Invalid for what the command would refuse in a form, so that the page shows it with the differences."""
    tool = tools.find(held.asked.tool)
    if tool is not None:
        tool.check(arguments)
    if arguments != held.arguments and not says_why:
        raise Invalid("say why", field="reason")


def _holds(query: ledger.Fragment) -> bool:
    return bool(ledger.run(query.sql, query.params))


def _not_shown(held: Request) -> Refused:
    """Returns why the page of an open request had no form: it was too late, or the form is not from a page of ours."""
    if not _holds(not_expired(UUID(held.asked.request)).query):
        return RequestExpired()
    return Outdated("the page did not say what it showed: look at it again")


def _waits(held: Request) -> bool:
    """Whether the request is open for a decision: it is pending, and not approved under a delay."""
    return held.status is RequestStatus.PENDING and not (held.held_until and held.terms.gate != "hold")


def _fields(user: Person, held: Request, loaded: Loaded, typed: dict[str, str]) -> list[forms.Field]:
    """Returns the fields of the request's card for this person, with what was typed into them."""
    tool, place = tools.find(held.asked.tool), loaded.place
    agent = loaded.state.opened.agent if loaded.state.opened else ""
    evidence, _ = visibility.of_reader(user, place.id, place.team, agent).basis(held.asked.basis)
    schema, values = tool.arguments if tool else {}, [value for _, value in evidence]
    return forms.fields(schema, held.asked.arguments, held.arguments, values, typed)
