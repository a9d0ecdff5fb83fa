"""One request to the outside, bounded in every direction.

The host's name is looked up once; every address it leads to must be allowed, and the connection goes to one of just
these, so a name that changes its mind between question and connection reaches nothing else. TLS checks the name, not
the address. No redirect is followed, nothing is unpacked, no proxy of the environment is used. Time is counted over the
whole exchange, so that an answer in drips ends as well, and bytes as they arrive. Whoever waits for nothing any more
sets `stop`: the connection is cut at once, whatever it was at.
"""

from __future__ import annotations

import socket
import ssl
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from urllib.parse import urlsplit

import certifi
import h11
import httpcore
import msgspec
from django.conf import settings

from sessions.outside import refusals
from sessions.outside.addresses import Network, may_reach, network
from sessions.outside.cancellation import Stop
from sessions.outside.connection import MOST_HEADERS, Bounds, Clock, Cut, Wire, connected


class Reach(msgspec.Struct, frozen=True):
    """The hosts that may be called (`api.example.com`, `*.example.com`) and the networks that may although private."""

    hosts: tuple[str, ...]
    networks: tuple[Network, ...] = ()

    def admits(self, host: str) -> bool:
        """Whether a host of that name may be called."""
        name = host.lower().rstrip(".")
        return any(_fits(name, each.lower()) for each in self.hosts)


class Wanted(msgspec.Struct, frozen=True):
    """What to send."""

    method: str
    url: str
    headers: tuple[tuple[str, str], ...] = ()
    body: bytes = b""


class Answered(msgspec.Struct, frozen=True):
    """What came back, as it came. Names of headers are in small letters."""

    status: int
    headers: Mapping[str, str]
    body: bytes


def reach_of(hosts: Iterable[str]) -> Reach:
    """The reach of something that names `hosts`, within what the installation allows."""
    wanted, installed = tuple(hosts), tuple(settings.OUTSIDE_HOSTS)
    allowed = tuple(host for host in wanted if not installed or any(_fits(host.lower(), each) for each in installed))
    return Reach(allowed, tuple(network(each) for each in settings.OUTSIDE_NETWORKS))


def _fits(name: str, pattern: str) -> bool:
    return name == pattern or (pattern.startswith("*.") and name.endswith(pattern[1:]))


def ask(wanted: Wanted, reach: Reach, bounds: Bounds, stop: Stop | None = None) -> Answered:
    """Send it and read the answer. Raises NotReached, by a class of its own for each reason; Cancelled once `stop` is
    set.
    """
    if not reach.admits(urlsplit(wanted.url).hostname or ""):
        raise refusals.HostRefused()
    cut = Cut()
    with (stop or Stop()).calling(cut.now):
        try:
            return _asked(wanted, reach, bounds, cut)
        except refusals.NotReached:
            if cut.done:  # what is said of a connection that we cut ourselves is said of us
                raise refusals.Cancelled() from None
            raise


def _asked(wanted: Wanted, reach: Reach, bounds: Bounds, cut: Cut) -> Answered:
    try:
        with httpcore.ConnectionPool(
            ssl_context=trusted(settings.OUTSIDE_CA_FILE),
            network_backend=_Guarded(reach, bounds, cut),
            max_connections=1,
            retries=0,
        ) as pool:
            return _exchange(pool, wanted, bounds)
    except httpcore.TimeoutException as error:
        raise refusals.TooSlow() from error
    except httpcore.ConnectError as error:
        raise _not_connected(error) from error
    except (httpcore.RemoteProtocolError, httpcore.LocalProtocolError, httpcore.UnsupportedProtocol) as error:
        raise _no_http(error) from error
    except (httpcore.NetworkError, OSError) as error:
        raise refusals.NoConnection() from error


def _exchange(pool: httpcore.ConnectionPool, wanted: Wanted, bounds: Bounds) -> Answered:
    headers = [(name.encode("ascii"), value.encode("ascii")) for name, value in _headers(wanted)]
    limits = dict.fromkeys(("connect", "read", "write", "pool"), bounds.seconds)
    with pool.stream(
        wanted.method, wanted.url, headers=headers, content=wanted.body, extensions={"timeout": limits}
    ) as response:
        found = {name.decode("ascii").lower(): value.decode("latin-1") for name, value in response.headers}
        if 300 <= response.status < 400 and response.status != 304:
            raise refusals.Redirected()
        if found.get("content-encoding", "identity").strip().lower() not in ("", "identity"):
            raise refusals.Encoded()
        return Answered(response.status, found, _body(response, bounds.size))


def _headers(wanted: Wanted) -> list[tuple[str, str]]:
    """With Host, and no compression: what is not asked for need not be unpacked."""
    parts = urlsplit(wanted.url)
    host = parts.netloc.rpartition("@")[2]
    own = [("Host", host), ("Accept-Encoding", "identity"), ("Connection", "close")]
    if wanted.body or wanted.method in ("POST", "PUT", "PATCH"):
        own.append(("Content-Length", str(len(wanted.body))))
    return [*own, *wanted.headers]


def _body(response: httpcore.Response, size: int) -> bytes:
    kept = bytearray()
    for chunk in response.iter_stream():
        kept += chunk
        if len(kept) > size:
            raise refusals.TooLarge(f"{size} bytes are.")
    return bytes(kept)


def _no_http(error: Exception) -> refusals.NotReached:
    # h11 has a bound of its own for headers; what is past it is called 431 there.
    if isinstance(error.__context__, h11.RemoteProtocolError) and error.__context__.error_status_hint == 431:
        return refusals.TooLarge()
    return refusals.NoHttp()


def _not_connected(error: httpcore.ConnectError) -> refusals.NotReached:
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, ssl.SSLError):
            return refusals.NotTrusted()
        cause = cause.__cause__ or cause.__context__
    return refusals.NoConnection()


@lru_cache(maxsize=8)
def trusted(file: str) -> ssl.SSLContext:
    """Certificates are checked against the usual authorities, and those of `file` (PEM), if it is not empty."""
    context = ssl.create_default_context(cafile=certifi.where())
    if file:
        context.load_verify_locations(cafile=file)
    return context


def looked_up(host: str, port: int, reach: Reach) -> list[str]:
    """The addresses of `host`, every one of which may be reached. Raises NoSuchHost, AddressRefused, HostRefused."""
    if not reach.admits(host):
        raise refusals.HostRefused()
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (socket.gaierror, UnicodeError) as error:
        raise refusals.NoSuchHost() from error
    addresses = list(dict.fromkeys(str(each[4][0]) for each in found))
    if not addresses or not all(may_reach(each, reach.networks) for each in addresses):
        raise refusals.AddressRefused()
    return addresses


class _Guarded(httpcore.NetworkBackend):
    """Connects to nothing but the addresses that were looked at."""

    def __init__(self, reach: Reach, bounds: Bounds, cut: Cut) -> None:
        self._reach, self._bounds, self._cut = reach, bounds, cut
        self._clock = Clock(bounds)

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[httpcore.SOCKET_OPTION] | None = None,
    ) -> httpcore.NetworkStream:
        opened = self._connected(looked_up(host, port, self._reach), port)
        return Wire(opened, self._clock, self._bounds.size + MOST_HEADERS, self._cut)

    def _connected(self, addresses: Sequence[str], port: int) -> socket.socket:
        failed: Exception = refusals.NoConnection()
        for address in addresses:
            try:
                return connected(address, port, self._clock.left(self._bounds.connect), self._cut)
            except TimeoutError:
                failed = httpcore.ConnectTimeout()
            except OSError:
                failed = httpcore.ConnectError()
        raise failed

    def connect_unix_socket(
        self,
        path: str,
        timeout: float | None = None,
        socket_options: Iterable[httpcore.SOCKET_OPTION] | None = None,
    ) -> httpcore.NetworkStream:
        raise refusals.HostRefused()

    def sleep(self, seconds: float) -> None:
        self._clock.sleep(seconds)
