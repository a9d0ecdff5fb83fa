"""The caller's network address and scheme, as the named proxies before this server report them.

`X-Forwarded-For` and `X-Forwarded-Proto` can be written by anybody. They count only from a peer that the setting
TRUSTED_PROXIES names, and they are removed before the application sees the request: the address is then in
`scope["client"]` and nowhere else, for pages, the API and sockets alike.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Awaitable, Callable, Iterable, MutableMapping
from dataclasses import dataclass
from typing import Any

Address = ipaddress.IPv4Address | ipaddress.IPv6Address
Network = ipaddress.IPv4Network | ipaddress.IPv6Network
Scope = MutableMapping[str, Any]
Application = Callable[[Scope, Any, Any], Awaitable[Any]]

UNIX = "unix"  # the word of the setting for a peer on a Unix socket, which has no address
FOR, PROTO = b"x-forwarded-for", b"x-forwarded-proto"
SECURE = {"http": "https", "websocket": "wss"}  # scheme by type of scope


@dataclass(frozen=True, slots=True)
class Proxies:
    """The proxies whose headers count: networks, and whether a peer on a Unix socket is one."""

    networks: tuple[Network, ...] = ()
    unix: bool = False

    def __bool__(self) -> bool:
        return self.unix or bool(self.networks)

    def include(self, address: Address | None) -> bool:
        """Whether `address` is a proxy's; None is a peer on a Unix socket."""
        return self.unix if address is None else any(address in network for network in self.networks)

    def trust(self, host: str) -> bool:
        """Whether the peer at `host` is a proxy. "" is one on a Unix socket; one with a zone, `fe80::1%e0`, is none."""
        found = address(host)
        return (found is not None or not host) and self.include(found)


def proxies(words: Iterable[str]) -> Proxies:
    """The proxies that a setting names: addresses, networks, and `unix`. Raises ValueError with the wrong word."""
    words = list(words)
    networks = tuple(ipaddress.ip_network(word) for word in words if word != UNIX)
    return Proxies(networks, UNIX in words)


def caller(peer: Address | None, forwarded: str, trusted: Proxies) -> Address | None:
    """The address that a request comes from: the rightmost one that is no proxy's.

    `forwarded` is X-Forwarded-For, to which each proxy appends whom it heard. Behind an entry that cannot be read
    nothing is believed. Where all are proxies the leftmost one made the request.
    """
    found = peer
    for entry in reversed(forwarded.split(",")):
        if not trusted.include(found):
            return found
        before = address(entry)
        if before is None:
            return found
        found = before
    return found


def address(text: str) -> Address | None:
    """The address in an entry of X-Forwarded-For, with or without a port; None when there is none."""
    text = text.strip()
    if text.startswith("["):
        text = text[1:].partition("]")[0]
    elif text.count(":") == 1:
        text = text.partition(":")[0]
    if "%" in text:  # a zone may hold any text, and means something on its own host only
        return None
    try:
        found = ipaddress.ip_address(text)
    except ValueError:
        return None
    mapped = found.ipv4_mapped if isinstance(found, ipaddress.IPv6Address) else None
    return mapped or found


class ForwardedHeaders:
    """ASGI middleware: puts the caller's address and scheme into the scope, and removes the headers."""

    def __init__(self, application: Application, trusted: Proxies) -> None:
        self.application, self.trusted = application, trusted

    async def __call__(self, scope: Scope, receive: Any, send: Any) -> Any:
        if scope["type"] in ("http", "websocket"):
            scope = {**scope, **_seen(scope, self.trusted)}
        return await self.application(scope, receive, send)


def _seen(scope: Scope, trusted: Proxies) -> dict[str, Any]:
    client, headers = scope.get("client"), scope["headers"]
    peer = address(client[0]) if client else None
    seen: dict[str, Any] = {"headers": [header for header in headers if header[0].lower() not in (FOR, PROTO)]}
    if not trusted.trust(client[0] if client else ""):
        return seen
    found = caller(peer, _joined(headers, FOR), trusted)
    if found is not None:
        seen["client"] = [str(found), 0 if found != peer or not client else client[1]]
    if _joined(headers, PROTO).rpartition(",")[2].strip().lower() == "https":
        seen["scheme"] = SECURE[scope["type"]]
    return seen


def _joined(headers: Iterable[tuple[bytes, bytes]], name: bytes) -> str:
    return ",".join(value.decode("latin-1") for key, value in headers if key.lower() == name)


def network_of(caller: str) -> str:
    """What limits count as one place: an IPv4 address, and of IPv6 the /64 that one household or host has at will."""
    found = address(caller)
    if isinstance(found, ipaddress.IPv6Address):
        return str(ipaddress.ip_network((found, 64), strict=False))
    return caller
