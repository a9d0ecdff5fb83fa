"""The report in a session's export: what an auditor who is no engineer reads.

First what was decided and by whom, then everything that happened, a line an entry, in the words of the pages, the raw
content of each entry beneath. It depends on its arguments alone, so the same ledger gives the same bytes.
"""

from __future__ import annotations

import html
import json
from collections.abc import Iterable
from typing import Any

from audit.export.report import Report, ReportEntry, ReportHead
from sessions import words

STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 64rem; padding: 0 1rem; color: #191a1b }
h1 { font-size: 1.5rem } h2 { font-size: 1.1rem; margin-top: 2rem }
table { border-collapse: collapse; width: 100% }
th, td { border-bottom: 1px solid #e3e3dd; padding: .4rem .8rem .4rem 0; text-align: left; vertical-align: top }
td:first-child, td:nth-child(2) { white-space: nowrap; font-variant-numeric: tabular-nums }
pre { margin: .4rem 0 0; white-space: pre-wrap; overflow-wrap: anywhere; font-size: 13px }
.faint { color: #66686b } .warning { background: #fff3cd; padding: .5rem 1rem }
"""


def render(head: ReportHead, entries: Iterable[ReportEntry]) -> Report:
    """The report of one session, as HTML for people and JSON for programs."""
    kept = list(entries)
    tools = _tools(kept)
    lines = [_line(entry, tools) for entry in kept]
    return Report(_page(head, kept, lines), _json(head, lines))


def _tools(entries: list[ReportEntry]) -> dict[str, str]:
    """Which tool each call is about."""
    found: dict[str, str] = {}
    for entry in entries:
        event = entry.event or {}
        for call in event.get("calls", []):
            found[str(call.get("id"))] = str(call.get("tool"))
        if "call" in event and "tool" in event:
            found[str(event["call"])] = str(event["tool"])
    return found


def _line(entry: ReportEntry, tools: dict[str, str]) -> dict[str, Any]:
    tool = tools.get(str((entry.event or {}).get("call", "")), "")
    sentence = words.entry(entry.kind, entry.event, tool)
    return {
        "seq": entry.seq,
        "kind": entry.kind,
        "at": entry.at,
        "actor": entry.actor,
        "answers": entry.ref,
        "state": entry.state,
        "says": f"{sentence.act} {sentence.about}".strip(),
        "event": entry.event,
    }


def _json(head: ReportHead, lines: list[dict[str, Any]]) -> bytes:
    facts = {"log": head.log, "origin": head.origin, "size": head.size, "root": head.root, "key": head.vkey}
    data = {"head": facts, "warnings": list(head.warnings), "entries": lines}
    return json.dumps(data, ensure_ascii=False, sort_keys=True, indent=1).encode("utf-8", "replace")


def _page(head: ReportHead, entries: list[ReportEntry], lines: list[dict[str, Any]]) -> bytes:
    decided = [_decision(entry, entries) for entry in entries if entry.kind == "decision.made" and entry.event]
    text = (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">"
        f"<title>Audit report of session {html.escape(head.log)}</title><style>{STYLE}</style></head><body>"
        f"<h1>Audit report of session {html.escape(head.log)}</h1>"
        + "".join(f'<p class="warning">{html.escape(warning)}</p>' for warning in head.warnings)
        + f"<p>{head.size} entries. Their Merkle root is <code>{html.escape(head.root)}</code>, signed by the log key"
        f" <code>{html.escape(head.vkey)}</code>. Whether that holds is not for this page to say: verify the bundle, as"
        " README.txt in it describes.</p>"
        f"<h2>What people decided</h2>{_table(decided) if decided else '<p>Nothing was decided by a person.</p>'}"
        f"<h2>Everything that happened</h2>{_table([_row(line) for line in lines])}</body></html>\n"
    )
    return text.encode("utf-8", "replace")


def _table(rows: list[str]) -> str:
    head = "<thead><tr><th>Entry<th>Time (UTC)<th>Who<th>What</tr></thead>"
    return f"<table>{head}<tbody>{''.join(rows)}</tbody></table>"


def _row(line: dict[str, Any]) -> str:
    raw = "" if line["event"] is None else f"<pre>{html.escape(_pretty(line['event']))}</pre>"
    answers = f' <span class="faint">answers entry {line["answers"]}</span>' if line["answers"] >= 0 else ""
    says = html.escape(line["says"] or line["kind"])
    return _cells(line["seq"], line["at"], line["actor"], f"{says}{answers}{raw}")


def _decision(entry: ReportEntry, entries: list[ReportEntry]) -> str:
    """One decision with what was asked and why: the entry it answers."""
    event = entry.event or {}
    asked = (entries[entry.ref].event or {}) if 0 <= entry.ref < len(entries) else {}
    said = {name: html.escape(str(asked.get(name, ""))) for name in ("preview", "rule", "policy", "tier", "why")}
    parts = [
        f"<strong>{html.escape(str(event.get('decision', '')).capitalize())}</strong>: {said['preview']}",
        f'<br><span class="faint">Rule {said["rule"]} of {said["policy"]}, tier {said["tier"]}: {said["why"]}</span>',
    ]
    if event.get("reason"):
        parts.append(f"<br>Reason: {html.escape(str(event['reason']))}")
    if event.get("arguments"):
        parts.append(f"<pre>{html.escape(_pretty(event['arguments']))}</pre>")
    return _cells(entry.seq, entry.at, entry.actor, "".join(parts))


def _cells(seq: int, at: str, actor: str, content: str) -> str:
    return f"<tr><td>{seq}<td>{html.escape(at[:19].replace('T', ' '))}<td>{html.escape(actor)}<td>{content}</tr>"


def _pretty(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, sort_keys=True, indent=1, default=str)
