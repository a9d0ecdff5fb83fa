"""Addresses of the door; included at the root of the site."""

from __future__ import annotations

from django.urls import path

from agentstate.people import views

app_name = "people"
urlpatterns = [
    path("sign-in/", views.SignIn.as_view(), name="sign_in"),
    path("sign-out/", views.SignOut.as_view(), name="sign_out"),
    path("sign-in/link/<str:token>/", views.by_link, name="by_link"),
]
