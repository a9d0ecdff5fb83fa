"""What a masked export or proof shows of an entry: this list by kind of event, and nothing else.

Shown are money, times, tools and rules, outcomes, who acted and decided, and numbers that count. Never texts, names,
account numbers, results, or digests by which one of these could be guessed. A field is shown only if it is listed here
and its value has the form that is listed with it: a sentence where a word is expected stays hidden. A kind that is not
listed shows its name and version alone.

`*` stands for names of code between two parts of a pointer, none or several.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import lru_cache, partial

Form = re.Pattern[bytes]
Forms = dict[str, Form]

_NAME = rb'"[A-Za-z][A-Za-z0-9_.:@/-]{0,99}"|""'
WORD: Form = re.compile(_NAME)  # a name of code, an opaque id, one of a few words
ID: Form = re.compile(rb'"[A-Za-z0-9_.:-]{0,120}"')
WORDS: Form = re.compile(rb"\[(?:(?:" + _NAME + rb")(?:,(?:" + _NAME + rb"))*)?\]")
NUMBER: Form = re.compile(rb"-?[0-9]{1,16}")
BOOLEAN: Form = re.compile(rb"true|false")
TIME: Form = re.compile(rb'"(?:[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:.]{5,15}(?:Z|[+-][0-9]{2}:[0-9]{2}))?"')
CURRENCY: Form = re.compile(rb'"[A-Z]{3}"')
SPANS: Form = re.compile(rb'\[(?:\{"first":[0-9]+,"last":[0-9]+\},?)*\]')


def _words(*names: str) -> Forms:
    return {f"/{name}": WORD for name in names}


def _ids(*names: str) -> Forms:
    return {f"/{name}": ID for name in names}


def _numbers(*names: str) -> Forms:
    return {f"/{name}": NUMBER for name in names}


def _money(*names: str) -> Forms:
    return {f"/{name}*/minor": NUMBER for name in names} | {f"/{name}*/currency": CURRENCY for name in names}


ALWAYS: Forms = {"/kind": WORD, "/v": NUMBER}
SHOWN: Mapping[str, Forms] = {
    "session.opened": _words("agent", "channel", "schema") | _ids("team") | _numbers("idle"),
    "message.added": _words("role", "by") | _numbers("queued"),
    "message.queued": _words("by") | _ids("run"),
    "message.refused": _words("by") | _ids("run"),
    "session.ended": _words("by"),
    "session.paused": _words("by"),
    "session.resumed": _words("by"),
    "session.cancelled": _words("by"),
    "session.taken_over": _words("by", "from_whom"),
    "session.passed_on": _words("by", "to", "from_whom"),
    "session.handed_back": _words("by") | {"/speaks": BOOLEAN},
    "guidance.given": _words("by") | {"/now": BOOLEAN},
    "model.dropped": _words("because", "model") | _ids("step") | _numbers("proposed", "input_tokens", "output_tokens"),
    "session.human_requested": _words("source", "by"),
    "session.human_withdrawn": _words("by"),
    "work.assigned": _words("by", "to", "from_whom") | _ids("request"),
    "session.expired": _numbers("idle"),
    "session.reopened": _words("by"),
    "session.failed": {},
    "timer.set": _words("what", "by") | _ids("timer") | {"/due": TIME},
    "timer.cancelled": _words("by") | _ids("timer"),
    "timer.fired": _words("outcome") | _ids("timer"),
    "trigger.fired": _words("name", "source") | _ids("trigger", "firing") | _numbers("version") | {"/run": BOOLEAN},
    "alert.raised": _words("name", "severity", "why")
    | _ids("alert", "rule", "about")
    | _numbers("version", "seq")
    | {"/to": WORDS},
    "alert.acknowledged": _words("by", "from_whom") | _ids("alert"),
    "alert.escalated": _words("by") | _ids("alert") | _numbers("step") | {"/to": WORDS},
    "alert.closed": _words("by", "cause") | _ids("alert"),
    "session.sealed": _words("why", "by"),
    "snapshot.recorded": _words("form") | _numbers("upto"),
    "payload.pruned": _words("retention") | {"/ranges": SPANS, "/due": TIME},
    "subject.erased": _ids("kid"),
    "run.started": _words("trigger") | _ids("run"),
    "run.rested": _words("waiting_for") | _ids("run"),
    "run.stopped": _words("code", "of") | _ids("run") | _numbers("used", "limit"),
    "run.granted": _words("by", "of", "code") | _numbers("tokens", "micros", "steps", "seconds", "calls", "refusals"),
    "run.interrupted": _ids("run", "step"),
    "circle.noticed": _ids("run") | _numbers("times") | {"/tools": WORDS},
    "model.requested": _words("model") | _ids("step") | _numbers("first", "last", "attempt") | {"/tools": WORDS},
    "model.answered": _words("model", "finish")
    | _ids("step")
    | _numbers("input_tokens", "output_tokens", "micros", "cut"),
    "model.failed": _ids("step") | {"/transient": BOOLEAN, "/retry_at": TIME},
    "call.allowed": _words("rule", "policy") | _ids("call") | _numbers("tier"),
    "call.refused": _words("code") | _ids("call"),
    "call.withdrawn": _words("code", "by") | _ids("call", "request") | {"/approved_by": WORDS},
    "approval.requested": _words("tool", "rule", "policy", "activity")
    | _ids("request", "call", "supersedes")
    | _numbers("tool_version", "tier", "quorum", "approvers_missing")
    | _money("arguments")
    | {"/allowed": WORDS, "/proposed_by": WORDS, "/expires_at": TIME},
    "decision.made": _words("decision", "by", "under", "code", "shown/data/surface", "shown/data/rule")
    | _ids("request")
    | _numbers("tier", "shown/data/asked", "shown/data/tier")
    | _money("arguments", "shown/data/arguments")
    | {"/deputy": BOOLEAN},
    "request.escalated": _words("by") | _ids("request") | _numbers("step"),
    "request.held": _ids("request") | {"/until": TIME},
    "request.undone": _words("by") | _ids("request") | _numbers("approvers_missing") | {"/until": TIME},
    "request.claimed": _words("by", "taken_from") | _ids("request") | {"/until": TIME},
    "request.released": _words("by") | _ids("request"),
    "request.ended": _words("outcome") | _ids("request"),
    "grant.given": _words("tool", "rule", "policy", "gate", "scope", "by", "activity")
    | _ids("grant", "request", "call")
    | _numbers("tier", "uses")
    | _money("arguments")
    | {"/until": TIME},
    "grant.revoked": _words("by") | _ids("grant"),
    "tool.intended": _words("tool", "effect", "rule", "policy", "activity")
    | _ids("call", "request")
    | _numbers("tool_version", "attempt", "tier")
    | _money("arguments")
    | {"/retry_until": TIME},
    "tool.returned": _ids("call") | _numbers("attempt", "outcome") | _money("result") | {"/answered/model": WORD},
    "call.doubted": _ids("call") | _numbers("attempt"),
    "call.intervened": _words("how", "by") | _ids("call") | _money("result"),
    "compensation.ordered": _words("by") | _numbers("rollback"),
    "session.retried": _words("by"),
    "tool.failed": _words("code")
    | _ids("call")
    | _numbers("attempt")
    | {"/transient": BOOLEAN, "/retry_at": TIME, "/retry_until": TIME},
    "item.pinned": _words("how", "by") | _numbers("seq"),
    "item.unpinned": _words("by") | _numbers("seq"),
    "item.rated": _words("by") | _numbers("seq", "rating"),
    "summary.requested": _words("model") | _ids("step") | _numbers("first", "last", "count", "limit"),
    "summary.made": _words("method") | _ids("step") | _numbers("first", "last", "count"),
    "plan.proposed": _words("by", "source", "saved")
    | _ids("round")
    | _numbers("instances")
    | {"/follow": BOOLEAN, "/saved_by": WORDS},
    "plan.committed": _words("by", "source", "saved")
    | _ids("round", "request")
    | _numbers("version", "instances", "tier", "quorum")
    | {"/follow": BOOLEAN, "/saved_by": WORDS},
    "plan.instance_proposed": _ids("round"),
    "plan.instance_opened": _ids("round"),
    "call.readied": _words("tool", "activity") | _ids("call") | _money("arguments"),
    "plan.calls_dropped": _ids("round"),
    "plan.round_ended": _ids("round", "request")
    | {"/approved_by": WORDS}
    | {
        f"/{part}/{end}": NUMBER for part in ("counts", "instances") for end in ("done", "failed", "skipped", "blocked")
    },
    "call.delegated": _ids("call", "session"),
    "task.taken": _ids("parent", "call"),
    "task.customers_added": {"/customers": WORDS},
    "task.delivered": _ids("session"),
    "delegate.counted": _ids("session"),
    "delegate.opened": _ids("session", "run")
    | {f"/share/{name}": NUMBER for name in ("tokens", "micros", "steps", "calls")},
    "delegate.ended": _ids("session") | _numbers("tokens", "micros", "steps", "calls"),
    "goals.set": _words("by", "how") | _ids("call") | _numbers("version"),
    "data.added": _words("of", "by"),
    "talk.declared": {},
    "topic.opened": _words("by"),
    "topic.switched": _words("by"),
    "topic.resumed": _words("by"),
    "topic.closed": _words("by"),
    "reference.corrected": _words("by") | _numbers("seq"),
    "references.resolved": _ids("step", "call") | _numbers("seq"),
    "checkpoint.named": _words("by") | _numbers("seq") | {"/at": TIME},
    "state.changed": _words("by") | _ids("change") | _numbers("seen"),
    "conflict.opened": _words("rule") | _ids("conflict", "change") | _numbers("quorum", "seen"),
    "value.proposed": _ids("conflict"),
    "value.proved": _words("path") | _numbers("state", "written"),
    "vote.cast": _words("by") | _ids("conflict", "proposal"),
    "conflict.ended": _words("outcome", "by") | _ids("conflict", "proposal"),
    "session.rolled_back": _words("by") | _numbers("to", "epoch", "more"),
    "session.forked": _words("by") | _ids("parent") | _numbers("seq"),
    "message.drafted": _words("by"),
    "fork.promoted": _words("by") | _ids("parent") | _numbers("size", "more"),
    "session.superseded": _words("by") | _ids("fork"),
    "user.adapted": {"/adaptation/profile": NUMBER},
    "chart.moved": _words("chart", "by") | {"/prompt": BOOLEAN},
    "state.migrated": _words("schema", "by") | _numbers("before", "after") | {"/lossless": BOOLEAN, "/held": BOOLEAN},
    "state.pruned": _words("by"),
}


def shows(kind: str, pointer: str, value: bytes) -> bool:
    """Whether the field of an entry of this kind at this JSON Pointer, with this value as JSON, may be seen."""
    form = _form(kind, pointer)
    return form is not None and form.fullmatch(value) is not None


def of_entry(kind: str, payload: bytes) -> Callable[[str, bytes], bool]:
    """The same for the fields of one entry, as proofs ask."""
    return partial(shows, kind)


@lru_cache(maxsize=4096)
def _form(kind: str, pointer: str) -> Form | None:
    for listed, form in (ALWAYS | SHOWN.get(kind, {})).items():
        if _pattern(listed).fullmatch(pointer):
            return form
    return None


@lru_cache(maxsize=1024)
def _pattern(listed: str) -> re.Pattern[str]:
    return re.compile(re.escape(listed).replace(r"\*", "(?:/[a-z][a-z_]{0,39})*"))
