"""A session that never ends loses its oldest words in time: a recorded state stands for them, and it goes on."""

from __future__ import annotations

import os
from datetime import timedelta
from io import StringIO
from uuid import UUID

import pytest
from django.core.management import call_command
from django.db import connections
from msgspec.structs import replace

from agentstate.clock import now
from agentstate.engine.state import calls
from agentstate.engine.state.snapshot import to_snapshot
from audit import keys, ledger, retention, verify
from audit.retention import Class, Rule, Schedule
from sessions.approvals import commands as approvals_commands
from sessions.conversation import commands as conversation_commands
from sessions.core import commit, entry_lines, recorded, states
from sessions.models.sessions import ApprovalRequest, RecordedState, Snapshot
from sessions.privacy import commands, pruning
from sessions.privacy import erasure as erasing
from sessions.privacy import queries as privacy
from sessions.privacy.stores import STORES
from sessions.web import rebuild
from tests import cast
from tests.shell.api_world import Api, problem
from tests.shell.attack_world import Superuser
from tests.shell.bank_world import kinds, opened, say, work
from tests.shell.erasure_world import approved, kid_of
from tests.shell.test_export import export
from tests.shell.test_first_transfer import asks_for_a_transfer, pending

pytestmark = pytest.mark.django_db(transaction=True, databases=["default", "erase"])
LIVE = Schedule((Class("month", 30),), (Rule("month"),))
OLD, NEW = "I moved to 12 Quokka Lane.", "The parcel has come."
AGED = 3  # entries: it is opened, what it speaks of is declared, and OLD


class Calendar:
    """What day it is for whoever writes entries and for whoever prunes."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self._days = -40
        monkeypatch.setattr(commit, "now", self.now)
        monkeypatch.setattr(pruning, "now", self.now)

    def now(self):
        return now() + timedelta(days=self._days)

    def passes(self, days: int) -> None:
        self._days += days


@pytest.fixture
def calendar(monkeypatch) -> Calendar:
    retention.put(cast.tenant().pk, LIVE, "system")
    return Calendar(monkeypatch)


@pytest.fixture
def session(calendar) -> UUID:
    """Spoken in forty days ago, and just now."""
    made = opened()
    conversation_commands.say(cast.cleo(), made, OLD)
    calendar.passes(40)
    conversation_commands.say(cast.cleo(), made, NEW)
    return made


def prune() -> int:
    return pruning.prune_due(cast.tenant().pk)


def payloads(session: UUID) -> list[int]:
    rows = ledger.run("SELECT seq FROM audit_payload WHERE log = %(log)s ORDER BY seq", {"log": session})
    return [seq for (seq,) in rows]


def folded(session: UUID) -> bytes:
    """The state, with nothing remembered."""
    Snapshot.objects.filter(pk=session).delete()
    states.forget_all()
    return to_snapshot(states.load(session).state)


def test_what_is_older_than_the_term_goes_and_the_session_goes_on_as_it_was(session):
    size, before = len(kinds(session)), states.load(session).state
    assert prune() == 1
    assert kinds(session)[size:] == ["snapshot.recorded", "payload.pruned"]
    assert payloads(session) == list(range(AGED, size + 2))
    assert to_snapshot(states.load(session).state) == folded(session)
    assert states.load(session).state.items == before.items
    assert rebuild.check(session) == []
    conversation_commands.say(cast.cleo(), session, "And on.")
    assert [item.text for item in states.load(session).state.items if item.text][-2:] == [NEW, "And on."]
    assert rebuild.check(session) == []


def test_every_state_behind_the_recorded_one_can_be_had_and_none_before_it(session):
    wanted = {seq: to_snapshot(states.as_of(session, seq)) for seq in range(1, len(kinds(session)) + 1)}
    prune()
    states.forget_all()
    Snapshot.objects.filter(pk=session).delete()
    assert to_snapshot(states.fold_all(session, AGED)) == wanted[AGED]
    for seq in range(AGED, len(wanted) + 1):
        assert to_snapshot(states.as_of(session, seq)) == wanted[seq]
    with pytest.raises(ledger.Pruned):
        states.as_of(session, AGED - 1)


def test_it_is_done_once_a_day_at_most_and_a_session_at_rest_is_not_pruned_of_its_tombstones(session, calendar):
    assert (prune(), prune()) == (1, 0)
    calendar.passes(40)
    assert prune() == 1
    assert kinds(session).count("payload.pruned") == 2
    assert list(RecordedState.objects.values_list("session", "upto")) == [(session, recorded.upto(session))]
    calendar.passes(400)
    assert prune() == 0
    assert rebuild.check(session) == []


def test_readers_of_old_entries_are_told_in_words(session):
    prune()
    alice, browser = Api(cast.alice()), cast.browser(cast.alice())
    lines = entry_lines.entries(cast.alice(), session)
    assert [line.data is None for line in lines[: AGED + 1]] == [True] * AGED + [False]
    page = browser.get(f"/sessions/{session}/")
    assert page.status_code == 200
    assert NEW in page.content.decode()
    audit = browser.get(f"/sessions/{session}/audit/").content.decode()
    assert "erased with its subject, or pruned" in audit
    assert "State recorded" in audit
    problem(alice.get(f"/sessions/{session}/diff?from=1"), 410, "pruned")
    problem(alice.post(f"/sessions/{session}/replay", {}), 410, "pruned")
    for name in ("", "audit/", "memory/", "versions/", "state/", "plan/", "charts/", "shared/", "steps/"):
        assert browser.get(f"/sessions/{session}/{name}").status_code in (200, 404, 410), name


def test_a_request_that_waits_outlives_the_pruning_and_one_that_ended_before_it_has_no_words(
    bank, calendar, monkeypatch
):
    monkeypatch.setattr(calls, "KEPT_CALLS", 1)  # the state lets go of what ended, of all but the last
    calendar.passes(40)  # workers go by the real clock
    session, ended = asks_for_a_transfer(), asks_for_a_transfer()
    waiting, over = pending(session).id, pending(ended).id
    approvals_commands.decide(cast.alice(), over, approvals_commands.Decision("reject", reason="not today"))
    work()
    say(ended, "I want to move $1,300.00 from savings to checking.")
    say(ended, "Yes, that is right.")
    approvals_commands.decide(
        cast.alice(), pending(ended).id, approvals_commands.Decision("reject", reason="not today")
    )
    work()
    card = bytes(ApprovalRequest.objects.get(pk=waiting).card)
    calendar.passes(40)
    assert prune() == 2
    assert [rebuild.check(each) for each in (session, ended)] == [[], []]
    assert bytes(ApprovalRequest.objects.get(pk=waiting).card) == card
    assert bytes(ApprovalRequest.objects.get(pk=over).card) == b""
    assert cast.browser(cast.alice()).get(f"/decisions/{over}/").status_code == 410
    assert folded(session)
    calendar.passes(-40)
    approvals_commands.decide(cast.alice(), waiting, approvals_commands.Decision("approve", reason=""))
    for each in (session, ended):
        rebuild.rebuild(each)
        assert rebuild.check(each) == []


POINTS = ("after_pruning_entry", "after_pruning")


@pytest.mark.parametrize("point", POINTS)
def test_who_was_killed_is_followed_by_a_run_that_goes_on(point, session):
    connections.close_all()
    if (pid := os.fork()) == 0:
        os.environ["CRASH_AT"] = point
        try:
            prune()
        finally:
            os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == -9
    assert rebuild.check(session) == []
    prune()
    assert kinds(session).count("payload.pruned") == 1
    assert payloads(session)[0] == AGED
    assert rebuild.check(session) == []


@pytest.mark.parametrize(
    "lie",
    [
        "DELETE FROM agent_sessions_recordedstate",
        "UPDATE agent_sessions_recordedstate SET sealed = set_byte(sealed, 40, get_byte(sealed, 40) # 1)",
        "UPDATE agent_sessions_recordedstate SET upto = upto - 1",
        "UPDATE agent_sessions_recordedstate SET entry = entry + 1",
    ],
)
def test_a_recorded_state_that_was_altered_or_taken_away_stands_for_nothing(lie, session, test_database):
    prune()
    Superuser(test_database).run(lie)
    Snapshot.objects.filter(pk=session).delete()
    states.forget_all()
    with pytest.raises(recorded.Lost):
        states.load(session)
    (found,) = rebuild.check(session)
    assert found.what == "entries"
    assert "recorded" in found.got or "digest" in found.got or "gone" in found.got


def test_the_state_of_another_session_cannot_stand_in(session, calendar, test_database):
    other = opened("C-1002")
    conversation_commands.say(cast.cleo(), other, OLD)
    calendar.passes(40)
    prune()
    assert RecordedState.objects.count() == 2
    Superuser(test_database).run(
        "UPDATE agent_sessions_recordedstate a SET sealed = b.sealed FROM agent_sessions_recordedstate b"
        " WHERE a.session <> b.session"
    )
    Snapshot.objects.all().delete()
    states.forget_all()
    for each in (session, other):
        with pytest.raises(recorded.Lost):
            states.load(each)


def test_while_its_entries_are_there_a_recorded_state_is_checked_against_them(session, monkeypatch):
    monkeypatch.setattr(pruning, "_history_gone", lambda *_: None)  # killed before it deletes
    as_of = states.as_of
    monkeypatch.setattr(states, "as_of", lambda log, seq: replace(as_of(log, seq), failure="a lie"))
    prune()
    assert [each.what for each in rebuild.check(session)] == [f"recorded state at {AGED}"]


def test_an_erasure_takes_the_recorded_state(session, at_once):
    prune()
    kid = kid_of(session)
    (store,) = (each for each in STORES if each.name == "recorded")
    assert store.count(kid) == 1
    approved()
    erasing.carry_out_due()
    assert store.count(kid) == 0
    states.forget_all()
    with pytest.raises(keys.Erased):
        states.load(session)


def test_what_is_under_a_legal_hold_stays(session):
    hold = commands.set_hold(cast.petra(), session=session, whole=False, reason="a case at court")
    assert [(each.session, each.held) for each in privacy.pruning_due(cast.petra())] == [(session, True)]
    assert prune() == 0
    commands.lift_hold(cast.petra(), hold.pk)
    assert prune() == 1


def test_when_it_ends_at_last_the_rest_goes_too(session, calendar, tmp_path):
    prune()
    conversation_commands.end(cast.cleo(), session, "hung up")
    calendar.passes(31)
    assert prune() == 1
    assert not RecordedState.objects.exists()
    states.forget_all()
    with pytest.raises(ledger.Pruned):
        states.load(session)
    assert rebuild.check(session) == []


def test_an_export_verifies_and_counts_them_apart(session, tmp_path):
    prune()
    out = export(session, tmp_path)
    verdict = verify.verify(out, out.with_name(f"{out.name}.vkey").read_text().strip())
    assert verdict.ok, verdict.failures
    assert (verdict.counts["pruned"], verdict.counts["erased"]) == (AGED, 0)


def test_a_dry_run_says_what_would_go(session):
    out = StringIO()
    call_command("retention", "dry-run", stdout=out)
    assert "goes on, its first 3 entries" in out.getvalue()
    assert "3 payloads of 1 sessions would go" in out.getvalue()
    answer = Api(cast.petra()).get("/retention/due").json()["sessions"]
    assert [(each["ended_at"], each["upto"], each["others"]) for each in answer] == [(None, AGED, False)]
    assert "Active; first 3" in cast.browser(cast.petra()).get("/privacy/retention/").content.decode()
