"""What every process that serves or signs asks before it begins: settings that work, and a secret key."""

from __future__ import annotations

import logging
import sys

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured

from agentstate.database_roles import database_roles
from agentstate.errors import Refused
from agentstate.secret_key import NoSecretKey

log = logging.getLogger(__name__)


def configured_or_leave() -> None:
    """Reads the settings. Ends the process with one line when one of them cannot work."""
    try:
        settings.STATE_DIR  # noqa: B018 - the first look at any setting reads them all
    except Refused as refused:
        sys.exit(str(refused))


def able_to_sign_or_leave() -> None:
    """The same, and ends it too when there is no secret key. Logs what the database roles do not refuse here."""
    configured_or_leave()
    if no_key := missing_key():
        sys.exit(str(no_key))
    for warning in database_roles().warnings:
        log.warning(warning)


def missing_key() -> NoSecretKey | None:
    """The refusal of a process without a secret key; None where there is one."""
    try:
        settings.SECRET_KEY  # noqa: B018 - Django raises where it is empty
    except ImproperlyConfigured:
        return NoSecretKey.at(settings.STATE_DIR)
    return None
