"""The README.txt of every export: for somebody who has nothing but the file."""

from __future__ import annotations

from collections.abc import Sequence

README = """\
AN EXPORTED SESSION

report.pdf and report.html are for reading, entries.csv is for a spreadsheet, report.json and entries.jsonl
are for programs. Everything else is evidence.

To verify it you need three things, and only the first is in this file:
  1. this file;
  2. the log's key (one line: name+id+base64), which you got from the operator before, NOT with this file;
  3. Python 3.11 or newer with the package `cryptography`, and the verifier audit/verify.py, a single file.

    python verify.py FILE --key KEY            (KEY is the line itself or a file that holds it)

It ends with status 0 only if everything holds. --json prints the verdict for programs. --report OUT writes a
page (HTML) of what was proved: read that one.

Without Python: the page /verify/ at the operator's address gives the same verdict. It reads this file in your
browser and uploads nothing. It is the operator's page, though; the verifier can be a copy of your own.

What that proves: the operator's log key signed a head of this session; exactly the entries in this file, in
this order, with none left out, altered or added, are what that head covers; every disclosed content is the
one recorded; every approved action rests on the approval recorded before it; every value in entries.csv,
entries.jsonl and report.json is that of its entry.
Where values are masked, what is shown is still proved, and what is hidden is counted, not shown.
What it does not prove: what report.pdf, report.html and this text say (they are signed, and whoever holds the
log key can sign other ones); that what was recorded was true, or that the session did not go on afterwards.

The folder `session` is a complete log in the formats C2SP signed-note, tlog-checkpoint and tlog-tiles, with
the hashes of RFC 6962, so other software can check it too. Ciphertexts are in session/payload, and
session/disclosures holds the key material of each disclosed entry, or the fields of it that are shown.
"""

ALTERED = """\
WHEN THIS WAS MADE, SOMETHING DID NOT HOLD. Do not rely on the file before you know why:
"""


def of(warnings: Sequence[str]) -> str:
    """The file's text. What was odd when the export was made stands first."""
    said = "".join(f"  - {each}\n" for each in warnings)
    return f"{ALTERED}{said}\n{README}" if warnings else README
