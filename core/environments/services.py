"""Environments: the rows are kept equal to the specs in code."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from django.db import transaction
from django.db.models import QuerySet

from arena_kit.environment.spec import EnvironmentSpec
from arena_kit.kits import runs_by_id
from core.duels.pausing import jobs_pause, paused_go_on
from core.environments.availability import RETIRED, picture_of
from core.environments.renewal import rules_renew
from core.errors import Refused
from core.evaluations.seeds import seed_lists_ensure
from core.evaluations.services import evaluations_renew
from core.jobs.messages import TOURNAMENT_TASK, task_request
from core.models import Duel, Environment


def environment_sync(
    *, spec: EnvironmentSpec, reset_limits: bool = False, added_file: str = "", takes_players: bool = True
) -> tuple[Environment, bool]:
    """Create or update the row of a spec; return it and whether it is new. Results are kept.

    Match counts, limits and whether it is heavy are set for a new environment or with `reset_limits`; otherwise the
    organiser's values stay. When the rules have changed, every agent is evaluated again, or with more seats validated
    again, see `rules_renew`. One that was closed because its code was removed is active again.
    added_file: the text of the spec's file, if a submission added it. takes_players: for a new environment.
    """
    rules = {
        "version": spec.version,
        "name": spec.name,
        "description": spec.description,
        "image": picture_of(spec),
        "seats": spec.seats,
        "env_id": spec.public_id,
        "added_file": added_file,
    }
    choices = choices_of(spec)
    with transaction.atomic():
        before = Environment.objects.select_for_update(no_key=True).filter(slug=spec.slug).first()
        if before is not None and before.unavailable_because == RETIRED:
            rules["is_active"] = True
        environment, is_new = Environment.objects.update_or_create(
            slug=spec.slug,
            defaults=rules | choices if reset_limits else rules,
            create_defaults={
                **rules,
                **choices,
                "takes_scripts": runs_by_id(spec),
                "takes_players": takes_players,
            },
        )
        has_new_rules = before is not None and before.version != environment.version
        if environment.is_scored:
            seed_lists_ensure(environment=environment)
            if has_new_rules:
                evaluations_renew(environment=environment, reason="The rules have changed: it is evaluated again.")
        elif has_new_rules:
            rules_renew(environment=environment)
    return environment, is_new


def choices_of(spec: EnvironmentSpec) -> dict[str, Any]:
    """Return what a file says of the columns that organisers set, by their names."""
    limits = spec.limits
    return {
        "matches_per_duel": spec.matches_per_duel,
        "matches_per_validation": spec.matches_per_validation,
        "episodes_per_evaluation": spec.episodes_per_evaluation,
        "is_heavy": spec.heavy,
        "parallel_matches": spec.parallel_matches,
        "cpu_count": limits.cpu_count,
        "memory_limit_bytes": limits.memory_limit_bytes,
        "gpu_count": limits.gpu_count,
        "move_seconds": limits.move_seconds,
        "bank_seconds": limits.bank_seconds,
        "start_seconds": limits.start_seconds,
        "duel_seconds": limits.duel_seconds,
        "validation_seconds": limits.validation_seconds,
    }


def environment_close(*, environment: Environment) -> None:
    """Close an environment: it takes no uploads and begins no editions, and its duels wait. Raises Refused."""
    if not Environment.objects.filter(pk=environment.pk, is_active=True).update(is_active=False):
        raise Refused("It is closed already.")
    jobs_pause(_duels(environment), because=f"{environment} is closed at the moment.")


def environment_open(*, environment: Environment) -> None:
    """Open a closed environment again, and let what waits go on. Raises Refused."""
    if environment.unavailable_because == RETIRED:
        raise Refused(f"{RETIRED} Put it back and run sync_environments, which opens it.")
    if not Environment.objects.filter(pk=environment.pk, is_active=False).update(is_active=True):
        raise Refused("It is open already.")
    paused_go_on(_duels(environment))
    task_request("tournament", TOURNAMENT_TASK, environment.pk)


def _duels(environment: Environment) -> QuerySet[Duel]:
    return Duel.objects.filter(**{Duel.ENVIRONMENT: environment})


def environment_settings_save(*, environment: Environment, fields: Collection[str]) -> None:
    """Save what an organiser has changed about an environment, and let what follows from it happen."""
    with transaction.atomic():
        environment.save(update_fields=fields)
        if "is_active" in fields and environment.is_active:
            paused_go_on(_duels(environment))
        if {"play", "active_per_owner", "is_active"} & set(fields):
            task_request("tournament", TOURNAMENT_TASK, environment.pk)
        if environment.is_scored and not environment.is_app:
            # The number of public seeds follows the row.
            seed_lists_ensure(environment=environment)
