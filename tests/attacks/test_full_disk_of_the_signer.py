"""An attack on the signer by a disk that fills up, which whoever owns the database can bring about. No installation is
needed: the real signer writes to a file system of its own.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys

import pytest

from tests.processes import ROOT

FULL_DISK = """
import os, sys, uuid
from pathlib import Path
from audit.signing.messages import Growth
from audit.signing.rules import Signer
from audit.tlog import headleaf, tree
from audit.tlog.checkpoint import Checkpoint

folder = Path(sys.argv[1])
signer, leaves = Signer(folder / "state", "log.example"), []
filler = (folder / "filler").open("wb", buffering=0)

def fill():
    for size in (65536, 4096, 512, 1):
        try:
            while filler.write(b"x" * size): pass
        except OSError: pass

def grow(bodies):
    hashes = [tree.leaf_hash(each) for each in leaves]
    new = [*hashes, *map(tree.leaf_hash, bodies)]
    assert signer.admit(len(leaves), tree.root_of(hashes), [Growth(each) for each in bodies]) == []
    signed = signer.sign_global(len(new), tree.root_of(new), len(leaves), tree.append(b"", 0, hashes), bodies)
    leaves.extend(bodies)
    return signed

def heads(many):
    return [headleaf.body(Checkpoint(f"log.example/s/{uuid.uuid4()}", 1, os.urandom(32)), None) for _ in range(many)]

VARIANT = int(sys.argv[2])
grow(heads(VARIANT))
fill()
whole = (folder / "state/signer/heads").read_bytes()
signed = refused = 0
for _ in range(200):
    try:
        grow(heads(1 + VARIANT % 3))
        signed += 1
        whole = (folder / "state/signer/heads").read_bytes()
    except OSError:
        refused += 1
        assert (folder / "state/signer/heads").read_bytes() == whole, "a torn place was left"
remembered = Signer(folder / "state", "log.example")
assert remembered.last()[0] == len(leaves), "signed and forgotten"
assert len(whole) == 64 * (1 + len(leaves))
filler.truncate(0)
grow(heads(3))
print(signed, refused)
"""


@pytest.mark.parametrize("variant", [2, 62, 125])
def test_h8_on_a_full_disk_nothing_is_signed_that_was_not_remembered(variant, tmp_path):
    """A file system of 256 kB of its own, filled to the last byte; pages of it end at and between places."""
    if shutil.which("unshare") is None or not sys.platform.startswith("linux"):
        pytest.skip("needs unshare(1)")
    script = tmp_path / "full.py"
    script.write_text(FULL_DISK)
    mount = (
        f"mount -t tmpfs -o size=256k none {tmp_path}/disk && exec {sys.executable} {script} {tmp_path}/disk {variant}"
    )
    (tmp_path / "disk").mkdir()
    words = ("unshare", "-rm", "sh", "-c", mount)
    done = subprocess.run(
        words, cwd=ROOT, capture_output=True, text=True, check=False, env={**os.environ, "PYTHONPATH": str(ROOT)}
    )
    assert done.returncode == 0, done.stderr
    _signed, refused = map(int, done.stdout.split())
    assert refused > 100
