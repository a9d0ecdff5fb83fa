"""What every process that serves or signs asks before it begins: settings that work, and a secret key."""

from __future__ import annotations

import sys

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured

from agentstate.errors import Refused
from agentstate.secret_key import NoSecretKey


def configured_or_leave() -> None:
    """Reads the settings. Ends the process with one line when one of them cannot work."""
    try:
        settings.STATE_DIR  # noqa: B018 - the first look at any setting reads them all
    except Refused as refused:
        sys.exit(str(refused))


def able_to_sign_or_leave() -> None:
    """The same, and ends it too when there is no secret key."""
    configured_or_leave()
    try:
        settings.SECRET_KEY  # noqa: B018 - Django raises where it is empty
    except ImproperlyConfigured:
        sys.exit(str(NoSecretKey.at(settings.STATE_DIR)))
