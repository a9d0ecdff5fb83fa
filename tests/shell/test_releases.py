"""Folders of the library propose: first start, change, approval, restart, and files that cannot be used."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from io import StringIO
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command
from django.db import DatabaseError, connection, transaction
from django.urls import reverse

from agentstate.people.commands import grant_role
from agentstate.people.models import Team
from agentstate.people.permissions import PermissionDenied
from agentstate.people.roles import Role
from sessions.agents import registry
from sessions.agents.registry import Agent
from sessions.library import charts, folders, in_force, policies, state_schemas
from sessions.models.library import LibraryVersion
from sessions.models.proposals import Proposal
from sessions.proposals import commands as answers
from sessions.releases import commands
from sessions.releases.proposal import LibraryChanged
from tests import cast

pytestmark = pytest.mark.django_db

RULE = {"name": "any", "tools": ["*"], "when": "true", "tier": 3, "gate": "approve", "why": "A person decides."}
CASES = {"cases": [{"name": "a call", "tool": "pay", "want": {"gate": "approve", "tier": 3, "rule": "any"}}]}
LENIENT = {**RULE, "tier": 1, "gate": "allow"}
ALLOWED = {"cases": [{"name": "a call", "tool": "pay", "want": {"gate": "allow", "tier": 1, "rule": "any"}}]}
SCHEMA = {"name": "desk", "version": 1, "schema": {"type": "object", "properties": {"seat": {"x-private": True}}}}
OPEN = {"name": "desk", "version": 1, "schema": {"type": "object", "properties": {"seat": {}}}}
Start = Callable[[], list[str]]


def put(folder: Path, path: str, document: object) -> None:
    (folder / path).parent.mkdir(parents=True, exist_ok=True)
    (folder / path).write_text(document if isinstance(document, str) else json.dumps(document))


def put_policy(folder: Path, version: int, rule: object = RULE, cases: object = CASES) -> None:
    put(folder, f"policies/desk/{version}.json", {"name": "desk", "version": version, "rules": [rule]})
    put(folder, f"policies/desk/{version}.cases.json", cases)


@pytest.fixture
def desk(tmp_path: Path) -> Path:
    put_policy(tmp_path, 1)
    put(tmp_path, "state_schemas/desk/1.json", SCHEMA)
    for team in (cast.retail(), *Team.objects.exclude(slug="retail")):
        grant_role(cast.adam(), team, Role.ADMIN, None)
    return tmp_path


@pytest.fixture
def start(desk: Path) -> Iterator[Start]:
    """Starts a process with the folder as it is now: reads it, records, and asks the rows what is in force."""
    for key, files in folders.proposed().items():  # what is checked at length by other tests
        in_force.add(*key, files)
    with ExitStack() as process:

        def started() -> list[str]:
            process.close()
            process.enter_context(folders.added(desk))
            process.callback(folders.use, None)
            folders.use(in_force.Rows())
            return commands.record()

        yield started


def waiting(name: str = "desk") -> list[Proposal]:
    return list(Proposal.objects.filter(state=Proposal.State.OPEN, details__name=name).order_by("at"))


def approve() -> None:
    (row,) = waiting()
    answers.answer_proposal(cast.adam(), row.pk, agrees=True)


def test_the_first_start_puts_a_folder_in_force(start: Start, desk: Path):
    told = start()
    assert f"in force: policies of desk ({desk})" in told
    held = in_force.newest()["policies", "desk"]
    assert (held.origin, held.proposal) == (str(desk), None)
    assert held.digest == folders.digest_of(folders.proposed()["policies", "desk"])
    assert in_force.newest()["policies", "airline"].origin == folders.ORIGIN
    assert policies.named("desk").reference == "desk@1"
    assert start() == []


def test_a_new_version_waits_until_it_is_approved_and_no_restart_brings_it(start: Start, desk: Path):
    start()
    put_policy(desk, 2, LENIENT, ALLOWED)
    for _ in range(3):
        start()
        assert policies.named("desk").reference == "desk@1"
        assert len(waiting()) == 1
    approve()
    assert policies.named("desk").reference == "desk@2"
    start()
    assert policies.named("desk").reference == "desk@2"
    assert in_force.newest()["policies", "desk"].proposal is not None


def test_other_bytes_under_the_same_version_wait_too(start: Start, desk: Path):
    start()
    put_policy(desk, 1, LENIENT, ALLOWED)
    start()
    assert policies.named("desk").rules[0].gate == "approve"
    approve()
    assert policies.named("desk").rules[0].gate == "allow"


def test_a_private_place_stays_private_until_the_change_is_approved(start: Start, desk: Path):
    start()
    put(desk, "state_schemas/desk/1.json", OPEN)
    start()
    assert b"x-private" in state_schemas.named("desk").current.source
    approve()
    assert b"x-private" not in state_schemas.named("desk").current.source


def test_a_model_is_kept_from_what_the_schema_in_force_declares_private(start: Start, desk: Path, monkeypatch):
    start()
    monkeypatch.setattr(registry, "_registry", dict(registry._registry))
    registry.register(Agent("desk", "Serve.", (), "desk", {}, schema="desk"))
    put(desk, "state_schemas/desk/1.json", OPEN)
    start()
    assert "state.seat" in registry.find("desk").memory.private
    approve()
    assert registry.find("desk").memory.private == ()


def test_what_was_rejected_is_neither_in_force_nor_asked_again(start: Start, desk: Path):
    start()
    put_policy(desk, 2, LENIENT, ALLOWED)
    start()
    (row,) = waiting()
    answers.answer_proposal(cast.adam(), row.pk, agrees=False, reason="Too lenient.")
    start()
    assert (waiting(), policies.named("desk").reference) == ([], "desk@1")


def test_a_change_that_the_folder_takes_back_is_no_longer_asked(start: Start, desk: Path):
    start()
    put_policy(desk, 2, LENIENT, ALLOWED)
    start()
    (desk / "policies/desk/2.json").unlink()
    (desk / "policies/desk/2.cases.json").unlink()
    start()
    assert waiting() == []
    assert Proposal.objects.get(details__name="desk").state == Proposal.State.OUTDATED


def test_an_approval_brings_nothing_where_other_files_came_first(start: Start, desk: Path):
    start()
    put_policy(desk, 2, LENIENT, ALLOWED)
    start()
    files = folders.proposed()["policies", "desk"].values()
    other = {each.path: folders.File(each.path, each.data + b" ", each.origin) for each in files}
    in_force.add("policies", "desk", other, proposal=waiting()[0].pk)
    approve()
    row = Proposal.objects.get(details__name="desk")
    assert (row.state, row.ended_why) == (Proposal.State.OUTDATED, LibraryChanged.code)


def test_files_that_are_gone_stay_in_force(start: Start, desk: Path):
    start()
    for path in (desk / "policies/desk").iterdir():
        path.unlink()
    start()
    assert policies.named("desk").reference == "desk@1"


def test_who_may_not_configure_cannot_approve(start: Start, desk: Path):
    start()
    put_policy(desk, 2, LENIENT, ALLOWED)
    start()
    (row,) = waiting()
    with pytest.raises((PermissionDenied, answers.UnknownProposal)):
        answers.answer_proposal(cast.alice(), row.pk, agrees=True)
    assert policies.named("desk").reference == "desk@1"


def test_every_team_agrees_before_it_is_in_force(start: Start, desk: Path):
    cast.cards()
    start()
    put_policy(desk, 2, LENIENT, ALLOWED)
    start()
    approve()
    assert policies.named("desk").reference == "desk@1"


@pytest.mark.parametrize(
    ("path", "document", "named"),
    [
        ("policies/desk/1.json", "{", "policies of 'desk': desk/1.json"),
        ("policies/desk/1.cases.json", {"cases": []}, "policies of 'desk': desk@1: "),
        ("charts/desk.1.json", "{", "charts of 'desk'"),
        ("state_schemas/desk/1.json", "{", "state_schemas of 'desk'"),
        ("talks/desk.json", "{", "talks of 'desk'"),
        ("profiles/desk.json", "{", "profiles of 'desk'"),
        ("prices/desk.json", "{}", "prices of 'desk': desk.json: currency"),
    ],
)
def test_a_file_that_cannot_be_used_is_refused_by_name(start: Start, desk: Path, path: str, document: object, named):
    put(desk, path, document)
    with pytest.raises(folders.BadLibrary, match=named) as refused:
        start()
    assert refused.value.detail.startswith(f"{desk}: ")
    assert "\n" not in refused.value.detail
    with pytest.raises(CommandError, match=named):
        call_command("library", "--record", stdout=StringIO())


def test_the_application_can_neither_change_nor_delete_what_was_in_force(start: Start):
    start()
    for statement in ("UPDATE {} SET digest = ''", "DELETE FROM {}"):
        with pytest.raises(DatabaseError, match="permission denied"), transaction.atomic():
            connection.cursor().execute(statement.format(LibraryVersion._meta.db_table))


def test_the_page_shows_versions_digest_origin_and_what_waits(start: Start, desk: Path):
    start()
    put_policy(desk, 2, LENIENT, ALLOWED)
    start()
    page = cast.browser(cast.alice()).get(reverse("library")).content.decode()
    held = in_force.newest()["policies", "desk"]
    assert f'title="{held.digest}"' in page
    assert re.search(rf"<td>\s*{desk.name}\s*</td>", page)
    assert reverse("proposal", args=[waiting()[0].pk]) in page
    approve()
    page = cast.browser(cast.alice()).get(reverse("library")).content.decode()
    assert "<td>1, 2</td>" in page


def test_the_command_lists_what_is_in_force(start: Start, desk: Path):
    start()
    out = StringIO()
    call_command("library", stdout=out)
    digest = in_force.newest()["policies", "desk"].digest
    assert f"policies desk: versions 1, digest {digest[:12]}, {desk}\n" in out.getvalue()


def test_charts_of_a_folder_are_there(start: Start):
    start()
    assert "bank-transfer" in charts.newest()
