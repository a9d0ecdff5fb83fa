"""`python -m demo.callers`: call the bank for ever. `--once KIND` makes a single call of that kind and stops."""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import os
import sys
from pathlib import Path

from demo.callers.api import Api, Refused
from demo.callers.call import Call
from demo.callers.desk import Desk, keep_calling
from demo.callers.former import hang_up_former
from demo.callers.kinds import KINDS, Story, callers_for, story


def main() -> int:
    """Run until stopped; 2 and one line on standard error when it is not told whom to call."""
    given = _parser().parse_args()
    if not given.url or not given.token_file:
        print("demo.callers: set AGENTSTATE_URL and AGENTSTATE_TOKEN_FILE", file=sys.stderr)
        return 2
    with contextlib.suppress(KeyboardInterrupt):
        return asyncio.run(_run(given))
    return 0


async def _run(given: argparse.Namespace) -> int:
    api = Api(given.url, Path(given.token_file))
    desk = Desk(given.concurrency, given.seed)

    async def make(told: Story, pace: float) -> str:
        return await Call(api, told, desk.dice, pace).run()

    try:
        if given.once:
            return await _once(api, desk, given)
        await hang_up_former(api)
        await keep_calling(desk, make, given.pace)
    finally:
        await api.close()
    return 0


async def _once(api: Api, desk: Desk, given: argparse.Namespace) -> int:
    kind = KINDS[given.once]
    free = callers_for(kind, ())
    person = next((p for p in free if p.id == given.customer), desk.dice.choice(free))
    call = Call(api, story(kind, desk.dice, person), desk.dice, given.pace)
    try:
        reason = await call.run()
    except Refused as error:
        print(f"demo.callers: {error}", file=sys.stderr)
        return 1
    print(f"{call.id} {call.story.person.id} {call.story.minor}: {reason}")
    return 0


def _parser() -> argparse.ArgumentParser:
    env = os.environ.get
    parser = argparse.ArgumentParser(prog="python -m demo.callers", description=__doc__)
    parser.add_argument("--url", default=env("AGENTSTATE_URL", ""), help="of the product (AGENTSTATE_URL)")
    parser.add_argument("--token-file", default=env("AGENTSTATE_TOKEN_FILE", ""))
    parser.add_argument("--pace", type=float, default=1.0, help="multiplies human pauses; 0.1 is ten times as quick")
    parser.add_argument("--concurrency", type=int, default=8, help="calls at once")
    parser.add_argument("--seed", type=int, help="the same people and amounts each time")
    parser.add_argument("--once", choices=sorted(KINDS), help="one call of that kind, then stop")
    parser.add_argument("--customer", default="", help="with --once: who calls")
    return parser


if __name__ == "__main__":
    sys.exit(main())
