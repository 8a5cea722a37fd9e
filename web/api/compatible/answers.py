"""Answers of the compatible API."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from core.operations.health import HEALTHY, NOT_USED, UNHEALTHY
from core.submissions.client_selectors import ClientState


class Submitted(serializers.Serializer[Any]):
    id = serializers.UUIDField()
    status = serializers.ChoiceField(choices=["queued"])
    env_id = serializers.CharField()
    algorithm = serializers.CharField()


class Result(serializers.Serializer[Any]):
    id = serializers.UUIDField()
    status = serializers.ChoiceField(choices=[state.value for state in ClientState])
    score = serializers.FloatField(allow_null=True, help_text="null until the status is completed.")
    env_id = serializers.CharField()
    algorithm = serializers.CharField()
    created_at = serializers.DateTimeField()
    error = serializers.CharField(allow_null=True, help_text="Why it failed; null otherwise.")


class BoardEntry(serializers.Serializer[Any]):
    """A row of a board. rank, medal: in the whole board, regardless of filter and order."""

    rank = serializers.IntegerField()
    id = serializers.UUIDField(source="public_id")
    user_id = serializers.CharField(source="user")
    algorithm = serializers.CharField()
    score = serializers.FloatField()
    created_at = serializers.DateTimeField()
    env_id = serializers.SerializerMethodField()
    medal = serializers.SerializerMethodField()
    verified = serializers.BooleanField(source="is_verified", help_text="Whether the arena measured the score itself.")
    score_low = serializers.FloatField(allow_null=True, help_text="Lower end of the 95% interval around the mean.")
    score_high = serializers.FloatField(allow_null=True)

    def get_env_id(self, row: object) -> str:
        return str(self.context["env_id"])

    def get_medal(self, row: Any) -> str | None:
        return row.medal or None


class Environments(serializers.Serializer[Any]):
    envs = serializers.ListField(child=serializers.CharField())


class Components(serializers.Serializer[Any]):
    """The state of each part, under the names that monitors know. broker: the queue. celery_workers: the workers."""

    database = serializers.ChoiceField(choices=[HEALTHY, UNHEALTHY])
    redis = serializers.ChoiceField(choices=[HEALTHY, UNHEALTHY, NOT_USED])
    broker = serializers.ChoiceField(choices=[HEALTHY, UNHEALTHY])
    celery_workers = serializers.ChoiceField(choices=[HEALTHY, UNHEALTHY])
    watchdog = serializers.ChoiceField(choices=[HEALTHY, UNHEALTHY])
    engine = serializers.ChoiceField(choices=[HEALTHY, UNHEALTHY, NOT_USED])
    storage = serializers.ChoiceField(choices=[HEALTHY, UNHEALTHY])
    certificate = serializers.ChoiceField(choices=[HEALTHY, UNHEALTHY, NOT_USED])


class Health(serializers.Serializer[Any]):
    status = serializers.ChoiceField(choices=[HEALTHY, UNHEALTHY])
    components = Components()
    timestamp = serializers.DateTimeField()
    version = serializers.CharField(help_text="Of the arena.")
    active_matches = serializers.IntegerField(
        allow_null=True, help_text="Duels, validations and evaluations that run now; null if the database is silent."
    )


class Counts(serializers.Serializer[Any]):
    started = serializers.IntegerField()
    completed = serializers.IntegerField()
    failed = serializers.IntegerField()


class CountsOfEnvironment(serializers.Serializer[Any]):
    total = serializers.IntegerField()
    completed = serializers.IntegerField()
    failed = serializers.IntegerField()


class EvaluationCounts(serializers.Serializer[Any]):
    total = Counts()
    recent = Counts(help_text="Of the last hour.")
    daily = Counts(help_text="Of the last day.")
    weekly = Counts(help_text="Of the last week.")
    by_environment = serializers.DictField(child=CountsOfEnvironment(), help_text="By env_id.")
    timestamp = serializers.DateTimeField()
