"""Which regular expressions a schema may hold.

They are run by an engine without backtracking (the one inside jsonschema-rs: time linear in the text, memory bounded),
which knows no look-around and no back-reference. Schemas also travel: a form in a browser or an agent's own library
may run the same pattern with backtracking. So what would blow up there (a repeat inside a repeat, alternatives under a
repeat that begin alike) is refused too, by its own rule.
"""

from __future__ import annotations

import re
from typing import NamedTuple

import jsonschema_rs

from agentstate.engine.schemas.refusals import BadSchema

MAX_LENGTH = 500  # characters of a pattern
SAFE = jsonschema_rs.RegexOptions(size_limit=1 << 18, dfa_size_limit=1 << 20)  # bytes
MANY = 10  # a counted repeat of more than this counts as endless

# One token of a pattern: an escape, a class, the head of a group, its end, a bar, a repeat, or one character.
TOKEN = re.compile(
    r"""(?P<escape>\\(?:[pPuUx]\{[^}]*\}|[xX][0-9A-Fa-f]{2}|u[0-9A-Fa-f]{4}|.))
      | (?P<set>\[\^?\]?(?:\\.|[^\]\\])*\])
      | (?P<open>\((?:\?(?:P?<[^>]*>|[A-Za-z-]*:))?)
      | (?P<close>\))
      | (?P<bar>\|)
      | (?P<repeat>[*+?]\??|\{(?P<least>\d+)(?:,(?P<most>\d*))?\}\??)
      | (?P<one>.)""",
    re.VERBOSE | re.DOTALL,
)


class _Part(NamedTuple):
    """What is known of a stretch of a pattern: whether it repeats inside, and how its alternatives begin."""

    repeats: bool
    starts: list[str]


def check(pattern: str, path: str) -> None:
    """Refuse a pattern that is too long, that the linear engine cannot run, or that backtracking blows up on.

    Raises BadSchema with the rule `pattern`, `max_pattern` or `nested_repeat`.
    """
    if len(pattern) > MAX_LENGTH:
        raise BadSchema(path, "max_pattern", f"at most {MAX_LENGTH} characters")
    try:
        jsonschema_rs.Draft202012Validator({"pattern": pattern}, pattern_options=SAFE, offline=True)
    except (ValueError, UnicodeEncodeError):
        raise BadSchema(path, "pattern", "it cannot be run in linear time, or is no pattern") from None
    if _blows_up(pattern):
        raise BadSchema(path, "nested_repeat", "a repeat inside a repeat takes for ever where engines backtrack")


def _blows_up(pattern: str) -> bool:
    """Whether a group that is repeated without end repeats inside, or has alternatives that begin alike."""
    open_groups, last = [_Part(False, [""])], _Part(False, [""])
    for token in TOKEN.finditer(pattern):
        kind, text = token.lastgroup, token.group()
        if kind in ("least", "most"):
            kind = "repeat"
        here = open_groups[-1]
        if kind == "open":
            open_groups.append(_Part(False, [""]))
        elif kind == "close":
            last = open_groups.pop() if len(open_groups) > 1 else here
            _joined(open_groups, last.repeats, "(")
        elif kind == "bar":
            here.starts.append("")
        elif kind == "repeat":
            if _is_endless(token):
                if last.repeats or _begin_alike(last.starts):
                    return True
                open_groups[-1] = _Part(True, here.starts)
        else:
            last = _Part(False, [text])
            _joined(open_groups, False, text)
    return False


def _joined(open_groups: list[_Part], repeats: bool, text: str) -> None:
    """The stretch `text` stands in the innermost open group now."""
    here = open_groups[-1]
    starts = [*here.starts[:-1], here.starts[-1] or text]
    open_groups[-1] = _Part(here.repeats or repeats, starts)


def _is_endless(repeat: re.Match[str]) -> bool:
    if repeat["least"] is None:
        return repeat.group()[0] in "*+"
    most = repeat["most"]
    return most == "" or int(repeat["least"] if most is None else most) > MANY


def _begin_alike(starts: list[str]) -> bool:
    """Two alternatives may begin with the same character: only plain ones can be told apart."""
    if len(starts) < 2:
        return False
    return len(set(starts)) < len(starts) or any(len(start) != 1 or start in ".^$" for start in starts)
