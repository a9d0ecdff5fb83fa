"""Every address of the site."""

from __future__ import annotations

from django.urls import include, path

from agentstate.health import healthz, ledger
from agentstate.schema import schema

urlpatterns = [
    path("healthz", healthz),
    path("healthz/ledger", ledger),
    path("api/v1/", include("sessions.web.api_urls")),
    path("api/v1/schema", schema, name="schema"),
    path("log/", include("audit.urls")),
    path("", include("agentstate.people.urls")),
    path("", include("sessions.urls")),
]
