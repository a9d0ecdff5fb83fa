"""The five patterns of keeping an agent's state, behind one small interface: the engine in a notebook, without servers.

| pattern | what is kept | where |
| --- | --- | --- |
| `Stateless` | nothing: the caller carries the state along | `carrying.py` |
| `InMemory` | the state, in this process | `carrying.py` |
| `Persisted` | the state as bytes, one cell a session | `cells.py` |
| `EventSourced` | the events, and the state is their fold | `logs.py` |
| `Tiered` | the events; a snapshot now and then; states in use in this process | `logs.py` |

`handle` is the loop all of them share. What survives, where the bytes lie, is up to the cells and the log that a store
is given: dicts here, any DB-API connection in `tables.py`. The stores open nothing themselves. The product's own store
is the ledger; it is the tiered pattern, encrypted and with proofs.
"""

from __future__ import annotations

from benchmarks.patterns.stores.base import Cells, Handled, Log, Moved, Store, handle
from benchmarks.patterns.stores.carrying import InMemory, Stateless
from benchmarks.patterns.stores.cells import DictCells, Persisted
from benchmarks.patterns.stores.logs import DictLog, EventSourced, Tiered
from benchmarks.patterns.stores.tables import TableCells, TableLog

__all__ = [
    "Cells",
    "DictCells",
    "DictLog",
    "EventSourced",
    "Handled",
    "InMemory",
    "Log",
    "Moved",
    "Persisted",
    "Stateless",
    "Store",
    "TableCells",
    "TableLog",
    "Tiered",
    "handle",
]
