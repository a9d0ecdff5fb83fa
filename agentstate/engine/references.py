"""References: how a parameter names a value that stands elsewhere, and how an output says where it goes.

`†state.customer.name` is replaced by the value at that path when the call starts. `a || b` takes the first, in this
order, that exists, once no earlier one can still be written; `a && b` waits for all and takes the last; `&&` binds
closer. A reference is a whole string, anywhere inside a structure; a string that begins with `††` is text that begins
with one dagger, and a dagger elsewhere in a text is just a dagger. A number in a path counts into a list, from 0.

Resolving has three answers: a value, not yet, never. What has not come waits; what can never come says why.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import lru_cache
from typing import Any

import msgspec

from agentstate.errors import Invalid

DAGGER = "†"
MAX_LENGTH = 500  # characters of one reference
MAX_NAMES = 32  # names of one path
MAX_TERMS = 16  # paths of one reference
MAX_NESTING = 64  # levels of a structure that references stand in

Views = Mapping[str, Any]  # kind -> object
GIVEN = frozenset({"input", "user", "plan", "conversation", "session", "arguments", "output"})  # kinds nobody writes

_TERM = re.compile(r"†?([a-z][a-z0-9_]{0,40})((?:\.[^\s.|&†]+)*)")


class BadReference(Invalid):
    """The reference cannot be read."""

    code = "bad_reference"

    def __init__(self, reference: str, rule: str, detail: str) -> None:
        shown = reference if len(reference) <= 80 else f"{reference[:77]}..."
        super().__init__(f"{shown!r}: {rule}: {detail}", field=shown, rule=rule)
        self.reference, self.rule = shown, rule


class Path(msgspec.Struct, frozen=True, order=True, gc=False, cache_hash=True):
    """A place: what kind of message, and the names below it. As text `state.customer.name`. Paths and references hold
    texts only, so the collector need not look at the thousands in a plan (`gc`).
    """

    kind: str
    names: tuple[str, ...] = ()

    def __str__(self) -> str:
        return ".".join((self.kind, *self.names))


class Reference(msgspec.Struct, frozen=True, gc=False):
    """Alternatives in their order, each of one path or of several that are all wanted."""

    alternatives: tuple[tuple[Path, ...], ...]

    def __str__(self) -> str:
        return " || ".join(" && ".join(f"{DAGGER}{path}" for path in group) for group in self.alternatives)

    @property
    def paths(self) -> tuple[Path, ...]:
        """Every path that is named, in order."""
        if len(self.alternatives) == 1:
            return self.alternatives[0]
        return tuple([path for group in self.alternatives for path in group])


class Found(msgspec.Struct, frozen=True):
    """The value is there."""

    value: Any


class Waiting(msgspec.Struct, frozen=True):
    """Not yet: one of `paths` can still be written."""

    paths: tuple[Path, ...]


class Never(msgspec.Struct, frozen=True):
    """It will not come. `blocked`: something that had to go well did not; otherwise a branch was not taken."""

    why: str
    blocked: bool = True


Resolution = Found | Waiting | Never
Look = Callable[[Path], Resolution]


def parse(text: str) -> Reference:
    """The reference that a parameter is. Raises BadReference naming it and the rule it breaks."""
    if not is_reference(text):
        raise BadReference(text, "dagger", f"a reference begins with one {DAGGER}")
    return _parsed(text)


def output(text: str) -> Reference:
    """An output path, with or without its dagger: outcomes in order, each of the places that are written together.
    Raises BadReference.
    """
    found = _parsed(text)
    paths = found.paths
    for path in paths:
        if not is_written(path.kind) or (path.kind == "state" and not path.names):
            raise BadReference(text, "output", f"got {path}, want state.<name>[.<name>...], or a kind of data")
    if len(paths) > 1 and len(set(paths)) < len(paths):
        raise BadReference(text, "output", "it names a place twice")
    return found


def is_written(kind: str) -> bool:
    """Whether outputs may be written to messages of this kind; others are what the context makes of itself."""
    return kind not in GIVEN


def path(text: str) -> Path:
    """One path, with or without its dagger. Raises BadReference."""
    found = _parsed(text).paths
    if len(found) > 1:
        raise BadReference(text, "path", "want one path")
    return found[0]


def is_reference(value: object) -> bool:
    """Whether a value is meant as a reference: text that begins with exactly one dagger."""
    return isinstance(value, str) and value.startswith(DAGGER) and not value.startswith(DAGGER * 2)


@lru_cache(maxsize=32_768)
def _parsed(text: str) -> Reference:
    if len(text) > MAX_LENGTH:
        raise BadReference(text, "length", f"got {len(text)} characters, at most {MAX_LENGTH}")
    groups = [group.split("&&") for group in text.split("||")]
    if sum(map(len, groups)) > MAX_TERMS:
        raise BadReference(text, "terms", f"at most {MAX_TERMS} paths")
    return Reference(tuple(tuple(_path(term.strip(" "), text) for term in group) for group in groups))


def _path(term: str, text: str) -> Path:
    found = _TERM.fullmatch(term)
    if found is None:
        raise BadReference(text, "path", f"got {term[:60]!r}, want {DAGGER}<kind>.<name>[.<name>...]")
    names = tuple(found[2].split(".")[1:])
    if len(names) > MAX_NAMES:
        raise BadReference(text, "depth", f"got {len(names)} names, at most {MAX_NAMES}")
    return Path(found[1], names)


def within(value: Any, at: str = "") -> Iterator[tuple[str, Reference]]:
    """Every reference in a structure, with the place where it stands. Raises BadReference, also where the structure is
    too deep to be read.
    """
    waiting = [(at, value, 0)]
    while waiting:
        place, node, depth = waiting.pop()
        if depth > MAX_NESTING:
            raise BadReference(place[:60], "nesting", f"at most {MAX_NESTING} levels")
        if isinstance(node, str):
            if is_reference(node):
                yield place, _parsed(node)
        elif isinstance(node, dict):
            waiting += [(f"{place}.{key}" if place else str(key), each, depth + 1) for key, each in node.items()]
        elif isinstance(node, list):
            waiting += [
                (f"{place}.{index}" if place else str(index), each, depth + 1) for index, each in enumerate(node)
            ]


def escaped(value: Any, depth: int = 0) -> Any:
    """A literal value so written that `filled` gives it back: text that begins with a dagger gets one more."""
    if depth > MAX_NESTING:
        raise BadReference("", "nesting", f"at most {MAX_NESTING} levels")
    if isinstance(value, str):
        return DAGGER + value if value.startswith(DAGGER) else value
    if isinstance(value, dict):
        return {key: escaped(each, depth + 1) for key, each in value.items()}
    if isinstance(value, list):
        return [escaped(each, depth + 1) for each in value]
    return value


def read(views: Views, path: Path) -> Found | None:
    """The value at `path`, or None where there is none. A value that is null exists."""
    if path.kind not in views:
        return None
    value = views[path.kind]
    for name in path.names:
        if isinstance(value, Mapping) and name in value:
            value = value[name]
        elif isinstance(value, list | tuple) and name.isascii() and name.isdigit() and int(name) < len(value):
            value = value[int(name)]
        else:
            return None
    return Found(value)


def resolve(reference: Reference, look: Look) -> Resolution:
    """What a reference stands for now. `look` answers for one path."""
    lost: list[Never] = []
    for group in reference.alternatives:
        answer = _joined(group, look)
        if not isinstance(answer, Never):
            return answer
        lost.append(answer)
    return _never(lost)


def _joined(group: tuple[Path, ...], look: Look) -> Resolution:
    answers = [look(path) for path in group]
    return _lacking(answers) or answers[-1]


def _lacking(answers: Iterable[Resolution]) -> Waiting | Never | None:
    """What keeps these from all being found. As long as one can still come, nothing is said of those that cannot: so
    what is said in the end does not hang on which of them was first.
    """
    given = list(answers)
    missing = [path for answer in given if isinstance(answer, Waiting) for path in answer.paths]
    if missing:
        return Waiting(tuple(dict.fromkeys(missing)))
    lost = [answer for answer in given if isinstance(answer, Never)]
    return _never(lost) if lost else None


def _never(lost: list[Never]) -> Never:
    """One answer for several: that something did not go well outweighs that a branch was not taken."""
    chosen = [each for each in lost if each.blocked] or lost
    return Never("; ".join(dict.fromkeys(each.why for each in chosen)), chosen[0].blocked)


def filled(value: Any, look: Look) -> Resolution:
    """`value` with every reference replaced, as soon as all of them are found. Raises BadReference."""
    answers = {reference: resolve(reference, look) for _, reference in within(value)}
    lacking = _lacking(answers.values())
    if lacking is not None:
        return lacking
    return Found(_put(value, {key: answer.value for key, answer in answers.items() if isinstance(answer, Found)}))


def _put(value: Any, known: Mapping[Reference, Any]) -> Any:
    if isinstance(value, str):
        if is_reference(value):
            return known[_parsed(value)]
        return value[1:] if value.startswith(DAGGER) else value
    if isinstance(value, dict):
        return {key: _put(each, known) for key, each in value.items()}
    if isinstance(value, list):
        return [_put(each, known) for each in value]
    return value
