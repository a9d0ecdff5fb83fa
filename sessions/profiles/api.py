"""A customer's profile: read it, and say on the customer's behalf what they want, refuse and agree to."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any
from uuid import UUID

from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from sessions.core.session_lines import PAGE
from sessions.http import fields
from sessions.http.api import ABOVE, LAST, LIMIT, MOST, READING, REPLAYED, WRITING, answers, page, shown, valid
from sessions.http.parameters import Parameters, identifier
from sessions.models.proposals import Proposal
from sessions.profiles import commands, queries
from sessions.profiles import schemas as forms
from sessions.profiles.access import UnknownCustomer
from sessions.profiles.logs import Kept
from sessions.proposals import api as proposals
from sessions.proposals import queries as lines
from sessions.proposals.schemas import TeamProposal

CUSTOMER = OpenApiParameter(
    "customer", UUID, OpenApiParameter.PATH, description="`customer` of any session with that customer"
)


class Profile(APIView):
    """Read a profile."""

    @extend_schema(
        operation_id="read_profile",
        description="What is known of a customer: said or learned, how sure, from where, and for what purpose.",
        parameters=[CUSTOMER],
        responses=answers(200, forms.Profile, *READING, 410),
    )
    def get(self, request: Request, customer: str) -> Response:
        return Response(shown(forms.Profile, queries.profile(request.user, identifier(customer, UnknownCustomer))))


class ProfileEntries(APIView):
    """Read the entries of a profile's log, opened."""

    @extend_schema(
        operation_id="list_profile_entries",
        description="The entries of a profile's log, oldest first.",
        parameters=[CUSTOMER, ABOVE, LIMIT],
        responses=answers(200, forms.ProfileEntryPage, *READING, 410),
    )
    def get(self, request: Request, customer: str) -> Response:
        given = Parameters(request, "after", "limit")
        limit = given.whole("limit", PAGE, 1, MOST)
        after = given.whole("after", -1, -1, LAST)
        wanted = identifier(customer, UnknownCustomer)
        lines = queries.profile_entries(request.user, wanted, after=after, limit=limit)
        return page("entries", forms.ProfileEntry, lines, limit, key="seq")


class _Change(APIView, ABC):
    """The base of all changes: the body as arguments of a command, and what the command wrote."""

    shape: type[fields.Strict]

    @abstractmethod
    def ask(self, user: Any, customer: UUID, wanted: dict[str, Any]) -> Kept | Proposal:
        """Carry out the command."""

    def answer(self, request: Request, customer: str) -> Response:
        """The receipt; the first one again for a repeated command, with a header that says so. Where other teams must
        agree, the proposal that it became.
        """
        kept = self.ask(request.user, identifier(customer, UnknownCustomer), valid(self.shape, request))
        if isinstance(kept, Proposal):
            return Response(proposals.rendered(lines.line_of(request.user, kept)), status=202)
        headers = {REPLAYED: "true"} if kept.repeated else None
        return Response(shown(forms.ProfileReceipt, kept), status=201, headers=headers)


_CHANGES = {**answers(201, forms.ProfileReceipt, *WRITING, 410), (202, "application/json"): TeamProposal}


class ProfileConsent(_Change):
    """Agree to a purpose, or withdraw."""

    shape = forms.Consent

    @extend_schema(
        operation_id="set_consent", parameters=[CUSTOMER], request=forms.Consent, responses=_CHANGES,
        description="The customer agrees to a purpose or no longer: then what is held for it is forgotten at once.",
    )  # fmt: skip
    def post(self, request: Request, customer: str) -> Response:
        return self.answer(request, customer)

    def ask(self, user: Any, customer: UUID, wanted: dict[str, Any]) -> Kept | Proposal:
        return commands.consent(user, customer, **wanted)


class ProfileSettings(_Change):
    """Say what the customer wants."""

    shape = forms.Setting

    @extend_schema(
        operation_id="set_preference", parameters=[CUSTOMER], request=forms.Setting, responses=_CHANGES,
        description="What the customer says beats what was learned.",
    )  # fmt: skip
    def post(self, request: Request, customer: str) -> Response:
        return self.answer(request, customer)

    def ask(self, user: Any, customer: UUID, wanted: dict[str, Any]) -> Kept | Proposal:
        return commands.prefer(user, customer, **wanted)


class ProfileFeedback(_Change):
    """Say whether a value fits."""

    shape = forms.Feedback

    @extend_schema(
        operation_id="give_feedback", parameters=[CUSTOMER], request=forms.Feedback, responses=_CHANGES,
        description="Feedback is learned from, and weighs more than what the customer happened to do.",
    )  # fmt: skip
    def post(self, request: Request, customer: str) -> Response:
        return self.answer(request, customer)

    def ask(self, user: Any, customer: UUID, wanted: dict[str, Any]) -> Kept | Proposal:
        return commands.rate(user, customer, **wanted)


class ProfileCorrections(_Change):
    """Correct what was learned."""

    shape = forms.Correction

    @extend_schema(
        operation_id="correct_learned", parameters=[CUSTOMER], request=forms.Correction, responses=_CHANGES,
        description="What was learned of the preference is dropped, and the right value set.",
    )  # fmt: skip
    def post(self, request: Request, customer: str) -> Response:
        return self.answer(request, customer)

    def ask(self, user: Any, customer: UUID, wanted: dict[str, Any]) -> Kept | Proposal:
        return commands.correct(user, customer, **wanted)


class ProfileRefusals(_Change):
    """Refuse that something is learned, or allow it again."""

    shape = forms.Refusal

    @extend_schema(
        operation_id="refuse_learning", parameters=[CUSTOMER], request=forms.Refusal, responses=_CHANGES,
        description="What was refused is dropped, and not learned again until it is allowed.",
    )  # fmt: skip
    def post(self, request: Request, customer: str) -> Response:
        return self.answer(request, customer)

    def ask(self, user: Any, customer: UUID, wanted: dict[str, Any]) -> Kept | Proposal:
        return commands.refuse(user, customer, **wanted)


class ProfileForget(_Change):
    """Forget a part of the profile."""

    shape = forms.Forget

    @extend_schema(
        operation_id="forget_profile", parameters=[CUSTOMER], request=forms.Forget, responses=_CHANGES,
        description="Forget a learned preference, a setting, a history, or everything but consents and refusals.",
    )  # fmt: skip
    def post(self, request: Request, customer: str) -> Response:
        return self.answer(request, customer)

    def ask(self, user: Any, customer: UUID, wanted: dict[str, Any]) -> Kept | Proposal:
        return commands.forget(user, customer, **wanted)
