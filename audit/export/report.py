"""The report in an export: what a person reads.

`audit` knows entries, not sessions, so the words come from outside: `sessions` registers a renderer that
tells the story of a session. Until one is registered, the plain renderer below lists the entries as they are.
What is rendered is signed with the bundle.
"""

from __future__ import annotations

import html
import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class ReportEntry:
    """One entry as the report may show it. `event` is None unless `state` is "disclosed", or "partly": then it lacks
    what is masked.
    """

    seq: int
    kind: str
    at: str
    actor: str
    ref: int
    state: str  #: disclosed, partly, withheld, erased, pruned, unreadable, missing
    event: dict[str, Any] | None  #: numbers other than integers are text, as they were written


@dataclass(frozen=True)
class ReportHead:
    """What the report is about: a signed head, and what was odd when the export was made."""

    log: str
    origin: str
    size: int
    root: str  #: hex
    vkey: str
    warnings: tuple[str, ...] = field(default=())


@dataclass(frozen=True)
class Report:
    """The report twice: for people (UTF-8 HTML, complete in itself) and for programs (UTF-8 JSON)."""

    html: bytes
    json: bytes


Renderer = Callable[[ReportHead, Iterable[ReportEntry]], Report]


def plain(head: ReportHead, entries: Iterable[ReportEntry]) -> Report:
    """The entries in order, with everything they disclose."""
    rows, records = [], []
    for entry in entries:
        rows.append(_row(entry))
        records.append({name: getattr(entry, name) for name in ReportEntry.__slots__})
    facts = {"log": head.log, "origin": head.origin, "size": head.size, "root": head.root, "key": head.vkey}
    data = {"head": facts, "warnings": list(head.warnings), "entries": records}
    text = json.dumps(data, ensure_ascii=False, sort_keys=True, indent=1)
    return Report(_page(head, rows).encode("utf-8", "replace"), text.encode("utf-8", "replace"))


_renderers: dict[str, Renderer] = {"": plain}


def register(renderer: Renderer) -> None:
    """Let `renderer` write the reports from now on; called once, when the application starts."""
    _renderers[""] = renderer


def render(head: ReportHead, entries: Iterable[ReportEntry]) -> Report:
    """The report by the registered renderer. It must depend on nothing but its arguments."""
    return _renderers[""](head, entries)


_STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 70rem; padding: 0 1rem }
table { border-collapse: collapse; width: 100% }
th, td { border-bottom: 1px solid #ccc; padding: .4rem .6rem; text-align: left; vertical-align: top }
pre { margin: 0; white-space: pre-wrap; overflow-wrap: anywhere }
.warning { background: #fff3cd; padding: .5rem 1rem }
"""


def _page(head: ReportHead, rows: list[str]) -> str:
    warnings = "".join(f'<p class="warning">{html.escape(text)}</p>' for text in head.warnings)
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta http-equiv="Content-Security-Policy"'
        " content=\"default-src 'none'; style-src 'unsafe-inline'\">"
        f"<title>Export of {html.escape(head.log)}</title><style>{_STYLE}</style></head><body>"
        f"<h1>Export of {html.escape(head.log)}</h1>{warnings}"
        f"<p>{head.size} entries under the signed root <code>{html.escape(head.root)}</code>,"
        f" key <code>{html.escape(head.vkey)}</code>. README.txt says how to verify it.</p>"
        "<table><thead><tr><th>Entry<th>Time<th>Who<th>What<th>Content</tr></thead><tbody>"
        f"{''.join(rows)}</tbody></table></body></html>\n"
    )


def _row(entry: ReportEntry) -> str:
    answers = f", answers {entry.ref}" if entry.ref >= 0 else ""
    content = entry.state
    if entry.event is not None:
        content = json.dumps(entry.event, ensure_ascii=False, sort_keys=True, indent=1)
    cells = (f"{entry.seq}", entry.at, entry.actor, f"{entry.kind}{answers}")
    return (
        "<tr>"
        + "".join(f"<td>{html.escape(cell)}</td>" for cell in cells)
        + f"<td><pre>{html.escape(content)}</pre></td></tr>"
    )
