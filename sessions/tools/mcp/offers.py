"""What MCP servers offered, version by version, and what of it somebody accepted.

A tool may be called while what its server said last is a version that was accepted. As soon as it says anything else of
the tool (name, words, schemas, hints) that is a new version, and the tool is gone until somebody accepts it too.
"""

from __future__ import annotations

import hashlib
import threading
import time
from collections.abc import Sequence

import msgspec
from django.db import connection, transaction

from agentstate.clock import now
from agentstate.errors import NotFound, Refused
from agentstate.ids import new_id
from sessions.models.tools import OfferedTool, ServerLook
from sessions.outside import refusals
from sessions.tools.mcp import servers
from sessions.tools.mcp.results import Offer

FRESH = 1.0  # seconds that a process remembers what is accepted
MOST_WAITING = 20  # versions of one tool that wait for an answer
LARGEST = 64_000  # bytes of one offer
_encoder = msgspec.json.Encoder(order="sorted")
_lock = threading.Lock()
_remembered: dict[tuple[str, str], tuple[float, dict[str, tuple[int, Offer]]]] = {}
Answer = OfferedTool.Answer


class UnknownOffer(NotFound):
    """There is no such version of a tool."""

    code = "unknown_offer"


class NotOffered(Refused):
    """The server says something else of this tool by now."""

    code = "not_offered"
    remedy = "Look at what it offers now."


def look(server: servers.Server) -> str:
    """Ask the server what it offers and keep it. Gives what is wrong, or an empty text."""
    from sessions.tools.mcp import requests  # not before it is needed: see offered.py

    try:
        found = requests.offers(server)
        problem = ""
    except refusals.NotReached as reason:
        found, problem = [], f"{reason.code}: {reason}"[:200]
    if not problem:
        note(server.name, found)
    ServerLook.objects.update_or_create(server=server.name, defaults={"at": now(), "problem": problem})
    return problem


@transaction.atomic
def note(server: str, offered: Sequence[Offer]) -> None:
    """Keep what a server offers now. A name that is offered twice, or an offer that is too large, counts as none."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_xact_lock(hashtext(%s))", [f"mcp {server}"])
    held = list(OfferedTool.objects.filter(server=server).order_by("version"))
    names = [each.name for each in offered]
    current = {(each.name, digest_of(each)): each for each in offered if names.count(each.name) == 1 and _fits(each)}
    for row in held:
        was, row.current = row.current, (row.tool, row.digest) in current
        if row.current != was:
            row.save(update_fields=["current"])
    known = {(row.tool, row.digest) for row in held}
    for (tool, digest), offer in current.items():
        if (tool, digest) not in known:
            _add(server, tool, digest, offer, [row for row in held if row.tool == tool])
    forget()


def _fits(offer: Offer) -> bool:
    return len(offer.name) <= 128 and len(_encoder.encode(offer)) <= LARGEST


def _add(server: str, tool: str, digest: str, offer: Offer, before: list[OfferedTool]) -> None:
    if sum(row.answer == Answer.WAITING for row in before) >= MOST_WAITING:
        return  # it changes whenever it is asked: that it is gone is all there is to know
    OfferedTool.objects.create(
        id=new_id(),
        server=server,
        tool=tool,
        version=max((row.version for row in before), default=0) + 1,
        digest=digest,
        offer=msgspec.to_builtins(offer),
        current=True,
        offered_at=now(),
    )


def digest_of(offer: Offer) -> str:
    """SHA-256 of an offer, in hex: two servers' words are the same if this is."""
    return hashlib.sha256(_encoder.encode(offer)).hexdigest()


def accepted(server: str) -> dict[str, tuple[int, Offer]]:
    """The tools of a server that may be called, with version, as of a second ago at most."""
    key = (str(connection.settings_dict["NAME"]), server)
    at, found = _remembered.get(key, (0.0, {}))
    if at + FRESH < time.monotonic() or key not in _remembered:
        rows = OfferedTool.objects.filter(server=server, current=True, answer=Answer.ACCEPTED)
        found = {row.tool: (row.version, read(row)) for row in rows}
        with _lock:
            _remembered[key] = (time.monotonic(), found)
    return found


def read(row: OfferedTool) -> Offer:
    """The offer of a row."""
    return msgspec.convert(row.offer, Offer)


def forget() -> None:
    """Drop what this process remembers."""
    with _lock:
        _remembered.clear()
