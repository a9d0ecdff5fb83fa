"""Space on the disks that this installation writes to: what pages, health checks and alerts say of it."""

from __future__ import annotations

from django.conf import settings

from agentstate.disks import FileSystem, file_systems
from agentstate.people.models import Team
from audit.condition import Trouble
from sessions.events import team_alerts
from sessions.events.team_alerts import TeamAlert
from sessions.models.alerts import Alert

ALERT = "disk-low"


def all_disks() -> list[FileSystem]:
    """Every file system below the state directory."""
    return file_systems(settings.STACK.data_dirs)


def low_disks() -> list[FileSystem]:
    """Those of which less than 5 % is free."""
    return [each for each in all_disks() if each.is_low]


def trouble() -> Trouble | None:
    """What is wrong with the disks, in words; None: nothing."""
    low = low_disks()
    if not low:
        return None
    full = [each for each in low if each.is_full]
    named = ", ".join(map(str, full or low))
    if full:
        title, means = "A disk is full.", "Nothing new can be saved there, and programs that fail are restarted."
    else:
        title, means = "A disk is nearly full.", "When it is full, nothing new can be saved."
    remedy = "Free space there. Everything continues by itself, and nothing that was saved is lost."
    return Trouble("disk_full" if full else "disk_low", title, f"{named}. {means}", remedy)


def look() -> None:
    """Raises an alert of each team for a disk that is low, once, and closes it when there is space again."""
    low = {str(each.mount)[: team_alerts.LONGEST_KEY] for each in low_disks()}
    standing = Alert.objects.filter(name=ALERT, session=None).exclude(state=Alert.Standing.CLOSED)
    raised = set(standing.values_list("team_id", "about"))
    for team, tenant in Team.objects.values_list("pk", "tenant_id"):
        for mount in sorted(low):
            if (team, mount) not in raised:
                team_alerts.raise_for_team(tenant, team, TeamAlert(ALERT, mount, "critical", "disk_low"))
    for team, mount in raised:
        if mount not in low:
            team_alerts.close_of_team(team, ALERT, mount, "space_again")
