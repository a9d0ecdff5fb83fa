"""The doors of the vocabulary: how each command comes about, and where a person sees each kind of event.

Total over the engine's commands and kinds, by name: a new one without a row here fails `core/test_vocabulary.py`, and
`shell/test_vocabulary.py` goes through the doors. A person's command has an operation of the API, a command of the
runtime the function that gives it; a kind has the page (by the name of its address) where a supervisor would look for
it, besides the session's audit page, which tells them all.
"""

from __future__ import annotations

# command -> operation of the API
OPERATIONS = {
    "Open": "open_session",
    "Say": "post_message",
    "End": "end_session",
    "Seal": "seal_session",
    "Decide": "decide_request",
    "SetTopic": "set_topic",
    "CorrectReference": "correct_reference",
    "ProposePlan": "propose_plan",
    "EditPlan": "edit_plan",
    "SetGoals": "set_goals",
    "ChangeGoals": "change_goals",
    "Name": "name_checkpoint",
    "Rollback": "roll_back",
    "Fork": "fork_session",
    "Promote": "promote_fork",
    "Supersede": "promote_fork",
    "AddData": "add_data",
    "ChangeState": "change_state",
    "Propose": "propose_value",
    "Vote": "cast_vote",
    "Arbitrate": "settle_conflict",
    "Signal": "send_signal",
    "Migrate": "migrate_state",
    "Prune": "prune_state",
    "Pin": "pin_message",
    "Unpin": "unpin_message",
    "Rate": "rate_message",
}

# command -> the function of the running system that gives it
RUNTIME = {
    "Ask": "sessions.runtime.asking._ask",
    "Answer": "sessions.runtime.execute._answer",
    "NoAnswer": "sessions.runtime.execute.ask_model",
    "Rest": "sessions.runtime.advance._command",
    "Begin": "sessions.runtime.advance._command",
    "Return": "sessions.runtime.execute._recorded",
    "Fail": "sessions.runtime.execute.run_call",
    "Expire": "sessions.runtime.sweeper.expire",
    "ExpireSession": "sessions.runtime.advance._command",
    "Wind": "sessions.runtime.advance._command",
    "Delegated": "sessions.runtime.delegates.hand_over",
    "TakeTask": "sessions.runtime.delegates._task",
    "EraseSubject": "sessions.erasure.recorded",
    "EraseCustomer": "sessions.erasure.closed",
    "PrunePayloads": "sessions.pruning.pruned",
    "Adapt": "sessions.profiles.using.adapting",
    "Fit": "sessions.runtime.asking.Asking.fitting",
    "Summarise": "sessions.runtime.asking.summarise",
    "GiveUp": "sessions.runtime.advance._decided",
}

# command to a customer's profile -> operation of the API
PROFILE_OPERATIONS = {
    "Agree": "set_consent",
    "Withdraw": "set_consent",
    "Prefer": "set_preference",
    "Clear": "set_preference",
    "Rate": "give_feedback",
    "Correct": "correct_learned",
    "Refuse": "refuse_learning",
    "Allow": "refuse_learning",
    "Forget": "forget_profile",
}
PROFILE_RUNTIME = {"Learn": "sessions.profiles.learning._learn"}

# kind -> the page where a supervisor looks for it
PAGES = {
    "session.opened": "session",
    "message.added": "session",
    "run.started": "session",
    "run.rested": "session",
    "model.requested": "memory",
    "model.answered": "session",
    "model.failed": "session",
    "call.allowed": "session",
    "call.refused": "session",
    "approval.requested": "decision",
    "decision.made": "decision",
    "request.ended": "decisions",
    "tool.intended": "session",
    "tool.returned": "session",
    "tool.failed": "session",
    "item.pinned": "memory",
    "item.unpinned": "memory",
    "item.rated": "memory",
    "summary.requested": "memory",
    "summary.made": "memory",
    "plan.proposed": "plan",
    "plan.committed": "plan",
    "plan.instance_opened": "plan",
    "call.readied": "plan",
    "plan.calls_dropped": "plan",
    "plan.round_ended": "plan",
    "subject.erased": "plan",
    "call.delegated": "plan",
    "task.taken": "session",
    "goals.set": "plan",
    "data.added": "session_state",
    "session.ended": "sessions",
    "session.sealed": "session",
    "payload.pruned": "sessions",
    "session.failed": "live",
    "session.expired": "sessions",
    "session.reopened": "sessions",
    "talk.declared": "session",
    "topic.opened": "session",
    "topic.switched": "session",
    "topic.resumed": "session",
    "topic.closed": "session",
    "reference.corrected": "session",
    "checkpoint.named": "versions",
    "state.changed": "session_state",
    "conflict.opened": "versions",
    "value.proposed": "versions",
    "vote.cast": "versions",
    "conflict.ended": "versions",
    "session.rolled_back": "versions",
    "session.forked": "versions",
    "message.drafted": "session",
    "fork.promoted": "versions",
    "session.superseded": "versions",
    "user.adapted": "session_state",
    "chart.moved": "session_chart",
    "state.migrated": "session_state",
    "state.pruned": "session_state",
}

# kind of a profile's event -> page
PROFILE_PAGES = {
    "profile.opened": "customer",
    "profile.consent_given": "customer",
    "profile.consent_withdrawn": "customer",
    "profile.setting_made": "customer",
    "profile.setting_cleared": "customer",
    "profile.learned": "customer",
    "profile.feedback_given": "customer",
    "profile.corrected": "customer",
    "profile.refused": "customer",
    "profile.allowed": "customer",
    "profile.forgotten": "customer",
}
