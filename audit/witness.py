"""A witness (C2SP tlog-witness) that anybody can run: it cosigns heads of logs that only ever grow, and nothing else.

    python -m audit.witness --dir ./witness --name witness.example/w1 --log 'log.example/one+...' [--log ...]

It needs the standard library, `cryptography` and `msgspec`, and of this repository this file, `audit/tlog`,
`audit/signing` and the few files beside `agentstate/errors.py`: no Django, no database, not our state directory.
Key and memory are its own, in the folder that `--dir` names; who loses the folder must choose a new name. For each log
it remembers the largest head that it cosigned, on the disk before it answers.

Put a proxy with TLS in front of it. One process on a folder.
"""

from __future__ import annotations

import argparse
import base64
import binascii
import hashlib
import re
import sys
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from agentstate.errors import AgentStateError
from audit.signing.keyring import load_or_make
from audit.signing.memory import Memory
from audit.signing.server import held
from audit.tlog import checkpoint, cosignature, note, tree
from audit.tlog.checkpoint import BadCheckpoint, Checkpoint
from audit.tlog.note import BadNote, VerifierKey

MAX_BODY = 2**17  # bytes of a request
MAX_PROOF = 63  # hashes
SECONDS = 10.0  # that a client may be silent
_OLD = re.compile(r"old (0|[1-9][0-9]{0,18})", re.ASCII)
_SIZE_TYPE = "text/x.tlog.size"


@dataclass(frozen=True)
class Answered:
    """A status and a body."""

    status: HTTPStatus
    body: str = ""
    content_type: str = "text/plain; charset=utf-8"


class BadRequest(ValueError):
    """The request is not what tlog-witness says."""


class Witness:
    """Cosigns as `name` for the logs of these keys. Logs are known by origin, which is the name of their key."""

    def __init__(
        self, folder: Path, name: str, logs: Sequence[VerifierKey], now: Callable[[], float] = time.time
    ) -> None:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        self.name, self._now = name, now
        self._memory = Memory(folder)
        self._key = load_or_make(folder / "witness.key")
        self._logs: dict[str, list[VerifierKey]] = {}
        for key in logs:
            self._logs.setdefault(key.name, []).append(key)
        self._lock = threading.Lock()

    def vkey(self) -> str:
        """The public key, as logs and verifiers take it."""
        return str(cosignature.key_of(self.name, self._key))

    def add_checkpoint(self, body: bytes) -> Answered:
        """The answer to one request: a cosignature, or why there is none."""
        try:
            old, proof, signed = _read(body)
            origin = note.parse(signed).text.split("\n", 1)[0]
            if origin not in self._logs:
                return Answered(HTTPStatus.NOT_FOUND, "unknown log\n")
            try:
                note.open_note(signed, self._logs[origin])
            except BadNote as error:
                return Answered(HTTPStatus.FORBIDDEN, f"{error}\n")
            head = checkpoint.parse(note.parse(signed).text)
        except (BadRequest, BadNote, BadCheckpoint) as error:
            return Answered(HTTPStatus.BAD_REQUEST, f"{error}\n")
        if old > head.size:
            return Answered(HTTPStatus.BAD_REQUEST, "the old size is larger than the new\n")
        with self._lock:
            return self._extended(head, old, proof)

    def _extended(self, head: Checkpoint, old: int, proof: list[bytes]) -> Answered:
        """Compare with the memory, remember and cosign, as one step."""
        name = b"o" + hashlib.sha256(head.origin.encode()).digest()[:16]
        size, root = self._memory.last(name) or (0, tree.EMPTY_ROOT)
        if old != size or (head.size == size and head.root != root):
            return Answered(HTTPStatus.CONFLICT, f"{size}\n", _SIZE_TYPE)
        if not tree.extends(size, head.size, root, head.root, proof):
            return Answered(HTTPStatus.UNPROCESSABLE_ENTITY, "the proof does not show that the log only grew\n")
        if head.size > size:
            self._memory.remember({name: (head.size, head.root)})
        line = cosignature.make(head.body(), self.name, self._key, int(self._now())).line()
        return Answered(HTTPStatus.OK, line)


def _read(body: bytes) -> tuple[int, list[bytes], bytes]:
    """Old size, proof and signed checkpoint of a request."""
    front, gap, signed = body.partition(b"\n\n")
    try:
        first, *lines = front.decode("ascii").split("\n")
    except UnicodeDecodeError:
        raise BadRequest("not ASCII before the checkpoint") from None
    found = _OLD.fullmatch(first)
    if not gap or found is None or len(lines) > MAX_PROOF:
        raise BadRequest(f"want `old <size>`, at most {MAX_PROOF} hashes, an empty line, and a checkpoint")
    return int(found[1]), [_hash(line) for line in lines], signed


def _hash(line: str) -> bytes:
    try:
        value = base64.b64decode(line, validate=True)
    except (binascii.Error, ValueError):
        raise BadRequest("a hash is not base64") from None
    if len(value) != tree.HASH_SIZE or base64.b64encode(value).decode() != line:
        raise BadRequest(f"a hash is not {tree.HASH_SIZE} bytes of base64")
    return value


class Server(ThreadingHTTPServer):
    """Serves `POST /add-checkpoint` for one witness."""

    daemon_threads = True

    def __init__(self, address: tuple[str, int], witness: Witness) -> None:
        self.witness = witness
        super().__init__(address, Handler)


class Handler(BaseHTTPRequestHandler):
    """One connection."""

    protocol_version = "HTTP/1.1"
    server_version = "tlog-witness"
    sys_version = ""
    timeout = SECONDS
    server: Server

    def do_POST(self) -> None:
        length = self.headers.get("Content-Length", "")
        if not length.isascii() or not length.isdigit() or int(length) > MAX_BODY:
            self.close_connection = True
            self._answer(Answered(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, f"want at most {MAX_BODY} bytes\n"))
            return
        body = self.rfile.read(int(length))
        if self.path != "/add-checkpoint":
            self._answer(Answered(HTTPStatus.NOT_FOUND, "only POST /add-checkpoint is here\n"))
            return
        self._answer(self.server.witness.add_checkpoint(body))

    def _answer(self, answer: Answered) -> None:
        body = answer.body.encode()
        self.send_response(answer.status)
        self.send_header("Content-Type", answer.content_type)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What a witness is told at its start."""
    parser.add_argument("--dir", type=Path, required=True, metavar="DIR", help="its key and its memory")
    parser.add_argument("--name", required=True, help="its name, a URL without a scheme: witness.example/w1")
    parser.add_argument("--log", action="append", required=True, metavar="VKEY", help="a log to cosign for; repeatable")
    parser.add_argument("--listen", default="127.0.0.1:8480", metavar="HOST:PORT")


def run(folder: Path, name: str, logs: Sequence[str], listen: str) -> None:
    """Serve until interrupted. Raises BadNote for a key or name that is none, AlreadySigning, OSError."""
    host, _, port = listen.rpartition(":")
    witness = Witness(folder, name, [note.parse_vkey(vkey) for vkey in logs])
    with held(folder), Server((host.strip("[]"), int(port)), witness) as server:
        print(f"witness {witness.vkey()}\nlistening on http://{host}:{server.server_port}", flush=True)
        server.serve_forever()


def main() -> int:
    """The exit code."""
    parser = argparse.ArgumentParser(prog="python -m audit.witness", description="Run a C2SP tlog-witness.")
    add_arguments(parser)
    options = parser.parse_args()
    try:
        run(options.dir, options.name, options.log, options.listen)
    except (AgentStateError, BadNote, OSError, ValueError) as error:
        print(error, file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        pass
    return 0


if __name__ == "__main__":
    sys.exit(main())
