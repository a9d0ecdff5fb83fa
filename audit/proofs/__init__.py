"""Proofs about sessions and the global log, made from what is stored, each a file that anybody can check offline.

`document` is their form (pure), `sessiontree` the tree of one session's log, `making` takes them from this
installation's ledger. `audit/verify.py` checks them and shares no code with this folder. docs/proofs.md describes them.
"""

from __future__ import annotations
