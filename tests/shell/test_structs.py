"""Threads that read a struct for the first time at once do not end their process."""

from __future__ import annotations

import subprocess
import sys

from agentstate import structs
from agentstate.engine.state.session import SessionState
from tests.processes import ROOT

RACE = """
import sys, threading, types
import msgspec
from agentstate import structs

sys.setswitchinterval(1e-6)
FIELDS = "".join(f"    a{n}: tuple[str, ...] = ()\\n" for n in range(1, 10))
for trial in range(20):
    module = sys.modules[f"agentstate.race{trial}"] = types.ModuleType(f"agentstate.race{trial}")
    source = "from __future__ import annotations\\nimport msgspec\\n"
    for n in range(30):
        inner = f"S{n + 1}" if n < 29 else "int"
        source += f"class S{n}(msgspec.Struct, frozen=True):\\n    a0: {inner} | None = None\\n{FIELDS}"
    exec(source, module.__dict__)
    structs.ready_all()
    together = threading.Barrier(8)

    def read():
        together.wait()
        msgspec.json.decode(b'{"a0":{"a0":{"a1":["x"]},"a2":["y"]},"a9":["z"]}', type=module.S0)

    threads = [threading.Thread(target=read) for _ in range(8)]
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]
print("alive")
"""


def test_structs_that_were_made_ready_are_read_by_many_threads_at_once():
    """Without `ready_all` this ends with a segmentation fault within the first few trials."""
    done = subprocess.run([sys.executable, "-c", RACE], cwd=ROOT, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout.strip()) == (0, "alive"), done.stderr


def test_what_workers_read_is_made_ready_when_django_is():
    assert SessionState in structs.ready_all()
