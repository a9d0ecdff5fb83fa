"""Asks scitt-cose whether a COSE receipt holds for an entry. Runs in the verifiers' own Python.

Reads {receipt, entry, key} (base64, base64, PEM) as JSON on stdin; prints {"ok", "why"}.
"""

import base64
import json
import sys

from scitt_cose import receipt

question = json.load(sys.stdin)
entry = base64.b64decode(question["entry"]).hex()
said = receipt.verify_receipt(
    base64.b64decode(question["receipt"]), leaf_entry_hex=entry, log_public_key_pem=question["key"].encode()
)
print(json.dumps({"ok": bool(said.ok), "why": str(said.errors)}))
