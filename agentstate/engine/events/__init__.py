"""The vocabulary: everything that can have happened in a session, as typed, versioned records.

An event is stored once, as the bytes `encode` gives, and never rewritten; an old form is upcast when it is read.
Numbers other than integers keep the exact text in which they arrived (they are `Decimal` in memory).

Each file holds the events of one concept; what all share is in `base`. A new kind is defined in its concept's file and
belongs to the vocabulary by being a subclass of `Event` there. Readers write `ev.MessageAdded`.
"""

from __future__ import annotations

from typing import Union

import msgspec

from agentstate.engine.events.approvals import *
from agentstate.engine.events.automation import *
from agentstate.engine.events.base import *
from agentstate.engine.events.base import Event
from agentstate.engine.events.calls import *
from agentstate.engine.events.conversation import *
from agentstate.engine.events.plans import *
from agentstate.engine.events.runs import *
from agentstate.engine.events.scratchpad import *
from agentstate.engine.events.session import *
from agentstate.engine.events.supervision import *
from agentstate.engine.events.upcast import Upcasters, Vocabulary
from agentstate.engine.events.versions import *

AnyEvent = Event  # one of EVENTS, wherever this type is written

# A module of this package is imported after the package itself, so these are all, whatever is imported first.
EVENTS: tuple[type[Event], ...] = tuple(each for each in Event.__subclasses__() if each.__module__.startswith(__name__))
KINDS: tuple[str, ...] = tuple(str(each.__struct_config__.tag) for each in EVENTS)

_encoder = msgspec.json.Encoder(decimal_format="number")
UPCASTERS: Upcasters = {}  # by kind and version: from that form to the next. None has needed one yet.
_vocabulary: Vocabulary[Event] = Vocabulary(Union[EVENTS], UPCASTERS)  # noqa: UP007 (of a tuple)


def encode(event: Event) -> bytes:
    """The bytes that are stored, once."""
    return _encoder.encode(event)


def decode(data: bytes) -> Event:
    """The inverse of `encode`. Raises msgspec.ValidationError on anything that is not a known event."""
    return _vocabulary.decode(data)
