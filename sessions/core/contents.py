"""What each field of each kind of event holds, as far as it decides who may see it.

Total over the vocabulary of sessions: `tests/shell/test_visibility.py` fails when a kind or a field has no row. A field
without a row is withheld from everybody who does not see all of a session.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum, auto


class Content(Enum):
    """What a field holds."""

    OPEN = auto()  # what everybody sees who may read the session
    GUIDANCE = auto()  # what colleagues tell the agent, or what an agent wrote that may repeat it
    RESULT = auto()  # a value that is written to the entry's `output_path`
    NOT_TAKEN = auto()  # a result that was written nowhere, and was meant for a place that the entry does not name
    VALUE = auto()  # a value at the entry's `path`
    VALUES = auto()  # several at that path, or at the path of its `conflict`
    PROPOSAL = auto()  # a value that is proposed there, with its author
    PROPOSALS = auto()  # several of them
    WRITES = auto()  # values, each with its path and the values that lost
    EVIDENCE = auto()  # values, each with its path
    VIEW = auto()  # what a reviewer saw, with such evidence
    ENTITIES = auto()  # ids of entities, which results of tools gave
    REFERENCES = auto()  # what phrases of a message mean, with such ids
    STATE = auto()  # the topmost values of the state, by name
    MESSAGE = auto()  # a data message of the kind that `of` names
    SNAPSHOT = auto()  # a whole state


Fields = Mapping[str, Content]


def _of(names: str, **others: Content) -> Fields:
    return {**dict.fromkeys(("kind", "v", *names.split()), Content.OPEN), **others}


CONTENTS: Mapping[str, Fields] = {
    "alert.acknowledged": _of("alert by from_whom"),
    "alert.closed": _of("alert by cause reason"),
    "alert.escalated": _of("alert step to by"),
    "alert.raised": _of("alert rule name version severity why to about seq chain"),
    "approval.requested": _of(
        "request call tool tool_version arguments preview tier rule policy why quorum allowed response_schema"
        " expires_at digest supersedes adapted activity terms changed proposed_by approvers_missing",
        basis=Content.EVIDENCE,
    ),
    "call.allowed": _of("call tier rule policy adapted"),
    "call.delegated": _of("call session"),
    "call.doubted": _of("call attempt reason"),
    "call.intervened": _of("call how by reason output_path unwritten", result=Content.RESULT),
    "call.readied": _of("call tool arguments instance activity"),
    "call.refused": _of("call code reason"),
    "call.withdrawn": _of("call code because by request approved_by"),
    "chart.moved": _of("chart event shift after changed instructions tools prompt by data stopped"),
    "checkpoint.named": _of("name seq digest by at"),
    "circle.noticed": _of("run tools times marks note"),
    "compensation.ordered": _of("rollback calls by reason"),
    "conflict.ended": _of("conflict outcome proposal by reason", value=Content.VALUES, lost=Content.PROPOSALS),
    "conflict.opened": _of(
        "conflict path rule quorum declared change seen",
        base=Content.VALUES,
        standing=Content.VALUES,
        proposal=Content.PROPOSAL,
    ),
    "data.added": _of("of by schema instance", data=Content.MESSAGE),
    "decision.made": _of(
        "request decision by reason seen digest arguments response tier under deputy code retyped changed",
        shown=Content.VIEW,
    ),
    "delegate.counted": _of("session remembered"),
    "delegate.ended": _of("session tokens micros steps calls"),
    "delegate.opened": _of("session share run"),
    "fork.promoted": _of("parent size by reason heard lasting more note remembered chart"),
    "goals.set": _of("version tree by how call"),
    "grant.given": _of(
        "grant request call tool rule policy gate tier reviewers four_eyes retype arguments scope until uses limit by"
        " reason activity under met"
    ),
    "grant.revoked": _of("grant by reason"),
    "guidance.given": _of("by now", text=Content.GUIDANCE),
    "item.pinned": _of("seq how by", why=Content.GUIDANCE),
    "item.rated": _of("seq rating by", why=Content.GUIDANCE),
    "item.unpinned": _of("seq by", why=Content.GUIDANCE),
    "message.added": _of("role text by queued understood"),
    "message.drafted": _of("text by understood"),
    "message.queued": _of("text by run"),
    "message.refused": _of("text by run"),
    "model.answered": _of("step model calls finish input_tokens output_tokens micros cut"),
    "model.dropped": _of("step because model digest proposed input_tokens output_tokens"),
    "model.failed": _of("step reason transient retry_at"),
    "model.requested": _of("step model first last tools digest attempt user adapted shown"),
    "payload.pruned": _of("ranges retention due"),
    "plan.calls_dropped": _of("round instance calls"),
    "plan.committed": _of(
        "version round calls by source follow inputs instances request tier quorum saved tools saved_by"
    ),
    "plan.instance_opened": _of("round instance inputs subject kid"),
    "plan.instance_proposed": _of("round instance inputs subject kid salt"),
    "plan.proposed": _of("round calls by source follow inputs instances saved members tools saved_by"),
    "plan.round_ended": _of("round counts instances because not_begun beside request approved_by"),
    "reference.corrected": _of("seq mention by", entities=Content.ENTITIES),
    "references.resolved": _of("seq step call", references=Content.REFERENCES),
    "request.claimed": _of("request by until taken_from"),
    "request.ended": _of("request outcome because unwritten"),
    "request.escalated": _of("request step reviewers by reason"),
    "request.held": _of("request until"),
    "request.released": _of("request by"),
    "request.undone": _of("request by reason until approvers_missing"),
    "run.granted": _of("by reason of code tokens micros steps seconds calls refusals"),
    "run.interrupted": _of("run step calls"),
    "run.rested": _of("run waiting_for"),
    "run.started": _of("run trigger"),
    "run.stopped": _of("run code of used limit reason"),
    "session.cancelled": _of("reason by"),
    "session.ended": _of("reason by"),
    "session.expired": _of("idle"),
    "session.failed": _of("reason"),
    "session.forked": _of("parent seq digest by reason", restored=Content.SNAPSHOT),
    "session.handed_back": _of("by speaks", summary=Content.GUIDANCE, opening=Content.GUIDANCE),
    "session.human_requested": _of("source by why"),
    "session.human_withdrawn": _of("by why"),
    "session.opened": _of("customer team agent channel topic alias schema ontology idle"),
    "session.passed_on": _of("to from_whom reason by"),
    "session.paused": _of("reason by with_parent"),
    "session.reopened": _of("by"),
    "session.resumed": _of("by"),
    "session.retried": _of("by reason why"),
    "session.rolled_back": _of("to epoch by reason digest lasting more note", restored=Content.SNAPSHOT),
    "session.sealed": _of("why by"),
    "session.superseded": _of("fork by reason"),
    "session.taken_over": _of("by reason from_whom"),
    "snapshot.recorded": _of("upto digest form"),
    "state.changed": _of("change seen by reason", writes=Content.WRITES),
    "state.migrated": _of("schema before after gone digest lossless moved held by instance", put=Content.STATE),
    "state.pruned": _of("paths digest by"),
    "subject.erased": _of("kid"),
    "summary.made": _of(
        "first last kept replaces count covers method step because input_tokens output_tokens", text=Content.GUIDANCE
    ),
    "summary.requested": _of("step model first last kept replaces count covers limit digest form definition"),
    "talk.declared": _of("ontology"),
    "task.customers_added": _of("customers"),
    "task.delivered": _of("session remembered"),
    "task.taken": _of("parent call remembered authors customers share"),
    "timer.cancelled": _of("timer by"),
    "timer.fired": _of("timer outcome"),
    "timer.set": _of("timer what due by text"),
    "tool.failed": _of("call attempt reason transient retry_at code retry_until unwritten", result=Content.NOT_TAKEN),
    "tool.intended": _of(
        "call tool tool_version arguments arguments_digest effect key attempt tier rule policy request digest adapted"
        " activity retry_until moved"
    ),
    "tool.returned": _of("call attempt output_path outcome answered authors", result=Content.RESULT),
    "topic.closed": _of("topic by"),
    "topic.opened": _of("topic label by"),
    "topic.resumed": _of("topic by"),
    "topic.switched": _of("topic label by"),
    "trigger.fired": _of("trigger name version firing source chain run"),
    "user.adapted": _of("adaptation"),
    "value.proposed": _of("conflict", proposal=Content.PROPOSAL),
    "value.proved": _of("path state written", value=Content.VALUE),
    "vote.cast": _of("conflict proposal by reason"),
    "work.assigned": _of("request to by why from_whom"),
}
