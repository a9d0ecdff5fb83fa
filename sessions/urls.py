"""Addresses of the console; included at the root of the site."""

from __future__ import annotations

from django.urls import path

from sessions import views

urlpatterns = [
    path("", views.home, name="home"),
    path("live/", views.wall, name="live"),
    path("live/changes/", views.wall_changes, name="live_changes"),
    path("decisions/", views.decisions, name="decisions"),
    path("decisions/changes/", views.decision_changes, name="decision_changes"),
    path("decisions/<uuid:request_id>/", views.decision, name="decision"),
    path("sessions/", views.sessions, name="sessions"),
    path("sessions/<uuid:session_id>/", views.session, name="session"),
    path("sessions/<uuid:session_id>/changes/", views.session_changes, name="session_changes"),
    path("sessions/<uuid:session_id>/audit/", views.session_audit, name="session_audit"),
    path("sessions/<uuid:session_id>/export/", views.session_export, name="session_export"),
    path("sessions/<uuid:session_id>/export/key/", views.session_vkey, name="session_vkey"),
    path("audit/", views.audit, name="audit"),
    path("chat/", views.chat, name="chat"),
    path("chat/<uuid:session_id>/", views.chat_with, name="chat_with"),
    path("chat/<uuid:session_id>/changes/", views.chat_changes, name="chat_changes"),
    path("chat/<uuid:session_id>/say/", views.chat_say, name="chat_say"),
]
