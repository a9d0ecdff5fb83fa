"""Addresses of the API, below /api/v1/. Without trailing slashes, as their names are fixed."""

from __future__ import annotations

from django.urls import path

from sessions.api.views import changes, memory, plans, profiles, requests, sessions, talk, versions

urlpatterns = [
    path("sessions", sessions.Sessions.as_view()),
    path("sessions/<str:session>", sessions.OneSession.as_view()),
    path("sessions/<str:session>/messages", sessions.Messages.as_view()),
    path("sessions/<str:session>/entries", sessions.Entries.as_view()),
    path("sessions/<str:session>/end", sessions.End.as_view()),
    path("sessions/<str:session>/memory", memory.Memory.as_view()),
    path("sessions/<str:session>/pins", memory.Pins.as_view()),
    path("sessions/<str:session>/pins/<str:seq>", memory.OnePin.as_view()),
    path("sessions/<str:session>/ratings", memory.Ratings.as_view()),
    path("sessions/<str:session>/steps/<str:step>/request", memory.StepRequestOf.as_view()),
    path("sessions/<str:session>/checkpoints", versions.Checkpoints.as_view()),
    path("sessions/<str:session>/rollback", versions.Rollback.as_view()),
    path("sessions/<str:session>/fork", versions.Fork.as_view()),
    path("sessions/<str:session>/promote", versions.Promote.as_view()),
    path("sessions/<str:session>/diff", versions.Diff.as_view()),
    path("sessions/<str:session>/state", changes.State.as_view()),
    path("sessions/<str:session>/conflicts", changes.Conflicts.as_view()),
    path("sessions/<str:session>/conflicts/<str:conflict>/proposals", changes.Proposals.as_view()),
    path("sessions/<str:session>/conflicts/<str:conflict>/votes", changes.Votes.as_view()),
    path("sessions/<str:session>/conflicts/<str:conflict>/settlement", changes.Settlement.as_view()),
    path("sessions/<str:session>/topics", talk.Topics.as_view()),
    path("sessions/<str:session>/entities", talk.Entities.as_view()),
    path("sessions/<str:session>/references", talk.References.as_view()),
    path("sessions/<str:session>/resolve", talk.Resolve.as_view()),
    path("sessions/<str:session>/plan", plans.Plan.as_view()),
    path("sessions/<str:session>/plans", plans.Plans.as_view()),
    path("sessions/<str:session>/plans/check", plans.PlanCheck.as_view()),
    path("sessions/<str:session>/goals", plans.Goals.as_view()),
    path("plans", plans.SavedPlans.as_view()),
    path("plans/<str:name>", plans.OneSavedPlan.as_view()),
    path("requests", requests.Requests.as_view()),
    path("requests/<str:request_id>", requests.OneRequest.as_view()),
    path("requests/<str:request_id>/decisions", requests.Decisions.as_view()),
    path("customers/<str:customer>/profile", profiles.Profile.as_view()),
    path("customers/<str:customer>/profile/entries", profiles.ProfileEntries.as_view()),
    path("customers/<str:customer>/profile/consent", profiles.ProfileConsent.as_view()),
    path("customers/<str:customer>/profile/settings", profiles.ProfileSettings.as_view()),
    path("customers/<str:customer>/profile/feedback", profiles.ProfileFeedback.as_view()),
    path("customers/<str:customer>/profile/corrections", profiles.ProfileCorrections.as_view()),
    path("customers/<str:customer>/profile/refusals", profiles.ProfileRefusals.as_view()),
    path("customers/<str:customer>/profile/forget", profiles.ProfileForget.as_view()),
]
