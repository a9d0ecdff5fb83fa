"""LangGraph with its PostgreSQL saver in sync mode, asked over standard input. Run by the peers' own Python.

A step is a node that changes a counter, with its checkpoint durable before the next begins. Every thread has a saver
of its own, because one saver lets one thread in at a time.
"""

from __future__ import annotations

import json
import sys
import threading
import time
from typing import Annotated, Any, TypedDict
from uuid import uuid4

from langchain_core.messages import AIMessage
from langgraph.checkpoint.postgres import PostgresSaver
from langgraph.graph import END, START, StateGraph
from langgraph.graph.message import add_messages
from psycopg.rows import dict_row
from psycopg_pool import ConnectionPool

STEPS = 20  # in one invocation
SAID = "It is on its way to you, and I will tell you as soon as it is there. " * 6  # about 400 bytes, as ours


class Counting(TypedDict):
    number: int
    until: int


class Talking(TypedDict):
    number: int
    until: int
    messages: Annotated[list[Any], add_messages]


def count(state: Counting) -> dict[str, Any]:
    return {"number": state["number"] + 1}


def talk(state: Talking) -> dict[str, Any]:
    return {"number": state["number"] + 1, "messages": [AIMessage(content=SAID, id=str(uuid4()))]}


def graph_of(schema: type, node: Any, pool: ConnectionPool[Any]) -> Any:
    graph = StateGraph(schema)
    graph.add_node("step", node)
    graph.add_edge(START, "step")
    graph.add_conditional_edges(
        "step", lambda state: "step" if state["number"] < state["until"] else END, ["step", END]
    )
    return graph.compile(checkpointer=PostgresSaver(pool))


def thread(steps: int) -> dict[str, Any]:
    return {"configurable": {"thread_id": str(uuid4())}, "recursion_limit": steps + 10}


class Langgraph:
    def __init__(self, dsn: str) -> None:
        settings = {"autocommit": True, "prepare_threshold": 0, "row_factory": dict_row}
        self._pool = ConnectionPool(dsn, min_size=9, max_size=12, kwargs=settings, open=True)
        PostgresSaver(self._pool).setup()

    def steps(self, writers: float, seconds: float) -> float:
        """Steps per second of so many threads, each with conversations of its own."""
        over, start, done = threading.Event(), threading.Barrier(int(writers) + 1), [0] * int(writers)

        def work(number: int) -> None:
            graph = graph_of(Counting, count, self._pool)
            start.wait()
            while not over.is_set():
                graph.invoke({"number": 0, "until": STEPS}, thread(STEPS), durability="sync")
                done[number] += STEPS

        threads = [threading.Thread(target=work, args=(number,)) for number in range(int(writers))]
        for each in threads:
            each.start()
        start.wait()
        began = time.perf_counter()
        over.wait(seconds)
        over.set()
        for each in threads:
            each.join()
        return sum(done) / (time.perf_counter() - began)

    def growing(self, steps: float, batch: float) -> list[float]:
        """Seconds a step of the second `batch`, and of the last before step `steps`, each of which appends a message;
        and the bytes that are stored of that conversation then.
        """
        instants: list[float] = []

        def node(state: Talking) -> dict[str, Any]:
            instants.append(time.perf_counter())
            return talk(state)

        config = thread(int(steps))
        graph_of(Talking, node, self._pool).invoke({"number": 0, "until": int(steps)}, config, durability="sync")
        size = int(batch)
        early = (instants[2 * size] - instants[size]) / size
        late = (instants[-1] - instants[-1 - size]) / size
        return [early, late, self._stored(config["configurable"]["thread_id"])]

    def _stored(self, conversation: str) -> float:
        tables = ("checkpoints", "checkpoint_blobs", "checkpoint_writes")
        sums = [f"(SELECT sum(pg_column_size(t.*)) FROM {table} t WHERE thread_id = %(id)s)" for table in tables]
        with self._pool.connection() as connection:
            row = connection.execute(f"SELECT {' + '.join(sums)} AS stored", {"id": conversation}).fetchone()
        return float(row["stored"])


if __name__ == "__main__":
    peer = Langgraph(sys.argv[1])
    for line in sys.stdin:
        what, *arguments = json.loads(line)
        print(json.dumps(getattr(peer, what)(*arguments)), flush=True)
