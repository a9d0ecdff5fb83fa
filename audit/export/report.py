"""The report in an export: what a person reads, on the screen and on paper.

`audit` knows entries, not sessions, so the words come from outside: `sessions` registers a renderer that
tells the story of a session. Until one is registered, the plain renderer below lists the entries as they are.
What is rendered is signed with the bundle, and nothing proves it: the tables beside it (bundle.py) are proved.
"""

from __future__ import annotations

import html
import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

from agentstate.characters import marked_page


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
    state: str  #: disclosed, partly, withheld, indivisible, erased, pruned, unreadable, missing
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
    masked: bool = False  #: whether personal values are hidden


@dataclass(frozen=True)
class Report:
    """The report for people: UTF-8 HTML, complete in itself, and PDF."""

    html: bytes
    pdf: bytes


Renderer = Callable[[ReportHead, Iterable[ReportEntry]], Report]


def plain(head: ReportHead, entries: Iterable[ReportEntry]) -> Report:
    """The entries in order, with everything they disclose."""
    kept = list(entries)
    return Report(_page(head, [_row(entry) for entry in kept]).encode("utf-8", "replace"), _paper(head, kept))


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
    return marked_page(
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
    content = html.escape(_content(entry, indent=1))
    cells = (f"{entry.seq}", entry.at, entry.actor, _what(entry))
    return "<tr>" + "".join(f"<td>{html.escape(text)}</td>" for text in cells) + f"<td><pre>{content}</pre></td></tr>"


def _paper(head: ReportHead, entries: Iterable[ReportEntry]) -> bytes:
    from audit.export.paper import Paper  # only those who write reports need the PDF library in memory

    paper = Paper(f"Export of {head.log}", f"Export of {head.log}")
    paper.heading(f"Export of {head.log}", 16)
    for warning in head.warnings:
        paper.text(warning, strong=True)
    paper.text(f"{head.size} entries under the signed root {head.root}, key {head.vkey}.")
    paper.text("README.txt in the export says how to verify it.")
    rows = ((str(entry.seq), entry.at, entry.actor, f"{_what(entry)} {_content(entry)}") for entry in entries)
    paper.table(("Entry", "Time", "Who", "What"), (1, 3, 3, 8), rows)
    return paper.done()


def _what(entry: ReportEntry) -> str:
    return f"{entry.kind}, answers {entry.ref}" if entry.ref >= 0 else entry.kind


def _content(entry: ReportEntry, indent: int | None = None) -> str:
    if entry.event is None:
        return entry.state
    return json.dumps(entry.event, ensure_ascii=False, sort_keys=True, indent=indent)
