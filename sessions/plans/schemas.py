"""Shapes of plans, saved plans and goals."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from sessions.http.fields import ExactChoice, ExactFlag, ExactText, Key, Strict
from sessions.http.values import ExactNumber

_CALLS = "calls in the protocol's notation: `_tool`, parameters, `_outputPath`, `_when`, `_scopes`, `_delegate`, ..."


class ExactList(serializers.ListField):
    """A list, and only a list."""

    def to_internal_value(self, data: Any) -> list[Any]:
        if not isinstance(data, list):
            raise serializers.ValidationError("Not a list.")
        return data


class ExactObject(serializers.DictField):
    """An object, as it was sent."""

    def to_internal_value(self, data: Any) -> dict[Any, Any]:
        if not isinstance(data, dict):
            raise serializers.ValidationError("Not an object.")
        return data


class ProposePlan(Strict):
    """A plan for a session: `calls`, or the name of a saved one."""

    calls = ExactList(required=False, help_text=_CALLS)
    saved = ExactText(max_length=120, required=False, help_text="a saved plan: `name` or `name@version`")
    inputs = ExactObject(required=False, help_text="what it is given: `†input.<name>`")
    instances = ExactList(required=False, help_text="carry it out for each of these: {name, inputs, subject?}")
    follow = ExactFlag(required=False, help_text="the agent must follow it exactly")
    replace = ExactFlag(
        required=False,
        help_text="take the place of the plan that is under way, which is refused otherwise (`plan_under_way`); its"
        " pending requests are withdrawn, its approved calls go on",
    )
    idempotency_key = Key()


class EditPlan(Strict):
    """The plan as it should be. What has begun stays as it is."""

    calls = ExactList(help_text=_CALLS)
    version = ExactNumber(min_value=1, help_text="the version that you saw")
    idempotency_key = Key()


class CheckPlan(Strict):
    """A plan to check, and to work through without effects."""

    calls = ExactList(help_text=_CALLS)
    inputs = ExactObject(required=False)
    fates = ExactObject(
        required=False, help_text='call -> which alternative it takes (0, 1 ...), "failed" or "rejected"'
    )


class SavePlan(Strict):
    """A plan to keep under a name. Write no customer's name, account or reference into it: declare inputs."""

    name = ExactText(max_length=80)
    calls = ExactList(help_text=_CALLS)
    inputs = ExactObject(required=False, help_text="JSON Schema of what it is given")
    output = serializers.JSONField(required=False, help_text="a structure with references: what its end gives")
    result = serializers.JSONField(required=False, help_text="JSON Schema of that")
    conditions = ExactList(required=False, help_text="what must hold at its end (CEL over state, input, output)")
    about = ExactText(max_length=2000, required=False, allow_blank=True)
    team = ExactText(max_length=60, required=False)
    idempotency_key = Key()


class SetGoals(Strict):
    """A goal taken apart into tasks; with `inputs` it is a template."""

    tree = ExactObject(help_text="{id, title, needs, done_when, plan, tasks, status}")
    version = ExactNumber(min_value=0, help_text="the version that you saw; 0: there was none")
    inputs = ExactObject(required=False)
    idempotency_key = Key()


class ChangeGoals(Strict):
    """One task of a goal, added, changed or removed."""

    op = ExactChoice(choices=["add", "change", "remove"])
    task = ExactText(max_length=80, help_text="the task; to add one, that above it")
    version = ExactNumber(min_value=0, help_text="the version that you saw")
    fields = ExactObject(  # type: ignore[assignment]
        required=False, help_text="{id, title, needs, done_when, plan, tasks, status}: the new task, or what changes"
    )
    idempotency_key = Key()


class PlannedCall(serializers.Serializer[Any]):
    id = serializers.CharField()
    tool = serializers.CharField()
    wave = serializers.IntegerField(help_text="how many calls must come before it")
    status = serializers.CharField(
        help_text="waiting, ready, asked, running, done, failed, rejected, skipped or blocked"
    )
    reason = serializers.CharField()
    waits_for = serializers.ListField(child=serializers.CharField())
    output_path = serializers.CharField()
    when = serializers.CharField()
    session = serializers.CharField(help_text="the session that does it, if another one does")


class PlanEdge(serializers.Serializer[Any]):
    source = serializers.CharField()  # type: ignore[assignment]
    target = serializers.CharField()
    path = serializers.CharField()


class PlanVersion(serializers.Serializer[Any]):
    version = serializers.IntegerField()
    round = serializers.CharField()
    seq = serializers.IntegerField(help_text="its entry in the session's log")
    at = serializers.CharField()
    by = serializers.CharField()
    source = serializers.CharField()  # type: ignore[assignment]
    calls = serializers.ListField(child=serializers.DictField())


class PlanProgress(serializers.Serializer[Any]):
    percent = serializers.IntegerField()
    counts = serializers.DictField(child=serializers.IntegerField())
    critical_path = serializers.ListField(child=serializers.CharField())
    milliseconds = serializers.IntegerField(help_text="how long the critical path takes")
    remaining = serializers.IntegerField()
    bottleneck = serializers.CharField(help_text="the call that holds up the end most, or empty")


class PlanInstance(serializers.Serializer[Any]):
    name = serializers.CharField()
    counts = serializers.DictField(child=serializers.IntegerField())


class PlanChange(serializers.Serializer[Any]):
    before = serializers.IntegerField()
    after = serializers.IntegerField()
    words = serializers.ListField(child=serializers.CharField())


class Plan(serializers.Serializer[Any]):
    version = serializers.IntegerField(help_text="0: there is none")
    round = serializers.CharField()
    is_open = serializers.BooleanField()
    follow = serializers.BooleanField()
    by = serializers.CharField()
    source = serializers.CharField()  # type: ignore[assignment]
    saved = serializers.CharField()
    approved = serializers.CharField(help_text="the request by which a person let it through, or empty")
    request = serializers.CharField(help_text="the request of a plan that waits for a person, or empty")
    deviations = serializers.ListField(
        child=serializers.CharField(), help_text="what of that plan is not as the one before it was approved"
    )
    parent = serializers.CharField(  # type: ignore[assignment]
        help_text="the session whose task this one does, or empty"
    )
    instance = serializers.CharField()
    calls = serializers.ListField(child=serializers.DictField())
    nodes = PlannedCall(many=True)
    edges = PlanEdge(many=True)
    progress = PlanProgress()
    members = serializers.IntegerField(help_text="instances of the round; 0: the session itself")
    ended = serializers.IntegerField(help_text="of them")
    percent = serializers.IntegerField(help_text="of all calls of all instances")
    counts = serializers.DictField(child=serializers.IntegerField())
    instances = PlanInstance(many=True, help_text="at most 200, those with failures first")
    versions = PlanVersion(many=True)
    difference = PlanChange(allow_null=True)


class PlanDrawing(serializers.Serializer[Any]):
    text = serializers.CharField(help_text="a line a call: what comes after what, where it stands")
    dot = serializers.CharField(help_text="Graphviz DOT; a node's class is its status")
    left_out = serializers.IntegerField(help_text="edges beyond 50,000")


class PlanFinding(serializers.Serializer[Any]):
    severity = serializers.CharField()
    call = serializers.CharField()
    rule = serializers.CharField()
    reason = serializers.CharField()


class PlanChecked(serializers.Serializer[Any]):
    findings = PlanFinding(many=True)
    waves = serializers.ListField(child=serializers.ListField(child=serializers.CharField()))
    calls = PlannedCall(many=True)
    state = serializers.DictField(help_text="the state after the dry run")
    stops = serializers.DictField(child=serializers.CharField(), help_text="call -> why it would stop for a person")


class SavedPlan(serializers.Serializer[Any]):
    name = serializers.CharField()
    version = serializers.IntegerField()
    team = serializers.UUIDField()
    by = serializers.CharField()
    at = serializers.DateTimeField()


class SavedPlans(serializers.Serializer[Any]):
    plans = SavedPlan(many=True)


class SavedDocument(serializers.Serializer[Any]):
    name = serializers.CharField()
    version = serializers.IntegerField()
    about = serializers.CharField()
    calls = serializers.ListField(child=serializers.DictField())
    inputs = serializers.DictField()
    output = serializers.JSONField()
    result = serializers.JSONField()
    conditions = serializers.ListField(child=serializers.CharField())


class GoalTask(serializers.Serializer[Any]):
    id = serializers.CharField()
    title = serializers.CharField()
    depth = serializers.IntegerField()
    status = serializers.CharField()
    percent = serializers.IntegerField()
    reason = serializers.CharField()
    needs = serializers.ListField(child=serializers.CharField())


class Goals(serializers.Serializer[Any]):
    version = serializers.IntegerField(help_text="0: there are none")
    tree = serializers.DictField(allow_null=True)
    tasks = GoalTask(many=True)
