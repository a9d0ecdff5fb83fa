"""Which addresses may be called: public ones, and the networks that somebody allowed by name.

What Python calls global is too wide (6to4 and NAT64 lead to private IPv4 addresses), so IPv6 is judged by the block of
global unicast (RFC 4291), and the IPv4 address within another is judged itself. By RFC 6890, 6052 and 3056.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Sequence

Address = ipaddress.IPv4Address | ipaddress.IPv6Address
Network = ipaddress.IPv4Network | ipaddress.IPv6Network

_GLOBAL_UNICAST = ipaddress.IPv6Network("2000::/3")
_NAT64 = ipaddress.IPv6Network("64:ff9b::/96")
# Within global unicast, but tunnels, examples and protocol assignments.
_SPECIAL_6 = tuple(map(ipaddress.IPv6Network, ("2001::/23", "2001:db8::/32", "2002::/16", "3fff::/20")))
_SPECIAL_4 = tuple(map(ipaddress.IPv4Network, ("192.0.0.0/24", "192.88.99.0/24")))


def network(text: str) -> Network:
    """The network `10.1.0.0/16`, or the one of a single address. Raises ValueError."""
    return ipaddress.ip_network(text.strip())


def may_reach(address: str, allowed: Sequence[Network] = ()) -> bool:
    """Whether an address, as a resolver writes it, may be called. What is no address may not."""
    try:
        found = _innermost(ipaddress.ip_address(address))
    except ValueError:
        return False
    if any(found in each for each in allowed if each.version == found.version):
        return True
    return _is_public(found)


def _innermost(address: Address) -> Address:
    """The IPv4 address that an IPv6 one stands for, where it stands for one."""
    if isinstance(address, ipaddress.IPv6Address):
        if address.scope_id is not None:
            raise ValueError("an address with a zone is of this machine's links")
        if address.ipv4_mapped is not None:
            return address.ipv4_mapped
        if address in _NAT64:
            return ipaddress.IPv4Address(int(address) & 0xFFFFFFFF)
    return address


def _is_public(address: Address) -> bool:
    if isinstance(address, ipaddress.IPv4Address):
        special = address.is_multicast or address.is_reserved or any(address in each for each in _SPECIAL_4)
        return address.is_global and not special
    return address in _GLOBAL_UNICAST and address.is_global and not any(address in each for each in _SPECIAL_6)
