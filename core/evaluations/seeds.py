"""Lists of seeds: public ones for practice, hidden ones for ranking."""

from __future__ import annotations

import secrets
from typing import Any

from django.db import transaction
from django.utils import timezone

from arena_kit.environment.episodes import seeds_sha256
from core.errors import Refused
from core.evaluations.selectors import ranking_list
from core.evaluations.services import evaluations_renew
from core.models import Assignment, Audience, Environment, Evaluation, SeedList, SeedPurpose, Tournament, User

FIRST_PRACTICE_SEED = 1
HIDDEN_SEED_BITS = 48
"""Few enough bits for exact numbers in JSON; too many to find two or more seeds by trying hashes of a list."""
FEWEST_HIDDEN_SEEDS = 2


def seed_lists_ensure(*, environment: Environment) -> None:
    """Make sure that a one-seat environment has a practice list of the configured length and a list for ranking."""
    practice = list(range(FIRST_PRACTICE_SEED, FIRST_PRACTICE_SEED + environment.matches_per_validation))
    newest = environment.seed_lists.filter(purpose=SeedPurpose.PRACTICE).order_by("pk").last()
    if newest is None or newest.seeds != practice:
        _create(environment, SeedPurpose.PRACTICE, practice)
    if ranking_list(environment) is None:
        _create(environment, SeedPurpose.RANKING, _draw(environment.episodes_per_evaluation))


def in_final_phase(environment: Environment) -> bool:
    """Return whether the seeds of a final phase rank the agents of an environment."""
    ranking = ranking_list(environment)
    return ranking is not None and ranking.purpose == SeedPurpose.FINAL


def final_phase_start(*, environment: Environment, by: User | None) -> list[Evaluation]:
    """Draw new hidden seeds, and evaluate each agent's newest version on them; return the new evaluations.

    From then on the board follows the new seeds, and the previous seeds are revealed. Raises Refused.
    """
    if not environment.is_scored:
        raise Refused(f"{environment} is not ranked by score.")
    with transaction.atomic():
        environment = Environment.objects.select_for_update(no_key=True).get(pk=environment.pk)
        if in_final_phase(environment):
            raise Refused(f"The final phase of {environment} has begun already. Begin a new term to have another one.")
        return _replace(environment, SeedPurpose.FINAL, by, "The final phase has begun: it is evaluated on new seeds.")


def term_begin(*, environment: Environment, by: User | None) -> list[Evaluation]:
    """End a final phase with new hidden seeds, as `final_phase_start`, so that there can be another. Raises Refused."""
    with transaction.atomic():
        environment = Environment.objects.select_for_update(no_key=True).get(pk=environment.pk)
        if not in_final_phase(environment):
            raise Refused(f"{environment} is not in its final phase.")
        return _replace(environment, SeedPurpose.RANKING, by, "A new term has begun: it is evaluated on new seeds.")


def seed_list_reveal(*, seed_list: SeedList) -> None:
    """Publish the seeds of a list that no longer ranks. Raises Refused."""
    if seed_list.is_public:
        raise Refused("Its seeds are already public.")
    if seed_list.assignment_id is not None:
        raise Refused("Seeds of an assignment stay hidden: a later deadline would let known ones count.")
    if seed_list.tournament_id is not None:
        raise Refused("These seeds become public with the results of their tournament, once it is over.")
    if seed_list == ranking_list(seed_list.environment):
        raise Refused("These seeds still rank the environment; an agent could be built to fit known seeds.")
    seed_list.revealed_at = timezone.now()
    seed_list.save(update_fields=["revealed_at"])


def seeds_for_assignment(assignment: Assignment) -> SeedList:
    """Draw the hidden seeds of an assignment, as many as rank its environment, unless it has some."""
    environment = assignment.environment
    found = SeedList.objects.filter(assignment=assignment, environment=environment).first()
    if found is None:
        SeedList.objects.filter(assignment=assignment).delete()
        found = _create(
            environment, SeedPurpose.RANKING, _draw(environment.episodes_per_evaluation), assignment=assignment
        )
    return found


def seeds_for_tournament(tournament: Tournament, count: int) -> SeedList:
    """Draw the hidden seeds of a tournament's own final phase, unless it has some. The caller holds its row."""
    found = SeedList.objects.filter(tournament=tournament).first()
    return found or _create(tournament.environment, SeedPurpose.FINAL, _draw(count), tournament=tournament)


def seeds_of_tournament_reveal(tournament: Tournament) -> None:
    """Publish the seeds of a tournament once it is over and everyone may see its results; else do nothing."""
    if tournament.ended_at is not None and tournament.results == Audience.PUBLIC:
        SeedList.objects.filter(tournament=tournament, revealed_at=None).update(revealed_at=timezone.now())


def _replace(environment: Environment, purpose: SeedPurpose, by: User | None, reason: str) -> list[Evaluation]:
    before = ranking_list(environment)
    _create(environment, purpose, _draw(environment.episodes_per_evaluation), created_by=by)
    if before is not None:
        seed_list_reveal(seed_list=before)
    return evaluations_renew(environment=environment, reason=reason)


def _draw(count: int) -> list[int]:
    drawn: set[int] = set()
    while len(drawn) < max(FEWEST_HIDDEN_SEEDS, count):
        drawn.add(secrets.randbits(HIDDEN_SEED_BITS))
    return sorted(drawn)


def _create(environment: Environment, purpose: SeedPurpose, seeds: list[int], **fields: Any) -> SeedList:
    return SeedList.objects.create(
        environment=environment, purpose=purpose, seeds=seeds, sha256=seeds_sha256(seeds), **fields
    )
