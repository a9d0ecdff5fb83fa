"""Shapes of the deputies of teams, and of what teams lack people for."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from sessions.http.fields import Strict


class NameDeputy(Strict):
    """Who becomes a deputy of which team."""

    user = serializers.UUIDField(help_text="a person who reads the team's sessions and may decide in another team")
    team = serializers.UUIDField()


class Deputy(serializers.Serializer[Any]):
    id = serializers.UUIDField()
    user = serializers.UUIDField()
    team = serializers.UUIDField()


class ApproverGap(serializers.Serializer[Any]):
    tier = serializers.IntegerField()
    quorum = serializers.IntegerField(help_text="people who must approve")
    able = serializers.ListField(child=serializers.CharField(), help_text="by name, who of the team may approve")
    rules = serializers.ListField(child=serializers.CharField(), help_text="the rules that ask for them")
    sentence = serializers.CharField(help_text="all of this in words")


class TeamApprovers(serializers.Serializer[Any]):
    team = serializers.UUIDField()
    gaps = ApproverGap(many=True, help_text="where rules ask for more people than the team has, highest tier first")
    deputies = Deputy(many=True)


class TeamApproversList(serializers.Serializer[Any]):
    teams = TeamApprovers(many=True)
