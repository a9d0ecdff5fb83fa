"""Which files of this folder take long: whole laws, recorded runs, every byte, processes of their own. The inner loop
leaves them out.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from sessions.library import folders
from tests.conftest import BANK_LIBRARY

HERE = Path(__file__).resolve().parent
folders.add(BANK_LIBRARY)  # the agents of these tests are the bank's and others under its policy
SLOW = {
    "test_allowed_calls",
    "test_approval_explorer",
    "test_approval_guards",
    "test_approval_model",
    "test_charts_forms",
    "test_charts_simulate",
    "test_demo_callers",
    "test_engine_bounded",
    "test_engine_explorer",
    "test_engine_laws",
    "test_memory_airline",
    "test_memory_laws",
    "test_merge_laws",
    "test_offers_laws",
    "test_plan_explorer",
    "test_plan_laws",
    "test_plan_round_laws",
    "test_plan_versions",
    "test_profile_doors",
    "test_profile_laws",
    "test_proofs",
    "test_tlog_fields",
    "test_tlog_proof",
    "test_tlog_small_worlds",
    "test_tlog_subtree",
    "test_tlog_tiles",
    "test_tlog_tree",
    "test_verify_attacks",
    "test_verify_bundle",
    "test_verify_bytes",
    "test_verify_command",
    "test_verify_forgeries",
    "test_verify_fuzz",
    "test_verify_hostile",
    "test_verify_limits",
    "test_verify_log",
    "test_verify_many",
    "test_versions_laws",
}


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark what is slow."""
    for item in items:
        if item.path.parent == HERE and item.path.stem in SLOW:
            item.add_marker("slow")
