"""The functions that handle events and commands, each registered by a decorator beside its definition.

`state.evolution` and `decide.decider` import every module that registers, so a table is complete once one of the two
is imported, whatever was imported before.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, TypeVar

from agentstate.errors import Broken

H = TypeVar("H", bound=Callable[..., Any])


class Handlers:
    """The one function for each type of event, or of command."""

    def __init__(self, what: str) -> None:
        self._what = what
        self.by_type: dict[type, Callable[..., Any]] = {}

    def __call__(self, *types: type) -> Callable[[H], H]:
        """Returns a decorator that registers a function for `types`. Raises Broken if one of them has another."""

        def register(function: H) -> H:
            for each in types:
                if each in self.by_type:
                    raise Broken(f"two functions handle the {self._what} {each.__name__}")
                self.by_type[each] = function
            return function

        return register

    def of(self, kind: type) -> Callable[..., Any]:
        """Returns the function for a type. Raises Broken if it has none."""
        try:
            return self.by_type[kind]
        except KeyError:
            raise Broken(f"no function handles the {self._what} {kind.__name__}") from None

    def __iter__(self) -> Iterator[type]:
        """Returns the types that have a function."""
        return iter(self.by_type)


event_handler = Handlers("event")  # (state, event, at) -> state
command_handler = Handlers("command")  # (command, state, context) -> events
