"""The signer's process: one unix socket (mode 0600), one request at a time, one signer on a state directory."""

from __future__ import annotations

import asyncio
import fcntl
import logging
import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path

import msgspec

from agentstate.clock import now
from agentstate.errors import AgentStateError
from audit.signing import messages, rules
from audit.signing.errors import AlreadySigning
from audit.signing.messages import LONGEST, Answer, Downtime, Known, Refusal, Request, Signed
from audit.signing.rules import Signer

HEARTBEAT = 2.0  # seconds between two signs of life
GAP = 10.0  # seconds without one that are a downtime
log = logging.getLogger("audit.signer")
_requests = msgspec.json.Decoder(Request)


def serve(signer: Signer, state_dir: Path, socket: Path, gap: float = GAP) -> None:
    """Answer on `socket` until SIGTERM or SIGINT. Raises AlreadySigning."""
    with held(state_dir / "signer"):
        asyncio.run(_until_told(signer, state_dir, socket, gap))


@contextmanager
def held(folder: Path) -> Iterator[None]:
    """Be the only one who signs with the memory in `folder`, until the end. Raises AlreadySigning."""
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    descriptor = os.open(folder / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise AlreadySigning(f"{folder}: stop it first.") from None
        yield
    finally:
        os.close(descriptor)


async def _until_told(signer: Signer, state_dir: Path, socket: Path, gap: float) -> None:
    over = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, over.set)
    async with answering(signer, state_dir, socket, gap):
        log.info("signing as %s on %s", signer.vkey(), socket)
        await over.wait()


class answering:
    """While inside, the signer answers on `socket`."""

    def __init__(self, signer: Signer, state_dir: Path, socket: Path, gap: float = GAP) -> None:
        self._desk = Desk(signer, Diary(state_dir / "signer", gap))
        self._socket = socket

    async def __aenter__(self) -> None:
        self._socket.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._socket.unlink(missing_ok=True)  # left by a killed one: we hold the lock
        before = os.umask(0o177)
        try:
            self._server = await asyncio.start_unix_server(self._desk.talk, self._socket, limit=LONGEST)
        finally:
            os.umask(before)
        self._beating = asyncio.create_task(self._desk.diary.keep())

    async def __aexit__(self, *_: object) -> None:
        self._beating.cancel()
        self._server.close()
        self._desk.diary.beat()
        self._socket.unlink(missing_ok=True)


class Diary:
    """When this signer did not run: found at start by the age of the last sign of life, kept one line each."""

    def __init__(self, folder: Path, gap: float) -> None:
        self._alive, self._lines = folder / "alive", folder / "downtimes"
        last = self._last()
        if last is not None and now() - last > timedelta(seconds=gap):
            with self._lines.open("ab") as file:
                file.write(msgspec.json.encode(Downtime(last, now())) + b"\n")
                file.flush()
                os.fsync(file.fileno())
        self.beat()

    def downtimes(self) -> list[Downtime]:
        """All, oldest first."""
        with suppress(FileNotFoundError):
            whole = self._lines.read_bytes().rpartition(b"\n")[0]
            return [msgspec.json.decode(line, type=Downtime) for line in whole.splitlines()]
        return []

    def beat(self) -> None:
        """Say that we run."""
        self._alive.touch(mode=0o600)

    async def keep(self) -> None:
        """Say so again and again."""
        while True:
            await asyncio.sleep(HEARTBEAT)
            self.beat()

    def _last(self) -> datetime | None:
        try:
            return datetime.fromtimestamp(self._alive.stat().st_mtime, UTC)
        except FileNotFoundError:
            return None


class Desk:
    """Takes requests and answers them, each wholly before the next: nothing here waits while it works."""

    def __init__(self, signer: Signer, diary: Diary) -> None:
        self._signer, self.diary = signer, diary

    async def talk(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One connection, until it ends."""
        try:
            while line := await reader.readline():
                answer = self.answer(line)
                if answer is not None:
                    writer.write(msgspec.json.encode(answer) + b"\n")
                    await writer.drain()
        except (ConnectionError, ValueError):  # gone, or a line without an end
            pass
        finally:
            writer.close()

    def answer(self, line: bytes) -> Answer | None:
        """The answer to one line; a refusal is one too. None to a report: who sent it is gone."""
        try:
            return self._answer(_requests.decode(line))
        except msgspec.MsgspecError as error:
            return Refusal("not_signed", f"malformed request: {error}")
        except AgentStateError as error:
            log.warning("%s", error)
            return Refusal(error.code, error.detail)
        except ValueError as error:  # of the cores: a size, an origin or a hash of no sense
            return Refusal("not_signed", f"{error}")
        except OSError as error:
            log.exception("the signer's disk")
            return Refusal("bad_signer_memory", f"{error.strerror or error}.")

    def _answer(self, asked: Request) -> Answer | None:
        signer = self._signer
        match asked:
            case messages.Admit():
                return messages.Admitted(signer.admit(asked.size, asked.root, asked.heads))
            case messages.SignGlobal():
                found = signer.sign_global(asked.size, asked.root, asked.old, asked.frontier, asked.leaves)
                match found:
                    case rules.Behind():
                        return messages.Behind(found.size)
                    case list():
                        return messages.Admitted(found)
                return Signed(found)
            case messages.Report():
                signer.report(asked.log, asked.size, asked.root)
                return None
            case messages.Confirm():
                signer.confirm(asked.log, asked.old, asked.frontier, asked.nodes)
            case messages.Dismiss():
                signer.dismiss(asked.log, asked.size)
            case messages.SignHead():
                note = signer.sign_head(asked.body, asked.index, asked.proof, asked.head, asked.growth)
                return messages.Behind(note.size) if isinstance(note, rules.Behind) else Signed(note)
            case messages.SignText():
                return Signed(signer.sign_text(asked.text))
            case messages.SignReceipt():
                return messages.Attested(*signer.sign_receipt(asked.head))
            case messages.Announce():
                return Signed(signer.keys.announce())
            case messages.Activate():
                signer.activate(asked.index, asked.proof, asked.head)
        return self._known()

    def _known(self) -> Known:
        keys, last = self._signer.keys, self._signer.last()
        return Known(
            keys.vkey(),
            keys.second(),
            [str(key) for key in keys.known()],
            keys.introductions(),
            last[0] if last else 0,
            self.diary.downtimes(),
            [
                messages.Reported(each.log, each.size, each.seconds, self._signer.last_of(each.log)[0])
                for each in self._signer.reports.waiting()
            ],
            self._signer.refused(),
        )
