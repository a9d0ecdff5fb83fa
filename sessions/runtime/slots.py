"""The calls of one session that may begin now, within the limits of their tools."""

from __future__ import annotations

from collections.abc import Collection, Set
from uuid import UUID

from django.conf import settings

from agentstate.engine import advance as core
from agentstate.engine.state.session import SessionState
from sessions.runtime import limits
from sessions.runtime.compatibility import must_be_known, tool_of


class Places:
    """The places that one worker holds for calls of one session; `missing` is the limit that kept the latest back."""

    def __init__(self, session: UUID) -> None:
        self._session = session
        self._held: set[str] = set()
        self.missing = ""

    def allowed(
        self, state: SessionState, at: str, flying: Set[str], held: Set[str] = core.NOBODY
    ) -> tuple[core.Action, ...]:
        """What to do next beside the calls of `flying`, and without those of `held`, which a stop holds. A call without
        a place is passed over. Raises NotKnownHere.
        """
        self.missing = ""
        passed: set[str] = set()
        while True:
            busy = flying | passed
            room = settings.PARALLEL_CALLS - len(flying)
            actions = core.next_actions(state, at, busy, room, held)
            for action in actions:
                if isinstance(action, core.RunCall):
                    must_be_known(state, action.call)
            without = {each.call for each in actions if isinstance(each, core.RunCall) and not self._enter(state, each)}
            if not without:
                return actions
            passed |= without

    def _enter(self, state: SessionState, action: core.RunCall) -> bool:
        tool = tool_of(state, action.call)
        if not tool or not limits.limit_of_tool(tool):
            return True
        if limits.enter_call(self._session, action.call, tool):
            self._held.add(action.call)
            return True
        self.missing = f"tool:{tool}"
        return False

    def keep_only(self, calls: Collection[str]) -> None:
        """Give back the places of all other calls."""
        for call in [call for call in self._held if call not in calls]:
            self._held.discard(call)
            limits.leave(self._session, call)
