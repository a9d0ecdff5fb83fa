"""Whose address counts behind proxies, as a law over chains of proxies and what anybody may write before them."""

from __future__ import annotations

import asyncio
from ipaddress import ip_address
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentstate.proxies import ForwardedHeaders, Proxies, address, caller, network_of, proxies

TRUSTED = proxies(["10.0.0.0/8", "192.0.2.7", "2001:db8::/32", "unix"])
inside = st.sampled_from(["10.0.0.1", "10.9.9.9", "192.0.2.7", "2001:db8::5", "::ffff:10.1.1.1"])
outside = st.one_of(
    st.ip_addresses(v=4).filter(lambda each: not TRUSTED.include(each)),
    st.ip_addresses(v=6).filter(lambda each: not TRUSTED.include(address(str(each)))),
).map(str)
anything = st.one_of(outside, inside, st.text(st.characters(codec="ascii", exclude_characters=","), max_size=20))


@given(anything_before=st.lists(anything, max_size=4), client=outside, through=st.lists(inside, max_size=3))
def test_what_a_caller_writes_before_its_own_address_changes_nothing(anything_before, client, through):
    """Each proxy appends whom it heard: the caller is the rightmost address that no proxy has."""
    *appended, last = [client, *through, "10.0.0.1"]
    forwarded = ", ".join([*anything_before, *appended])
    assert caller(ip_address(last), forwarded, TRUSTED) == address(client)


@given(peer=outside, forwarded=st.lists(anything, max_size=4))
def test_a_peer_that_is_no_proxy_is_the_caller_whatever_it_sends(peer, forwarded):
    assert caller(address(peer), ",".join(forwarded), TRUSTED) == address(peer)


def test_behind_an_entry_that_cannot_be_read_nothing_is_believed():
    assert str(caller(ip_address("10.0.0.1"), "198.51.100.7, nonsense, 10.0.0.2", TRUSTED)) == "10.0.0.2"
    assert str(caller(ip_address("10.0.0.1"), "", TRUSTED)) == "10.0.0.1"


def test_a_peer_on_a_unix_socket_counts_only_where_it_is_named():
    assert str(caller(None, "198.51.100.7", TRUSTED)) == "198.51.100.7"
    assert caller(None, "198.51.100.7", proxies(["10.0.0.0/8"])) is None


@pytest.mark.parametrize(
    ("entry", "read"),
    [
        (" 198.51.100.7 ", "198.51.100.7"),
        ("198.51.100.7:4711", "198.51.100.7"),
        ("[2001:db8::1]:443", "2001:db8::1"),
        ("2001:db8::1", "2001:db8::1"),
        ("::ffff:198.51.100.7", "198.51.100.7"),
        ("fe80::1%<b>", "None"),
        ("unknown", "None"),
        ("198.51.100.07", "None"),
    ],
)
def test_an_entry_may_have_a_port_and_nothing_else(entry, read):
    assert str(address(entry)) == read


def seen(scope: dict[str, Any], trusted: Proxies) -> dict[str, Any]:
    """The scope as the application behind the middleware gets it."""
    found: list[dict[str, Any]] = []

    async def application(scope: dict[str, Any], _receive: object, _send: object) -> None:
        found.append(scope)

    asyncio.run(ForwardedHeaders(application, trusted)(scope, None, None))
    return found[0]


HEADERS = [(b"x-forwarded-for", b"203.0.113.9"), (b"x-forwarded-proto", b"https"), (b"host", b"here")]


@pytest.mark.parametrize(("type_", "scheme"), [("http", "https"), ("websocket", "wss")])
def test_the_scope_names_the_caller_and_the_scheme_and_no_header_is_left(type_, scheme):
    scope = {"type": type_, "client": ["10.0.0.1", 5], "headers": HEADERS}
    there = seen(scope, TRUSTED)
    assert (there["client"], there["scheme"], there["headers"]) == (["203.0.113.9", 0], scheme, [(b"host", b"here")])


@pytest.mark.parametrize("client", [["203.0.113.5", 5], None])
def test_from_any_other_peer_the_headers_are_dropped(client):
    scope = {"type": "http", "scheme": "http", "client": client, "headers": HEADERS}
    there = seen(scope, proxies(["10.0.0.0/8"]))
    assert (there["client"], there["scheme"], there["headers"]) == (client, "http", [(b"host", b"here")])


def test_a_peer_with_a_zone_is_no_peer_on_a_unix_socket():
    assert TRUSTED.trust("")
    assert TRUSTED.trust("10.0.0.1")
    assert not TRUSTED.trust("fe80::1%eth0")


def test_the_nearest_proxys_scheme_counts():
    headers = [(b"x-forwarded-proto", b"https, http")]
    assert "scheme" not in seen({"type": "http", "client": ["10.0.0.1", 5], "headers": headers}, TRUSTED)


def test_a_household_of_ipv6_is_one_place():
    assert network_of("2001:db8:1:2:3::4") == network_of("2001:db8:1:2:ffff::9") != network_of("2001:db8:1:3::4")
    assert (network_of("198.51.100.7"), network_of("")) == ("198.51.100.7", "")


@pytest.mark.parametrize("word", ["10.0.0.1/8", "localhost", "10.0.0.0/40"])
def test_a_name_or_a_network_with_a_host_in_it_is_no_proxy(word):
    with pytest.raises(ValueError, match=r"does not appear|host bits"):
        proxies([word])
