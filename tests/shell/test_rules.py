"""The store of rules: every kind is named, versioned, switched, limited and recorded by the same laws."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple
from uuid import uuid4

import pytest

from sessions.automation.alerts import repository as alerts
from sessions.automation.notifications import endpoints
from sessions.automation.notifications import repository as notifications
from sessions.automation.rules.store import RuleStore
from sessions.automation.triggers import repository as triggers
from sessions.library.versions import ChangedMeanwhile
from tests import cast
from tests.shell.erasure_world import entries_of_staff

pytestmark = pytest.mark.django_db


class Kind(NamedTuple):
    store: RuleStore[Any]
    data: Any
    other: Any
    event: str
    scope: Mapping[str, str] = {}


OPENS = {"open": {"agent": "bank", "customer": "'C-1001'"}}
KINDS = {
    "trigger": Kind(
        triggers.STORE,
        {"on": {"schedule": {"every": 3600}}, "do": OPENS},
        {"on": {"schedule": {"every": 600}}, "do": OPENS},
        "trigger",
    ),
    "alert rule": Kind(
        alerts.STORE, {"on": {"silence": {"seconds": 60}}}, {"on": {"loop": {}}}, "alert_rule", {"what": "rule"}
    ),
    "target": Kind(
        alerts.STORE,
        {"what": "resolution", "seconds": 60},
        {"what": "decide", "seconds": 60},
        "alert_target",
        {"what": "target"},
    ),
    "notification rule": Kind(
        notifications.STORE,
        {"on": {"kinds": ["approval.requested"]}, "steps": [{"to": ["owner"]}]},
        {"on": {"kinds": ["tool.failed"]}, "steps": [{"to": ["owner"]}]},
        "notice_rule",
    ),
    "endpoint": Kind(
        endpoints.STORE,
        {"url": "https://example.com/a", "secret": "hook"},
        {"url": "https://example.com/b", "secret": "hook"},
        "notice_endpoint",
    ),
}
VERSIONED = [name for name in KINDS if name != "endpoint"]


def keep(kind: Kind, data: Any, *, seen: int = 0, name: str = "own-rule") -> Any:
    team = cast.retail()
    return kind.store.keep(team.tenant_id, team.pk, cast.adam().actor, name, data, seen=seen, **kind.scope)


@pytest.mark.parametrize("name", KINDS)
def test_each_change_is_a_version_and_its_author_names_the_one_before(name):
    kind = KINDS[name]
    first = keep(kind, kind.data)
    for seen in (0, 2):
        with pytest.raises(ChangedMeanwhile):
            keep(kind, kind.other, seen=seen)
    second = keep(kind, kind.other, seen=1)
    assert (first.pk, first.version, second.version) == (second.pk, 1, 2)
    assert [entry["version"] for entry in entries_of_staff(f"{kind.event}.changed")] == [1, 2]


@pytest.mark.parametrize("name", VERSIONED)
def test_the_history_holds_every_version_newest_first(name):
    kind = KINDS[name]
    row = keep(kind, kind.data)
    keep(kind, kind.other, seen=1)
    lines = kind.store.history(row.pk)
    assert [(line.version, line.by) for line in lines] == [(2, cast.adam().actor), (1, cast.adam().actor)]
    assert lines[1].definition == kind.store.definition(row.pk, 1) != lines[0].definition
    row.refresh_from_db()
    assert kind.store.definitions([row]) == {row.pk: lines[0].definition}


@pytest.mark.parametrize("name", KINDS)
def test_a_switch_is_recorded_once_and_a_change_leaves_it_as_it_was(name):
    kind = KINDS[name]
    row = keep(kind, kind.data)
    assert [kind.store.switch(row.pk, on, cast.adam().actor) for on in (True, False, False)] == [False, True, False]
    assert keep(kind, kind.other, seen=1).on is (name == "endpoint")  # whoever changes an endpoint has repaired it
    kind.store.switch(row.pk, True, cast.adam().actor)
    assert len(entries_of_staff(f"{kind.event}.switched_off")) == 1


@pytest.mark.parametrize("name", VERSIONED)
def test_what_happened_before_a_rule_was_switched_on_is_none_of_its_business(name):
    kind = KINDS[name]
    row = keep(kind, kind.data)
    kept = row.since
    kind.store.switch(row.pk, False, cast.adam().actor)
    kind.store.switch(row.pk, True, cast.adam().actor)
    row.refresh_from_db()
    assert row.since > kept


@pytest.mark.parametrize("name", KINDS)
def test_a_team_has_no_more_rules_of_a_kind_than_it_may(name, monkeypatch):
    kind = KINDS[name]
    keep(kind, kind.data)
    monkeypatch.setattr(type(kind.store), "limit", lambda *_, **__: 1)
    with pytest.raises(kind.store.too_many):
        keep(kind, kind.data, name="another")
    assert keep(kind, kind.other, seen=1).version == 2


@pytest.mark.parametrize("name", KINDS)
def test_a_rule_that_is_not_there_is_refused_by_name(name):
    store = KINDS[name].store
    with pytest.raises(store.unknown):
        store.switch(uuid4(), True, cast.adam().actor)


def test_a_calendar_that_a_target_is_measured_by_stays_on():
    calendar = {"zone": "UTC", "week": {"1": [["09:00", "17:00"]]}}
    team, adam = cast.retail(), cast.adam().actor
    row = alerts.keep(team.tenant_id, team.pk, adam, "calendar", "office", calendar)
    target = {"what": "resolution", "seconds": 60, "calendar": "office"}
    measured = alerts.keep(team.tenant_id, team.pk, adam, "target", "quick", target)
    with pytest.raises(alerts.InUse, match="quick"):
        alerts.switch(row.pk, False, adam)
    alerts.switch(measured.pk, False, adam)
    assert alerts.switch(row.pk, False, adam)
