"""What the signer refuses, and what can be wrong with it."""

from __future__ import annotations

from agentstate.errors import Broken, Refused


class HeadRefused(Broken):
    """The signer refuses this head: the ledger was cut off, altered or restored from a backup."""

    code = "head_refused"
    remedy = "Compare the database with the last export and with its backups. Sessions go on; nothing is signed."


class BadLogKey(Broken):
    """The log key cannot be used."""

    code = "bad_log_key"


class BadMemory(Broken):
    """The signer's memory cannot be read, so it signs nothing."""

    code = "bad_signer_memory"
    remedy = "Restore the state directory's folder `signer` from its newest backup."


class NotSigned(Refused):
    """The signer does not sign this."""

    code = "not_signed"


class AlreadySigning(Refused):
    """Another process signs with this memory."""

    code = "already_signing"


class SignerDown(Broken):
    """The signer does not answer. Sessions go on; heads wait until it does."""

    code = "signer_down"
    status = 503
    remedy = "`manage.py up` runs it; elsewhere start `manage.py signer`."


BY_CODE = {error.code: error for error in (HeadRefused, BadLogKey, BadMemory, NotSigned)}
