"""Addresses of the API, below /api/v1/. Without trailing slashes, as their names are fixed."""

from __future__ import annotations

from django.urls import path

from sessions.api import views

urlpatterns = [
    path("sessions", views.Sessions.as_view()),
    path("sessions/<str:session>", views.OneSession.as_view()),
    path("sessions/<str:session>/messages", views.Messages.as_view()),
    path("sessions/<str:session>/entries", views.Entries.as_view()),
    path("sessions/<str:session>/end", views.End.as_view()),
    path("requests", views.Requests.as_view()),
    path("requests/<str:request_id>", views.OneRequest.as_view()),
    path("requests/<str:request_id>/decisions", views.Decisions.as_view()),
]
