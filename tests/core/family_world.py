"""A session and its delegates in memory: what the runtime does around them is done here with the same functions."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

from agentstate.engine import decide as core
from agentstate.engine import events as ev
from agentstate.engine.decide import families, tasks
from agentstate.engine.decide.commands.plans import CountDelegate, Delegated, EndDelegate
from agentstate.engine.policy import Rule
from agentstate.engine.remembered import Remembered
from tests.core import worlds
from tests.core.worlds import World, proposed

HANDS_OVER = Rule("hands_over", ("delegate",), "true", 1, "allow", "Delegates may be opened.")


@dataclass(frozen=True)
class Member(World):
    """A delegate: it knows what binds it of those above it, the nearest first."""

    above: tuple[World, ...] = ()

    @property
    def given(self) -> core.CommandContext:
        given = super().given
        family = families.family_of(tuple(each.state for each in self.above), ())
        fields = {name: getattr(given, name) for name in given.__struct_fields__ if name != "family"}
        return core.CommandContext(**fields, family=family)


@dataclass(frozen=True)
class Family:
    """A session and the delegates that it has opened, by number."""

    root: World
    members: tuple[World, ...] = field(default=())

    def opening(self, delegate: str = "anonymous", **arguments: Any) -> Family:
        """The family whose root's model hands a call over, to a session of its own."""
        call = proposed("load_customer", None, customer="C-1", _delegate=delegate, **arguments)
        root = self.root.asked(call)
        key = root.state.plans.ready[-1]
        root = root.after(core.Begin(key))
        name = f"child-{len(self.members)}"
        budget = root.state.loop
        root = root.after(Delegated(key, name))
        child = Member(policy=root.policy, tools=root.tools, seconds=root.seconds, above=(root,))
        child = child.after(
            core.Open("C-1", "team", "bank", "phone"),
            core.TakeTask("parent", key, "agent:bank", "Do it.", share=families.share_of(budget, root.given.loop)),
        )
        return Family(root, (*self.members, child))

    def child(self, number: int, *calls: ev.CallProposed) -> Family:
        """The family after the model of a delegate has answered with these calls."""
        return self.then(number, self.member(number).asked(*calls))

    def did(self, number: int, *commands: core.Command) -> Family:
        """The family after commands to a delegate."""
        family = self
        for command in commands:
            family = family.then(number, family.member(number).after(command))
        return family

    def member(self, number: int) -> World:
        """A delegate, which sees its root as it is now."""
        return replace(self.members[number], above=(self.root,))  # type: ignore[call-arg]

    def then(self, number: int, after: World) -> Family:
        """The family once a delegate has come so far: what happened in it counts in the root."""
        news = families.news(self.members[number].state, after.state)
        root = self.root.after(CountDelegate(f"child-{number}", news)) if news != Remembered() else self.root
        return Family(root, (*self.members[:number], after, *self.members[number + 1 :]))

    def over(self, number: int) -> Family:
        """The family once a delegate has ended and what it used is counted."""
        spent = self.members[number].state.loop.session
        ended = EndDelegate(f"child-{number}", spent.tokens, spent.micros, spent.steps, spent.calls)
        return replace(self, root=self.root.after(ended))

    def rooted(self, *commands: core.Command) -> Family:
        """The family after commands to the root, and what its delegates do because of them."""
        family = self
        for command in commands:
            before = len(family.root.history)
            root = family.root.after(command)
            causes = [event for event, _ in root.history[before:] if isinstance(event, tasks.Reaching)]
            members = []
            for member in family.members:
                answer = tasks.because_of_parent(causes[0], root.state, member.state) if causes else None
                members.append(replace(member, above=(root,)).after(*([answer] if answer else [])))  # type: ignore[call-arg]
            family = Family(root, tuple(members))
        return family


def family(*rules: Rule, world: World | None = None) -> Family:
    """A session under these rules whose customer has said what they want."""
    return Family((world or worlds.opened()).with_rules(*rules, HANDS_OVER).offering("_delegate"))
