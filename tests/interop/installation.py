"""A real installation, with a witness and a time-stamp authority, and what it exported: for others' verifiers."""

from __future__ import annotations

import shutil
import threading
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

from django.conf import settings
from django.core.management import call_command
from django.test import override_settings
from pytest_django.live_server_helper import LiveServer

from agentstate.clock import now
from audit import sequencer, signer, verify
from audit.export import gather
from audit.tlog import note
from audit.tlog.downtime import Downtime
from audit.witness import Server, Witness
from sessions.approvals import commands as approvals_commands
from sessions.conversation import commands as conversation_commands
from tests import cast
from tests.core.tlog_world import unpack
from tests.interop.test_verifiers import Exported, unpacked
from tests.shell.bank_world import work
from tests.shell.conftest import _as_on_the_first_day
from tests.shell.test_first_transfer import asks_for_a_transfer, pending
from tests.shell.test_timestamps import Authority, answering

MESSAGES = 260  # entries of the session, more than a tile holds
DOWNTIMES = 300  # leaves of the global log, the same


def exported(folder: Path, bank: tuple[str, Path], around: ExitStack) -> Exported:
    """An export out of this process's database; what serves and witnesses it stays until `around` ends."""
    url, token = bank
    given = {"BANK_AUTHORIZATION_URL": url, "BANK_AUTHORIZATION_TOKEN_FILE": str(token), "LOG_READS_PER_MINUTE": 0}
    around.enter_context(override_settings(**given))
    _as_on_the_first_day(settings.BANK_DSN)
    witness, authority = _witness(folder, around), _authority(folder, around)
    session, gap = _session(), Downtime(settings.LOG_ORIGIN, "sequencer", now(), now())
    sequencer.run_once(cast.tenant().pk, extra=[gap] * DOWNTIMES)
    call_command("export", str(session), "--out", str(folder / "bundle.zip"))
    site = LiveServer("127.0.0.1")
    around.callback(site.stop)
    files = unpack((folder / "bundle.zip").read_bytes())
    bundles = [files[name] for name in sorted(files) if name.startswith("session/tile/entries/")]
    return Exported(
        files,
        unpacked(files, folder / "bundle"),
        verify.read_vkey(signer.vkey()),
        [entry for bundle in bundles for entry in _entries(bundle)],
        f"{site.url}/log",
        witness,
        authority,
        folder / "bundle.zip",
        gather.policy(),
    )


def _session() -> object:
    """A transfer that a supervisor edited and approved, and much that was said after it."""
    session = asks_for_a_transfer()
    line = pending(session)
    edited = {**line.arguments, "amount": {"minor": 137, "currency": "USD"}}
    approvals_commands.decide(
        cast.alice(), line.id, approvals_commands.Decision("edit", reason="Amount misheard", arguments=edited)
    )
    work()
    for number in range(MESSAGES):
        conversation_commands.say(cast.cleo(), session, f"And another thing: {number}.")
    return session


def _witness(folder: Path, around: ExitStack) -> str:
    """The vkey of a witness that every export asks."""
    own = Witness(folder / "witness", "witness.example/w1", [note.parse_vkey(signer.vkey())])
    server = Server(("127.0.0.1", 0), own)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    around.callback(server.shutdown)
    around.enter_context(override_settings(WITNESSES=[own.vkey(), f"http://127.0.0.1:{server.server_port}"]))
    return own.vkey()


def _authority(folder: Path, around: ExitStack) -> Path | None:
    """The root certificate of a time-stamp authority that every export asks; None without openssl."""
    if shutil.which("openssl") is None:
        return None
    authority = Authority(folder / "authority")
    url, root = around.enter_context(answering(authority)), authority.folder / "root.pem"
    around.enter_context(override_settings(TIMESTAMP_URL=url, TIMESTAMP_ROOT=str(root)))
    return root


def _entries(data: bytes) -> Iterator[bytes]:
    at = 0
    while at < len(data):
        size = int.from_bytes(data[at : at + 2], "big")
        yield data[at + 2 : at + 2 + size]
        at += 2 + size
