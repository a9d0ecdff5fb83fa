"""An export to show to the verifiers of others."""

from __future__ import annotations

from pathlib import Path

import pytest

from audit import verify
from tests.core.tlog_world import SIGNER, chatter, export, unpack
from tests.interop.test_verifiers import Exported, unpacked


@pytest.fixture
def exported(tmp_path: Path) -> Exported:
    ledger = chatter(300)
    files = unpack(export(ledger))
    folder = unpacked(files, tmp_path / "bundle")
    return Exported(files, folder, verify.read_vkey(SIGNER.vkey()), ledger.honest)
