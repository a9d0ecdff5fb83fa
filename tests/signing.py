"""The signer of the tests: the real one on a real socket, in a thread of the test process, with a memory that each test
begins anew, as the database does.
"""

from __future__ import annotations

import asyncio
import threading
from pathlib import Path

from audit.signing.rules import Signer
from audit.signing.server import answering


class SignerThread:
    """Answers on `socket` from its start until `stop`."""

    def __init__(self, state_dir: Path, origin: str, socket: Path) -> None:
        self.state_dir, self.socket = state_dir, socket
        self.signer = Signer(state_dir, origin)
        self._loop = asyncio.new_event_loop()
        self._over = asyncio.Event()
        self._ready = threading.Event()
        self._thread = threading.Thread(target=self._loop.run_until_complete, args=(self._serve(),), daemon=True)
        self._thread.start()
        assert self._ready.wait(10)

    async def _serve(self) -> None:
        async with answering(self.signer, self.state_dir, self.socket):
            self._ready.set()
            await self._over.wait()

    def forget(self) -> None:
        """Forget every head and every key but the first: the database of the next test knows none of them."""
        folder = self.state_dir / "signer"
        (folder / "heads").write_bytes(b"")
        self.signer.__init__(self.state_dir, self.signer.origin)
        for later in [*folder.glob("keys/00[2-9].*"), *(self.state_dir / "secrets").glob("log-*.key")]:
            later.unlink()
        self.signer.keys.forget()

    def stop(self) -> None:
        self._loop.call_soon_threadsafe(self._over.set)
        self._thread.join(10)
