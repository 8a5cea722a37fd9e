"""The kinds of background work, by name. Imports only models, so that every module can import it."""

from __future__ import annotations

from core.models import (
    Analysis,
    Build,
    Drill,
    Duel,
    EnvironmentTrial,
    Evaluation,
    Job,
    PackageBuild,
    Publication,
    Recording,
    Rollout,
    Sitting,
    Validation,
)

JOB_MODELS: dict[str, type[Job]] = {
    model.KIND: model
    for model in (
        Build,
        Validation,
        Duel,
        Evaluation,
        Recording,
        Analysis,
        Drill,
        Sitting,
        PackageBuild,
        Rollout,
        Publication,
        EnvironmentTrial,
    )
}
LOST_CODE = "worker_lost"
"""The error code of an attempt whose lease expired."""
PERSONS_TURN_CODE = "persons_turn"
"""The code of a job that is delayed until a person acts."""
