"""What a chart means to the session it belongs to: what its agent is told, which tools it may call, what it waits for.

Pure, of a chart and a configuration. A session records the answers with each move, so that neither a newer chart nor a
newer interpreter changes what was in force.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import timedelta
from typing import Annotated

import msgspec
from msgspec import Meta

from agentstate.engine.charts.chart import Chart, State
from agentstate.engine.charts.state import ChartState, due_next
from agentstate.engine.charts.tree import Node, Tree, tree_of
from agentstate.engine.instants import parse, stamp

MAX_INSTRUCTIONS = 8_000  # characters that a configuration tells the agent


class Standing(msgspec.Struct, frozen=True, omit_defaults=True):
    """The part of a session's state that is its chart's: at most what ChartState holds, and the words in force."""

    inside: ChartState | None = None
    instructions: tuple[str, ...] = ()
    tools: tuple[str, ...] | None = None
    stopped: str = ""  # why the chart runs no more although it has not ended
    at: str = ""  # of the latest move

    @property
    def due(self) -> str:
        """The instant of the next timer, or empty."""
        return due_next(self.inside) if self.inside is not None and not self.stopped else ""

    @property
    def moves(self) -> bool:
        """Whether there is a chart that can still move."""
        return self.inside is not None and self.inside.running and not self.stopped


class Awaited(msgspec.Struct, frozen=True):
    """A state that is held, with the states around it counted by `depth`, and what leads on from it."""

    state: str
    about: str
    depth: Annotated[int, Meta(description="how many states stand around it")]
    held: Annotated[bool, Meta(description="whether the session is in it")]
    waits_for: Annotated[tuple[str, ...], Meta(description="events and times that lead on")]


def timed_anew(standing: Standing, then: str, at: str) -> Standing:
    """The same place at `at` as it was at `then`: every timer, here and inside, has as much time left as it had.
    Without them a state that only a timer leaves would be held for ever.
    """
    if standing.inside is None:
        return standing
    return msgspec.structs.replace(standing, inside=_timed(standing.inside, parse(at) - parse(then)))


def _timed(state: ChartState, later: timedelta) -> ChartState:
    inside = {
        name: msgspec.structs.replace(invoked, inside=_timed(invoked.inside, later))
        for name, invoked in state.invoked.items()
    }
    timers = tuple(msgspec.structs.replace(timer, due=stamp(parse(timer.due) + later)) for timer in state.timers)
    return msgspec.structs.replace(state, timers=timers, invoked=inside)


def instructions_in(chart: Chart, configuration: Iterable[str]) -> tuple[str, ...]:
    """What the states that are held tell the agent, outermost first, bounded."""
    told = [node.state.instructions for node in _held(tree_of(chart), configuration) if node.state.instructions]
    total = 0
    kept = [words for words in told if (total := total + len(words)) <= MAX_INSTRUCTIONS]
    return tuple(kept)


def tools_in(chart: Chart, configuration: Iterable[str]) -> tuple[str, ...] | None:
    """The tools that may be called: those of the innermost states that speak of tools, of all regions together.

    None when no state speaks of them: then nothing is forbidden.
    """
    held = _held(tree_of(chart), configuration)
    found = [_tools_of(node) for node in held if node.atomic]
    spoken = [tools for tools in found if tools is not None]
    return tuple(dict.fromkeys(tool for tools in spoken for tool in tools)) if spoken else None


def _tools_of(atomic: Node) -> tuple[str, ...] | None:
    around = (node.state.tools for node in (atomic, *atomic.ancestors))
    return next((tools for tools in around if tools is not None), None)


def _held(tree: Tree, configuration: Iterable[str]) -> list[Node]:
    nodes = [tree.nodes[name] for name in configuration if name in tree.nodes]
    return sorted(nodes, key=lambda node: node.order)


def prompts(chart: Chart, entered: Iterable[str]) -> bool:
    """Whether one of the states that were entered lets the agent speak."""
    nodes = tree_of(chart).nodes
    return any(nodes[name].state.prompt for name in entered if name in nodes)


def outline(chart: Chart, configuration: Iterable[str]) -> tuple[Awaited, ...]:
    """All states as the document has them, the held ones marked, each with what it waits for."""
    held = set(configuration)
    return tuple(
        Awaited(node.id, node.state.about, len(node.ancestors) - 1, node.id in held, _ways(node.state))
        for node in tree_of(chart).nodes.values()
        if not node.history
    )


def _ways(state: State) -> tuple[str, ...]:
    ways = (f"after {one.after}" if one.after else one.event for one in state.transitions)
    return tuple(dict.fromkeys(way for way in ways if way))
