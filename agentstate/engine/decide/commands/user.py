"""What a session is given of its customer."""

from __future__ import annotations

from agentstate.engine.decide.commands.base import Command
from agentstate.engine.events.conversation import Adaptation


class Adapt(Command, frozen=True):
    """The customer's profile, as the declared mapping reads it now. The runtime's, before it asks the model."""

    adaptation: Adaptation
