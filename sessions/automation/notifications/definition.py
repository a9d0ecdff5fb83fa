"""What a rule of notifications is, as data: of what, to whom, by which ways and in which order.

The expressions are those of every rule (`rules.definition`).
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, Literal

import msgspec

from agentstate.engine import events as ev
from agentstate.engine.alerts import Severity
from agentstate.errors import Invalid
from sessions.automation.rules import definition as rules

NOTED = ("export.ready", "export.failed")  # what is no entry of a session
OF_THE_TEAM = ("alert.raised", "alert.escalated")  # of alerts that no session has
TEST = "notice.test"  # what a page sends to see whether it arrives
HEARD = frozenset({*ev.KINDS, *NOTED, *OF_THE_TEAM})
MAX_STEPS = 6
MAX_NAMES = 20  # in one list
MAX_AFTER = 7 * 24 * 3600  # seconds
MAX_WINDOW = 24 * 3600
MAX_DIGEST = 24 * 3600
MAX_TITLE = 80  # characters
IN_APP, EMAIL, WEBHOOK = "in_app", "email", "webhook"
WAYS = (IN_APP, EMAIL, WEBHOOK)
ENDPOINT = re.compile(r"webhook:[a-z][a-z0-9-]{0,59}")
_WHOM = re.compile(r"(role|team|user):[a-z0-9][a-z0-9._@-]{0,149}")
# Whom besides names: who has the session, the request or the alert; who of the team may decide the request; its
# deputies, where it is for them; who approved what is not done; whom the alert is for; who asked for the export.
PARTS = ("owner", "reviewers", "deputies", "approvers", "alert", "asker")

Until = Literal["told", "seen", "acted"]


class BadRule(Invalid):
    """The rule's definition is not sound."""

    code = "bad_notice_rule"


class On(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What happened is of one of these kinds: entries of the team's sessions (and of this agent), and NOTED."""

    kinds: tuple[str, ...]
    agent: str = ""


class Step(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`after` so many seconds these are told, by all of these ways, or by the first of them that works. An endpoint
    (`webhook:name`) is told itself, whoever `to` names.
    """

    to: tuple[str, ...] = ()
    by: tuple[str, ...] = (IN_APP,)
    after: int = 0
    how: Literal["all", "first"] = "all"


class Definition(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A rule. The next step is taken `until` somebody has seen the notice, or acted on what it is about ("told": all
    steps are). `key`: what is the same for this rule, within `window` seconds, is told once. `digest`: e-mails and
    webhooks wait up to so many seconds and leave as one. `required`: nobody can switch it off for themselves.
    `through_quiet`: quiet hours do not hold it up.
    """

    on: On
    steps: tuple[Step, ...]
    when: str = "true"
    severity: Severity = "info"
    until: Until = "seen"
    key: str = ""
    window: int = 300
    digest: int = 0
    required: bool = False
    through_quiet: bool = False
    title: str = ""


def load(data: Any) -> Definition:
    """A sound definition of decoded JSON. Raises BadRule, BadGuard naming the field."""
    found = rules.decoded(data, Definition, BadRule)
    _must_be_sound(found)
    for number, step in enumerate(found.steps):
        _must_be_a_step(f"steps.{number}", step)
    rules.must_compile("when", found.when, asks=True)
    if found.key:
        rules.must_compile("key", found.key)
    return found


def dump(definition: Definition) -> dict[str, Any]:
    """Returns the definition as JSON has it, in the order of its document."""
    return rules.encoded(definition, "on", "when", "severity", "title", "steps", "until")


def shipped() -> dict[str, Any]:
    """The definitions that come with the product, by name."""
    files = sorted((Path(__file__).resolve().parents[2] / "shipped" / "notifications").glob("*.json"))
    return {file.stem: msgspec.json.decode(file.read_bytes()) for file in files}


def endpoints(definition: Definition) -> set[str]:
    """The names of the endpoints that a rule tells."""
    named = {way for step in definition.steps for way in step.by if way.startswith(f"{WEBHOOK}:")}
    return {way.partition(":")[2] for way in named}


def _must_be_sound(found: Definition) -> None:
    if not found.on.kinds or not set(found.on.kinds) <= HEARD:
        raise BadRule("want kinds of entries, or some of " + ", ".join(NOTED), field="on.kinds")
    if not 1 <= len(found.steps) <= MAX_STEPS:
        raise BadRule(f"want 1 to {MAX_STEPS}", field="steps")
    bounds = (("window", found.window, 0, MAX_WINDOW), ("digest", found.digest, 0, MAX_DIGEST))
    rules.must_be_within(bounds, BadRule, " seconds")
    if len(found.title) > MAX_TITLE or not found.title.isprintable():
        raise BadRule(f"want a line of at most {MAX_TITLE} characters", field="title")
    if found.digest and found.severity == "critical":
        raise BadRule("what is critical is not collected", field="digest")


def _must_be_a_step(field: str, step: Step) -> None:
    if not step.by or len(step.by) > MAX_NAMES or not all(_is_way(way) for way in step.by):
        raise BadRule(f"want some of {IN_APP}, {EMAIL}, {WEBHOOK}:NAME", field=f"{field}.by")
    if len(step.to) > MAX_NAMES or not all(name in PARTS or _WHOM.fullmatch(name) for name in step.to):
        raise BadRule(f"want role:, team:, user: and a name, or {', '.join(PARTS)}", field=f"{field}.to")
    if not step.to and any(way in (IN_APP, EMAIL) for way in step.by):
        raise BadRule("say whom", field=f"{field}.to")
    rules.must_be_within([(f"{field}.after", step.after, 0, MAX_AFTER)], BadRule, " seconds")


def _is_way(way: str) -> bool:
    return way in (IN_APP, EMAIL) or ENDPOINT.fullmatch(way) is not None
