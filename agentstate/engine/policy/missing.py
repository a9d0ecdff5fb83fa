"""Whether a missing value makes a rule ask for less. `load` refuses a rule for which it does.

A value that a rule reads and cannot find makes the rule unreadable, and an unreadable rule asks a person at the
highest tier. Only a question about presence gets past that: `has(state.user)`, `key in state.user`, `size(state.user)`.
Its answer for a missing value is an ordinary no (or a smaller number), and a `no` may mean "ask no person".

The check reads the syntax of the condition, never the values. Entries of objects count as values that may be missing.
Lists are values as a whole: a shorter list is another value, and `list[0]` of an empty list cannot be read.
"""

from __future__ import annotations

from collections.abc import Iterator

from agentstate.engine import guards
from agentstate.engine.guards.syntax import Apply, Const, Each, Field, Name, Node, children, walk
from agentstate.engine.policy.terms import GATES, Gate

# The engine counts these itself and completely, so an entry that is missing there is known to be zero.
COUNTED = (("history", "today", "calls"), ("history", "today", "moved"))
# The default for a tool that no rule names. A rule that asks for less only ever allows.
DEFAULT = ("approve", 2)
READ_IT = "read the value itself: where it is missing, a person is asked"
NEGATE_IT = f"{READ_IT}; or let the absence ask, as in !has(state.user) || ..."


def faults(when: str, names: tuple[str, ...], gate: Gate, tier: int) -> Iterator[str]:
    """Yields what is wrong with the condition of a rule that asks for `gate` at `tier`, one text for each question
    about presence whose no asks for less. Raises BadGuard.
    """
    tree = _plain(guards.expressed(when, names).tree)
    for question, sign in _questions(tree, 1, _opened(tree, names)):
        if not (asks(gate, tier) and sign == -1):
            remedy = NEGATE_IT if asks(gate, tier) else READ_IT
            yield f"{question} turns the rule off where the value is missing: {remedy}"


def asks(gate: Gate, tier: int) -> bool:
    """Whether such a rule asks for as much as the default for a tool that no rule names."""
    return (GATES.index(gate), tier) >= (GATES.index(DEFAULT[0]), DEFAULT[1])


def _plain(node: Node) -> Node:
    """The tree with `of['name']` written as `of.name`."""
    match node:
        case Apply(function="_[_]", arguments=(of, Const(value=str(name)))):
            return Field(_plain(of), name, False)
        case Field(of=of, name=name, asked=asked):
            return Field(_plain(of), name, asked)
        case Apply(function=function, arguments=arguments):
            return Apply(function, tuple(_plain(each) for each in arguments))
        case Each(item=item, over=over, inside=inside, builds=builds):
            return Each(item, _plain(over), tuple(_plain(each) for each in inside), builds)
    return node


def _opened(tree: Node, names: tuple[str, ...]) -> frozenset[Node]:
    """The objects of which the condition reads an entry by its key; what rules read by name always is one."""
    found: set[Node] = {Name(name) for name in names}
    for node in walk(tree):
        match node:
            case Field(of=of, asked=False):
                found.add(of)
            case Apply(function="_[_]", arguments=(of, key)) if not _is_number(key):
                found.add(of)
    return frozenset(found)


def _is_number(key: Node) -> bool:
    """Whether the key is a number, so that what is read is an item of a list."""
    match key:
        case Const(value=value):
            return isinstance(value, int)
        case Apply(function=function):
            return function in ("_-_", "size")
    return False


def _questions(node: Node, sign: int, opened: frozenset[Node]) -> Iterator[tuple[str, int]]:
    """Yields every question about presence at or below `node`, with its sign: 1 where its yes makes the condition
    truer, -1 where it makes it less true, 0 where that cannot be told.
    """
    match node:
        case Field(of=of, asked=True):
            if not _is_counted(of):
                yield f"has({_text(node)})", sign
            yield from _inside(of, opened)
        case Apply(function="@in", arguments=(key, of)) if of in opened or isinstance(of, Name):
            if not _is_counted(of):
                yield f"... in {_text(of)}", sign
            yield from _questions(key, 0, opened)
            yield from _inside(of, opened)
        case Apply(function="!_", arguments=(inner,)):
            yield from _questions(inner, -sign, opened)
        case Apply(function="_&&_" | "_||_", arguments=arguments):
            for each in arguments:
                yield from _questions(each, sign, opened)
        case Each(item=item, over=over, inside=inside):
            if item in guards.OF_GRANTS:
                yield f"a comprehension whose item is called {item}", 0
            step, weight = _step(inside)
            if over in opened and not _is_counted(over):
                yield f"a comprehension over {_text(over)}", weight * sign
            yield from _inside(over, opened) if over in opened else _questions(over, 0, opened)
            yield from _questions(step, sign, opened)
        case _:
            if node in opened and not _is_counted(node) and not _is_item(node):
                yield f"{_text(node)} as a whole", 0
            yield from _inside(node, opened)


def _inside(node: Node, opened: frozenset[Node]) -> Iterator[tuple[str, int]]:
    """Yields the questions below a value; what it is selected from is read, not asked about."""
    match node:
        case Field(of=of):
            yield from _inside(of, opened)
        case Apply(function="_[_]", arguments=(of, key)):
            yield from _inside(of, opened)
            yield from _questions(key, 0, opened)
        case _:
            for each in children(node):
                yield from _questions(each, 0, opened)


def _step(inside: tuple[Node, ...]) -> tuple[Node, int]:
    """The predicate of a comprehension, and whether one more item makes it truer (exists: 1), less true (all: -1), or
    neither can be told (0: filter, map, exists_one).
    """
    _, _, step, _ = inside
    match step:
        case Apply(function="_||_", arguments=(_, predicate)):
            return predicate, 1
        case Apply(function="_&&_", arguments=(_, predicate)):
            return predicate, -1
    return step, 0


def _is_item(node: Node) -> bool:
    """Whether the node is the item of a comprehension, which is there as soon as anything is asked about it."""
    return isinstance(node, Name) and node.name not in guards.OF_GRANTS


def _is_counted(node: Node) -> bool:
    path = _path(node)
    return any(path[: len(counted)] == counted for counted in COUNTED)


def _path(node: Node) -> tuple[str, ...]:
    match node:
        case Name(name=name):
            return (name,)
        case Field(of=of, name=name):
            above = _path(of)
            return (*above, name) if above else ()
    return ()


def _text(node: Node) -> str:
    match node:
        case Name(name=name):
            return name
        case Field(of=of, name=name):
            return f"{_text(of)}.{name}"
        case Apply(function="_[_]", arguments=(of, key)):
            return f"{_text(of)}[{_text(key)}]"
    return "..."
