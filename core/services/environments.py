"""Environments: the rows follow the specs in code."""

from __future__ import annotations

from core.models import Environment
from environments.spec import EnvironmentSpec


def environment_sync(*, spec: EnvironmentSpec, reset_limits: bool = False) -> tuple[Environment, bool]:
    """Create or update the row of a spec; return it and whether it is new. Results are kept.

    Numbers of matches and limits are set for a new environment and by `reset_limits`; else an organiser's stay.
    """
    limits = spec.limits
    rules = {
        "version": spec.version,
        "name": spec.name,
        "description": spec.description,
        "image": spec.picture,
        "seats": spec.seats,
    }
    choices = {
        "matches_per_duel": spec.matches_per_duel,
        "matches_per_validation": spec.matches_per_validation,
        "parallel_matches": spec.parallel_matches,
        "cpu_count": limits.cpu_count,
        "memory_limit_bytes": limits.memory_limit_bytes,
        "move_seconds": limits.move_seconds,
        "bank_seconds": limits.bank_seconds,
        "start_seconds": limits.start_seconds,
        "duel_seconds": limits.duel_seconds,
    }
    return Environment.objects.update_or_create(
        slug=spec.slug, defaults=rules | choices if reset_limits else rules, create_defaults=rules | choices
    )
