"""Addresses of the console; included at the root of the site."""

from __future__ import annotations

from django.urls import path

from sessions.views import (
    audit,
    charts,
    chat,
    decisions,
    frame,
    lists,
    memory,
    plans,
    profiles,
    session,
    state,
    versions,
    wall,
)

urlpatterns = [
    path("", frame.home, name="home"),
    path("live/", wall.wall, name="live"),
    path("live/changes/", wall.wall_changes, name="live_changes"),
    path("decisions/", decisions.decisions, name="decisions"),
    path("decisions/changes/", decisions.decision_changes, name="decision_changes"),
    path("decisions/<uuid:request_id>/", decisions.decision, name="decision"),
    path("sessions/", lists.sessions, name="sessions"),
    path("sessions/<uuid:session_id>/", session.session, name="session"),
    path("sessions/<uuid:session_id>/changes/", session.session_changes, name="session_changes"),
    path("sessions/<uuid:session_id>/stop/<str:act>/", session.session_stop, name="session_stop"),
    path("sessions/<uuid:session_id>/state/", state.state, name="session_state"),
    path("sessions/<uuid:session_id>/memory/", memory.memory, name="memory"),
    path("sessions/<uuid:session_id>/memory/mind/", memory.mind, name="memory_mind"),
    path("sessions/<uuid:session_id>/versions/", versions.versions, name="versions"),
    path("sessions/<uuid:session_id>/versions/<str:act>/", versions.versions_change, name="versions_change"),
    path("sessions/<uuid:session_id>/audit/", audit.session_audit, name="session_audit"),
    path("sessions/<uuid:session_id>/export/", audit.session_export, name="session_export"),
    path("sessions/<uuid:session_id>/export/key/", audit.session_vkey, name="session_vkey"),
    path("sessions/<uuid:session_id>/plan/", plans.plan, name="plan"),
    path("sessions/<uuid:session_id>/plan/edit/", plans.plan_edit, name="plan_edit"),
    path("sessions/<uuid:session_id>/chart/", charts.session_chart, name="session_chart"),
    path("sessions/<uuid:session_id>/plan/goals/", plans.goals_change, name="goals_change"),
    path("charts/", charts.chart_list, name="charts"),
    path("charts/<str:name>/", charts.chart, name="chart"),
    path("audit/", lists.audit, name="audit"),
    path("chat/", chat.chat, name="chat"),
    path("chat/<uuid:session_id>/", chat.chat_with, name="chat_with"),
    path("chat/<uuid:session_id>/changes/", chat.chat_changes, name="chat_changes"),
    path("chat/<uuid:session_id>/say/", chat.chat_say, name="chat_say"),
    path("customers/<uuid:customer_id>/", profiles.customer, name="customer"),
    path("customers/<uuid:customer_id>/<str:act>/", profiles.customer_change, name="customer_change"),
]
