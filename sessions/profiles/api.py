"""A customer's profile: read it, and say on the customer's behalf what they want, refuse and agree to."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any
from uuid import UUID

from msgspec import UNSET
from rest_framework.response import Response

from agentstate.errors import Invalid
from agentstate.people.models import User
from sessions.core.session_lines import PAGE
from sessions.http.answers import REPLAYED, answer, filled, following
from sessions.http.bodies import Command
from sessions.http.operations import READING, WRITING, Operation, command, get
from sessions.http.parameters import Above, Id, Limit
from sessions.models.proposals import Proposal
from sessions.profiles import commands, queries
from sessions.profiles import schemas as forms
from sessions.profiles.access import UnknownCustomer
from sessions.profiles.logs import Kept
from sessions.proposals import queries as proposals

CUSTOMER = Id(UnknownCustomer, "`customer` of any session with that customer")
CustomerId = Annotated[UUID, CUSTOMER]


@get(codes=(*READING, 410))
def read_profile(user: User, customer: CustomerId) -> queries.ProfileLine:
    """What is known of a customer: said or learned, how sure, from where, and for what purpose."""
    return queries.profile(user, customer)


@get(codes=(*READING, 410))
def list_profile_entries(
    user: User, customer: CustomerId, *, after: Above = -1, limit: Limit = PAGE
) -> forms.ProfileEntryPage:
    """The entries of a profile's log, oldest first."""
    lines = queries.profile_entries(user, customer, after=after, limit=limit)
    return filled(forms.ProfileEntryPage, entries=lines, next=following(lines, limit, "seq"))


def _change(name: str, run: Callable[..., Kept | Proposal], body: type[Command], about: str) -> Operation:
    """A change of a profile: the receipt, or where other teams must agree, the proposal that it became."""

    def change(user: User, customer: UUID, **wanted: Any) -> Response:
        if wanted.get("value", UNSET) is None and body is not forms.Setting:
            raise Invalid("must not be null", field="value")
        kept = run(user, customer, **wanted)
        if isinstance(kept, Proposal):
            return answer(proposals.line_of(user, kept), 202)
        return answer(filled(forms.ProfileReceipt, kept), 201, {REPLAYED: "true"} if kept.repeated else None)

    return command(
        name,
        change,
        body,
        about,
        path={"customer": CUSTOMER},
        codes=(*WRITING, 410),
        shape=forms.ProfileReceipt,
        also={202: proposals.ProposalLine},
    )


set_consent = _change(
    "set_consent",
    commands.consent,
    forms.Consent,
    "The customer agrees to a purpose or no longer: then what is held for it is forgotten at once.",
)
set_preference = _change(
    "set_preference", commands.prefer, forms.Setting, "What the customer says beats what was learned."
)
give_feedback = _change(
    "give_feedback",
    commands.rate,
    forms.Feedback,
    "Feedback is learned from, and weighs more than what the customer happened to do.",
)
correct_learned = _change(
    "correct_learned",
    commands.correct,
    forms.Correction,
    "What was learned of the preference is dropped, and the right value set.",
)
refuse_learning = _change(
    "refuse_learning",
    commands.refuse,
    forms.Refusal,
    "What was refused is dropped, and not learned again until it is allowed.",
)
forget_profile = _change(
    "forget_profile",
    commands.forget,
    forms.Forget,
    "Forget a learned preference, a setting, a history, or everything but consents and refusals.",
)
