"""The collection of an agent's blunders, and drills: versions that are asked for their moves there."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence

from django.conf import settings
from django.db import transaction
from django.db.models import QuerySet

from arena_kit.analysis.blunders import Blunder as Found
from arena_kit.analysis.drill import Drilled
from arena_kit.environment.spec import EnvironmentSpec
from core.duels.challenge_selectors import active_version
from core.duels.selectors import spec_get
from core.jobs.lifecycle import job_enqueue, job_succeed
from core.jobs.written import written_once
from core.models import Agent, Blunder, Drill, DrillMove, Duel, JobState, Submission

KEPT = 100
"""The most positions that are kept of an agent, the newest ones."""
ASKED = 50
"""The most positions in which one drill asks a version."""


def has_open_information(spec: EnvironmentSpec) -> bool:
    """Return whether all seats see the same, so that positions of its matches may be shown alone."""
    return spec.isolation != "apart"


def blunders_keep(*, duel: Duel, number: int, seats: Sequence[int], found: Sequence[Found]) -> None:
    """Keep positions of a match for the agents that blundered there, each once, and drill their versions.

    seats: the player on each seat of that match. Raises NotStored.
    """
    spec = spec_get(duel)
    if not has_open_information(spec):
        return
    players = (duel.player_1, duel.player_2)
    rows = [
        Blunder(
            agent_id=players[seats[one.seat]].agent_id,
            key=_key(spec, one),
            submission=players[seats[one.seat]],
            duel=duel,
            match_number=number,
            environment_version=spec.rules_id,
            **{name: getattr(one, name) for name in ("ply", "seat", "seed", "played", "before", "after", "steps")},
            **{name: list(getattr(one, name)) for name in ("actions", "holding", "losing")},
        )
        for one in found
    ]
    with transaction.atomic():
        Blunder.objects.bulk_create(rows, ignore_conflicts=True)
        for agent in {players[seats[one.seat]].agent for one in found}:
            kept = Blunder.objects.filter(agent=agent).order_by("-pk").values_list("pk", flat=True)
            Blunder.objects.filter(agent=agent, pk__in=list(kept[KEPT:])).delete()
            _drill_active(agent)


def drill_positions(submission: Submission, rules: str) -> QuerySet[Blunder]:
    """Return the positions of these rules, with known answers, in which a version has not moved yet."""
    rows = Blunder.objects.filter(agent=submission.agent_id, environment_version=rules)
    return rows.exclude(holding=[]).exclude(submission=submission).exclude(moves__submission=submission)


def drill_begin(*, submission: Submission) -> bool:
    """Put a drill of a version in line, unless one waits or there is nothing to ask; return whether it did.

    A cluster starts no players for single moves.
    """
    if settings.SANDBOX == "kubernetes" or Drill.objects.filter(submission=submission, state=JobState.QUEUED).exists():
        return False
    rules = submission.agent.environment.spec_id
    if not drill_positions(submission, rules).exists():
        return False
    job_enqueue(job=Drill.objects.create(submission=submission, environment_version=rules))
    return True


@written_once
def drill_succeed(*, drill: Drill, moves: Mapping[int, Drilled], log: str) -> None:
    """Store the moves of a drill by the keys of the positions. Raises StaleJob when the claim was lost."""
    with transaction.atomic():
        job_succeed(job=drill, log=log)
        there = set(Blunder.objects.filter(pk__in=moves).values_list("pk", flat=True))
        DrillMove.objects.bulk_create(
            (
                DrillMove(
                    submission_id=drill.submission_id,
                    blunder_id=key,
                    action=one.action,
                    error_code=one.error_code,
                    is_found=one.is_found,
                )
                for key, one in moves.items()
                if key in there
            ),
            ignore_conflicts=True,
        )


def _drill_active(agent: Agent) -> None:
    version = active_version(agent)
    if version is not None and not agent.is_disabled:
        drill_begin(submission=version)


def _key(spec: EnvironmentSpec, one: Found) -> str:
    """Return the name of a position, which is the same for two matches that lead there."""
    said = json.dumps([spec.id, one.seed if spec.chance else 0, one.actions, one.seat])
    return hashlib.blake2b(said.encode(), digest_size=16).hexdigest()
