"""Addresses of the console; included at the root of the site."""

from __future__ import annotations

from django.urls import path

from sessions.approvals import evidence_page
from sessions.approvals import pages as decisions
from sessions.auditing import ledger_page, verify_page
from sessions.auditing import pages as auditing
from sessions.automation.alert_rules import pages as alert_rules
from sessions.automation.notifications import pages as notifications
from sessions.automation.triggers import pages as triggers
from sessions.charts import pages as charts
from sessions.conversation import lists
from sessions.delegations import pages as delegations
from sessions.disclosures import pages as disclosures
from sessions.exports import pages as exports
from sessions.interventions import pages as stuck
from sessions.memory import pages as memory
from sessions.plans import pages as plans
from sessions.policies import pages as policies
from sessions.privacy import pages as privacy
from sessions.profiles import pages as profiles
from sessions.proposals import pages as proposals
from sessions.releases import pages as releases
from sessions.state import pages as state
from sessions.supervision import pages as supervision
from sessions.supervision import workload_page
from sessions.tool_pages import pages as tools
from sessions.versions import pages as versions
from sessions.web import alerts_page, chat, frame, live_page, session_page

urlpatterns = [
    path("", frame.home, name="home"),
    path("live/", live_page.wall, name="live"),
    path("live/changes/", live_page.wall_changes, name="live_changes"),
    path("decisions/", decisions.decisions, name="decisions"),
    path("decisions/changes/", decisions.decision_changes, name="decision_changes"),
    path("decisions/lent/", delegations.delegations, name="delegations"),
    path("decisions/lent/<uuid:delegation_id>/end/", delegations.delegation_revoke, name="delegation_revoke"),
    path("decisions/<uuid:request_id>/", decisions.decision, name="decision"),
    path("decisions/<uuid:request_id>/seen/", evidence_page.decision_seen, name="decision_seen"),
    path("decisions/<uuid:request_id>/<str:act>/", decisions.decision_act, name="decision_act"),
    path("sessions/", lists.sessions, name="sessions"),
    path("sessions/<uuid:session_id>/", session_page.session, name="session"),
    path("sessions/<uuid:session_id>/changes/", session_page.session_changes, name="session_changes"),
    path("sessions/<uuid:session_id>/stop/<str:act>/", session_page.session_stop, name="session_stop"),
    path("sessions/<uuid:session_id>/supervise/<str:act>/", supervision.session_supervise, name="session_supervise"),
    path("stops/", supervision.stops, name="stops"),
    path("stops/<uuid:stop_id>/lift/", supervision.stop_lift, name="stop_lift"),
    path("handover/", supervision.handover, name="handover"),
    path("desk/", workload_page.desk, name="desk"),
    path("desk/skills/", workload_page.desk_skills, name="desk_skills"),
    path("desk/skills/wanted/", workload_page.desk_wanted, name="desk_wanted"),
    path("desk/deputies/", workload_page.desk_deputy, name="desk_deputy"),
    path("desk/deputies/<uuid:deputy_id>/remove/", workload_page.desk_deputy_remove, name="desk_deputy_remove"),
    path("desk/next/", supervision.next_work, name="next_work"),
    path("alerts/", alerts_page.alerts, name="alerts"),
    path("alerts/changes/", alerts_page.alert_changes, name="alert_changes"),
    path("alerts/rules/", alert_rules.alert_rules, name="alert_rules"),
    path("alerts/rules/keep/", alert_rules.alert_rule_keep, name="alert_rule_keep"),
    path("alerts/rules/<uuid:rule_id>/", alert_rules.alert_rule, name="alert_rule"),
    path("alerts/rules/<uuid:rule_id>/switch/", alert_rules.alert_rule_switch, name="alert_rule_switch"),
    path("alerts/<uuid:alert_id>/<str:act>/", alerts_page.alert_act, name="alert_act"),
    path("levels/", alert_rules.levels, name="levels"),
    path("levels/<str:part>.csv", alert_rules.levels_table, name="levels_table"),
    path("stuck/", stuck.stuck, name="stuck"),
    path("sessions/<uuid:session_id>/stuck/", stuck.stuck_session, name="stuck_session"),
    path("sessions/<uuid:session_id>/stuck/<str:how>/", stuck.stuck_step_in, name="stuck_step_in"),
    path("sessions/<uuid:session_id>/state/", state.state, name="session_state"),
    path("sessions/<uuid:session_id>/memory/", memory.memory, name="memory"),
    path("sessions/<uuid:session_id>/memory/mind/", memory.mind, name="memory_mind"),
    path("sessions/<uuid:session_id>/versions/", versions.versions, name="versions"),
    path("sessions/<uuid:session_id>/versions/<str:act>/", versions.versions_change, name="versions_change"),
    path("sessions/<uuid:session_id>/audit/", ledger_page.session_audit, name="session_audit"),
    path("sessions/<uuid:session_id>/export/", ledger_page.session_export, name="session_export"),
    path("sessions/<uuid:session_id>/export/key/", ledger_page.session_vkey, name="session_vkey"),
    path("sessions/<uuid:session_id>/proof/", disclosures.session_proof, name="session_proof"),
    path("sessions/<uuid:session_id>/shared/", disclosures.session_disclosures, name="session_disclosures"),
    path(
        "sessions/<uuid:session_id>/shared/<uuid:disclosure_id>/revoke/",
        disclosures.disclosure_revoke,
        name="disclosure_revoke",
    ),
    path("shared/<str:token>/", disclosures.shared, name="shared"),
    path("shared/<str:token>/proof.json", disclosures.shared_file, name="shared_file"),
    path("sessions/<uuid:session_id>/plan/", plans.plan, name="plan"),
    path("sessions/<uuid:session_id>/plan/changes/", plans.plan_changes, name="plan_changes"),
    path("sessions/<uuid:session_id>/plan/edit/", plans.plan_edit, name="plan_edit"),
    path("sessions/<uuid:session_id>/plan/goals/", plans.goals_change, name="goals_change"),
    path("policies/", policies.policy_list, name="policies"),
    path("library/", releases.library, name="library"),
    path("policies/dry-run/", policies.policy_dry_run, name="policy_dry_run"),
    path("policies/<str:reference>/", policies.policy, name="policy"),
    path("sessions/<uuid:session_id>/grants/", policies.session_grants, name="session_grants"),
    path("sessions/<uuid:session_id>/grants/<str:grant_id>/revoke/", policies.grant_revoke, name="grant_revoke"),
    path("sessions/<uuid:session_id>/chart/", charts.session_chart, name="session_chart"),
    path("tools/", tools.tools, name="tools"),
    path("tools/servers/<str:name>/", tools.tool_server, name="tool_server"),
    path("tools/servers/<str:name>/look/", tools.tool_server_look, name="tool_server_look"),
    path("tools/offers/<uuid:offer_id>/<str:act>/", tools.tool_answer, name="tool_answer"),
    path("tools/<str:name>/", tools.tool, name="tool"),
    path("charts/", charts.chart_list, name="charts"),
    path("charts/<str:name>/", charts.chart, name="chart"),
    path("triggers/", triggers.triggers, name="triggers"),
    path("triggers/keep/", triggers.trigger_keep, name="trigger_keep"),
    path("triggers/<uuid:trigger_id>/", triggers.trigger, name="trigger"),
    path("triggers/<uuid:trigger_id>/switch/", triggers.trigger_switch, name="trigger_switch"),
    path("notices/", notifications.notices, name="notices"),
    path("notices/bell/", notifications.notices_bell, name="notices_bell"),
    path("notices/read/", notifications.notices_read, name="notices_read"),
    path("notices/wishes/", notifications.notice_wishes, name="notice_wishes"),
    path("notices/rules/", notifications.notice_rules, name="notice_rules"),
    path("notices/rules/keep/", notifications.notice_rule_keep, name="notice_rule_keep"),
    path("notices/rules/<uuid:rule_id>/", notifications.notice_rule, name="notice_rule"),
    path("notices/rules/<uuid:rule_id>/switch/", notifications.notice_rule_switch, name="notice_rule_switch"),
    path("notices/teams/<str:act>/", notifications.notice_team, name="notice_team"),
    path("notices/endpoints/", notifications.notice_endpoints, name="notice_endpoints"),
    path("notices/endpoints/keep/", notifications.notice_endpoint_keep, name="notice_endpoint_keep"),
    path("notices/endpoints/<uuid:endpoint_id>/", notifications.notice_endpoint, name="notice_endpoint"),
    path(
        "notices/endpoints/<uuid:endpoint_id>/<str:act>/",
        notifications.notice_endpoint_act,
        name="notice_endpoint_act",
    ),
    path("verify/", verify_page.verify, name="verify"),
    path("audit/", lists.audit, name="audit"),
    path("audit/access/", auditing.access_log, name="audit_access"),
    path("audit/samples/", auditing.samples, name="audit_samples"),
    path("audit/downtimes/", auditing.gaps, name="audit_gaps"),
    path("audit/staff/", auditing.staff_log, name="audit_staff"),
    path("audit/grants/", auditing.grants_page, name="audit_grants"),
    path("audit/grants/<uuid:grant_id>/revoke/", auditing.grant_revoke, name="audit_grant_revoke"),
    path("audit/exports/", exports.exports, name="audit_exports"),
    path("audit/exports/new/", exports.export_new, name="audit_export_new"),
    path("audit/exports/<uuid:export_id>/cancel/", exports.export_cancel, name="audit_export_cancel"),
    path("audit/exports/<uuid:export_id>/download/", exports.export_download, name="audit_export_download"),
    path("audit/exports/<uuid:export_id>/key/", exports.export_vkey, name="audit_export_vkey"),
    path("proposals/", proposals.proposals, name="proposals"),
    path("proposals/<uuid:proposal_id>/", proposals.proposal, name="proposal"),
    path("proposals/<uuid:proposal_id>/<str:act>/", proposals.proposal_answer, name="proposal_answer"),
    path("privacy/", privacy.subjects, name="privacy"),
    path("privacy/retention/", privacy.retention, name="retention"),
    path("privacy/retention/change/", privacy.retention_change, name="retention_change"),
    path("privacy/erasures/<uuid:erasure_id>/", privacy.erasure, name="erasure"),
    path("privacy/erasures/<uuid:erasure_id>/<str:act>/", privacy.erasure_rule, name="erasure_rule"),
    path("privacy/<str:act>/", privacy.subject_change, name="privacy_change"),
    path("chat/", chat.chat, name="chat"),
    path("chat/<uuid:session_id>/", chat.chat_with, name="chat_with"),
    path("chat/<uuid:session_id>/changes/", chat.chat_changes, name="chat_changes"),
    path("chat/<uuid:session_id>/say/", chat.chat_say, name="chat_say"),
    path("customers/<uuid:customer_id>/", profiles.customer, name="customer"),
    path("customers/<uuid:customer_id>/<str:act>/", profiles.customer_change, name="customer_change"),
]
