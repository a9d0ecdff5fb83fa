"""`python -m tests.live.keep`: the two servers of AGENTSTATE_STATE_DIR, supervised, without Django. Prints
`ready pid`.
"""

from __future__ import annotations

import os
import sys

from agentstate.errors import Refused
from agentstate.stack.endpoints import endpoints
from agentstate.stack.servers import start_servers, supervisor_for
from agentstate.stack.statedir import claim, prepare, remove_sockets
from agentstate.stack.supervisor import Interrupted
from tests.processes import ROOT


def main() -> None:
    stack = endpoints(os.environ, ROOT)
    prepare(stack)
    held = claim(stack, "the keeper of a test")
    supervisor = supervisor_for(stack)
    with supervisor.listening():
        try:
            start_servers(stack, supervisor)
            held.open()
            print(f"ready {os.getpid()}", flush=True)
            supervisor.watch()
        except Interrupted:
            pass
        finally:
            supervisor.stop()
            remove_sockets(stack)
            held.release()


if __name__ == "__main__":
    try:
        main()
    except Refused as refused:
        sys.exit(str(refused))
