"""The kinds of events: their fields and what emits them. `python -m tests.docs.events_table` writes docs/events.md.

The fields come from the event classes. The emitters come from the source: a function emits an event when it constructs
the event's class, and a command emits it when the command's rule reaches such a function. A test compares the page.
"""

from __future__ import annotations

import ast
import importlib
import inspect
import pkgutil
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any, get_args, get_type_hints

import msgspec

from agentstate.engine import decide, events, profile
from agentstate.engine.handlers import command_handler
from agentstate.engine.profile import events as profile_events
from agentstate.engine.profile.decide import _RULES as PROFILE_RULES
from agentstate.engine.profile.decide import decide as decide_profile

PAGE = Path(__file__).parent.parent.parent / "docs" / "events.md"
EMITTING = (decide, profile)
HEAD = """\
# Events

The kinds of events, their fields and what emits them. [The engine](engine.md) explains how a command becomes events.
This page is written by `python -m tests.docs.events_table`.

- **Fields**: name and type, in the order of the stored form. A field with `=` has a default. Every event also has `v`,
  the version of its form, and a kind. [Types of fields](#types-of-fields) lists the fields of nested structures.
- **Constructed in**: the functions of `agentstate/engine` that construct the event.
- **Commands**: the commands whose rule reaches one of these functions, each command as its class is named. *Any
  command* means that the event can follow from another event of the same batch: `decide` adds it after the rule.
  The list follows references between functions in the source, so it can name a command too many.

An event without function and command is read from older entries and no longer emitted.
"""

Function = tuple[str, str]  # module and name, a method as Class.method


_DESCRIBED = re.compile(r"^Annotated\[(.*), Meta\(description=.*\)\]$", re.DOTALL)  # what the API says of a field


def rendered() -> str:
    """Returns docs/events.md as it must be."""
    emitters = _Emitters()
    session = _table(events.EVENTS, emitters, command_handler.by_type, decide.decide)
    customer = _table(get_args(profile_events.AnyProfileEvent), emitters, PROFILE_RULES, decide_profile)
    kinds = (*events.EVENTS, *get_args(profile_events.AnyProfileEvent))
    return "\n".join(
        [
            HEAD,
            f"## Events of a session\n\n{session}",
            f"## Events of a customer's profile\n\n{customer}",
            f"## Types of fields\n\n{_types(kinds)}",
        ]
    )


def _table(kinds: Iterable[type], emitters: _Emitters, rules: Mapping[type, Any], root: Any) -> str:
    lines = ["| kind | fields | constructed in | commands | meaning |", "| --- | --- | --- | --- | --- |"]
    reached = {command.__name__: emitters.reached(rule) for command, rule in rules.items()}
    after = emitters.reached(root)
    for kind in sorted(kinds, key=events.kind_of):
        makers = emitters.makers(kind)
        commands = sorted(name for name, functions in reached.items() if makers & functions)
        told = "*any command*" if makers & after else ", ".join(f"`{name}`" for name in commands)
        made = ", ".join(sorted(f"`{_short(module)}.{name}`" for module, name in makers))
        lines.append(f"| `{events.kind_of(kind)}` | {_fields(kind)} | {made} | {told} | {_first_sentence(kind)} |")
    return "\n".join(lines) + "\n"


def _types(kinds: Iterable[type]) -> str:
    lines = ["| type | fields | meaning |", "| --- | --- | --- |"]
    found = sorted(_nested(kinds), key=lambda each: each.__name__)
    lines += [f"| `{each.__name__}` | {_fields(each)} | {_first_sentence(each)} |" for each in found]
    return "\n".join(lines) + "\n"


def _nested(kinds: Iterable[type]) -> set[type]:
    """Returns the structures inside the fields of `kinds`, at any depth."""
    found: set[type] = set()
    waiting: list[Any] = [hint for kind in kinds for hint in get_type_hints(kind).values()]
    while waiting:
        hint = waiting.pop()
        waiting += get_args(hint)
        if isinstance(hint, type) and issubclass(hint, msgspec.Struct) and hint not in found:
            found.add(hint)
            waiting += get_type_hints(hint).values()
    return found


def _fields(kind: type) -> str:
    written = _annotations(kind)
    shown = []
    for field in msgspec.structs.fields(kind):
        if field.name != "v":
            default = "" if field.required else " ="
            shown.append(f"`{field.name}: {written[field.name]}{default}`".replace("|", "\\|"))
    return ", ".join(shown)


def _annotations(kind: type) -> dict[str, str]:
    """Returns the types of the fields as the source writes them, the inherited fields too."""
    written = {name: hint for base in reversed(kind.__mro__) for name, hint in inspect.get_annotations(base).items()}
    return {name: _DESCRIBED.sub(r"\1", hint) if isinstance(hint, str) else hint for name, hint in written.items()}


def _first_sentence(kind: type) -> str:
    text = " ".join((kind.__doc__ or "").split())
    return text.partition(". ")[0].rstrip(".:").replace("|", "\\|") + "."


def _short(module: str) -> str:
    return module.removeprefix("agentstate.engine.")


class _Emitters:
    """The functions of `decide`: the events that each one constructs and the functions that it refers to."""

    def __init__(self) -> None:
        self._made: dict[Function, set[type]] = {}
        self._refers: dict[Function, set[Function]] = {}
        for module in _modules():
            for name, node in _functions(ast.parse(Path(str(module.__file__)).read_text())):
                found = (module.__name__, name)
                self._made[found] = {each for each in _calls(node, module) if _is_event(each)}
                self._refers[found] = {self.name(each) for value in _named(node, module) for each in _held(value)}

    @staticmethod
    def name(function: FunctionType) -> Function:
        return function.__module__, function.__qualname__

    def makers(self, kind: type) -> set[Function]:
        return {function for function, made in self._made.items() if kind in made}

    def reached(self, rule: FunctionType) -> set[Function]:
        """Returns `rule` and every function that it reaches."""
        found: set[Function] = set()
        waiting = [self.name(rule)]
        while waiting:
            function = waiting.pop()
            if function in self._refers and function not in found:
                found.add(function)
                waiting += self._refers[function]
        return found


def _modules() -> Iterator[ModuleType]:
    for package in EMITTING:
        yield package
        for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            yield importlib.import_module(module.name)


def _functions(tree: ast.Module) -> Iterator[tuple[str, ast.AST]]:
    for node in tree.body:
        if isinstance(node, ast.FunctionDef):
            yield node.name, node
        elif isinstance(node, ast.ClassDef):
            yield from ((f"{node.name}.{each.name}", each) for each in node.body if isinstance(each, ast.FunctionDef))


def _calls(node: ast.AST, module: ModuleType) -> Iterator[Any]:
    return (_value(each.func, module) for each in ast.walk(node) if isinstance(each, ast.Call))


def _named(node: ast.AST, module: ModuleType) -> Iterator[Any]:
    return (_value(each, module) for each in ast.walk(node) if isinstance(each, (ast.Name, ast.Attribute)))


def _value(node: ast.AST, module: ModuleType) -> Any:
    """Returns what a dotted name stands for in `module`, or None."""
    if isinstance(node, ast.Name):
        return getattr(module, node.id, None)
    return getattr(_value(node.value, module), node.attr, None) if isinstance(node, ast.Attribute) else None


def _held(value: Any) -> Iterator[FunctionType]:
    """Returns the functions that a name stands for: itself, or the values of a table other than a table of rules."""
    if isinstance(value, FunctionType):
        yield value
    elif isinstance(value, dict) and value != PROFILE_RULES:
        yield from (each for each in value.values() if isinstance(each, FunctionType))


def _is_event(value: Any) -> bool:
    return isinstance(value, type) and issubclass(value, events.Event)


if __name__ == "__main__":
    PAGE.write_text(rendered())
