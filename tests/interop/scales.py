"""Asks tlog-scales whether a folder, or what a URL serves, is a C2SP tile log that it can verify.

Runs in the verifiers' own Python. Reads {folder (or URL), vkey, witness, index, old, consistency} as JSON on stdin;
prints {"ok", "why", "proof"}: `proof` is what its command line makes of leaf `index`.
"""

import base64
import contextlib
import io
import json
import sys

from tlog_scales import backend, cli, tiles, tlog
from tlog_scales.reader import TilesReader
from tlog_scales.signing import Vkey


def asked(question: dict) -> dict:
    reader = TilesReader(backend.make_backend(question["folder"]))
    head = reader.get_checkpoint()
    head.verify(Vkey.from_string(question["vkey"]))
    if witness := question.get("witness"):
        head.verify(Vkey.from_string(witness))
    entry = reader.get_entry(question["index"])
    reader.get_inclusion_proof(question["index"], head.size).check(tiles.leaf_hash(entry), head.root_hash)
    if old := question.get("old"):
        path = [base64.b64decode(each) for each in old["path"]]
        tlog.ConsistencyProof(old["size"], head.size, path).check(base64.b64decode(old["root"]), head.root_hash)
    printed = io.StringIO()
    sys.argv = ["tlog-tiles", "gen-proof", question["folder"], str(question["index"])]
    with contextlib.redirect_stdout(printed):
        cli.main()
    return {"ok": True, "why": "", "proof": printed.getvalue(), "entry": base64.b64encode(entry).decode()}


try:
    answer = asked(json.load(sys.stdin))
except Exception as error:
    answer = {"ok": False, "why": f"{type(error).__name__}: {error}"}
print(json.dumps(answer))
