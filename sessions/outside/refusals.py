"""Why something outside was not reached, or its answer not taken: each by a name, in words that hold no value."""

from __future__ import annotations

from typing import ClassVar


class NotReached(Exception):
    """It was not reached."""

    code: ClassVar[str] = "not_reached"
    transient: ClassVar[bool] = False

    def __init__(self, detail: str = "") -> None:
        self.detail = detail
        super().__init__(f"{(type(self).__doc__ or '').strip()} {detail}".strip())


class HostRefused(NotReached):
    """This host is not among those that may be called."""

    code = "host_refused"


class AddressRefused(NotReached):
    """The host's address is private or of a special kind, and nobody allowed it."""

    code = "address_refused"


class NoSuchHost(NotReached):
    """The host's name leads nowhere."""

    code = "no_such_host"
    transient = True


class NoConnection(NotReached):
    """It does not answer."""

    code = "no_connection"
    transient = True


class NotTrusted(NotReached):
    """Its certificate is not to be trusted."""

    code = "not_trusted"


class TooSlow(NotReached):
    """It took too long."""

    code = "too_slow"
    transient = True


class Cancelled(NotReached):
    """Nobody waited for the answer any more, so the connection was cut."""

    code = "cancelled"
    transient = True


class TooLarge(NotReached):
    """The answer is larger than allowed."""

    code = "too_large"


class NoHttp(NotReached):
    """What it answers is no HTTP."""

    code = "no_http"


class Redirected(NotReached):
    """It sent us elsewhere, and we do not follow."""

    code = "redirected"


class Encoded(NotReached):
    """The answer is compressed, which was not asked for."""

    code = "encoded"


class WrongType(NotReached):
    """The answer is of another content type."""

    code = "wrong_content_type"


class NotText(NotReached):
    """The answer is not UTF-8."""

    code = "not_utf8"


class NotJson(NotReached):
    """The answer is no JSON."""

    code = "not_json"


class TooDeep(NotReached):
    """The answer is nested deeper, or in more parts, than allowed."""

    code = "too_deep"


class RepeatsSecret(NotReached):
    """The answer repeats a secret that was sent, so it is kept nowhere."""

    code = "repeats_secret"
