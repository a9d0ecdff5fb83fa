"""`make mutate`: changes the pure rules, the signer's and the guards of the ledger in one place at a time and fails
when their core tests do not notice.

mutmut makes and runs the mutants (docs/decisions/0026-mutation-testing.md). A survivor passes only when
tests/mutation.json lists it with the inputs for which both versions give the same answer. A listed entry names its
function and the digest of the function's source, so an entry ends with the text that it was written for, and moving a
file ends none.

    python -m tests.mutation [--share 25] [--seed TEXT]     so many in a hundred functions, drawn from the seed
"""

from __future__ import annotations

import argparse
import ast
import hashlib
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
LIST = ROOT / "tests" / "mutation.json"
WORK = ROOT / ".mutants"
MAX_LISTED = 0.03  # of all mutants
MODULES = (
    "agentstate/engine/halting.py",
    "agentstate/engine/handing_back.py",
    "agentstate/engine/decide/approvals.py",
    "agentstate/engine/decide/approvers.py",
    "agentstate/engine/decide/grants.py",
    "agentstate/engine/decide/permits.py",
    "agentstate/engine/decide/reviewing.py",
    "agentstate/engine/decide/supervision.py",
    "agentstate/engine/decide/withdrawals.py",
    "agentstate/engine/policy/__init__.py",
    "agentstate/engine/policy/cases.py",
    "agentstate/engine/policy/edits.py",
    "agentstate/engine/policy/granted.py",
    "agentstate/engine/policy/requirements.py",
    "agentstate/engine/policy/rules.py",
    "agentstate/engine/policy/tally.py",
    "agentstate/engine/policy/terms.py",
    "agentstate/engine/policy/verdict.py",
    "agentstate/people/roles.py",
    "audit/ledger.py",
    "audit/reading.py",
    "audit/signing/memory.py",
    "audit/signing/reports.py",
    "audit/signing/rules.py",
    "audit/tlog/growth.py",
    "audit/tlog/headleaf.py",
)
# Functions that carry a statement to PostgreSQL: tests/shell tests them there.
STATEMENTS = {
    "audit/reading.py": frozenset(
        {"run", "run_together", "read_head", "read_newer", "read_rows", "read_receipt", "false_receipts"}
    )
}
TESTS = (
    "tests/core/test_agent_withdrawals.py",
    "tests/core/test_approvers.py",
    "tests/core/test_decisions.py",
    "tests/core/test_edits.py",
    "tests/core/test_engine_approval.py",
    "tests/core/test_permits.py",
    "tests/core/test_plan_ends.py",
    "tests/core/test_policy_cases.py",
    "tests/core/test_policy_missing.py",
    "tests/core/test_policy_parts.py",
    "tests/core/test_proposers.py",
    "tests/core/test_requirements.py",
    "tests/core/test_retries.py",
    "tests/core/test_roles.py",
    "tests/core/test_value_authors.py",
    "tests/core/test_withdrawals.py",
    "tests/core/test_handing_back.py",
    "tests/core/test_halting.py",
    "tests/core/test_supervision_parts.py",
    "tests/core/test_engine_policy.py",
    "tests/core/test_families.py",
    "tests/core/test_fatigue.py",
    "tests/core/test_speech.py",
    "tests/core/test_taking_over.py",
    "tests/core/test_grants.py",
    "tests/core/test_envelopes.py",
    "tests/core/test_ledger_guards.py",
    "tests/core/test_signer_memory.py",
    "tests/core/test_signing_refusals.py",
    "tests/core/test_signing_reports.py",
    "tests/core/test_signing_rules.py",
    "tests/core/test_tlog_growth.py",
)
COPIED = ("audit", "demo", "docs", "sessions", "agentstate", "GLOSSARY.md", "README.md")
SURVIVED, UNTESTED, KILLED = 0, 33, {1, 3, 24, 36, -24, 152}  # mutmut's exit codes; the last four: out of time


@dataclass(frozen=True)
class Survivor:
    """A mutant that no test noticed: its function, the digest of that function's source, and the lines that differ."""

    function: str
    digest: str
    change: tuple[str, ...]


def functions(source: str) -> Iterator[tuple[str, str, str]]:
    """Yields mutmut's name, the plain name and the source's digest of each function that mutmut changes."""
    for node in ast.parse(source).body:
        if isinstance(node, ast.FunctionDef):
            yield f"x_{node.name}", node.name, digest_of(source, node)
        elif isinstance(node, ast.ClassDef):
            for each in node.body:
                if isinstance(each, ast.FunctionDef):
                    yield f"xǁ{node.name}ǁ{each.name}", f"{node.name}.{each.name}", digest_of(source, each)


def digest_of(source: str, node: ast.FunctionDef) -> str:
    """Returns the first 16 hexadecimal digits of the SHA-256 of the function's text."""
    return hashlib.sha256((ast.get_source_segment(source, node) or "").encode()).hexdigest()[:16]


def drawn(name: str, seed: str, share: int) -> bool:
    """Returns whether a function belongs to the share that the seed draws."""
    return int.from_bytes(hashlib.sha256(f"{seed} {name}".encode()).digest()[:4]) % 100 < share


def prepare() -> None:
    """Copies the tracked files to WORK and writes mutmut's settings beside them."""
    shutil.rmtree(WORK, ignore_errors=True)
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, check=True, capture_output=True, text=True).stdout
    for name in filter(None, listed.split("\0")):
        target = WORK / name
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(ROOT / name, target)
    settings = {
        "source_paths": ["agentstate", "audit"],
        "only_mutate": MODULES,
        "also_copy": COPIED,
        "pytest_add_cli_args": ["-p", "no:cacheprovider", "-p", "no:xdist", "-p", "no:django", "-q"],
        "pytest_add_cli_args_test_selection": TESTS,
        "timeout_constant": ["10"],
        "use_git_change_detection": ["false"],
    }
    lines = [f"{name}=\n" + "".join(f"    {value}\n" for value in values) for name, values in settings.items()]
    text = "[mutmut]\n" + "".join(lines)
    for name in ("timeout_constant", "use_git_change_detection"):
        text = text.replace(f"{name}=\n    ", f"{name}=")
    (WORK / "setup.cfg").write_text(text, encoding="utf-8")


def run(patterns: list[str], jobs: int) -> None:
    """Runs the mutants whose names match; mutmut's own exit code says nothing of survivors."""
    command = [sys.executable, "-m", "mutmut", "run", "--max-children", str(jobs), *patterns]
    with (WORK / "mutmut.log").open("w") as log:
        done = subprocess.run(command, cwd=WORK, stdout=log, stderr=subprocess.STDOUT, check=False)
    if done.returncode:
        tail = (WORK / "mutmut.log").read_text(errors="replace").replace("\r", "\n").splitlines()[-40:]
        sys.exit("\n".join([*tail, "mutmut did not run"]))


def results(chosen: dict[str, tuple[str, str]]) -> tuple[int, list[Survivor]]:
    """Returns how many mutants ran and those that survived. Exits when one neither died nor survived."""
    os.chdir(WORK)
    from mutmut.mutation.diff_apply import get_diff_for_mutant

    ran, survivors = 0, []
    for module in MODULES:
        codes = json.loads((WORK / "mutants" / f"{module}.meta").read_text())["exit_code_by_key"]
        for name, code in codes.items():
            known = chosen.get(name.partition("__mutmut_")[0])
            if known is None:
                continue
            ran += 1
            if code in (SURVIVED, UNTESTED):
                lines = get_diff_for_mutant(name).splitlines()
                change = [line for line in lines if line[:1] in ("+", "-") and line[:3] not in ("+++", "---")]
                survivors.append(Survivor(*known, tuple(f"{line[0]} {line[1:].strip()}" for line in change)))
            elif code not in KILLED:
                sys.exit(f"{name}: mutmut says {code}")
    return ran, survivors


def listed() -> set[Survivor]:
    """Returns what tests/mutation.json calls equivalent. Exits when an entry does not say why."""
    entries = json.loads(LIST.read_text(encoding="utf-8"))
    for entry in entries:
        if not entry["same"]:
            sys.exit(f"{LIST.name}: {entry['function']} does not say for which inputs both give the same")
    return {Survivor(entry["function"], entry["digest"], tuple(entry["change"])) for entry in entries}


def main() -> None:
    """Runs the share, prints the figures, and fails on a survivor that is not listed."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--share", type=int, default=100)
    parser.add_argument("--seed", default="")
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args()
    chosen, every = {}, set()
    for module in MODULES:
        for mangled, plain, digest in functions((ROOT / module).read_text(encoding="utf-8")):
            if plain in STATEMENTS.get(module, ()):
                continue
            every.add((plain, digest))
            name = f"{module.removesuffix('.py').replace('/', '.').removesuffix('.__init__')}.{mangled}"
            if drawn(name, options.seed, options.share):
                chosen[name] = (plain, digest)
    prepare()
    run([f"{name}__mutmut_*" for name in chosen] if options.share < 100 else [], options.jobs)
    ran, survivors = results(chosen)
    known = listed()
    faults = [
        f"survived: {each.function} {each.digest}\n  " + "\n  ".join(each.change)
        for each in survivors
        if each not in known
    ]
    faults += [
        f"listed, but its source has changed: {each.function}"
        for each in known
        if (each.function, each.digest) not in every
    ]
    if options.share >= 100:
        faults += [f"listed, but a test notices it: {each.function} {each.change}" for each in known - set(survivors)]
        if len(survivors) > MAX_LISTED * ran:
            faults.append(f"{len(survivors)} of {ran} survive, at most {MAX_LISTED:.0%} may")
    said = f"{ran} mutants of {len(chosen)} functions, {len(survivors)} survive, {len(faults)} faults"
    print("\n".join([*faults, said]))
    sys.exit(bool(faults))


if __name__ == "__main__":
    main()
