"""One installation for all attacks, which run beside each other in it.

Each attack is an ordinary test. Those without the marker `alone` are all started when the first of them is asked for,
a few at a time, and each test then gives the result of its own. `alone` is for what touches everybody: stopped agents,
frozen workers, a deployment. These run one after another when the others are done.

`make attacks` runs all. With ATTACKS_SHARE so many in a hundred run, drawn from the commit.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.attacks.share import commit, is_drawn
from tests.attacks.stack import Stack

AT_ONCE = int(os.environ.get("ATTACKS_AT_ONCE", "12"))
SHARE = int(os.environ.get("ATTACKS_SHARE", "100"))
RUNNING = pytest.StashKey[dict[str, "Future[None]"]]()
HERE = Path(__file__).parent


@pytest.fixture(scope="session")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    """The installation, started once."""
    held = Stack(tmp_path_factory.mktemp("attacks"))
    yield held
    held.stop()


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Attacks that run alone come last; where a share is wanted it is drawn."""
    mine = [item for item in items if item.path.is_relative_to(HERE)]
    drawn_from = commit()
    left_out = [item for item in mine if not is_drawn(item.name, drawn_from, SHARE)]
    for item in left_out:
        items.remove(item)
    config.hook.pytest_deselected(items=left_out)
    alone = [item for item in mine if item not in left_out and item.get_closest_marker("alone")]
    for item in alone:
        items.remove(item)
    items.extend(alone)


def _runs_beside(item: pytest.Item) -> bool:
    needs_stack = "stack" in getattr(item, "fixturenames", ())
    return item.path.is_relative_to(HERE) and needs_stack and not item.get_closest_marker("alone")


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    """Gives the result of an attack that runs beside others; the first one asked for starts all of them. An attack on
    the engine alone needs no installation and runs by itself.
    """
    if not _runs_beside(pyfuncitem):
        return None
    stack = pyfuncitem.funcargs["stack"]
    session = pyfuncitem.session
    if RUNNING not in session.stash:
        pool = ThreadPoolExecutor(AT_ONCE)
        beside = [item for item in session.items if _runs_beside(item)]
        session.stash[RUNNING] = {item.nodeid: pool.submit(item.obj, stack) for item in beside}  # type: ignore[attr-defined]
    session.stash[RUNNING][pyfuncitem.nodeid].result()
    return True
