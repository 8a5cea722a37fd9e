"""Fields and serializers that many answers share."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from core.models import JobFault, JobState, SeedList
from core.moments import parse_moment

JOB_STATES = [(state.value, state.label) for state in JobState]
FAULTS = [(fault.value, fault.label) for fault in JobFault]
PRIVATE = "This agent is private: only its owner and the organisers can read its source and logs."
AS_OF = "A day, which stands for its end, or a moment, in UTC: 2026-05-31 or 2026-05-31T18:30. Empty: now."


class MomentText(serializers.CharField):
    """A day, which stands for its end, or a moment of the past."""

    def to_internal_value(self, data: Any) -> Any:
        try:
            return parse_moment(super().to_internal_value(data))
        except ValueError as error:
            raise serializers.ValidationError(str(error)) from None


class BriefField(serializers.FloatField):
    """A measured figure with four significant digits, which is all that the measurement gives."""

    def to_representation(self, value: Any) -> Any:
        return float(f"{super().to_representation(value):.4g}")


class AgentName(serializers.Serializer[Any]):
    """An agent: id, name and owner."""

    id = serializers.IntegerField()
    name = serializers.CharField()
    owner = serializers.CharField(source="owner.username")


class Version(serializers.Serializer[Any]):
    """A submission: id, number and agent."""

    id = serializers.UUIDField(source="public_id")
    number = serializers.IntegerField()
    agent = AgentName()


class SeedsAnswer(serializers.Serializer[Any]):
    """A list of seeds; `sha256` commits the arena to seeds that are still hidden."""

    id = serializers.IntegerField()
    purpose = serializers.CharField()
    seed_count = serializers.SerializerMethodField()
    sha256 = serializers.CharField(help_text="Hash of the seeds as decimal numbers, each followed by a line feed.")
    seeds = serializers.SerializerMethodField(help_text="null while the seeds are hidden.")
    revealed_at = serializers.DateTimeField(allow_null=True)

    def get_seed_count(self, row: SeedList) -> int:
        return len(row.seeds)

    def get_seeds(self, row: SeedList) -> list[int] | None:
        return list(row.seeds) if row.is_public else None


class JobFields(serializers.Serializer[Any]):
    """The state of a job."""

    id = serializers.IntegerField()
    state = serializers.ChoiceField(choices=JOB_STATES)
    attempt = serializers.IntegerField(help_text="How often the job has been started.")
    fault = serializers.ChoiceField(choices=FAULTS, help_text="Who is to blame for a failure.")
    error_code = serializers.CharField()
    created_at = serializers.DateTimeField()
    started_at = serializers.DateTimeField(allow_null=True)
    ended_at = serializers.DateTimeField(allow_null=True)
