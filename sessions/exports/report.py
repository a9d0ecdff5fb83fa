"""The report in a session's export: what an auditor who is no engineer reads.

First what the session was, what was decided, by whom and on which evidence; then everything that happened, a line an
entry, in the words of the pages; last how to verify it. It depends on its arguments alone, so the same ledger gives the
same bytes. `tell` says it once, the two forms below set it as a page and on paper.
"""

from __future__ import annotations

import html
import json
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from agentstate.characters import marked_page
from audit.export.report import Report, ReportEntry, ReportHead
from audit.verify import CLOSED
from sessions.descriptions import approvals, values
from sessions.descriptions import entries as descriptions_entries
from sessions.descriptions.sentence import Sentence

MASKED = "(masked)"  # stands where a value is hidden
MOST_ON_PAPER = 2_000  # entries; all are in entries.csv
STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 64rem; padding: 0 1rem; color: #191a1b }
h1 { font-size: 1.5rem } h2 { font-size: 1.1rem; margin-top: 2rem }
table { border-collapse: collapse; width: 100% }
th, td { border-bottom: 1px solid #e3e3dd; padding: .4rem .8rem .4rem 0; text-align: left; vertical-align: top }
tr > :first-child, .all tr > :nth-child(2) { white-space: nowrap; font-variant-numeric: tabular-nums }
pre { margin: .4rem 0 0; white-space: pre-wrap; overflow-wrap: anywhere; font-size: 13px }
code { overflow-wrap: anywhere }
.faint { color: #5c5e61 } .warning { background: #fff3cd; padding: .5rem 1rem }
"""
MASKED_NOTE = (
    "Personal values are masked: texts, names, account numbers and whatever else may say something about a person are"
    " not in this export. Each is still covered by the proof, and can be shown later without changing it."
)
SOUND = (
    "Nothing was missing or altered when this was made: every entry was read, and together they give the root below."
)
HOW = (
    "This report does not prove itself. Ask the operator, some other way than with this file, for the log's key.",
    "Then run: python verify.py FILE --key KEY --report OUT. It ends with OK only if every entry is what was recorded,"
    " and writes a page of what it proved. entries.csv, entries.jsonl and report.json are compared with the entries.",
    "This page and the PDF are signed, and nothing compares them with the entries: do not rely on them alone.",
    "README.txt in the export says more. Without a command line, the page /verify/ of the installation reads the file"
    " in the browser.",
)


@dataclass(frozen=True)
class Decided:
    """One decision with what was asked and why."""

    entry: ReportEntry
    act: str
    what: str
    facts: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Told:
    """All that a report says, before it has a form."""

    head: ReportHead
    facts: tuple[tuple[str, str], ...]
    people: tuple[tuple[str, str], ...]  # actor, what they did
    decided: tuple[Decided, ...]
    lines: tuple[tuple[ReportEntry, str], ...]  # each entry with its description


def render(head: ReportHead, entries: Iterable[ReportEntry]) -> Report:
    """The report of one session, in all its forms."""
    told = tell(head, list(entries))
    return Report(_page(told).encode("utf-8", "replace"), _paper(told))


def tell(head: ReportHead, entries: list[ReportEntry]) -> Told:
    """What the report says."""
    tools = _tools(entries)
    lines = tuple(_line(entry, tools) for entry in entries)
    decided = tuple(_decided(entry, entries) for entry in entries if entry.kind == "decision.made" and entry.event)
    return Told(head, _facts(head, entries), _people(entries), decided, lines)


def _facts(head: ReportHead, entries: list[ReportEntry]) -> tuple[tuple[str, str], ...]:
    opened: dict[str, Any] = next((e.event for e in entries if e.kind == "session.opened" and e.event), {})
    times = [entry.at for entry in entries if entry.at]
    closed = Counter(entry.state for entry in entries)
    gone = ", ".join(f"{closed[state]} {state}" for state in CLOSED if closed[state])
    facts = (
        ("Session", head.log),
        ("Agent", str(opened.get("agent", ""))),
        ("By", {"phone": "telephone"}.get(str(opened.get("channel", "")), str(opened.get("channel", "")))),
        ("First entry", _time(times[0]) if times else ""),
        ("Last entry", _time(times[-1]) if times else ""),
        ("Entries", f"{head.size}" + (f", of which {gone}" if gone else "")),
    )
    return tuple((name, value) for name, value in facts if value)


def _people(entries: list[ReportEntry]) -> tuple[tuple[str, str], ...]:
    """Everybody who acted, in the order of their first entry."""
    found: dict[str, list[ReportEntry]] = {}
    for entry in entries:
        if entry.actor:
            found.setdefault(entry.actor, []).append(entry)
    return tuple((actor, _did(theirs)) for actor, theirs in found.items())


def _did(theirs: list[ReportEntry]) -> str:
    decided = sum(entry.kind == "decision.made" for entry in theirs)
    count = f"{len(theirs)} {'entry' if len(theirs) == 1 else 'entries'}"
    return f"{count}, {decided} of them decisions" if decided else count


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


class _Masked(dict[str, Any]):
    """A part of which some values are hidden: each says so where it is asked for."""

    def __missing__(self, name: str) -> str:
        return MASKED


def _as_masked(value: Any) -> Any:
    return _Masked({name: _as_masked(item) for name, item in value.items()}) if isinstance(value, dict) else value


def _line(entry: ReportEntry, tools: dict[str, str]) -> tuple[ReportEntry, str]:
    sentence = _sentence(entry, tools.get(str((entry.event or {}).get("call", "")), ""))
    return entry, f"{sentence.act} {sentence.about}".strip()


def _sentence(entry: ReportEntry, tool: str) -> Sentence:
    if entry.state == "withheld":
        return Sentence(values.plain(entry.kind), "sealed in this export")
    if entry.state == "indivisible":
        return Sentence(values.plain(entry.kind), "sealed: no part of an entry this old can be shown alone")
    if entry.state != "partly":
        return descriptions_entries.entry(entry.kind, entry.event, tool)
    try:
        return descriptions_entries.entry(entry.kind, _as_masked(entry.event), tool)
    except (LookupError, TypeError, ValueError, AttributeError):  # a number or list that these words need is hidden
        return Sentence(values.plain(entry.kind), MASKED)


def _decided(entry: ReportEntry, entries: list[ReportEntry]) -> Decided:
    """One decision with what was asked and why: the entry it answers."""
    event = _shown(entry)
    asked = _shown(entries[entry.ref]) if 0 <= entry.ref < len(entries) else {}
    evidence = asked.get("basis")
    facts = [
        ("Asked for", f"entry {entry.ref}" if entry.ref >= 0 else ""),
        ("Proposed", approvals.proposed(_proposers(asked), {})),
        ("Approvers", _too_few(asked)),
        ("Rule", _rule(asked) if asked else ""),
        ("Because", asked["why"] if asked else ""),
        ("Arguments", _pretty(asked.get("arguments"))),
        ("Evidence", "\n".join(map(_evidence, evidence)) if isinstance(evidence, list) else MASKED),
        ("Changed to", _pretty(event.get("arguments"))),
        ("Reason", event.get("reason", "")),
        ("Answer", event.get("response", "")),
        ("What they saw", _saw(event.get("shown"), entries)),
    ]
    told = tuple((name, str(value)) for name, value in facts if value and asked | event)
    return Decided(entry, str(event["decision"]).capitalize(), str(asked["preview"]) if asked else "", told)


def _proposers(asked: Mapping[str, Any]) -> tuple[str, ...]:
    found = asked.get("proposed_by")
    return tuple(map(str, found)) if isinstance(found, list) else ()


def _too_few(asked: Mapping[str, Any]) -> str:
    quorum, missing = asked.get("quorum"), asked.get("approvers_missing")
    return approvals.too_few(quorum, missing) if isinstance(quorum, int) and isinstance(missing, int) else ""


def _saw(shown: Any, entries: list[ReportEntry]) -> str:
    """What stood before the person: the recorded data, with the words that it cites."""
    data = shown.get("data") if isinstance(shown, dict) else None
    if not isinstance(data, dict):
        return MASKED if shown else ""
    said = data["said"] if isinstance(data.get("said"), list) else []
    cited = [entries[seq] for seq in said if isinstance(seq, int) and 0 <= seq < len(entries)]
    told = [f"Entry {each.seq}: {(each.event or {}).get('text', MASKED)}" for each in cited]
    where = {"page": "On the page", "api": "Over the API"}.get(str(data["surface"]), MASKED)
    evidence = data["evidence"]
    rests_on = map(_evidence, evidence) if isinstance(evidence, list) else [_pretty(evidence)]
    first = [f"{where}: {data['preview']}", _pretty(data["arguments"])]
    return "\n".join([*first, *rests_on, *told, f"sha256 {shown['digest']}"])


def _shown(entry: ReportEntry) -> dict[str, Any]:
    found: dict[str, Any] = _as_masked(entry.event or {})
    return found if entry.state == "partly" else _Lenient(found)


class _Lenient(dict[str, Any]):
    """An event of an old form, or of a ledger that was altered, may lack a field: it is empty in the report."""

    def __missing__(self, name: str) -> str:
        return ""


def _rule(asked: dict[str, Any]) -> str:
    return f"{asked['rule']} of {asked['policy']}, tier {asked['tier']}"


def _evidence(each: Any) -> str:
    if not isinstance(each, dict):
        return str(each)
    return f"{each.get('path', '')}: {values.value(each.get('value'))}"


def _pretty(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, sort_keys=True, indent=1, default=str) if value else ""


def _time(at: str) -> str:
    return at[:19].replace("T", " ")


def _page(told: Told) -> str:
    head = told.head
    title = f"Audit report of session {html.escape(head.log)}"
    return marked_page(
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">"
        f"<title>{title}</title><style>{STYLE}</style></head><body><h1>{title}</h1>"
        + "".join(f'<p class="warning">{html.escape(warning)}</p>' for warning in head.warnings)
        + _pairs(told.facts)
        + (f"<p>{MASKED_NOTE}</p>" if head.masked else "")
        + f"<h2>What people decided</h2>{_decisions(told.decided)}"
        + f"<h2>Who took part</h2>{_pairs(told.people)}"
        + f"<h2>Is this the truth of the ledger?</h2>{''.join(f'<p>{html.escape(text)}</p>' for text in _proof(head))}"
        + f"<h2>Everything that happened</h2>{_all(told.lines)}</body></html>\n"
    )


def _proof(head: ReportHead) -> tuple[str, ...]:
    found = SOUND if not head.warnings else "When this was made, something did not hold: " + " ".join(head.warnings)
    return (found, *HOW, f"Merkle root of the {head.size} entries: {head.root}", f"Log key: {head.vkey}")


def _pairs(pairs: Iterable[tuple[str, str]]) -> str:
    rows = "".join(f'<tr><th scope="row">{html.escape(name)}<td>{html.escape(value)}</tr>' for name, value in pairs)
    return f"<table>{rows}</table>"


def _decisions(decided: tuple[Decided, ...]) -> str:
    if not decided:
        return "<p>Nothing was decided by a person.</p>"
    return _table([_decision(each) for each in decided])


def _decision(each: Decided) -> str:
    facts = "".join(f'<br><span class="faint">{name}:</span> {_text(value)}' for name, value in each.facts)
    return _cells(each.entry, f"<strong>{html.escape(each.act)}</strong>: {html.escape(each.what)}{facts}")


def _text(value: str) -> str:
    text = html.escape(value)
    return f"<pre>{text}</pre>" if "\n" in value else text


def _all(lines: tuple[tuple[ReportEntry, str], ...]) -> str:
    return _table([_row(*line) for line in lines])


def _table(rows: list[str]) -> str:
    head = "<thead><tr><th>Entry<th>Time (UTC)<th>Who<th>What</tr></thead>"
    return f'<table class="all">{head}<tbody>{"".join(rows)}</tbody></table>'


def _row(entry: ReportEntry, description: str) -> str:
    raw = "" if entry.event is None else f"<pre>{html.escape(_pretty(entry.event))}</pre>"
    answers = "" if entry.ref < 0 else f' <span class="faint">answers entry {entry.ref}</span>'
    return _cells(entry, f"{html.escape(description or entry.kind)}{answers}{raw}")


def _cells(entry: ReportEntry, content: str) -> str:
    time, who = html.escape(_time(entry.at)), html.escape(entry.actor)
    return f"<tr><td>{entry.seq}<td>{time}<td>{who}<td>{content}</tr>"


def _paper(told: Told) -> bytes:
    from audit.export.paper import Paper  # only those who write reports need the PDF library in memory

    head = told.head
    paper = Paper(f"Audit report of session {head.log}", f"Audit report of session {head.log}")
    paper.heading("Audit report of a session", 17)
    for warning in head.warnings:
        paper.text(warning, strong=True)
    paper.table(("What", ""), (2, 9), told.facts)
    if head.masked:
        paper.text(MASKED_NOTE)
    paper.heading("What people decided")
    for each in told.decided:
        paper.text(f"{each.act}: {each.what}", strong=True)
        paper.text(f"Entry {each.entry.seq}, {_time(each.entry.at)} UTC, by {each.entry.actor}")
        paper.table(("About", ""), (2, 9), each.facts)
    if not told.decided:
        paper.text("Nothing was decided by a person.")
    paper.heading("Who took part")
    paper.table(("Who", "What"), (5, 6), told.people)
    paper.heading("Is this the truth of the ledger?")
    for text in _proof(head):
        paper.text(text)
    paper.heading("Everything that happened")
    if len(told.lines) > MOST_ON_PAPER:
        paper.text(f"The first {MOST_ON_PAPER} of {len(told.lines)} entries; entries.csv and report.html hold all.")
    paper.table(("Entry", "Time (UTC)", "Who", "What"), (1.2, 3.2, 4, 8), map(_on_paper, told.lines[:MOST_ON_PAPER]))
    paper.text("Times are UTC. A box stands for a letter that the font lacks; report.html has it.", faint=True)
    return paper.done()


def _on_paper(line: tuple[ReportEntry, str]) -> tuple[str, str, str, str]:
    entry, description = line
    return str(entry.seq), _time(entry.at), entry.actor, description or entry.kind
