"""Shapes of requests and answers of the API, one plain serializer each; a file a concept.

The shapes of requests check: types exactly as JSON has them, unknown fields refused. The shapes of answers document;
what is answered is filled in by `sessions.api.views` field by field, so that numbers keep their digits. The lists of
words are named in the OpenAPI document by SPECTACULAR_SETTINGS["ENUM_NAME_OVERRIDES"].
"""

from __future__ import annotations

from sessions.api.shapes.fields import ExactChoice, ExactText, Key, Strict
from sessions.api.shapes.problems import Problem, Wrong
from sessions.api.shapes.requests import DECISION_KIND, REASON, REQUEST_STATE, RESPONSE, Decision, Request, RequestPage
from sessions.api.shapes.sessions import (
    CHANNEL,
    ENTRY_KIND,
    SESSION_STATUS,
    WAITING_FOR,
    CancelSession,
    EndSession,
    Entry,
    EntryPage,
    GrantRun,
    OpenSession,
    PauseSession,
    PostMessage,
    ResumeSession,
    Session,
    SessionPage,
    WaitingFor,
)
from sessions.api.shapes.values import Receipt

__all__ = [
    "CHANNEL",
    "DECISION_KIND",
    "ENTRY_KIND",
    "REASON",
    "REQUEST_STATE",
    "RESPONSE",
    "SESSION_STATUS",
    "WAITING_FOR",
    "CancelSession",
    "Decision",
    "EndSession",
    "Entry",
    "EntryPage",
    "ExactChoice",
    "ExactText",
    "GrantRun",
    "Key",
    "OpenSession",
    "PauseSession",
    "PostMessage",
    "Problem",
    "Receipt",
    "Request",
    "RequestPage",
    "ResumeSession",
    "Session",
    "SessionPage",
    "Strict",
    "WaitingFor",
    "Wrong",
]
