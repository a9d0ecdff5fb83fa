"""`decide(command, state, context) -> events`: the only place where rules live.

A command either becomes one or more events, or is refused with a typed error that names the rule; a refused command
has changed nothing. Deadlines are not judged here: the appending statement compares them with the database's clock.

Each file holds the rules of one concept: a function with `@command_handler` is the rule of its command. The words of
the rules are in `commands`, `context` and `refusals`. This module is what a program needs beside the state: `decide`,
every command, the context and the refusals that it gives.
"""

from __future__ import annotations

from agentstate.engine.decide.approvers import Approver as Approver
from agentstate.engine.decide.calls import LOST_RESULTS as LOST_RESULTS
from agentstate.engine.decide.charts import NotAwaited as NotAwaited
from agentstate.engine.decide.charts import UnknownSignal as UnknownSignal
from agentstate.engine.decide.commands.approvals import *
from agentstate.engine.decide.commands.automation import *
from agentstate.engine.decide.commands.base import Command as Command
from agentstate.engine.decide.commands.calls import *
from agentstate.engine.decide.commands.conversation import *
from agentstate.engine.decide.commands.plans import *
from agentstate.engine.decide.commands.runs import *
from agentstate.engine.decide.commands.scratchpad import *
from agentstate.engine.decide.commands.session import *
from agentstate.engine.decide.commands.supervision import *
from agentstate.engine.decide.commands.versions import *
from agentstate.engine.decide.context import CommandContext as CommandContext
from agentstate.engine.decide.context import ToolFacts as ToolFacts
from agentstate.engine.decide.decider import decide as decide
from agentstate.engine.decide.gates import REQUEST_SCHEMA as REQUEST_SCHEMA
from agentstate.engine.decide.offers import MAX_CALLS as MAX_CALLS
from agentstate.engine.decide.offers import MAX_PROPOSED as MAX_PROPOSED
from agentstate.engine.decide.permits import permit_digest as permit_digest
from agentstate.engine.decide.refusals import *
from agentstate.engine.decide.runs import MODEL_ATTEMPTS as MODEL_ATTEMPTS
from agentstate.engine.speech import MAX_TEXT as MAX_TEXT
