"""What pages, health and alerts say of a disk; a real full one is in tests/attacks/test_disks.py."""

from __future__ import annotations

from pathlib import Path

import pytest
from django.test import Client

from agentstate.disks import FileSystem
from sessions.automation.alerts import disk_space
from sessions.models.alerts import Alert
from tests import cast

pytestmark = pytest.mark.django_db(transaction=True)
GB = 10**9
ROOMY, LOW, FULL = (FileSystem(Path("/data"), 100 * GB, free) for free in (50 * GB, 4 * GB, 0))
FEW_FILES = FileSystem(Path("/data"), 100 * GB, 50 * GB, 20_000, 3)


@pytest.fixture
def disk(monkeypatch: pytest.MonkeyPatch):
    """Sets the only disk that is found."""

    def put(found: FileSystem) -> None:
        monkeypatch.setattr(disk_space, "file_systems", lambda paths: [found])

    put(ROOMY)
    return put


def standing() -> list[tuple[str, str]]:
    alerts = Alert.objects.filter(name="disk-low").exclude(state="closed")
    return sorted(alerts.values_list("team__slug", "about"))


def test_each_team_is_alerted_once_and_no_more_when_there_is_space(disk):
    cast.alice()
    disk_space.look()
    assert standing() == []
    disk(LOW)
    disk_space.look()
    disk_space.look()
    found = standing()
    assert found
    assert {about for _, about in found} == {"/data"}
    assert len({team for team, _ in found}) == len(found)
    assert set(Alert.objects.filter(name="disk-low").values_list("hits", flat=True)) == {1}
    disk(ROOMY)
    disk_space.look()
    assert standing() == []
    assert set(Alert.objects.filter(name="disk-low").values_list("cause", flat=True)) == {"space_again"}


def test_health_names_a_low_disk_and_fails_for_a_full_one_alone(disk):
    for found, low, well in ((ROOMY, [], True), (LOW, [str(LOW)], True), (FULL, [str(FULL)], False),
                             (FEW_FILES, ["/data (50,000 of 100,000 MB free, 3 of 20,000 files)"], False)):  # fmt: skip
        disk(found)
        told = Client().get("/healthz").json()
        assert (told["disks_low"], told["disk"]) == (low, well)


def test_admins_read_which_disk_it_is_on_every_page_and_others_do_not(disk):
    disk(FULL)
    page = cast.browser(cast.adam()).get("/sessions/").content.decode()
    assert "A disk is full." in page
    assert "/data (0 of 100,000 MB free)" in page
    disk(LOW)
    assert "A disk is nearly full." in cast.browser(cast.adam()).get("/sessions/").content.decode()
    assert "nearly full" not in cast.browser(cast.alice()).get("/sessions/").content.decode()


def test_the_page_of_ledger_health_lists_every_disk(disk):
    for found, text in (
        (ROOMY, "46.6\xa0GB of 93.1\xa0GB free"),
        (FULL, "Full"),
        (FEW_FILES, "3 of 20000 files"),
    ):
        disk(found)
        page = cast.browser(cast.adam()).get("/audit/downtimes/").content.decode()
        assert "/data" in page
        assert text in page
