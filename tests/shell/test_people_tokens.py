"""API tokens: what they open, when they stop, and what is kept of them."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.db.models.functions import Now
from rest_framework.permissions import IsAuthenticated
from rest_framework.response import Response
from rest_framework.test import APIRequestFactory
from rest_framework.views import APIView

from agentstate.people import commands, trail
from agentstate.people.authentication import BearerAuthentication, BrowserAuthentication
from agentstate.people.models import ApiToken
from agentstate.people.permissions import PermissionDenied
from tests.cast import adam, address, alice, bob, browser, charlie, token

pytestmark = pytest.mark.django_db


class WhoAmI(APIView):
    authentication_classes = (BearerAuthentication, BrowserAuthentication)
    permission_classes = (IsAuthenticated,)
    throttle_classes = ()

    def post(self, request) -> Response:
        return Response(request.user.username)


def call(text: str | None, *, scheme: str = "Bearer", peer: str | None = None, **headers: str) -> Response:
    if text is not None:
        headers["HTTP_AUTHORIZATION"] = f"{scheme} {text}"
    request = APIRequestFactory().post("/", REMOTE_ADDR=peer or address(), **headers)
    return WhoAmI.as_view()(request)


def test_a_token_opens_the_api_for_its_user() -> None:
    text = token(alice())
    assert (call(text).status_code, call(text).data) == (200, "alice")
    assert call(text, scheme="bearer").status_code == 200


@pytest.mark.parametrize("wrong", ["", "ags_", "x", "ags_" + "A" * 43, "two words", "ü", "\u20ac", "a" * 9000, "'"])
def test_anything_else_is_401_and_says_which_scheme_is_wanted(wrong: str) -> None:
    answer = call(wrong.encode("utf-8").decode("latin-1"))
    assert answer.status_code == 401
    assert answer["WWW-Authenticate"].startswith("Bearer")


def test_no_header_at_all_is_401() -> None:
    assert call(None).status_code == 401


def test_a_revoked_token_is_refused_with_the_next_request() -> None:
    text = token(alice())
    assert call(text).status_code == 200
    commands.revoke_token(ApiToken.objects.get(), alice())
    assert call(text).status_code == 401


def test_the_token_of_a_disabled_user_is_refused_with_the_next_request() -> None:
    text = token(alice())
    commands.disable(alice(), None)
    assert call(text).status_code == 401


def test_only_a_digest_is_kept() -> None:
    text = token(alice())
    row = str(ApiToken.objects.values().get())
    assert text.startswith("ags_")
    assert len(text) >= 40
    assert text not in row
    assert text[4:] not in row


def test_every_token_differs() -> None:
    assert len({token(alice()) for _ in range(20)}) == 20


def test_last_used_is_written_at_most_once_a_minute() -> None:
    text = token(alice())
    call(text)
    first = ApiToken.objects.get().last_used
    call(text)
    assert first is not None
    assert ApiToken.objects.get().last_used == first
    ApiToken.objects.update(last_used=Now() - timedelta(seconds=61))
    call(text)
    assert ApiToken.objects.get().last_used > first


def test_a_request_costs_one_query_within_that_minute(django_assert_num_queries) -> None:
    text = token(alice())
    call(text)
    with django_assert_num_queries(1):
        call(text)


def test_refused_tokens_of_one_address_are_throttled_and_a_good_one_still_passes(monkeypatch) -> None:
    monkeypatch.setattr("agentstate.people.throttles.TokenFailures.rate", "3/min", raising=False)
    records: list[trail.Record] = []
    text, peer = token(alice()), address()
    monkeypatch.setattr(trail, "sink", records.append)
    assert [call("ags_wrong", peer=peer).status_code for _ in range(5)] == [401] * 3 + [429] * 2
    assert "Retry-After" in call("ags_wrong", peer=peer)
    assert call(text, peer=peer).status_code == 200
    assert call("ags_wrong").status_code == 401
    assert [record.kind for record in records] == ["token.refused"] * 4


def test_a_browser_session_needs_the_csrf_token_at_the_api() -> None:
    client = browser(alice(), enforce_csrf_checks=True)
    factory = APIRequestFactory(enforce_csrf_checks=True)
    request = factory.post("/")
    request.COOKIES.update({name: morsel.value for name, morsel in client.cookies.items()})
    request.user = alice()
    answer = WhoAmI.as_view()(request)
    assert answer.status_code == 403
    assert "CSRF" in str(answer.data)


def test_nobody_makes_a_token_for_somebody_else() -> None:
    with pytest.raises(PermissionDenied):
        commands.issue_token(alice(), "stolen", adam())


def test_a_token_is_revoked_by_its_owner_or_an_admin_of_the_team_and_nobody_else() -> None:
    token(alice())
    row = ApiToken.objects.get()
    for stranger in (bob(), charlie()):
        with pytest.raises(PermissionDenied):
            commands.revoke_token(row, stranger)
    commands.revoke_token(row, adam())
    row.refresh_from_db()
    assert row.revoked_at is not None
