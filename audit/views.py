"""What anybody may read, below /log/: the global log as C2SP tlog-tiles, its keys, and whom to trust. No sign-in.

Leaves are heads of logs, head maps, new keys and downtimes; none names a person. Nothing unsigned is served: tiles and
entries end where the newest signed head does, and what lies behind it is not found until it is signed.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import wraps
from uuid import UUID

from django.conf import settings
from django.core.cache import cache
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.views.decorators.gzip import gzip_page
from django.views.decorators.http import conditional_page, require_safe
from redis.exceptions import RedisError

from agentstate.clock import now
from agentstate.people.queries import the_tenant
from agentstate.proxies import network_of
from audit import globallog, restamping, signer
from audit.export import gather
from audit.tlog import tiles

TEXT, BYTES = "text/plain; charset=utf-8", "application/octet-stream"
SECONDS, FOREVER = "public, max-age=2", "public, max-age=31536000, immutable"

View = Callable[..., HttpResponse]


def public(view: View) -> View:
    """GET and HEAD by anybody, from any page, as often as the setting LOG_READS_PER_MINUTE lets one address."""

    @require_safe
    @wraps(view)
    def answered(request: HttpRequest, **named: str) -> HttpResponse:
        if _too_often(request):
            answer = _said(429, "too many requests from this address; wait a minute\n")
            answer["Retry-After"] = str(60 - now().second)
        else:
            answer = view(request, **named)
        answer["Access-Control-Allow-Origin"] = "*"
        return answer

    return answered


@public
@conditional_page
def checkpoint(_request: HttpRequest) -> HttpResponse:
    """The newest signed head, with the cosignatures that it has."""
    head = globallog.signed_head(_tenant())
    return _absent() if head is None else _bytes(head.checkpoint, TEXT, SECONDS)


@public
def tile(_request: HttpRequest, path: str) -> HttpResponse:
    """A tile of hashes: `<level>/<index>[.p/<width>]`."""
    return _stored(path)


@public
@gzip_page
def entries(_request: HttpRequest, path: str) -> HttpResponse:
    """A bundle of leaves: `<index>[.p/<width>]`."""
    return _stored(f"entries/{path}")


@public
@conditional_page
def key(_request: HttpRequest) -> HttpResponse:
    """The log's keys as vkeys, and where each but the first was introduced: JSON."""
    try:
        known = signer.known()
    except signer.SignerDown:
        return _away()
    signing = known.vkeys[: known.vkeys.index(known.vkey) + 1]  # one after it is announced only
    rotations = globallog.introductions(_tenant())
    answer = JsonResponse(
        {
            "origin": settings.LOG_ORIGIN,
            "key": known.vkey,
            "second": known.second,
            "keys": signing,
            "rotations": [{"index": index, "note": body.decode()} for index, body in rotations],
        }
    )
    answer["Cache-Control"] = SECONDS
    return answer


@public
@conditional_page
def policy(_request: HttpRequest) -> HttpResponse:
    """The log's key and witnesses as a C2SP tlog-policy, for comparing with one's own."""
    try:
        return _bytes(gather.policy(), TEXT, SECONDS)
    except signer.SignerDown:
        return _away()


@public
def restamps(_request: HttpRequest, digest: str) -> HttpResponse:
    """The time stamps over the one with this SHA-256 (hex), as `verify.py --restamps` takes them: JSON."""
    found = restamping.renewals(_tenant(), digest) if re.fullmatch("[0-9a-f]{64}", digest) else None
    return _said(404, "no newer stamp is over it\n") if found is None else _bytes(found, "application/json", SECONDS)


def _stored(path: str) -> HttpResponse:
    tenant = _tenant()
    try:
        wanted = tiles.parse_path(f"tile/{path}")
        height = 8 * wanted.level if isinstance(wanted, tiles.Tile) else 0
        end = (wanted.index * tiles.WIDTH + wanted.width) << height
        if end > globallog.state(tenant).signed:
            return _absent()
        if isinstance(wanted, tiles.Tile):
            return _bytes(globallog.tile(tenant, wanted.level, wanted.index, wanted.width), BYTES, FOREVER)
        return _bytes(globallog.bundle(tenant, wanted.index, wanted.width), BYTES, FOREVER)
    except (ValueError, globallog.NotThere):
        return _absent()


def _bytes(data: bytes, content_type: str, caching: str) -> HttpResponse:
    return HttpResponse(data, content_type=content_type, headers={"Cache-Control": caching})


def _absent() -> HttpResponse:
    return _said(404, "not in the log, or not signed yet\n")


def _away() -> HttpResponse:
    answer = _said(503, "the signer does not answer\n")
    answer["Retry-After"] = "5"
    return answer


def _said(status: int, text: str) -> HttpResponse:
    """An answer that must not be kept: the next moment's may be another."""
    return HttpResponse(text, status=status, content_type=TEXT, headers={"Cache-Control": "no-store"})


def _tenant() -> UUID:
    return the_tenant().pk


def _too_often(request: HttpRequest) -> bool:
    """Counts in the cache, by address and minute. Without a cache nobody is turned away."""
    if not settings.LOG_READS_PER_MINUTE:
        return False
    name = f"log-reads:{network_of(request.META.get('REMOTE_ADDR', ''))}:{now():%H%M}"
    try:
        cache.add(name, 0, 120)
        return bool(cache.incr(name) > settings.LOG_READS_PER_MINUTE)
    except (RedisError, ValueError):
        return False
