"""What a conversation is about: topics and turns, entities, and what phrases mean."""

from __future__ import annotations

from agentstate.people.models import User
from sessions.http.answers import filled
from sessions.http.operations import command, get
from sessions.http.parameters import SessionId
from sessions.talk import commands, queries
from sessions.talk import schemas as forms


@get()
def list_topics(user: User, session: SessionId) -> forms.TopicList:
    """The topics, with the turns that were about each."""
    return filled(forms.TopicList, queries.talk_of(user, session))


set_topic = command(
    "set_topic",
    commands.set_topic,
    forms.ChangeTopic,
    "Open a topic, switch the newest turn to another, resume one that was left, or close one.",
)


@get()
def list_entities(user: User, session: SessionId) -> forms.EntityList:
    """What is known and spoken of, the latest first; and what the newest message is said to mean."""
    found = queries.talk_of(user, session)
    return forms.EntityList(
        found.entities, found.heard_seq, [filled(forms.Reference, each) for each in found.references]
    )


correct_reference = command(
    "correct_reference",
    commands.correct_reference,
    forms.PutRight,
    "Say what a phrase of the customer means. The agent is told so from then on.",
)
