"""Keeps one sequencer running. Many processes may be candidates, and `agentstate.leader` elects one.

Every round of the leader compares its fencing number with the row of the log. Rounds that others run on demand carry no
number; the size that every round compares keeps them apart.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from datetime import datetime
from uuid import UUID

import psycopg
from django.conf import settings
from django.db import InterfaceError, OperationalError, connection

from agentstate.errors import AgentStateError
from agentstate.leader import Candidate, FenceRow
from audit import globallog, growth, sequencer, signer
from audit.asking import outside_parties
from audit.comparison import Comparison, comparing
from audit.ledger import run
from audit.sequencer import Deposed, Round, Unsettled
from audit.tlog.downtime import Downtime

LOCK = 0x6C6F6701  # namespace of the locks, one for each tenant
PAUSE = 0.005  # seconds between two rounds, at least
LULL = 2.0  # seconds without a changed head, and it looks for them as at rest
QUIET = 1.0  # seconds without a change, and a head that stands in the log is marked clean
TIDY = 0.25  # seconds from marking all such heads to the next look
ALTERED = "head_altered"  # the trouble that heads of single logs are left out
UNSIGNED = "decision_unsigned"  # that a decision was committed, and its head is not signed
NAMED = 5  # logs in its detail
REST = 2.0  # seconds after a round that was refused, or without a signer or a database
log = logging.getLogger("audit.sequencer")


def keep_sequencing(
    tenant_of: Callable[[], UUID | None], over: threading.Event, told: Callable[[Round], None] = lambda _: None
) -> None:
    """Run rounds whenever this process is the elected one, until `over`; each is `told`. What fails is said once and
    tried again.
    """
    said = ""
    while not over.is_set():
        try:
            tenant = tenant_of()
            if tenant is not None:
                with SequencerLeader(tenant) as leader:
                    if leader.has_lock:
                        said = ""
                        leader.serve(over, told)
        except (AgentStateError, OperationalError, InterfaceError, psycopg.Error) as error:
            connection.close()
            if str(error) != said:
                log.warning("%s", error)
            said = str(error)
        over.wait(REST)


class SequencerLeader:
    """The sequencer of a tenant, from its election until it ends or is deposed."""

    def __init__(self, tenant: UUID) -> None:
        self.tenant = tenant
        self._candidate = Candidate(LOCK, str(tenant), FenceRow("audit_gstate", "tenant", tenant))
        self._mapped = self._signed = self._tidied = time.monotonic()
        self._busy_until = 0.0
        self._seen: datetime | None = None
        self._comparison = Comparison(tenant)
        self._downtimes: list[Downtime] = []
        self._knows_downtimes = False
        self._said = ""
        self._told: tuple[str, str] | None = None  # what the row says, once we wrote it

    def __enter__(self) -> SequencerLeader:
        self._candidate.take_lock()
        return self

    def __exit__(self, *_: object) -> None:
        self._candidate.resign()

    @property
    def has_lock(self) -> bool:
        """Whether this process may serve: no other sequencer of the tenant runs."""
        return self._candidate.has_lock

    @property
    def fence(self) -> int:
        """The number of this term."""
        return self._candidate.fence

    def serve(self, over: threading.Event, told: Callable[[Round], None]) -> None:
        """Run rounds until `over` or deposed. Raises what a round raises."""
        self._begin()
        with outside_parties(self.tenant) as sealed, comparing(self._comparison):
            while not over.is_set():
                began = time.monotonic()
                done = self._tried()
                if done is None:
                    over.wait(REST)
                    continue
                told(done)
                if done.sealed:
                    sealed.set()
                over.wait(max(PAUSE, began + self._pace(done, began) - time.monotonic()))

    def _begin(self) -> None:
        sequencer.begin(self.tenant)
        term = self._candidate.elect()
        log.info("elected, number %d", term.fence)
        last = term.last_alive_at
        if last and (term.began_at - last).total_seconds() > settings.GAP_SECONDS:
            self._downtimes.append(Downtime(settings.LOG_ORIGIN, "sequencer", last, term.began_at))

    def _tried(self) -> Round | None:
        """A round; None, said once, when the signer refuses or does not answer. The term goes on meanwhile."""
        try:
            done = self._round(self._comparison.take())
        except (globallog.Altered, signer.BadMemory, signer.HeadRefused, signer.SignerDown, Unsettled) as error:
            if str(error) != self._said:
                log.error("%s", error)
            self._said, self._knows_downtimes = str(error), False
            self._tell(error.code, error.detail)
            return None
        self._said = ""
        if done.altered:
            self._tell(ALTERED, ", ".join(map(str, done.altered[:NAMED])))
        elif self._comparison.overdue:
            self._tell(UNSIGNED, ", ".join(map(str, self._comparison.overdue[:NAMED])))
        else:
            self._tell("", "")
        return done

    def _tell(self, code: str, detail: str) -> None:
        """Let whoever looks after the installation see (audit.condition) what is wrong, or that nothing is any more."""
        if (code, detail) == self._told:
            return
        run(
            "UPDATE audit_gstate SET trouble = %(code)s, trouble_detail = %(detail)s,"
            " trouble_at = CASE WHEN %(code)s = '' THEN NULL WHEN trouble = %(code)s THEN trouble_at ELSE now() END"
            " WHERE tenant = %(tenant)s AND fence = %(fence)s RETURNING 1",
            {"tenant": self.tenant, "fence": self.fence, "code": code, "detail": detail},
        )
        self._told = code, detail

    def _round(self, wanted: list[UUID]) -> Round:
        """One look: a round, which may find nothing to do. `wanted`: logs to look at, marked or not."""
        if not self._candidate.is_leader():
            raise Deposed()
        if not self._knows_downtimes:  # the signer was away, or we were
            extra = [*self._downtimes, *unrecorded_downtimes(self.tenant)]
            if extra:
                sequencer.run_once(self.tenant, extra=extra, fence=self.fence)
            self._downtimes, self._knows_downtimes = [], True
        done = sequencer.advance(self.tenant, wanted=wanted, fence=self.fence, seen=self._seen)
        if done.whole:
            self._seen = done.read_at
        if self._is_due("_mapped", settings.HEADMAP_EVERY):  # after the heads are signed: they do not wait for it
            sequencer.advance(self.tenant, with_heads=False, with_map=True, fence=self.fence)
        self._tidy()
        if done.size > done.first:
            self._signed = time.monotonic()
        elif self._is_due("_signed", settings.REPUBLISH_EVERY):
            growth.sign(self.tenant, again=True)
        return done

    def _pace(self, done: Round, began: float) -> float:
        """Seconds between the beginnings of rounds. One look that found nothing is no rest yet: writers may have waited
        for the disk, and all of their heads would then wait for us.
        """
        if done.heads:
            self._busy_until = began + LULL
        return float(settings.SEQUENCE_BUSY if began < self._busy_until else settings.SEQUENCE_EVERY)

    def _tidy(self) -> None:
        """Mark quiet heads clean, a few after each round, so that neither rounds nor writers wait long for it."""
        if time.monotonic() - self._tidied >= TIDY and sequencer.mark_clean(self.tenant, QUIET):
            self._tidied = time.monotonic()

    def _is_due(self, name: str, seconds: float) -> bool:
        due = time.monotonic() - getattr(self, name) >= seconds
        if due:
            setattr(self, name, time.monotonic())
        return bool(due)


def unrecorded_downtimes(tenant: UUID) -> list[Downtime]:
    """Those of the signer that are not in the global log yet. Raises signer.SignerDown."""
    recorded = {gap.since for gap in globallog.gaps(tenant) if gap.part == "signer"}
    return [
        Downtime(settings.LOG_ORIGIN, "signer", each.since, each.until)
        for each in signer.known().downtimes
        if each.since not in recorded
    ]
