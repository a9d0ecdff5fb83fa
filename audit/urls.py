"""The public log's addresses. Without slashes at their ends: they are those of C2SP tlog-tiles."""

from __future__ import annotations

from django.urls import path

from audit import views

app_name = "log"
urlpatterns = [
    path("checkpoint", views.checkpoint, name="checkpoint"),
    path("tile/entries/<path:path>", views.entries, name="entries"),
    path("tile/<path:path>", views.tile, name="tile"),
    path("key", views.key, name="key"),
    path("restamps/<str:digest>", views.restamps, name="restamps"),
    path("policy", views.policy, name="policy"),
]
