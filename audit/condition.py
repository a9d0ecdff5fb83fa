"""How the ledger is kept up, for whoever looks after the installation: sequencer, signer, waiting heads, witnesses.

Only reads. `audit.sequencer_leader` writes what the signer refuses in the row of the log, so that a page learns of it
without asking the signer.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from django.conf import settings

from audit import signer, witnesses
from audit.ledger import run
from audit.sequencer_leader import ALTERED, UNSIGNED
from audit.signing.reports import WAITS

MOST = 10_000  # waiting heads that are counted
PERIODS = 3  # of republishing, after which the newest signed head is old


@dataclass(frozen=True, slots=True)
class Trouble:
    """What is wrong, in words: what happened, what that means, what to do."""

    code: str
    title: str
    detail: str
    remedy: str
    since: datetime | None = None


@dataclass(frozen=True, slots=True)
class WitnessSeen:
    """A configured witness, and its newest cosignature; None: none yet."""

    name: str
    at: datetime | None


@dataclass(frozen=True, slots=True)
class Condition:
    """As of `read_at` (PostgreSQL's clock): the newest signed head, the heads that wait (at most MOST are counted) and
    since when the first of them does, when the sequencer last said that it runs, and what it could not do.
    """

    read_at: datetime
    size: int
    signed_at: datetime | None
    alive_at: datetime | None
    waiting: int
    waiting_since: datetime | None
    trouble: str
    trouble_detail: str
    trouble_at: datetime | None

    @property
    def sequencing(self) -> bool:
        """Whether a sequencer said lately that it runs."""
        return self.alive_at is not None and self._age(self.alive_at) <= settings.GAP_SECONDS

    @property
    def lag(self) -> float:
        """Seconds that the first of the waiting heads has waited."""
        return self._age(self.waiting_since) if self.waiting_since else 0.0

    @property
    def signed_age(self) -> float | None:
        """Seconds since the newest head was signed."""
        return self._age(self.signed_at) if self.signed_at else None

    @property
    def told(self) -> Trouble | None:
        """What is wrong, if something is. That no sequencer has ever run here is no trouble until heads wait."""
        if self.trouble and self.sequencing:
            return _TOLD[self.trouble](self.trouble_detail, self.trouble_at)
        if not self.sequencing and (self.alive_at is not None or self.lag > settings.GAP_SECONDS):
            return _no_sequencer("", self.alive_at)
        if self.lag > settings.GAP_SECONDS * PERIODS:
            return _slow("", self.waiting_since)
        return None

    @property
    def well(self) -> bool:
        """Whether heads are sequenced and signed as they should be."""
        fresh = self.signed_age is None or self.signed_age <= settings.REPUBLISH_EVERY * PERIODS
        return self.sequencing and fresh and self.told is None

    def _age(self, at: datetime) -> float:
        return max(0.0, (self.read_at - at).total_seconds())


def _refused(detail: str, since: datetime | None) -> Trouble:
    return Trouble(
        "head_refused",
        "The ledger was cut off, altered or restored from a backup, and the signer refuses to sign it.",
        f"{detail} Sessions go on; nothing they write is signed from here on.".strip(),
        "Bring back the newest database. Compare it with the last export and with its backups.",
        since,
    )


def _no_signer(_detail: str, since: datetime | None) -> Trouble:
    return Trouble(
        "signer_down",
        "The signer does not answer.",
        "Sessions go on; their heads wait for its signature and none is lost.",
        "manage.py up starts it again by itself; elsewhere start manage.py signer and read its log.",
        since,
    )


def _altered(detail: str, since: datetime | None) -> Trouble:
    return Trouble(
        ALTERED,
        "Somebody altered or cut off the head of a log in the database.",
        f"It is left out of the global log: {detail}. All other logs go on.",
        "Compare these logs with their last exports and with backups.",
        since,
    )


def _unsigned(detail: str, since: datetime | None) -> Trouble:
    return Trouble(
        UNSIGNED,
        "A decision was recorded, and its entry is not signed.",
        f"Somebody keeps it out of the signature or took it back in the database: {detail}. All other logs go on.",
        "Export these sessions, and compare them with their last exports and with backups. Once you know what became of"
        " the decision, end this with manage.py dismiss-report.",
        since,
    )


def _bad_memory(detail: str, since: datetime | None) -> Trouble:
    return Trouble(
        "bad_signer_memory",
        "The signer cannot read or write its memory, and signs nothing.",
        f"{detail} Sessions go on; their heads wait for its signature and none is lost.".strip(),
        "Look whether the disk of the state directory is full. Else restore its folder signer from the newest backup.",
        since,
    )


def _no_sequencer(_detail: str, since: datetime | None) -> Trouble:
    return Trouble(
        "sequencer_down",
        "No sequencer runs.",
        "Sessions go on; their heads wait to be signed and none is lost.",
        "manage.py up starts it again by itself; elsewhere start manage.py sequence and read its log.",
        since,
    )


def _log_altered(detail: str, since: datetime | None) -> Trouble:
    return Trouble(
        "global_log_altered",
        "Somebody altered the global log in the database.",
        f"{detail} Sessions go on; nothing is put into the log from here on.".strip(),
        "Compare the database with its backups. A head map alone is made anew by manage.py headmap --rebuild.",
        since,
    )


def _slow(_detail: str, since: datetime | None) -> Trouble:
    return Trouble(
        "sequencer_slow",
        "Heads wait longer than they should for their signature.",
        "Sessions go on, and none of their heads is lost.",
        "Look for a transaction that has been open for long, and at the load of the database.",
        since,
    )


_TOLD = {
    "head_refused": _refused,
    "signer_down": _no_signer,
    "unsettled": _slow,
    "bad_signer_memory": _bad_memory,
    ALTERED: _altered,
    UNSIGNED: _unsigned,
    "global_log_altered": _log_altered,
}

#: The troubles that say that somebody altered the database, with their titles. More people are told of them.
TITLES = {code: _TOLD[code]("", None).title for code in ("head_refused", ALTERED, UNSIGNED, "global_log_altered")}
TAMPERED = tuple(TITLES)

# A log that is written to all the time is never marked clean: it waits for what came after its newest place, alone.
_READ = """
SELECT clock_timestamp(), coalesce(g.size, 0),
  (SELECT h.signed_at FROM audit_signedhead h WHERE h.tenant = asked.tenant
    ORDER BY h.size DESC, h.signed_at DESC LIMIT 1),
  g.alive_at,
  waits.heads, waits.since,
  coalesce(g.trouble, ''), coalesce(g.trouble_detail, ''), g.trouble_at
  FROM (VALUES (%(tenant)s::uuid)) AS asked(tenant) LEFT JOIN audit_gstate g USING (tenant),
  LATERAL (SELECT count(*) AS heads, min(each.since) AS since FROM (
    SELECT greatest(d.dirty_since, p.at) AS since FROM audit_head d LEFT JOIN audit_place p ON p.log = d.log
    WHERE d.tenant = asked.tenant AND d.dirty_since IS NOT NULL AND (d.size IS DISTINCT FROM p.size OR p."index" >=
      (SELECT coalesce(max(h.size), 0) FROM audit_signedhead h WHERE h.tenant = asked.tenant))
    ORDER BY d.dirty_since LIMIT %(most)s) AS each) AS waits"""


def read(tenant: UUID) -> Condition:
    """The condition of one tenant's log. One statement; it asks neither signer nor witnesses."""
    return Condition(*run(_READ, {"tenant": tenant, "most": MOST})[0])


def witnesses_seen(tenant: UUID) -> list[WitnessSeen]:
    """Every configured witness with its newest cosignature."""
    names = [each.key.name for each in witnesses.configured()]
    rows = run(
        "SELECT asked.name, (SELECT c.at FROM audit_cosignature c WHERE c.tenant = %(tenant)s AND c.name = asked.name"
        " ORDER BY c.at DESC LIMIT 1) FROM unnest(%(names)s::text[]) WITH ORDINALITY AS asked(name, number)"
        " ORDER BY asked.number",
        {"tenant": tenant, "names": names},
    )
    return [WitnessSeen(*row) for row in rows]


@dataclass(frozen=True, slots=True)
class SignerSeen:
    """Whether the signer's process answers, and what it says that the database may hide: the logs of which it refuses
    the newest head, and those with a decision that was reported to it and is not signed after WAITS seconds.
    """

    answers: bool
    refused: tuple[UUID, ...] = ()
    unsigned: tuple[UUID, ...] = ()

    @property
    def trouble(self) -> str:
        """The code of what is wrong; empty: nothing is."""
        if not self.answers:
            return "signer_down"
        return ALTERED if self.refused else UNSIGNED if self.unsigned else ""


def signer_seen() -> SignerSeen:
    """What the signer's process says now."""
    try:
        known = signer.known()
    except (signer.SignerDown, signer.BadLogKey, signer.BadMemory):
        return SignerSeen(False)
    unsigned = tuple(dict.fromkeys(each.log for each in known.reported if each.seconds > WAITS))
    return SignerSeen(True, tuple(known.refused), unsigned)
