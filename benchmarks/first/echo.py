"""`python -m benchmarks.first.echo URL IN OUT`: the other process of the raw limit. For each word in the list IN, the
instant at which it was seen into the list OUT. Knows nothing of the product.
"""

from __future__ import annotations

import sys
import time

import redis


def main(url: str, incoming: str, outgoing: str) -> None:
    """Answer for ever."""
    client = redis.Redis.from_url(url, socket_timeout=None)  # it waits for ever
    while True:
        client.blpop([incoming])
        seen = time.monotonic_ns()
        client.lpush(outgoing, seen)


if __name__ == "__main__":
    main(*sys.argv[1:])
