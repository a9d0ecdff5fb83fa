"""The page that verifies, as tests use it: by its form like a person, and its worker for very many bundles."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from playwright.sync_api import CDPSession, Page, expect

ROOT = Path(__file__).resolve().parents[2]
FORGERS = ("attacks", "bundle", "erasures", "fields", "forgeries", "hostile", "log", "masked", "story")
NOT_HERE = "not (memory or bomb or woundings or every_byte or library or implementations or 1000)"  # too much
AT_ONCE = 40  # jobs in one message to the page
RUN = """async (jobs) => {
  const bytes = (text) => text === undefined ? undefined : Uint8Array.from(atob(text), (each) => each.charCodeAt(0));
  window.judge ??= new Worker(document.body.dataset.worker, { type: "module" });
  const verdicts = [];
  for (const { data, vkey, policy, now, demand } of jobs) {
    const { held, heldProof, receipt } = demand;
    const asked = { ...demand, held: bytes(held), heldProof: bytes(heldProof), receipt: bytes(receipt) };
    verdicts.push(await new Promise((tell) => {
      window.judge.onmessage = ({ data: said }) => said.progress || tell(said.verdict ?? said.unable ?? "a proof");
      window.judge.onerror = (error) => tell(`broke: ${error.message}`);
      window.judge.postMessage({ file: new Blob([bytes(data)]), trusted: vkey ?? bytes(policy), now, demand: asked });
    }));
  }
  return verdicts;
}"""


def judged(page: Page, jobs: list[dict[str, Any]]) -> list[str]:
    """The verdicts of the browser's worker on `tests.core.judged.job`s, as JSON text."""
    bare = [{name: job[name] for name in ("data", "vkey", "policy", "now", "demand") if name in job} for job in jobs]
    return [each for at in range(0, len(bare), AT_ONCE) for each in page.evaluate(RUN, bare[at : at + AT_ONCE])]


class Forging:
    """The core's own tests of the verifier, run beside ours: what they have it judge is written down."""

    def __init__(self, folder: Path) -> None:
        self._judged, self._said = folder / "judged.jsonl", (folder / "said").open("w+")
        files = [str(ROOT / "tests" / "core" / f"test_verify_{name}.py") for name in FORGERS]
        command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-k", NOT_HERE, *files]
        environment = {name: value for name, value in os.environ.items() if not name.startswith(("PYTEST_", "DJANGO_"))}
        environment["JUDGED"] = str(self._judged)
        self._process = subprocess.Popen(
            command, cwd=ROOT, env=environment, stdout=self._said, stderr=subprocess.STDOUT, text=True
        )

    def judged(self) -> list[dict[str, Any]]:
        """All of it, once they are through; fails if one of them did."""
        self._process.wait(240)
        self._said.seek(0)
        assert self._process.returncode == 0, self._said.read()[-2000:]
        return [json.loads(line) for line in self._judged.read_text().splitlines()]

    def stop(self) -> None:
        """End them, if they still run."""
        self._process.kill()
        self._process.wait()
        self._said.close()


def opened(page: Page) -> Page:
    """The page, ready: its worker has loaded all it needs."""
    page.goto("/verify/", wait_until="networkidle")
    expect(page.get_by_role("heading", level=1)).to_have_text("Verify an export")
    return page


def verify(page: Page, bundle: Path | list[Path], key: str = "") -> None:
    """Fill the form and press the button."""
    page.get_by_label("The exported file").set_input_files(bundle)
    page.get_by_label("Log key").fill(key)
    page.get_by_role("button", name="Verify", exact=True).click()


def verdict_of(page: Page) -> dict[str, Any]:
    """The JSON that the page offers for download."""
    with page.expect_download() as download:
        page.get_by_role("link", name="The verdict as JSON").click()
    return dict(json.loads(download.value.path().read_text()))


def peak_of_renderers(session: CDPSession) -> int:
    """The most bytes of memory that any page's process of this browser has had."""
    peaks = [0]
    for process in session.send("SystemInfo.getProcessInfo")["processInfo"]:
        if process["type"] == "renderer":
            status = Path(f"/proc/{process['id']}/status").read_text()
            peaks += [int(line.split()[1]) * 1024 for line in status.splitlines() if line.startswith("VmHWM")]
    return max(peaks)
