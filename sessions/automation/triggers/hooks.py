"""Webhooks in: a signed message is taken in once by its id, and acted on by its trigger like anything else."""

from __future__ import annotations

from collections.abc import Mapping
from uuid import UUID

import msgspec

from agentstate.errors import Refused
from audit.server_clock import now
from sessions.automation.triggers import intake
from sessions.automation.triggers.intake import Happened, QueueFull
from sessions.automation.triggers.repository import version_of
from sessions.http import strict_json
from sessions.models.triggers import Trigger, TriggerFiring
from sessions.outside import secrets, signature
from sessions.outside.refusals import NotReached
from sessions.outside.signature import BadSecret, NotGenuine

MAX_BODY = 262_144  # bytes
HEADERS = ("webhook-id", "webhook-timestamp", "webhook-signature")


class HookOff(Refused):
    """This webhook is switched off."""

    code = "webhook_off"


class HookUnusable(Refused):
    """The secret of this webhook cannot be used; its operator must see to it."""

    code = "webhook_unusable"
    status = 503


class Taken(msgspec.Struct, frozen=True):
    """What became of a message: the firing's id, and whether it was here before."""

    firing: UUID
    repeated: bool


def take_in(hook: str, headers: Mapping[str, str], body: bytes) -> Taken:
    """A message to the webhook of that id. Raises NotGenuine (also for a webhook that is unknown), HookOff,
    HookUnusable, QueueFull, strict_json.BadJson.
    """
    trigger = _trigger(hook)
    wanted = version_of(trigger.pk, trigger.version).on.hook
    assert wanted is not None
    given = {name: headers.get(name, "") for name in HEADERS}
    message = signature.check(_keys(wanted.secret), given, body, now().timestamp())
    if not trigger.on:
        raise HookOff()
    event = {"id": message, "at": given["webhook-timestamp"], "body": strict_json.loads(body)}
    firing = intake.firing_id(trigger.pk, f"hook:{message}")
    if TriggerFiring.objects.filter(pk=firing).exists():
        return Taken(firing, repeated=True)
    if not intake.room(trigger.pk):
        raise QueueFull()
    return Taken(firing, repeated=not intake.take_in(trigger, [Happened(f"hook:{message}", event)]))


def _trigger(hook: str) -> Trigger:
    try:
        found = Trigger.objects.filter(pk=UUID(hook), source="hook").first()
    except ValueError:
        found = None
    if found is None:
        raise NotGenuine()
    return found


def _keys(secret: str) -> list[bytes]:
    """The keys of a secret: a new one may stand beside the old, with a space between."""
    try:
        return [signature.secret_bytes(each) for each in secrets.named(secret).reveal().split()]
    except (BadSecret, NotReached):
        raise HookUnusable() from None
