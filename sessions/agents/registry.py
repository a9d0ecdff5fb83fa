"""The agents of this installation: instructions, tools, policy and model of each, by name."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

import msgspec
from django.conf import settings

from agentstate.engine import policy as pol
from agentstate.engine import references, scratchpad, writers
from agentstate.engine.decide import CommandContext, ToolFacts, offers
from agentstate.engine.looping.settings import ANSWER, Looping, Price
from agentstate.engine.memory.allowance import Allowance, allowance
from agentstate.engine.memory.remembering import Remembering
from agentstate.engine.migrating import Catalogue
from agentstate.engine.migrating.pruning import Reads, read_by, read_by_policy
from agentstate.engine.model import Model, ToolSpec
from agentstate.engine.plan import goals
from agentstate.engine.schemas import check_schema, private_paths
from agentstate.engine.state.goals import GOALS
from agentstate.engine.state.rounds import PLAN
from agentstate.engine.understanding import answer as resolving
from agentstate.engine.understanding import ontology as talks
from agentstate.errors import Invalid
from agentstate.ids import new_id
from sessions.agents import prices, token_counters
from sessions.library import charts, folders, policies, state_schemas
from sessions.tools import output
from sessions.tools import registry as tools
from sessions.tools.registry import Tool

REFERRING = (
    " A parameter like †state.customer.name waits for the call whose result goes to state.customer, and is replaced by"
    " the value there."
)
_TEXT = {"type": "string"}
_PROPERTY = {"_scopes": {"type": "array", "items": _TEXT}}
RESOLVING = ToolSpec(
    resolving.RESOLVE_REFERENCES,
    "Say which known entity each phrase of the customer's newest message means. `message` and the ids are those under"
    " `known`; a mention is copied from the message letter by letter. Leave out a phrase of which you are not certain."
    " A message is answered once.",
    resolving.SCHEMA,
)
TAKING_APART = ToolSpec(GOALS, "Take the goal apart into tasks, and say what needs what.", goals.SCHEMA)
# By calls of it a session waits for others that carry out a plan for parts of its instances. No model is offered it.
BATCH = ToolFacts("batch", 1, "pure", 1, 1.0, lambda arguments: None, lambda arguments, state: "Carry out a part")
TALKS = "talks"


class Agent(msgspec.Struct, frozen=True):
    """One agent. `tools` names registered tools; `output_paths` says where a tool's result goes in the scratchpad;
    `offers` what its model may use beside its tools, by the names in `offers.ALL`: plans, references, and each property
    of a call; `follow` whether a plan of its model must be followed exactly;
    `memory` how long its requests may be and what is kept of a conversation.
    """

    name: str
    instructions: str
    tools: tuple[str, ...]
    policy: str
    output_paths: dict[str, str]
    memory: Remembering = Remembering()
    talk: str = ""  # what is talked about, `talks/<name>.json` of the library; empty: nothing is declared
    script: Model | None = None  # the model to ask when the settings name none
    offers: tuple[str, ...] = ()  # `offers.PLANNING` for a model that plans; nothing: it may call its tools only
    follow: bool = False
    idle: int | None = None  # seconds that its sessions wait for their customers; None: as the settings say
    schema: str = ""  # of the scratchpad, in `state_schemas/` of the library; empty: anything may be written
    scopes: tuple[str, ...] | None = None  # all that its model sees of state and data messages; None: everything
    chart: str = ""  # the statechart that its sessions begin with, beside the lifecycle that all have
    loop: Looping = Looping()  # what its runs may use, when it goes in circles, messages meanwhile, its output's schema
    limit: int = 0  # sessions of it that are worked on at once, over all workers; 0: any number. LIMITS goes before


class UnknownAgent(Invalid):
    """There is no such agent."""

    code = "unknown_agent"


_registry: dict[str, Agent] = {}
_found: dict[str, tuple[Agent, Agent]] = {}  # as registered, and as `find` gives it
folders.on_change(_found.clear)


def register(agent: Agent) -> None:
    """Adds `agent`; every tool that it names must be registered. A name is taken once.

    Raises ValueError; BudgetTooSmall where instructions and tools leave no room for a conversation.
    """
    if agent.name in _registry:
        raise ValueError(f"an agent called {agent.name!r} is registered already")
    unknown = [name for name in agent.offers if name not in offers.ALL]
    if unknown:
        raise ValueError(f"agent {agent.name!r} offers {unknown}, want some of {', '.join(offers.ALL)}")
    missing = [name for name in agent.tools if not tools.changes(name) and tools.find(name) is None]
    if missing:
        raise ValueError(f"agent {agent.name!r} names tools that are not registered: {missing}")
    for tool, place in agent.output_paths.items():
        _must_be_a_place(tool, place)
    policies.must_hold(agent.policy)
    if agent.chart:
        charts.named(agent.chart)
    token_counters.named(agent.memory.counter)
    whole = _with_output(agent)
    allowance_of(whole).must_suffice(whole.name)
    schemas_for(agent.schema)
    _registry[agent.name] = whole


def _must_be_a_place(name: str, place: str) -> None:
    """Raises BadReference, BadPath, or ValueError where the tool does not require an argument in the place as text."""
    scratchpad.parts(str(references.path(place)))
    tool = tools.find(name)
    schema = tool.arguments if tool is not None else {}
    for key in writers.keys_in(place):
        properties, required = schema.get("properties", {}), schema.get("required", [])
        if key not in required or properties.get(key, {}).get("type") != "string":
            raise ValueError(f"output_paths: {name} does not require a text {key!r}, of which {place} is made")


def _with_output(agent: Agent) -> Agent:
    """The agent, with the tool by which it gives its output where it has declared one."""
    if agent.loop.output is None:
        return agent
    check_schema(agent.loop.output)
    paths = {ANSWER: output.PATH, **agent.output_paths}
    return msgspec.structs.replace(agent, tools=(*agent.tools, ANSWER), output_paths=paths)


def _with_private(agent: Agent, declared: Catalogue | None) -> Agent:
    """The agent, with what any version of its state's schema declares private kept from its model."""
    found = [path for each in declared.versions.values() for path in private_paths(each)] if declared else []
    private = tuple(dict.fromkeys((*agent.memory.private, *found)))
    return msgspec.structs.replace(agent, memory=msgspec.structs.replace(agent.memory, private=private))


def find(name: str) -> Agent:
    """The agent of that name, with what its state's schema in force declares private. Raises UnknownAgent."""
    try:
        registered = _registry[name]
    except KeyError:
        raise UnknownAgent(f"got {name!r}, want one of {sorted(_registry)}", field="agent") from None
    declared = schemas_for(registered.schema)
    found = _found.get(name)
    if found is None or found[0] is not registered:
        found = _found[name] = registered, _with_private(registered, declared)
    return found[1]


def names() -> list[str]:
    """Every registered name, sorted."""
    return sorted(_registry)


def policy_named(reference: str) -> pol.Policy:
    """The policy `bank` in its newest version, or `bank@1`. Raises BadPolicy."""
    return policies.named(reference)


def schemas_for(name: str) -> Catalogue | None:
    """The versions of the schema of that name; None for the empty name."""
    return state_schemas.named(name) if name else None


@folders.cached
def reads_of(agent: str) -> Reads:
    """What the agent's rules, its chart and the scopes of its tools read of its state."""
    found = find(agent)
    held = [tool for tool in map(tools.find, found.tools) if tool is not None]
    scopes = [scope for tool in held for scope in (*(tool.scopes or ()), *tool.receives)]
    return read_by_policy(policy_named(found.policy)).also(read_by((*charts.expressions_of(found.chart), *scopes)))


@folders.cached
def ontology_for(agent: str) -> talks.Ontology | None:
    """What the agent's conversations are about: types and topics of its talk, and where its tools' results hold them.

    None where nothing is declared. Raises BadOntology.
    """
    found = find(agent)
    if not found.talk:
        return None
    declared = declared_talk(found.talk)
    held = [(name, tools.find(name)) for name in found.tools]
    sources = tuple(
        msgspec.structs.replace(source, tool=name) for name, tool in held if tool for source in tool.entities
    )
    return talks.checked(msgspec.structs.replace(declared, sources=sources))


def declared_talk(name: str) -> talks.Ontology:
    """The talk of that name, without what tools hold of it. Raises BadOntology."""
    file = folders.files(TALKS).get(f"{name}.json")
    if file is None:
        raise talks.BadOntology(f"there is no {TALKS}/{name}.json")
    return talks.load(msgspec.json.decode(file.data))


def facts_for(agent: str) -> Mapping[str, ToolFacts]:
    """What rules need to know of the agent's tools, those of MCP servers as they are accepted now."""
    fixed, changing = _fixed_facts(agent)
    if not changing:
        return fixed
    return {**fixed, **{name: _facts(name, find(agent)) for name in changing if tools.find(name) is not None}}


@folders.cached
def _fixed_facts(agent: str) -> tuple[Mapping[str, ToolFacts], tuple[str, ...]]:
    """The facts of tools that stay as they are while we run, and the names of the others."""
    named = find(agent).tools
    changing = tuple(name for name in named if tools.changes(name))
    return {BATCH.name: BATCH, **{name: _facts(name, find(agent)) for name in named if name not in changing}}, changing


def versions_of(agent: Agent) -> tuple[tuple[str, int], ...]:
    """The versions of its tools that may be others tomorrow."""
    changing = [tools.find(name) for name in agent.tools if tools.changes(name)]
    return tuple((tool.name, tool.version) for tool in changing if tool is not None)


def _facts(name: str, agent: Agent) -> ToolFacts:
    tool = tools.find(name)
    assert tool is not None
    if name == ANSWER:
        tool = _answering(tool, agent)
    return ToolFacts(
        name=tool.name,
        version=tool.version,
        effect=tool.effect,
        attempts=tool.retry.attempts,
        base_seconds=tool.retry.base_seconds,
        retry_seconds=tool.retry.seconds,
        check=tool.check,
        preview=tool.preview,
        schema=tool.arguments,
        result=tool.result,
        milliseconds=tool.milliseconds,
        activities=frozenset(tool.activities),
        answered=tool.run is None,
        risk=tool.risk,
        amounts=tool.amounts,
    )


def _answering(tool: Tool, agent: Agent) -> Tool:
    """The tool that gives an output, with the agent's own schema of one."""
    schema = agent.loop.output or {}
    return msgspec.structs.replace(tool, arguments=schema, validator=tools.validator_of(tool.name, schema))


def context_for(agent: str, at: datetime) -> CommandContext:
    """What `decide` is handed for a session of that agent at that instant. Raises UnknownAgent."""
    found = find(agent)
    counter = token_counters.named(found.memory.counter)
    policy = policy_named(found.policy)
    return CommandContext(
        at,
        lambda: str(new_id()),
        facts_for(agent),
        policy,
        memory=found.memory,
        counter=counter,
        ontology=ontology_for(agent),
        schemas=schemas_for(found.schema),
        reads=reads_of(agent),
        output_paths=found.output_paths,
        idle=idle_of(found),
        loop=found.loop,
        prices=prices_of(found),
        offers=frozenset(found.offers),
        follow=found.follow,
        saved=frozenset({BATCH.name}),
        chart=charts.named(found.chart) if found.chart else None,
        charts=charts.by_reference(),
        zone=policies.zone_named(policy.zone),
    )


def prices_of(agent: Agent) -> Mapping[str, Price]:
    """What models cost; an agent's own script costs nothing."""
    models = prices.in_force().models
    return models if agent.script is None else {agent.script.name: Price(0, 0), **models}


def idle_of(agent: Agent) -> int:
    """Seconds that a session of the agent waits for its customer before it expires; 0: for ever."""
    idle: int = settings.SESSION_IDLE if agent.idle is None else agent.idle
    return idle


def allowance_of(agent: Agent) -> Allowance:
    """Returns what the agent's instructions and tools take of its budget, with its tools as they are now."""
    counter = token_counters.named(agent.memory.counter)
    return allowance(agent.memory.budget, counter, agent.instructions, tool_specs(agent))


def tool_specs(agent: Agent) -> tuple[ToolSpec, ...]:
    """The agent's tools as its model sees them."""
    held = [tools.find(name) for name in agent.tools]
    found = [_answering(tool, agent) if tool is not None and tool.name == ANSWER else tool for tool in held]
    acts = "_activity" in agent.offers
    specs = (
        ToolSpec(tool.name, _with_activities(tool) if acts else tool.description, tool.arguments)
        for tool in found
        if tool is not None
    )
    planning = (PLAN, _planning(agent)), (GOALS, TAKING_APART)
    talk = (RESOLVING,) if agent.talk else ()
    return (*specs, *(spec for name, spec in planning if name in agent.offers), *talk)


def _planning(agent: Agent) -> ToolSpec:
    """The tool `plan` with the properties that the agent offers."""
    refers = offers.REFERENCES in agent.offers
    names = ("_tool", *(name for name in offers.PROPERTIES if name in agent.offers))
    call = {"type": "object", "required": ["_tool"], "properties": {name: _PROPERTY.get(name, _TEXT) for name in names}}
    return ToolSpec(
        PLAN,
        f"Propose several calls at once.{REFERRING if refers else ''} Calls that wait for nothing run side by side.",
        {
            "type": "object",
            "required": ["calls"],
            "properties": {"calls": {"type": "array", "minItems": 1, "items": call}},
            "additionalProperties": False,
        },
    )


def _with_activities(tool: Tool) -> str:
    """What a tool does, and by which activities a plan may have it done otherwise."""
    others = "; ".join(f"{each.name}: {each.description}" for each in tool.activities.values())
    return f"{tool.description} In a plan _activity may be one of these. {others}" if others else tool.description
