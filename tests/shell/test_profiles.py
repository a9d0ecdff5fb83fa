"""A customer's profile in the running system: sessions teach it, the next is adapted by it, its subject rules."""

from __future__ import annotations

import logging
from uuid import UUID

import msgspec
import pytest
from django.core.management import CommandError, call_command
from django.db import connections

from agentstate.engine.profile import refusals as no
from agentstate.engine.profile.events import KINDS
from agentstate.people.permissions import PermissionDenied
from audit import keys, ledger
from sessions import tasks
from sessions.approvals import commands as approvals_commands
from sessions.core import announcements, entry_lines, states
from sessions.models.sessions import AgentSession, CustomerProfile, Taught
from sessions.profiles import access, learning, logs
from sessions.profiles import commands as keep
from sessions.profiles import descriptions as words
from sessions.profiles import queries as seen
from sessions.profiles import rebuild as profile_rebuild
from tests import cast
from tests.claims import ROOT
from tests.shell.bank_world import events, opened, say, state, work
from tests.shell.test_rebuild import tampered
from tests.shell.test_secrecy import everything_stored, in_valkey, traces
from tests.shell.together import at_once

pytestmark = pytest.mark.django_db(transaction=True, databases=["default", "erase"])

TWO_HUNDRED = {"minor": 20_000, "currency": "USD"}


def customer_of(session: UUID) -> UUID:
    return AgentSession.objects.get(pk=session).kid


def transferred(amount: str = "$300.00") -> UUID:
    """A session in which the customer moved an amount that nobody needs to approve."""
    session = opened("C-1001")
    work()
    say(session, f"Move {amount} from savings to checking.")
    say(session, "Yes, that is right.")
    return session


def swept() -> None:
    """What the sweeper does once commits are old enough to be drained."""
    announcements.drain_outbox(older_than=0.0, first=tasks.followed)


def agreed_customer() -> tuple[UUID, UUID]:
    """A session's customer who has agreed to personalisation."""
    session = opened("C-1001")
    work()
    customer = customer_of(session)
    keep.consent(cast.cleo(), customer, "personalisation", True)
    return session, customer


def line(customer: UUID, name: str) -> seen.PreferenceLine:
    profile = seen.profile(cast.alice(), customer)
    return next(each for each in profile.preferences if each.name == name)


def test_a_transfer_teaches_the_profile_and_names_its_entry(bank):
    _, customer = agreed_customer()
    session = transferred()
    swept()
    (learned,) = line(customer, "usual_source").learned
    (source,) = learned.sources
    assert source.session == str(session)
    entries = entry_lines.entries(cast.alice(), session, limit=500)
    assert entries[source.seq].kind == "tool.returned"
    history = {each.name: each.records for each in seen.profile(cast.alice(), customer).histories}
    assert history["transfers"][0].values["amount"] == {"minor": 30_000, "currency": "USD"}


def test_sweeping_twice_teaches_once_even_when_the_row_is_lost(bank):
    _, customer = agreed_customer()
    session = transferred()
    for _ in range(2):
        swept()
        learning.teach(session)
        Taught.objects.all().delete()
        learning.teach(session)
    assert line(customer, "usual_source").learned[0].count == 1
    assert Taught.objects.get(pk=session).seq == AgentSession.objects.get(pk=session).seq


def test_without_consent_a_session_teaches_only_what_service_needs(bank):
    customer = customer_of(transferred())
    swept()
    profile = seen.profile(cast.alice(), customer)
    assert [each.name for each in profile.histories] == ["transfers"]
    assert all(not each.learned for each in profile.preferences)


def test_what_was_learned_is_given_to_the_next_session_and_recorded_with_each_step(bank):
    session, _ = agreed_customer()
    say(session, "That is too long.")
    swept()
    after = opened("C-1001")
    say(after, "Hello?")
    (adapted,) = events(after, "user.adapted")
    assert adapted["adaptation"]["mappings"] == ["answers.brief"]
    requested = events(after, "model.requested")
    assert {tuple(each["adapted"]) for each in requested} == {("answers.brief",)}
    assert {each["user"] for each in requested} == {state(after).user.digest}
    assert state(after).user.view["preferences"]["answers"] == {"value": "brief", "from": "learned"}


def test_withdrawing_the_consent_stops_use_at_the_next_step(bank):
    session, customer = agreed_customer()
    keep.prefer(cast.cleo(), customer, "answers", "brief")
    say(session, "Hello?")
    assert state(session).user.mappings == ("answers.brief",)
    keep.consent(cast.cleo(), customer, "personalisation", False, note="said so on the phone")
    say(session, "And what is my balance?")
    assert state(session).user.digest == ""
    assert events(session, "model.requested")[-1]["adapted"] == []


def test_a_customers_own_limit_stops_a_transfer_that_policy_lets_through(bank):
    session = opened("C-1001")
    work()
    keep.prefer(cast.cleo(), customer_of(session), "own_limit", TWO_HUNDRED)
    say(session, "Move $300.00 from savings to checking.")
    say(session, "Yes, that is right.")
    (asked,) = events(session, "approval.requested")
    assert (asked["rule"], asked["tier"], asked["adapted"]) == ("profile.limit.own", 2, ["limit.own"])
    assert asked["why"] == "Above the limit that the customer set."
    assert bank.transfers("C-1001") == []
    approvals_commands.decide(cast.alice(), UUID(asked["request"]), approvals_commands.Decision("approve"))
    work()
    (intended,) = [each for each in events(session, "tool.intended") if each["tool"] == "transfer"]
    assert intended["adapted"] == ["limit.own"]
    assert len(bank.transfers("C-1001")) == 1


def test_a_limit_set_meanwhile_asks_no_more_of_a_call_than_it_has_passed(bank):
    session = opened("C-1001")
    work()
    say(session, "Move $900.00 from savings to checking.")
    say(session, "Yes, that is right.")
    (asked,) = events(session, "approval.requested")
    keep.prefer(cast.cleo(), customer_of(session), "own_limit", TWO_HUNDRED)
    approvals_commands.decide(cast.alice(), UUID(asked["request"]), approvals_commands.Decision("approve"))
    work()
    assert state(session).user.mappings == ("limit.own",)
    assert len(bank.transfers("C-1001")) == 1


def test_who_may_know_and_change_a_customer():
    _, customer = agreed_customer()
    for stranger in (cast.charlie(), cast.adam()):
        with pytest.raises(access.UnknownCustomer):
            seen.profile(stranger, customer)
        with pytest.raises(access.UnknownCustomer):
            keep.prefer(stranger, customer, "own_limit", TWO_HUNDRED)
    assert not seen.profile(cast.vera(), customer).may_keep
    with pytest.raises(PermissionDenied):
        keep.forget(cast.vera(), customer, "everything")
    assert seen.profile(cast.alice(), customer).may_keep
    keep.prefer(cast.alice(), customer, "own_limit", TWO_HUNDRED)
    assert line(customer, "own_limit").setting.by == cast.alice().actor
    keep.prefer(cast.cleo(), customer, "own_limit", TWO_HUNDRED)
    assert line(customer, "own_limit").setting.by == "customer"


def test_the_same_key_gives_the_first_answer():
    _, customer = agreed_customer()
    first = keep.prefer(cast.cleo(), customer, "answers", "brief", key="k")
    again = keep.prefer(cast.cleo(), customer, "answers", "brief", key="k")
    assert (again.first, again.seq, again.repeated) == (first.first, first.seq, True)
    with pytest.raises(ledger.SameKeyOtherCommand):
        keep.prefer(cast.cleo(), customer, "answers", "full", key="k")


def test_a_refused_command_writes_nothing():
    _, customer = agreed_customer()
    before = CustomerProfile.objects.get(kid=customer).seq
    with pytest.raises(no.NothingHeld):
        keep.correct(cast.cleo(), customer, "answers", "brief")
    assert ledger.read_head(logs.Subject(customer, cast.tenant().pk).log).size == before


def test_erasing_the_customer_erases_the_profile(bank):
    _, customer = agreed_customer()
    keep.prefer(cast.cleo(), customer, "answers", "brief")
    with connections["erase"].cursor() as cursor:
        cursor.execute("UPDATE audit_subjectkey SET wrapped = NULL, destroyed_at = now() WHERE kid = %s", [customer])
    keys.forget_all()
    states.forget_all()
    with pytest.raises(keys.Erased):
        seen.profile(cast.alice(), customer)
    swept()
    subject = logs.Subject(customer, cast.tenant().pk)
    assert profile_rebuild.check(subject) == []
    after = opened("C-1001")
    assert customer_of(after) != customer
    assert seen.profile(cast.alice(), customer_of(after)).seq == 0


@pytest.mark.parametrize(
    ("statement", "found"),
    [
        ("UPDATE agent_sessions_customerprofile SET sealed = '\\x00'", "profile state"),
        ("UPDATE agent_sessions_customerprofile SET last_at = now()", "profile.last_at"),
        ("UPDATE agent_sessions_customerprofile SET kid = gen_random_uuid()", "profile.kid"),
        ("DELETE FROM agent_sessions_customerprofile", "profile"),
        ("UPDATE audit_receipt SET digest = '\\x00'", "profile receipt"),
    ],
)
def test_rebuild_finds_what_was_changed_and_puts_it_right(statement, found):
    _, customer = agreed_customer()
    keep.prefer(cast.cleo(), customer, "answers", "brief", key="k")
    call_command("rebuild", "--check")
    tampered(statement)
    subject = logs.Subject(customer, cast.tenant().pk)
    assert profile_rebuild.check(subject)[0][0].startswith(found)
    with pytest.raises(CommandError, match="differences"):
        call_command("rebuild", "--check")
    if "receipt" not in found:
        call_command("rebuild")
        call_command("rebuild", "--check")
        assert line(customer, "answers").counts == "brief"


def test_a_row_that_no_log_stands_behind_is_found_and_dropped():
    _, customer = agreed_customer()
    tampered(
        "INSERT INTO agent_sessions_customerprofile (log, kid, seq, opened_at, last_at, sealed, tenant_id)"
        " SELECT gen_random_uuid(), gen_random_uuid(), seq, opened_at, last_at, sealed, tenant_id"
        " FROM agent_sessions_customerprofile"
    )
    with pytest.raises(CommandError, match="differences"):
        call_command("rebuild", "--check")
    call_command("rebuild")
    assert [row.kid for row in CustomerProfile.objects.all()] == [customer]


def test_a_session_that_is_said_to_have_taught_more_than_it_says_is_found_and_heard_again(bank):
    _, customer = agreed_customer()
    session = transferred()
    Taught.objects.create(session=session, seq=10**6)
    with pytest.raises(CommandError, match="differences"):
        call_command("rebuild", "--check")
    call_command("rebuild")
    swept()
    assert line(customer, "usual_source").learned[0].count == 1


def test_what_was_only_tried_in_a_fork_teaches_nothing(bank):
    _, customer = agreed_customer()
    session = transferred()
    AgentSession.objects.filter(pk=session).update(fork_of=session)
    swept()
    assert line(customer, "usual_source").learned == ()


def test_two_who_open_a_profile_at_once_lose_nothing():
    customer = customer_of(opened("C-1001"))
    cleo, alice = cast.cleo(), cast.alice()
    wishes = [
        lambda: keep.prefer(cleo, customer, "own_limit", TWO_HUNDRED),
        lambda: keep.prefer(alice, customer, "careful_with_payees", True),
        lambda: keep.consent(alice, customer, "personalisation", True),
    ]
    at_once(*wishes)
    assert line(customer, "own_limit").counts == TWO_HUNDRED
    assert line(customer, "careful_with_payees").counts is True
    kinds = [entry.kind for entry in seen.profile_entries(cast.alice(), customer)]
    assert sorted(kinds) == [
        "profile.consent_given",
        "profile.opened",
        "profile.setting_made",
        "profile.setting_made",
    ]
    assert profile_rebuild.check(logs.Subject(customer, cast.tenant().pk)) == []


def test_no_word_of_a_profile_is_stored_in_clear(bank, caplog):
    caplog.set_level(logging.INFO)
    session, customer = agreed_customer()
    say(session, "That is too long.")
    transferred()
    swept()
    keep.correct(cast.alice(), customer, "usual_source", "Zebrafinch-7")
    keep.consent(cast.alice(), customer, "analytics", True, note="Quokkaburra")
    cast.browser(cast.alice()).get(f"/customers/{customer}/")
    looked_for = ("Zebrafinch", "Quokkaburra", "usual_source", "C-1001", "brief answers", "max_output_tokens")
    for table, text in everything_stored().items():
        assert traces(text, *looked_for) == [], table
    assert traces(in_valkey(), *looked_for) == []
    assert traces(caplog.text, *looked_for) == []


def test_every_kind_of_entry_of_a_profile_is_told_in_words():
    stored = (ROOT / "tests/vectors/profile_events.jsonl").read_bytes().splitlines()
    told = {}
    for data in (msgspec.json.decode(each) for each in stored):
        told[data["kind"]] = words.entry(data["kind"], data)
    assert set(told) == set(KINDS)
    assert all(sentence.act != kind and sentence.about for kind, sentence in told.items())
