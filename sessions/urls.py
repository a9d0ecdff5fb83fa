"""Addresses of the console; included at the root of the site."""

from __future__ import annotations

from django.urls import path

from sessions import views

urlpatterns = [
    path("", views.home, name="home"),
    path("live/", views.wall, name="live"),
    path("live/changes/", views.wall_changes, name="live_changes"),
]
