"""`python -m benchmarks.sets`: the big data sets that full runs use, built once and kept in `benchmarks/data/`.

A set that is there and readable stays. A full run that finds none builds it itself, and takes that much longer.
"""

from __future__ import annotations

import sys
from pathlib import Path

import msgspec

from benchmarks.engine.talks import Talk, grown, opened

FOLDER = Path(__file__).resolve().parent / "data"
LONG = 100_000  # events of the long conversation


def long_talk(events: int = LONG) -> Talk:
    """A conversation of at least that many events, as its snapshot: built when it is not there."""
    from agentstate.engine.state.snapshot import from_snapshot, to_snapshot

    path = FOLDER / f"talk-{events}.json"
    if path.exists():
        try:
            return Talk(from_snapshot(path.read_bytes()))
        except msgspec.MsgspecError:
            path.unlink()  # of another version of the state
    talk = grown(opened(), events)
    FOLDER.mkdir(exist_ok=True)
    path.write_bytes(to_snapshot(talk.state))
    return talk


def main() -> int:
    """Build what is missing."""
    print(f"a conversation of {long_talk().state.seq} events: {FOLDER}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
