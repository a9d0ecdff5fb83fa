"""Rules as data: which calls they speak of, when, and what they ask for. `load` refuses by name what is unsound."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from functools import cached_property
from itertools import pairwise
from typing import Annotated

import msgspec

from agentstate.engine import guards, scratchpad
from agentstate.engine.guards.kinds import Path
from agentstate.engine.policy import missing
from agentstate.engine.policy.edits import Editable
from agentstate.engine.policy.terms import HIGHEST_TIER, Gate, Names, Sticky
from agentstate.engine.speech import SAY
from agentstate.errors import Invalid

MAX_RULES = 500
MAX_BYTES = 1_000_000  # of one document
MAX_NAMES = 50  # tools, reviewers, reasons, paths or steps that one rule lists
MAX_SECONDS = 365 * 24 * 3600
MAX_USES = 1_000  # of one grant
MAX_TEXT = 500  # characters of a name or a reason
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,99}\Z")
_REVIEWER = re.compile(r"(role|team|user):[A-Za-z0-9_.@+-]{1,150}\Z")
_ARGUMENT = re.compile(r"arguments(\.[A-Za-z0-9_-]{1,100}){1,16}\Z")

Some = Annotated[tuple[str, ...], msgspec.Meta(max_length=MAX_NAMES)]
Text = Annotated[str, msgspec.Meta(max_length=MAX_TEXT)]

Seconds = Annotated[int, msgspec.Meta(ge=1, le=MAX_SECONDS)]


class BadPolicy(Invalid):
    """The policy cannot be used."""

    code = "bad_policy"


class Step(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One step of a rule's chain: `after` so many seconds the request is for `reviewers`."""

    after: Seconds
    reviewers: Annotated[Names, msgspec.Meta(min_length=1, max_length=MAX_NAMES)]


class Rule(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One rule. `when` is CEL over guards.NAMES; `tools` names tools or is ("*",). See Terms for what it may ask."""

    name: str
    tools: Annotated[tuple[str, ...], msgspec.Meta(min_length=1, max_length=MAX_NAMES)]
    when: str
    tier: Annotated[int, msgspec.Meta(ge=0, le=HIGHEST_TIER)]
    gate: Gate
    why: Text
    quorum: Annotated[int, msgspec.Meta(ge=1, le=20)] = 1
    expires_in: Seconds = 600  # seconds a reviewer has
    evidence: Some = ()  # paths of the scratchpad that the reviewer is shown and the permit is bound to
    hold: Annotated[int, msgspec.Meta(ge=0, le=MAX_SECONDS)] = 0
    reviewers: Some = ()  # one of these; none: whoever has the permission
    four_eyes: bool = False
    reasons: Some = ()
    retype: Some = ()
    chain: Annotated[tuple[Step, ...], msgspec.Meta(max_length=MAX_NAMES)] = ()
    sticky: Sticky | None = None
    edits: Annotated[tuple[Editable, ...], msgspec.Meta(max_length=MAX_NAMES)] = ()
    proposer_may_approve: bool = False  # below the highest tier


class Policy(msgspec.Struct, frozen=True, forbid_unknown_fields=True, dict=True):
    """A named, versioned list of rules. What follows from it alone is kept with it (`dict`), outside its fields."""

    name: str
    version: int
    rules: tuple[Rule, ...]
    zone: str = "UTC"  # by whose clock rules read `time`: a name of the IANA time zone database

    @property
    def reference(self) -> str:
        """How entries name this policy: `bank@3`."""
        return f"{self.name}@{self.version}"

    @cached_property
    def judges_speech(self) -> bool:
        """Whether a rule names what the agent says. `*` names the tools alone."""
        return any(SAY in rule.tools for rule in self.rules)

    @cached_property
    def opened(self) -> frozenset[Path]:
        """The places of which a rule reads an entry by its key: they hold objects where nothing else is declared."""
        return frozenset(path for rule in self.rules for path in _opened(rule))

    @property
    def offers_beyond_the_session(self) -> bool:
        """Whether a rule offers to let calls through in other sessions too."""
        return any(rule.sticky is not None and rule.sticky.scope != "session" for rule in self.rules)


def _opened(rule: Rule) -> frozenset[Path]:
    try:
        return guards.reading(rule.when, guards.NAMES).opened
    except guards.BadGuard:
        return frozenset()


def load(data: bytes) -> Policy:
    """Returns a policy from its JSON, every rule of which asks where a value is missing. Raises BadPolicy naming the
    rule and what is wrong with it.
    """
    policy = load_superseded(data)
    for fault in open_rules(policy):
        raise BadPolicy(fault)
    return policy


def open_rules(policy: Policy) -> list[str]:
    """Returns what a missing value turns off in `policy`, one text for each place, with the rule's name."""
    return [f"rule {rule.name!r:.120}: {fault}" for rule in policy.rules for fault in _open(rule)]


def _open(rule: Rule) -> Iterator[str]:
    yield from missing.faults(rule.when, guards.NAMES, rule.gate, rule.tier)
    if rule.sticky is not None and rule.sticky.limit:  # its yes lets a call through
        yield from missing.faults(rule.sticky.limit, guards.OF_GRANTS, "allow", 0)


def load_superseded(data: bytes) -> Policy:
    """Returns a policy from its JSON, even if a missing value turns its rules off. It reads versions from before that
    check and never puts them in force. Raises BadPolicy naming the rule and what is wrong with it.
    """
    if len(data) > MAX_BYTES:
        raise BadPolicy(f"{len(data)} bytes, {MAX_BYTES} allowed")
    try:
        policy = msgspec.json.decode(data, type=Policy)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise BadPolicy(str(error)) from None
    if len(policy.rules) > MAX_RULES:
        raise BadPolicy(f"{len(policy.rules)} rules, {MAX_RULES} allowed")
    if not _NAME.match(policy.name) or policy.version < 1:
        raise BadPolicy(f"{policy.name!r:.120} version {policy.version}: want a name and a version from 1")
    for name, times in Counter(rule.name for rule in policy.rules).items():
        if times > 1:
            raise BadPolicy(f"two rules are called {name!r:.120}")
    for rule in policy.rules:
        _check(rule)
    return policy


def _check(rule: Rule) -> None:
    try:
        guards.compiled(rule.when)
        if rule.sticky is not None and rule.sticky.limit:
            guards.must_ask(guards.expressed(rule.sticky.limit, guards.OF_GRANTS))
        for path in rule.evidence:
            scratchpad.parts(path)
    except Invalid as error:
        raise BadPolicy(f"rule {rule.name!r:.120}: {error.title} {error.detail}") from None
    for fault in _faults(rule):
        raise BadPolicy(f"rule {rule.name!r:.120}: {fault}")


def _faults(rule: Rule) -> Iterator[str]:
    """What is unsound about the terms of a rule."""
    if not _NAME.match(rule.name):
        yield "a name is made of letters, digits, '_', '.' and '-', at most 100"
    if any(not tool or len(tool) > MAX_TEXT for tool in rule.tools):
        yield "a tool has a name"
    if (rule.gate == "hold") > (rule.hold > 0):
        yield "gate hold needs hold, in seconds"
    if rule.sticky is not None and rule.quorum > 1:
        yield "what takes several people each time is not granted by one: sticky or quorum"
    if rule.sticky is not None and (rule.retype or (rule.gate == "approve" and rule.hold)):
        yield "what is typed or delayed each time is not granted for later calls: sticky, or retype and hold"
    if rule.gate == "allow" and (
        rule.hold or rule.four_eyes or rule.reviewers or rule.chain or rule.sticky or rule.edits
    ):
        yield "gate allow asks nobody: hold, reviewers, four_eyes, chain, sticky and edits need another gate"
    if rule.gate == "refuse":
        yield from _faults_of_refusal(rule)
    yield from _faults_of_people(rule)
    yield from _faults_of_time(rule)


def _faults_of_people(rule: Rule) -> Iterator[str]:
    """What is unsound about who decides, and about what they may change, must type and give as a reason."""
    for name in (*rule.reviewers, *(name for step in rule.chain for name in step.reviewers)):
        if not _REVIEWER.match(name):
            yield f"reviewer {name!r:.200}: want role:<role>, team:<team> or user:<login>"
    for edit in rule.edits:
        if not _ARGUMENT.match(edit.path):
            yield f"edits {edit.path!r:.200}: want a path like arguments.amount.minor"
    if len({edit.path for edit in rule.edits}) < len(rule.edits):
        yield "edits name each path once"
    if rule.proposer_may_approve and (rule.tier >= HIGHEST_TIER or rule.four_eyes or rule.gate in ("allow", "refuse")):
        yield f"proposer_may_approve is for rules below tier {HIGHEST_TIER} that ask people, without four_eyes"
    for path in rule.retype:
        if not _ARGUMENT.match(path):
            yield f"retype {path!r:.200}: want a path like arguments.amount.minor"
    if any(not _NAME.match(code) for code in rule.reasons):
        yield "a reason code is made of letters, digits, '_', '.' and '-', at most 100"


def _faults_of_refusal(rule: Rule) -> Iterator[str]:
    if rule.tools != (SAY,):
        yield f"gate refuse is for {SAY!r} alone; to keep an agent from a tool, do not give it the tool"
    if rule.quorum > 1 or any(getattr(rule, name) for name in _OF_PEOPLE):
        yield "gate refuse asks no person: what people do needs another gate"


_OF_PEOPLE = ("hold", "reviewers", "four_eyes", "reasons", "retype", "chain", "sticky", "edits")


def _faults_of_time(rule: Rule) -> Iterator[str]:
    steps = [0, *(step.after for step in rule.chain), rule.expires_in]
    if rule.chain and any(later <= sooner for sooner, later in pairwise(steps)):
        yield "the steps of a chain follow each other, before expires_in"
    if rule.sticky is not None and not (1 <= rule.sticky.seconds <= MAX_SECONDS and 1 <= rule.sticky.uses <= MAX_USES):
        yield f"a grant ends: seconds from 1 to {MAX_SECONDS}, uses from 1 to {MAX_USES}"
