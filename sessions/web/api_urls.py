"""Addresses of the API, below /api/v1/. Without trailing slashes, as their names are fixed."""

from __future__ import annotations

from django.urls import path

from sessions.approvals import api as requests
from sessions.auditing import api as auditing
from sessions.automation.alert_rules import api as alert_rules
from sessions.automation.alerts import api as alerts
from sessions.automation.notifications import api as notifications
from sessions.automation.triggers import api as triggers
from sessions.automation.triggers import webhook
from sessions.charts import api as charts
from sessions.compensation import api as compensation
from sessions.conversation import api as sessions
from sessions.data import api as data
from sessions.delegations import api as delegations
from sessions.deputies import api as deputies
from sessions.disclosures import api as disclosures
from sessions.exports import api as exports
from sessions.http.operations import address
from sessions.interventions import api as interventions
from sessions.memory import api as memory
from sessions.plans import api as plans
from sessions.policies import api as policies
from sessions.privacy import api as privacy
from sessions.profiles import api as profiles
from sessions.proofs import api as proofs
from sessions.proposals import api as proposals
from sessions.state import api as changes
from sessions.state_schemas import api as schemas
from sessions.supervision import api as supervision
from sessions.talk import api as talk
from sessions.tool_pages import api as tools
from sessions.versions import api as versions

urlpatterns = [
    path("audit/access", address(auditing.list_access_entries)),
    path("audit/staff", address(auditing.list_staff_entries)),
    path("audit/sample", address(auditing.draw_sample)),
    path("audit/downtimes", address(auditing.list_downtimes)),
    path("audit/grants", address(auditing.list_grants, auditing.give_grant)),
    path("audit/grants/<str:grant>", address(auditing.revoke_grant)),
    path("alerts", address(alerts.list_alerts)),
    path("alert-rules", address(alert_rules.list_alert_rules, alert_rules.keep_alert_rule)),
    path("alert-rules/dry-run", address(alert_rules.try_alert_rule)),
    path("alert-rules/<str:rule>", address(alert_rules.read_alert_rule)),
    path("alert-rules/<str:rule>/switch", address(alert_rules.switch_alert_rule)),
    path("service-levels", address(alert_rules.read_service_levels)),
    path("service-levels/<str:part>.csv", address(alert_rules.read_service_level_table)),
    path("alerts/<str:alert>", address(alerts.read_alert)),
    path("alerts/<str:alert>/acknowledge", address(alerts.acknowledge_alert)),
    path("alerts/<str:alert>/close", address(alerts.close_alert)),
    path("stuck", address(interventions.list_stuck)),
    path("sessions", address(sessions.list_sessions, sessions.open_session)),
    path("sessions/<str:session>", address(sessions.read_session)),
    path("sessions/<str:session>/messages", address(sessions.post_message)),
    path("sessions/<str:session>/entries", address(sessions.list_entries)),
    path("sessions/<str:session>/end", address(sessions.end_session)),
    path("sessions/<str:session>/pause", address(sessions.pause_session)),
    path("sessions/<str:session>/grant", address(sessions.grant_run)),
    path("sessions/<str:session>/resume", address(sessions.resume_session)),
    path("sessions/<str:session>/cancel", address(sessions.cancel_session)),
    path("sessions/<str:session>/takeover", address(supervision.take_over)),
    path("sessions/<str:session>/speech", address(supervision.speak)),
    path("sessions/<str:session>/barging", address(supervision.barge_in)),
    path("sessions/<str:session>/guidance", address(supervision.whisper)),
    path("sessions/<str:session>/handback", address(supervision.read_hand_back, supervision.hand_back)),
    path("sessions/<str:session>/passing", address(supervision.pass_on)),
    path("sessions/<str:session>/person", address(supervision.ask_for_person)),
    path("sessions/<str:session>/person/withdrawal", address(supervision.no_person_needed)),
    path("sessions/<str:session>/assignments", address(supervision.assign_work)),
    path("stops", address(supervision.list_stops, supervision.set_stop)),
    path("stops/<str:stop>/lift", address(supervision.lift_stop)),
    path("desk", address(supervision.list_desk)),
    path("desk/next", address(supervision.next_work)),
    path("desk/handover", address(supervision.hand_over_work)),
    path("desk/skills", address(supervision.set_skills)),
    path("desk/skills/wanted", address(supervision.set_skill_rules)),
    path("sessions/<str:session>/interventions", address(interventions.list_stuck_calls, interventions.intervene)),
    path("sessions/<str:session>/withdrawals", address(interventions.withdraw_call)),
    path("sessions/<str:session>/retry", address(interventions.retry_session)),
    path("policies", address(policies.list_policies)),
    path("policies/dry-run", address(policies.dry_run_policy)),
    path("policies/<str:name>", address(policies.read_policy)),
    path("sessions/<str:session>/grants", address(policies.list_session_grants, policies.grant_same)),
    path("sessions/<str:session>/grants/<str:grant>/revoke", address(policies.revoke_session_grant)),
    path("sessions/<str:session>/seal", address(privacy.seal_session)),
    path("sessions/<str:session>/memory", address(memory.read_memory)),
    path("sessions/<str:session>/pins", address(memory.pin_message)),
    path("sessions/<str:session>/pins/<str:seq>", address(memory.unpin_message)),
    path("sessions/<str:session>/ratings", address(memory.rate_message)),
    path("sessions/<str:session>/steps/<str:step>/request", address(memory.read_step_request)),
    path("sessions/<str:session>/checkpoints", address(versions.list_checkpoints, versions.name_checkpoint)),
    path("sessions/<str:session>/rollback", address(versions.roll_back)),
    path("sessions/<str:session>/compensation", address(compensation.list_undoable, compensation.compensate)),
    path("sessions/<str:session>/fork", address(versions.fork_session)),
    path("sessions/<str:session>/promote", address(versions.promote_fork)),
    path("sessions/<str:session>/diff", address(versions.compare_states)),
    path("sessions/<str:session>/replay", address(versions.replay_session)),
    path("sessions/<str:session>/state", address(changes.read_state, changes.change_state)),
    path("sessions/<str:session>/data", address(data.read_data, data.add_data)),
    path("sessions/<str:session>/conflicts", address(changes.list_conflicts)),
    path("sessions/<str:session>/conflicts/<str:conflict>/proposals", address(changes.propose_value)),
    path("sessions/<str:session>/conflicts/<str:conflict>/votes", address(changes.cast_vote)),
    path("sessions/<str:session>/conflicts/<str:conflict>/settlement", address(changes.settle_conflict)),
    path("sessions/<str:session>/topics", address(talk.list_topics, talk.set_topic)),
    path("sessions/<str:session>/entities", address(talk.list_entities)),
    path("sessions/<str:session>/references", address(talk.correct_reference)),
    path("sessions/<str:session>/plan", address(plans.read_plan, plans.edit_plan)),
    path("sessions/<str:session>/plans", address(plans.propose_plan)),
    path("sessions/<str:session>/plans/check", address(plans.check_plan)),
    path("sessions/<str:session>/plan/drawing", address(plans.draw_plan)),
    path("sessions/<str:session>/goals", address(plans.read_goals, plans.set_goals, plans.change_goals)),
    path("triggers", address(triggers.list_triggers, triggers.keep_trigger)),
    path("triggers/<str:trigger>", address(triggers.read_trigger)),
    path("triggers/<str:trigger>/switch", address(triggers.switch_trigger)),
    path("triggers/<str:trigger>/firings", address(triggers.list_firings)),
    path("watches", address(triggers.list_watches)),
    path("sessions/<str:session>/timers", address(triggers.list_timers, triggers.set_timer)),
    path("sessions/<str:session>/timers/<str:timer>", address(triggers.cancel_timer)),
    path("hooks/<str:hook>", webhook.receive, name="api_hook"),
    path("notices", address(notifications.list_notices)),
    path("notices/read", address(notifications.read_notices)),
    path("notices/wishes", address(notifications.read_notice_wishes, notifications.keep_notice_wishes)),
    path("notice-rules", address(notifications.list_notice_rules, notifications.keep_notice_rule)),
    path("notice-rules/shipped", address(notifications.take_shipped_notice_rules)),
    path("notice-rules/<str:rule>", address(notifications.read_notice_rule)),
    path("notice-rules/<str:rule>/switch", address(notifications.switch_notice_rule)),
    path("notice-rules/<str:rule>/notices", address(notifications.list_rule_notices)),
    path("notice-quiet", address(notifications.list_team_quiet, notifications.keep_team_quiet)),
    path("notice-endpoints", address(notifications.list_notice_endpoints, notifications.keep_notice_endpoint)),
    path("notice-endpoints/<str:endpoint>", address(notifications.read_notice_endpoint)),
    path("notice-endpoints/<str:endpoint>/switch", address(notifications.switch_notice_endpoint)),
    path("notice-endpoints/<str:endpoint>/test", address(notifications.test_notice_endpoint)),
    path("notice-endpoints/<str:endpoint>/deliveries", address(notifications.list_notice_deliveries)),
    path("notice-endpoints/<str:endpoint>/replay", address(notifications.replay_notice_endpoint)),
    path("notice-deliveries/<str:delivery>/replay", address(notifications.replay_notice_delivery)),
    path("plans", address(plans.list_saved_plans, plans.save_plan)),
    path("plans/<str:name>", address(plans.read_saved_plan)),
    path("sessions/<str:session>/state/kinds", address(schemas.read_state_kinds)),
    path("sessions/<str:session>/migration", address(schemas.migrate_state)),
    path("sessions/<str:session>/pruning", address(schemas.prune_state)),
    path("agents/<str:agent>/schema", address(schemas.read_agent_schema)),
    path("migrations/dry-run", address(schemas.try_migration)),
    path("sessions/<str:session>/signals", address(charts.send_signal)),
    path("sessions/<str:session>/chart", address(charts.read_session_chart)),
    path("tools", address(tools.list_tools)),
    path("tools/<str:name>", address(tools.read_tool)),
    path("tool-servers", address(tools.list_tool_servers)),
    path("tool-servers/<str:name>/look", address(tools.look_at_tool_server)),
    path("tool-offers/<str:offer>/answer", address(tools.answer_tool_offer)),
    path("charts", address(charts.list_charts)),
    path("charts/check", address(charts.check_chart)),
    path("charts/simulate", address(charts.simulate_chart)),
    path("charts/<str:name>", address(charts.read_chart)),
    path("sessions/<str:session>/proofs/entries/<str:seq>", address(proofs.prove_entry)),
    path("sessions/<str:session>/proofs/entries/<str:seq>/tlog", address(proofs.prove_entry_tlog)),
    path("sessions/<str:session>/proofs/range", address(proofs.prove_range)),
    path("sessions/<str:session>/proofs/complete", address(proofs.prove_session)),
    path("sessions/<str:session>/proofs/absence", address(proofs.prove_absence)),
    path("sessions/<str:session>/proofs/consistency", address(proofs.prove_consistency)),
    path("sessions/<str:session>/proofs/receipt", address(proofs.check_receipt)),
    path("sessions/<str:session>/proofs/values", address(proofs.prove_value)),
    path("sessions/<str:session>/disclosures", address(disclosures.list_disclosures, disclosures.disclose)),
    path("sessions/<str:session>/disclosures/<str:disclosure>", address(disclosures.revoke_disclosure)),
    path("proofs/log-consistency", address(proofs.prove_log_consistency)),
    path("proofs/check", address(proofs.check_proof)),
    path("delegations", address(delegations.list_delegations, delegations.give_delegation)),
    path("delegations/<str:delegation>", address(delegations.revoke_delegation)),
    path("deputies", address(deputies.list_deputies, deputies.name_deputy)),
    path("deputies/<str:deputy>", address(deputies.remove_deputy)),
    path("requests", address(requests.list_requests)),
    path("requests/<str:request_id>", address(requests.read_request)),
    path(
        "requests/<str:request_id>/claim",
        address(requests.claim_request, requests.keep_claim, requests.release_request),
    ),
    path("requests/<str:request_id>/undo", address(requests.undo_request)),
    path("requests/<str:request_id>/decisions", address(requests.decide_request)),
    path("exports", address(exports.list_exports, exports.ask_export)),
    path("exports/<str:export>", address(exports.read_export, exports.cancel_export)),
    path("exports/<str:export>/archive", address(exports.fetch_export)),
    path("erasures", address(privacy.list_erasures, privacy.ask_erasure)),
    path("erasures/<str:erasure>", address(privacy.read_erasure, privacy.rule_erasure)),
    path("holds", address(privacy.list_holds, privacy.set_hold)),
    path("holds/<str:hold>", address(privacy.lift_hold)),
    path("retention", address(privacy.read_retention, privacy.set_retention)),
    path("retention/due", address(privacy.list_pruning)),
    path("proposals", address(proposals.list_proposals)),
    path("proposals/<str:proposal>", address(proposals.read_proposal, proposals.withdraw_proposal)),
    path("proposals/<str:proposal>/answers", address(proposals.answer_proposal)),
    path("subjects/report/proposals", address(privacy.propose_report)),
    path("subjects/report", address(privacy.report_subject)),
    path("customers/<str:customer>/profile", address(profiles.read_profile)),
    path("customers/<str:customer>/profile/entries", address(profiles.list_profile_entries)),
    path("customers/<str:customer>/profile/consent", address(profiles.set_consent)),
    path("customers/<str:customer>/profile/settings", address(profiles.set_preference)),
    path("customers/<str:customer>/profile/feedback", address(profiles.give_feedback)),
    path("customers/<str:customer>/profile/corrections", address(profiles.correct_learned)),
    path("customers/<str:customer>/profile/refusals", address(profiles.refuse_learning)),
    path("customers/<str:customer>/profile/forget", address(profiles.forget_profile)),
]
