"""Finding a TCP port for the web server: the only thing of ours that listens on TCP."""

from __future__ import annotations

import socket

from agentstate.stack.errors import PortTaken

DEFAULT = 8000
TRIES = 20


def choose(wanted: int | None) -> int:
    """`wanted` when it is free; without a wish the first free port from DEFAULT on. Raises PortTaken."""
    if wanted is not None:
        if not is_free(wanted):
            raise PortTaken(f"{wanted} is in use: stop what uses it, or choose another with --port.")
        return wanted
    found = next((port for port in range(DEFAULT, DEFAULT + TRIES) if is_free(port)), None)
    if found is None:
        raise PortTaken(f"So are all from {DEFAULT} to {DEFAULT + TRIES - 1}: choose another with --port.")
    return found


def any_free() -> int:
    """A free port that the kernel picks."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def is_free(port: int) -> bool:
    """Whether 127.0.0.1 can listen on `port` now. Raises PortTaken for a port that nobody can have."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # as the web server does
        try:
            probe.bind(("127.0.0.1", port))
        except OverflowError as error:
            raise PortTaken(f"{port} is no port: choose one from 1024 to 65535 with --port.") from error
        except PermissionError as error:
            raise PortTaken(f"{port} is for root only: choose one from 1024 to 65535 with --port.") from error
        except OSError:
            return False
    return True
