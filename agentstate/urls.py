"""Every address of the site."""

from __future__ import annotations

from django.urls import include, path
from drf_spectacular.views import SpectacularJSONAPIView

from agentstate.health import healthz

urlpatterns = [
    path("healthz", healthz),
    path("api/v1/", include("sessions.api.urls")),
    path("api/v1/schema", SpectacularJSONAPIView.as_view(), name="schema"),
    path("", include("agentstate.people.urls")),
    path("", include("sessions.urls")),
]
