"""DBOS Transact, asked over standard input. Run by the peers' own Python.

A step is a function whose result is recorded before the next begins. A decision is a message to a workflow that
waits for it, in the same process; the clock runs from before it is sent, because sending is its commit.
"""

from __future__ import annotations

import json
import os
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from uuid import uuid4

from dbos import DBOS
from psycopg.conninfo import conninfo_to_dict

STEPS, THREADS, PATIENCE = 20, 8, 60.0
began: dict[str, float] = {}


def url_of(dsn: str) -> str:
    """The address in the shape that the library asks for; everything else says libpq's environment."""
    parts = conninfo_to_dict(dsn)
    names = {"PGHOST": "host", "PGUSER": "user", "PGPASSFILE": "passfile", "PGPORT": "port"}
    for variable, name in names.items():
        if parts.get(name):
            os.environ[variable] = str(parts[name])
    return f"postgresql://{parts['user']}@/{parts['dbname']}?host={parts['host']}&passfile={parts['passfile']}"


@DBOS.step()
def one(number: int) -> int:
    return number


@DBOS.workflow()
def several(number: int) -> int:
    for each in range(number):
        one(each)
    return number


@DBOS.workflow()
def gated(name: str) -> str:
    one(0)
    said = DBOS.recv("decision", timeout_seconds=PATIENCE)
    began[name] = time.perf_counter()
    one(1)
    return str(said)


class Dbos:
    def steps(self, writers: float, seconds: float) -> float:
        """Steps per second of so many threads, each with workflows of its own."""
        over, start, done = threading.Event(), threading.Barrier(int(writers) + 1), [0] * int(writers)

        def work(number: int) -> None:
            start.wait()
            while not over.is_set():
                done[number] += several(STEPS)

        threads = [threading.Thread(target=work, args=(number,)) for number in range(int(writers))]
        for each in threads:
            each.start()
        start.wait()
        start_time = time.perf_counter()
        over.wait(seconds)
        over.set()
        for each in threads:
            each.join()
        return sum(done) / (time.perf_counter() - start_time)

    def decisions(self, at_once: float, pause: float) -> list[float]:
        """Milliseconds from each of so many decisions at once to the code after it. `pause`: seconds until all wait."""
        waiting = {name: DBOS.start_workflow(gated, name) for name in (str(uuid4()) for _ in range(int(at_once)))}
        time.sleep(pause)
        sent = {}

        def send(name: str) -> None:
            sent[name] = time.perf_counter()
            DBOS.send(waiting[name].workflow_id, "yes", "decision")

        with ThreadPoolExecutor(THREADS) as pool:
            list(pool.map(send, waiting))
        for handle in waiting.values():
            handle.get_result()
        return [(began.pop(name) - sent[name]) * 1000 for name in waiting]


if __name__ == "__main__":
    settings = {"name": "peer", "system_database_url": url_of(sys.argv[1]), "sys_db_pool_size": 20}
    DBOS(config={**settings, "log_level": "ERROR", "console_log_level": "ERROR"})
    DBOS.launch()
    peer = Dbos()
    for line in sys.stdin:
        what, *arguments = json.loads(line)
        print(json.dumps(getattr(peer, what)(*arguments)), flush=True)
    os._exit(0)  # its threads do not end by themselves
