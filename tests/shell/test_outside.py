"""What is called outside: only what may be, for so long, so much, and nothing of an answer that is not what it says."""

from __future__ import annotations

import ipaddress
import socket
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sessions.outside import answers, client, refusals
from sessions.outside.addresses import may_reach, network
from sessions.outside.cancellation import Stop
from tests.processes import eventually
from tests.shell.hostile_http import Hostile

LOOPBACK = (network("127.0.0.1"),)
REACH = client.Reach(("127.0.0.1", "localhost"), LOOPBACK)
SYN_SENT = "02"  # as /proc/net/tcp has it
BOUNDS = client.Bounds(connect=1.0, seconds=1.0, size=64_000)
PRIVATE = (
    "127.0.0.1", "10.0.0.1", "172.16.0.1", "192.168.1.1", "169.254.169.254", "100.64.0.1", "0.0.0.0", "224.0.0.1",
    "255.255.255.255", "240.0.0.1", "192.0.0.8", "192.88.99.1", "198.18.0.1", "::", "::1", "fe80::1", "fe80::1%eth0",
    "fd00::1", "fec0::1", "ff02::1", "::ffff:127.0.0.1", "::ffff:a9fe:a9fe", "::7f00:1", "64:ff9b::7f00:1",
    "64:ff9b::a00:1", "64:ff9b:1::1", "2002:7f00:1::", "2001::1", "2001:db8::1", "3fff::1", "5f00::1", "nonsense", "",
)  # fmt: skip


@pytest.fixture(scope="module")
def hostile():
    server = Hostile()
    yield server
    server.stop()


def asked(hostile: Hostile, path: str, reach: client.Reach = REACH) -> client.Answered:
    return client.ask(client.Wanted("GET", f"http://127.0.0.1:{hostile.port}{path}"), reach, BOUNDS)


@pytest.mark.parametrize("address", PRIVATE)
def test_an_address_that_is_not_public_is_not_called(address):
    assert not may_reach(address)


@pytest.mark.parametrize("address", ["8.8.8.8", "2606:4700::1111", "64:ff9b::808:808", "::ffff:8.8.8.8"])
def test_a_public_address_may_be_called(address):
    assert may_reach(address)


@given(st.ip_addresses(v=4))
def test_no_disguise_changes_what_an_address_is(address):
    """As IPv4-mapped and as NAT64 an address is judged as itself."""
    disguises = (
        f"::ffff:{address}",
        str(ipaddress.IPv6Address(int(ipaddress.IPv6Address("64:ff9b::")) + int(address))),
    )
    assert {may_reach(each) for each in disguises} == {may_reach(str(address))}


@pytest.mark.parametrize(
    "url",
    ["http://127.0.0.1/", "http://2130706433/", "http://0x7f.1/", "http://0177.0.0.1/", "http://127.1/", "http://[::1]/",
     "http://[::ffff:127.0.0.1]/", "http://0/", "http://localhost/", "http://169.254.169.254/", "http://0.0.0.0/"],
)  # fmt: skip
def test_no_way_to_write_the_loopback_leads_to_it(url):
    host = client.urlsplit(url).hostname
    with pytest.raises((refusals.AddressRefused, refusals.NoSuchHost)):
        client.ask(client.Wanted("GET", url), client.Reach((host,)), BOUNDS)


def test_a_host_that_nobody_named_is_not_looked_up(monkeypatch):
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_args, **_named: pytest.fail("looked up"))
    for host in ("elsewhere.example", "example.com.evil.example", "notexample.com"):
        with pytest.raises(refusals.HostRefused):
            client.ask(client.Wanted("GET", f"https://{host}/"), client.Reach(("example.com", "*.example.com")), BOUNDS)


def test_a_name_that_changes_its_mind_is_asked_once(hostile, monkeypatch):
    """DNS rebinding: the second answer would lead inside, and is never asked for."""
    asked_for = []

    def rebinding(host, port, **_named):
        asked_for.append(host)
        address = "127.0.0.1" if len(asked_for) == 1 else "169.254.169.254"
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, port))]

    monkeypatch.setattr(socket, "getaddrinfo", rebinding)
    found = client.looked_up("rebinding.example", 80, client.Reach(("rebinding.example",), LOOPBACK))
    assert (found, asked_for) == (["127.0.0.1"], ["rebinding.example"])
    with pytest.raises(refusals.AddressRefused):
        client.looked_up("rebinding.example", 80, client.Reach(("rebinding.example",), LOOPBACK))


def test_one_private_address_among_public_ones_refuses_the_name(monkeypatch):
    both = [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (each, 80)) for each in ("8.8.8.8", "10.0.0.1")]
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_args, **_named: both)
    with pytest.raises(refusals.AddressRefused):
        client.looked_up("both.example", 80, client.Reach(("both.example",)))


HOSTILE = {
    "/endless": refusals.TooLarge,
    "/large": refusals.TooLarge,
    "/headers": (refusals.TooLarge, refusals.NoHttp),
    "/drip": refusals.TooSlow,
    "/silent": refusals.TooSlow,
    "/redirect": refusals.Redirected,
    "/gzip": refusals.Encoded,
    "/html": refusals.WrongType,
    "/latin": refusals.NotText,
    "/nan": refusals.NotJson,
    "/deep": refusals.TooDeep,
    "/cut": (refusals.NoHttp, refusals.TooSlow),
    "/nonsense": refusals.NoHttp,
    "/smuggled": refusals.NoHttp,
}


@pytest.mark.parametrize("path", HOSTILE)
def test_a_hostile_answer_is_refused_by_name_and_in_time(hostile, path):
    begun = time.monotonic()
    with pytest.raises(HOSTILE[path]):
        answers.json_of(asked(hostile, path))
    assert time.monotonic() - begun < 4.0


def test_the_loopback_is_reached_only_where_it_is_allowed(hostile):
    assert answers.json_of(asked(hostile, "/fine"))["reference"] == "r-1"
    with pytest.raises(refusals.AddressRefused):
        asked(hostile, "/fine", client.Reach(("127.0.0.1",)))


def test_a_proxy_of_the_environment_sees_nothing(hostile, monkeypatch):
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:1")
    monkeypatch.setenv("ALL_PROXY", "http://127.0.0.1:1")
    assert asked(hostile, "/fine").status == 200


@given(st.binary(max_size=300))
def test_whatever_bytes_come_are_a_value_or_a_refusal(body):
    answer = client.Answered(200, {"content-type": "application/json"}, body)
    with suppress(refusals.NotText, refusals.NotJson, refusals.TooDeep):
        answers.json_of(answer)


def cancelled(url: str, when) -> refusals.NotReached:
    """How an exchange without end ends when it is told to stop once `when()` is true."""
    stop, patient = Stop(), client.Bounds(connect=60.0, seconds=60.0)
    with ThreadPoolExecutor(1) as pool:
        asking = pool.submit(client.ask, client.Wanted("GET", url), REACH, patient, stop)
        eventually(when)
        stop.set()
        return asking.exception(10)


def test_who_waits_for_an_answer_that_nobody_wants_any_more_hangs_up(hostile):
    before = len(hostile.seen)
    refusal = cancelled(f"http://127.0.0.1:{hostile.port}/hang", lambda: len(hostile.seen) > before)
    assert isinstance(refusal, refusals.Cancelled)
    eventually(lambda: hostile.left == [b""], what="the other side sees that we have gone")


def test_who_waits_for_a_connection_that_nobody_wants_any_more_gives_up():
    with socket.create_server(("127.0.0.1", 0), backlog=0) as full, ExitStack() as others:
        port = full.getsockname()[1]
        others.enter_context(socket.create_connection(("127.0.0.1", port)))  # there is no room for another

        def connecting() -> bool:
            lines = [line.split() for line in Path("/proc/net/tcp").read_text().splitlines()]
            return any(words[2].endswith(f":{port:04X}") and words[3] == SYN_SENT for words in lines)

        assert isinstance(cancelled(f"http://127.0.0.1:{port}/", connecting), refusals.Cancelled)


def test_who_is_told_to_stop_beforehand_calls_nobody(hostile):
    stop, before = Stop(), len(hostile.seen)
    stop.set()
    with pytest.raises(refusals.Cancelled):
        client.ask(client.Wanted("GET", f"http://127.0.0.1:{hostile.port}/fine"), REACH, BOUNDS, stop)
    assert len(hostile.seen) == before
