"""As whom PostgreSQL runs when we are root, which it refuses.

First choice: a user namespace in which our uid looks like 65534 (nobody): files stay root's, nothing is made,
changed or opened on the machine, and a home directory closed to others is no obstacle. Where namespaces are
refused (many containers): the uid of nobody with the two capabilities that let it reach files below closed
directories. Never useradd, never chmod of anything outside the state directory.
"""

from __future__ import annotations

import os
import subprocess
from dataclasses import dataclass
from pathlib import Path

from agentstate.stack.errors import RootRefused

NOBODY = 65534
NAMESPACE = ("unshare", "--user", f"--map-user={NOBODY}", f"--map-group={NOBODY}", "--")
CAPABILITIES = "-all,+dac_override,+fowner"
DROPPED = (
    "setpriv",
    f"--reuid={NOBODY}",
    f"--regid={NOBODY}",
    "--clear-groups",
    f"--inh-caps={CAPABILITIES}",
    f"--ambient-caps={CAPABILITIES}",
    "--pdeathsig=QUIT",  # changing the uid forgets the signal that the fork asked for
    "--",
)


@dataclass(frozen=True)
class Identity:
    """`prefix` goes before a command of PostgreSQL's; `uid` owns its data directory."""

    prefix: tuple[str, ...]
    uid: int

    def own(self, directory: Path) -> None:
        """Give `directory` and all in it to `uid`: root may have made it in the other of the two ways."""
        if directory.stat().st_uid != self.uid:
            for folder, _, files in os.walk(directory):
                for path in (folder, *(os.path.join(folder, name) for name in files)):
                    os.chown(path, self.uid, -1, follow_symlinks=False)


def pick(uid: int) -> Identity:
    """The identity for a caller with `uid`. Raises RootRefused when root finds no way."""
    if uid != 0:
        return Identity((), uid)
    if _works(NAMESPACE):
        return Identity(NAMESPACE, 0)
    if _works(DROPPED):
        return Identity(DROPPED, NOBODY)
    raise RootRefused("Neither user namespaces (unshare) nor setpriv work here: run as an ordinary user.")


def _works(prefix: tuple[str, ...]) -> bool:
    try:
        return subprocess.run([*prefix, "true"], capture_output=True, check=False).returncode == 0
    except FileNotFoundError:
        return False
