"""The state directory: making it, whose it is, its keys, and who uses it now.

Two locks, both freed by the kernel when a process dies. `lock`: held by whoever runs the servers (`up`, or a
single command that started them for itself). `users.lock`: shared by commands that use servers which another
process runs; the one that runs them waits for it before it stops them. The file `open` says that whoever holds
the claim has servers and tables ready for others.
"""

from __future__ import annotations

import fcntl
import os
import pwd
import secrets
import stat
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from agentstate.files import write_once
from agentstate.stack.endpoints import Endpoints
from agentstate.stack.errors import AlreadyRunning, SocketDirTaken, StateDirOwned, StateDirUnusable


def prepare(stack: Endpoints) -> None:
    """Make the state directory, its folders and Django's key, unless they are there.

    With outside servers no key is made: another host of the installation may have one already, and it must be the same.
    Raises StateDirOwned or StateDirUnusable.
    """
    try:
        for folder in (stack.state_dir, stack.secrets_dir, stack.log_dir):
            folder.mkdir(mode=0o700, parents=folder == stack.state_dir, exist_ok=True)
            check_owner(stack.state_dir)
        if stack.embedded:
            write_once(stack.secrets_dir / "django.key", secrets.token_urlsafe(48).encode())
    except OSError as error:
        raise StateDirUnusable(f"{error}. Choose another with --state-dir.") from error


def check_owner(state_dir: Path) -> None:
    """Raises StateDirOwned when another user made `state_dir`: root must not mix its files in."""
    owner = state_dir.stat().st_uid
    if owner != os.geteuid():
        raise StateDirOwned(
            f"{state_dir} is {_user(owner)}'s and you are {_user(os.geteuid())}: "
            "run as that user, or choose another directory with --state-dir."
        )


def prepare_sockets(stack: Endpoints) -> None:
    """Make the socket directory, mode 0700. Raises SocketDirTaken when somebody else made it first."""
    path = stack.socket_dir
    path.mkdir(mode=0o700, exist_ok=True)
    found = path.lstat()
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.geteuid():
        raise SocketDirTaken(f"{path} is {_user(found.st_uid)}'s: remove it, or choose another --state-dir.")
    path.chmod(0o700)


def remove_sockets(stack: Endpoints) -> None:
    """Remove the socket directory, unless something is left in it; after the servers have stopped."""
    with suppress(OSError):
        stack.socket_dir.rmdir()


@dataclass
class Claim:
    """The right to run the servers of one state directory, until `release` or the end of the process."""

    stack: Endpoints
    file: IO[str]
    users: IO[str] | None = None

    def tell(self, text: str) -> None:
        """Note in the lock file who holds it, for the message that others get."""
        self.file.seek(0)
        self.file.truncate()
        self.file.write(text)
        self.file.flush()

    def open(self) -> None:
        """Let others use the servers: they answer, and the tables are up to date."""
        _open_mark(self.stack).touch()

    def wait_for_users(self) -> None:
        """Wait until no other command uses the servers, and let no new one begin."""
        self.users = _open(self.stack, "users.lock")
        fcntl.flock(self.users, fcntl.LOCK_EX)

    def release(self) -> None:
        """Let go of the directory."""
        _open_mark(self.stack).unlink(missing_ok=True)
        self.tell("")
        self.file.close()
        if self.users is not None:
            self.users.close()


def claim(stack: Endpoints, what: str) -> Claim:
    """Claim `stack` for `what` (said to others). Raises AlreadyRunning when a live process holds it."""
    held = try_claim(stack, what)
    if held is None:
        raise AlreadyRunning(f"{holder(stack)} uses {stack.state_dir}: stop it, or choose another --state-dir.")
    return held


def try_claim(stack: Endpoints, what: str) -> Claim | None:
    """The claim, or None when a live process holds it."""
    file = _open(stack, "lock")
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        file.close()
        return None
    _open_mark(stack).unlink(missing_ok=True)
    held = Claim(stack, file)
    held.tell(f"{what} (pid {os.getpid()})")
    return held


def holder(stack: Endpoints) -> str:
    """Who holds the claim, as the holder wrote it."""
    return (stack.state_dir / "lock").read_text().strip() or "another process"


def is_open(stack: Endpoints) -> bool:
    """Whether the holder of the claim lets others use its servers."""
    return _open_mark(stack).exists()


def share(stack: Endpoints) -> IO[str]:
    """Say that a command uses servers which another process runs; close the answer to say it is done."""
    users = _open(stack, "users.lock")
    fcntl.flock(users, fcntl.LOCK_SH)
    return users


def _open_mark(stack: Endpoints) -> Path:
    return stack.state_dir / "open"


def _open(stack: Endpoints, name: str) -> IO[str]:
    """Open a lock file for reading and writing without emptying it: its text is the present holder's."""
    return os.fdopen(os.open(stack.state_dir / name, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600), "r+")


def _user(uid: int) -> str:
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return f"user {uid}"
