"""What every layer of tests stands on.

tests/core touches no server. Of this file it needs the Hypothesis profile, without which tests have a deadline.
A test that asks for the database gets a real PostgreSQL: `django_db` rolls back, `django_db(transaction=True)`
commits and gets a fresh clone afterwards. Both connect as the application's own role; the aliases "owner" and
"erase" must be asked for with `databases=[...]`.
"""

from __future__ import annotations

import gc
import os
import secrets
import shutil
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

from tests import claims, dealing
from tests.processes import ROOT
from tests.searching import FIGURE, drawn
from tests.shared_data import ABSENT

# Folders of what `make test` leaves to `make test-all`; of chaos it runs the short form.
LONG = ("interop", "storm", *(("chaos",) if os.environ.get("FULL") else ()))
BANK_LIBRARY = ROOT / "demo" / "bank_agent" / "library"
ATTACKS = "attacks"  # run by `make attacks`
WITHOUT_DJANGO = ("tests/core", "tests/docs")
STATE_DIR = pytest.StashKey[Path]()
# For every test: none states a deadline. One would fail tests on a busy machine, and count mutants as noticed.
settings.register_profile(
    "agentstate", deadline=None, suppress_health_check=[HealthCheck.too_slow], max_examples=drawn(100)
)
settings.load_profile("agentstate")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--claims", action="store_true", help="fail unless every test that docs/claims.md names ran")


def pytest_configure(config: pytest.Config) -> None:
    """Name the settings, in an environment of our own, before pytest-django sets Django up.

    Not when only pure tests are asked for: they must not need Django. Nor in xdist's controller, which runs
    none: its environment would reach every worker, and they would share one state directory.
    """
    if config.getoption("dist", "no") != "no" and not hasattr(config, "workerinput"):
        return
    if "DJANGO_SETTINGS_MODULE" in os.environ:
        raise pytest.UsageError("unset DJANGO_SETTINGS_MODULE: the tests would run on your own state directory")
    if all(arg.removeprefix("./").startswith(WITHOUT_DJANGO) for arg in config.args):
        return
    if not os.environ.get("DATABASE_URL"):
        from tests.database import own_state_dir

        config.stash[STATE_DIR] = own_state_dir()
    else:
        os.environ.setdefault("SECRET_KEY", secrets.token_urlsafe(48))  # as on any host with outside servers
    os.environ["DJANGO_SETTINGS_MODULE"] = "agentstate.settings"
    os.environ["AGENT_MODULES"] = "demo.bank_agent.agent"  # the installation under test is the demo's
    os.environ["LIBRARY_FOLDERS"] = str(BANK_LIBRARY)
    import django

    django.setup()
    from sessions.library import folders

    folders.use(None)  # the folders are in force: a test of what rows say uses them itself


def pytest_unconfigure(config: pytest.Config) -> None:
    if STATE_DIR in config.stash:
        shutil.rmtree(config.stash[STATE_DIR], ignore_errors=True)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    for item in items:
        if item.path.parent.name in LONG:
            item.add_marker("long")
        if item.path.parent.name == "attacks":
            item.add_marker("attack")
        if item.get_closest_marker("hypothesis") or hasattr(getattr(item, "module", None), "FULL"):
            item.add_marker("more")
    if hasattr(config, "workerinput"):
        dealing.longest_first(items)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_collection() -> Generator[None, object, object]:
    """No garbage is collected while tests are, nor looked for among them afterwards: they stay to the end. Looking
    took almost half of a worker's collection.
    """
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: object) -> object:
    if config.getoption("dist") != "loadfile":
        return None
    config.option.loadscopereorder = False
    return dealing.Dealing(config, log)


@pytest.fixture(scope="session")
def test_database(django_db_blocker) -> Iterator[object]:
    """The servers of this process and its database; started by the first test that needs one."""
    from tests.database import started

    database = started()
    try:
        with django_db_blocker.unblock():
            database.make_template()
        yield database
    finally:
        database.stop()


@pytest.fixture(scope="session")
def django_db_setup(test_database) -> Iterator[None]:
    """In place of pytest-django's own: the database is a clone of a migrated template, and cleaning is a new
    clone.
    """
    from django.test import TransactionTestCase

    patch = pytest.MonkeyPatch()
    patch.setattr(TransactionTestCase, "_fixture_teardown", lambda _case: test_database.renew())
    yield
    patch.undo()


@pytest.fixture(scope="module")
def rolled_back(django_db_setup: None, django_db_blocker: Any) -> Iterator[None]:
    """A transaction around the module: what its fixtures write is there for all its tests, which roll back theirs."""
    from django.db import transaction

    around = transaction.atomic()
    around._from_testcase = True  # as Django marks its own: what insists on a transaction of its own is let pass
    with django_db_blocker.unblock(), around:
        yield
        transaction.set_rollback(True)


@pytest.fixture(autouse=True)
def _nothing_remembered(request: pytest.FixtureRequest) -> Iterator[None]:
    """A rolled-back test leaves nothing in Valkey either (throttles, caches), nor in the signer's memory."""
    yield
    if request.node.get_closest_marker("django_db"):
        database = request.getfixturevalue("test_database")
        database.empty_valkey()
        database.forget_heads()


class ClaimsRan:
    """Watches which tests passed, and fails a `--claims` run in which a claimed test did not.

    A skipped one (a machine without a browser) is said loudly, and fails where CI is set, unless what it lacks is the
    recorded data that no checkout carries.
    """

    def __init__(self, config: pytest.Config) -> None:
        self.passed: set[str] = set()
        self.skipped: set[str] = set()
        self.excused: set[str] = set()
        self.config = config

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.when == "call" and report.passed:
            self.passed.add(claims.plain(report.nodeid))
        elif report.skipped:
            self.skipped.add(claims.plain(report.nodeid))
            if ABSENT in str(report.longrepr):
                self.excused.add(claims.plain(report.nodeid))

    def missing(self) -> list[str]:
        """Claimed tests of the folders that this run covers which did not pass, sorted."""
        proofs = claims.proofs(claims.read(claims.FILE.read_text(encoding="utf-8")))
        covered = {proof for proof in proofs if proof.split("/")[1] not in (*LONG, ATTACKS)}
        return sorted(covered - self.passed)

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        tolerated = self.excused if os.environ.get("CI") else self.skipped
        if not tolerated.issuperset(self.missing()) and session.exitstatus == 0:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        for proof in self.missing():
            why = "was SKIPPED" if proof in self.skipped else "did not pass"
            terminalreporter.write_line(f"docs/claims.md: {proof} {why}", red=True)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say at the end which figures tests recorded and, in one line, what a machine without a browser left untested."""
    for report in terminalreporter.stats.get("passed", []):
        for name, value in report.user_properties:
            if name == FIGURE:
                terminalreporter.write_line(str(value))
    skipped = [report for report in terminalreporter.stats.get("skipped", []) if "tests/browser/" in report.nodeid]
    if skipped:
        why = skipped[0].longrepr[2].removeprefix("Skipped: ")
        terminalreporter.write_line(f"{len(skipped)} browser tests SKIPPED: {why}", yellow=True, bold=True)


@pytest.hookimpl(trylast=True)
def pytest_sessionstart(session: pytest.Session) -> None:
    """On the controller only: xdist workers see a part of the tests."""
    if session.config.getoption("--claims") and not hasattr(session.config, "workerinput"):
        session.config.pluginmanager.register(ClaimsRan(session.config), "claims-ran")
