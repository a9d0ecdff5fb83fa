"""A customer's profile over the API: what it gives, whom and what it refuses."""

from __future__ import annotations

from typing import Any

import pytest

from sessions.models.sessions import CustomerProfile
from tests import cast
from tests.shell.api_world import UNKNOWN, Api, new_session, nothing_written, problem

pytestmark = pytest.mark.django_db

LIMIT = {"minor": 20_000, "currency": "USD"}
CHANGES: dict[str, dict[str, Any]] = {
    "consent": {"purpose": "personalisation", "agreed": True, "note": "said so"},
    "settings": {"preference": "own_limit", "value": LIMIT},
    "feedback": {"preference": "own_limit", "value": LIMIT, "fits": True},
    "corrections": {"preference": "own_limit", "value": LIMIT},
    "refusals": {"preference": "usual_source"},
    "forget": {"part": "everything"},
}


def customer() -> str:
    """The address of the profile of a customer who has just called."""
    session = new_session()
    found = Api(cast.cleo()).get(f"/sessions/{session}").json()["customer"]
    return f"/customers/{found}/profile"


def preference(profile: dict[str, Any], name: str) -> dict[str, Any]:
    return next(each for each in profile["preferences"] if each["name"] == name)


def test_a_profile_says_what_is_known_for_which_purpose_and_who_may_change_it() -> None:
    profile = Api(cast.cleo()).get(customer()).json()
    assert (profile["seq"], profile["declared"], profile["may_keep"]) == (0, "bank@1", True)
    assert [(each["name"], each["required"], each["agreed"]) for each in profile["purposes"]] == [
        ("service", True, True),
        ("personalisation", False, False),
        ("analytics", False, False),
    ]
    assert preference(profile, "answers")["kind"] == {"is": "choice", "options": ["brief", "full"]}


def test_the_customers_program_agrees_sets_rates_corrects_refuses_and_forgets() -> None:
    address, cleo = customer(), Api(cast.cleo())

    def does(what: str, **body: Any) -> dict[str, Any]:
        answer = cleo.post(f"{address}/{what}", body)
        assert answer.status_code == 201, answer.json()
        return preference(cleo.get(address).json(), "answers")

    does("consent", purpose="personalisation", agreed=True)
    assert does("feedback", preference="answers", value="brief", fits=True)["counts"] == "brief"
    learned = does("feedback", preference="answers", value="brief", fits=True)["learned"][0]
    assert (learned["count"], learned["confidence"]) == (2, 0.749)
    assert learned["sources"][0]["why"] == "The customer said so."
    corrected = does("corrections", preference="answers", value="full")
    assert (corrected["counts"], corrected["said"], corrected["learned"]) == ("full", True, [])
    assert does("settings", preference="answers", value=None)["counts"] is None
    assert does("refusals", preference="answers", value="brief")["refused_values"] == ["brief"]
    problem(cleo.post(f"{address}/feedback", {"preference": "answers", "value": "brief", "fits": True}), 409)
    assert does("refusals", preference="answers", value="brief", allowed=True)["refused_values"] == []
    does("settings", preference="answers", value="brief")
    assert cleo.get(address).json()["adapted"] == ["answers.brief"]
    assert does("forget", part="everything")["setting"] is None
    assert does("consent", purpose="personalisation", agreed=False)["counts"] is None


def test_the_entries_of_a_profile_tell_its_story() -> None:
    address, cleo = customer(), Api(cast.cleo())
    cleo.post(f"{address}/settings", {"preference": "own_limit", "value": LIMIT})
    entries = cleo.get(f"{address}/entries").json()["entries"]
    assert [entry["kind"] for entry in entries] == ["profile.opened", "profile.setting_made"]
    assert entries[1]["data"]["value"] == LIMIT
    page = cleo.get(f"{address}/entries", after=0, limit=1).json()
    assert [entry["seq"] for entry in page["entries"]] == [1]
    assert page["next"] == 1


def test_the_same_key_gives_the_first_receipt_and_another_wish_under_it_is_refused() -> None:
    address, cleo = customer(), Api(cast.cleo())
    wish = {"preference": "own_limit", "value": LIMIT, "idempotency_key": "k"}
    first, again = (cleo.post(f"{address}/settings", wish) for _ in range(2))
    assert first.json() == again.json()
    assert again["Idempotency-Replayed"] == "true"
    other = cleo.post(f"{address}/settings", {**wish, "value": {"minor": 1, "currency": "USD"}})
    problem(other, 409, "idempotency_key_reused")


@pytest.mark.parametrize("what", CHANGES)
def test_who_may_read_but_not_keep_profiles_is_403(what: str) -> None:
    address, vera = customer(), Api(cast.vera())
    assert vera.get(address).json()["may_keep"] is False
    with nothing_written():
        body = problem(vera.post(f"{address}/{what}", CHANGES[what]), 403, "permission_denied")
    assert body["permission"] == "keep_profile"


@pytest.mark.parametrize("what", [*CHANGES, "", "entries"])
def test_a_customer_of_another_team_is_as_unknown_as_one_that_never_was(what: str) -> None:
    address, charlie = customer(), Api(cast.charlie())

    def ask(profile: str) -> dict[str, Any]:
        path = f"{profile}/{what}".rstrip("/")
        answer = charlie.post(path, CHANGES[what]) if what in CHANGES else charlie.get(path)
        return problem(answer, 404, "unknown_customer", "customer")

    with nothing_written():
        assert ask(address) == ask(f"/customers/{UNKNOWN}/profile")
    problem(Api(cast.alice()).get("/customers/C-1001/profile"), 404, "unknown_customer", "customer")


@pytest.mark.parametrize(
    ("what", "body", "code"),
    [
        ("consent", {"purpose": "marketing", "agreed": True}, "unknown_purpose"),
        ("consent", {"purpose": "personalisation", "agreed": "yes"}, "invalid"),
        ("consent", {"purpose": "personalisation"}, "invalid"),
        ("settings", {"preference": "seat", "value": "aisle"}, "unknown_preference"),
        ("settings", {"preference": "own_limit", "value": 200.5}, "bad_value"),
        ("settings", {"preference": "own_limit", "value": {"minor": 200.5, "currency": "USD"}}, "bad_value"),
        ("settings", {"preference": "own_limit", "value": [[[[]]]]}, "bad_value"),
        ("settings", {"preference": "own_limit"}, "invalid"),
        ("feedback", {"preference": "answers", "value": None, "fits": True}, "invalid"),
        ("refusals", {"preference": "answers", "value": "endless"}, "bad_value"),
        ("forget", {"part": "consents"}, "invalid"),
        ("forget", {"part": "everything", "name": "answers"}, "invalid"),
        ("forget", {"part": "everything", "why": "because"}, "invalid"),
    ],
)
def test_what_cannot_be_is_400_by_name(what: str, body: dict[str, Any], code: str) -> None:
    address, cleo = customer(), Api(cast.cleo())
    with nothing_written():
        problem(cleo.post(f"{address}/{what}", body), 400, code)
    assert not CustomerProfile.objects.exists()


@pytest.mark.parametrize(
    ("what", "body", "code"),
    [
        ("settings", {"preference": "answers", "value": "brief"}, "no_consent"),
        ("settings", {"preference": "answers", "value": None}, "nothing_held"),
        ("corrections", {"preference": "answers", "value": "brief"}, "nothing_held"),
        ("consent", {"purpose": "service", "agreed": False}, "purpose_required"),
        ("forget", {"part": "history", "name": "transfers"}, "nothing_held"),
        ("refusals", {"preference": "answers", "allowed": True}, "nothing_held"),
    ],
)
def test_what_may_not_be_now_is_409_by_name(what: str, body: dict[str, Any], code: str) -> None:
    address, cleo = customer(), Api(cast.cleo())
    with nothing_written():
        problem(cleo.post(f"{address}/{what}", body), 409, code)
