"""Runs: unrated duels, and evaluations without rank, that programs ask for. A key of a caller is played once."""

from __future__ import annotations

import secrets
from datetime import datetime, timedelta

from django.db import transaction
from django.db.models.functions import Now

from core.duels.run_requests import (
    DEFAULT_SECONDS,
    KEY_TAKEN,
    MOST_SEED,
    RunRequest,
    environment_find,
    players_find,
    request_check,
)
from core.duels.services import duel_new, duels_enqueue
from core.errors import Refused
from core.jobs.apart import apart
from core.jobs.control import BY_OWNER, job_cancel_if_open
from core.jobs.lifecycle import from_now, job_enqueue
from core.jobs.states import OPEN
from core.models import CancelCode, Duel, Evaluation, Run, SeedPurpose, Submission, User
from core.people.quotas import challenge_quota_check, owner_lock

TIME_OVER = "The time that its caller gave it was over."


def run_start(*, caller: User, request: RunRequest, now: datetime) -> tuple[Run, bool]:
    """Put a duel or an evaluation in line for a program; return its run, and whether it is new.

    The same key with the same content gives the run that is there already. Raises Refused with a code of
    `core.duels.run_requests`, and QuotaExceeded.
    """
    request_check(request)
    with transaction.atomic():
        locked = owner_lock(caller)
        earlier = Run.objects.filter(caller=locked, key=request.key).first()
        if earlier is not None:
            if earlier.content_sha256 != request.sha256:
                why = "You have used this id for another request; take a new one."
                raise Refused(why, field="key", code=KEY_TAKEN)
            return earlier, False
        environment = environment_find(request.environment, locked)
        players = players_find(request, environment, locked)
        challenge_quota_check(owner=locked, environment=environment, duel_count=1, what="run", now=now)
        run = Run.objects.create(
            caller=locked,
            key=request.key,
            content_sha256=request.sha256,
            player_1_name=request.players[0].name,
            player_2_name="" if len(players) == 1 else request.players[1].name,
            player_words=[player.words for player in request.players],
            expires_at=from_now(timedelta(seconds=request.seconds or DEFAULT_SECONDS)),
        )
        if len(players) == 1:
            _evaluation_create(run, players[0], request.match_count)
            return run, True
        duels_enqueue(
            duels=[
                duel_new(
                    run=run,
                    player_1=players[0],
                    player_2=players[1],
                    seed=secrets.randbelow(MOST_SEED) if request.seed is None else request.seed,
                    match_count=request.match_count,
                    reason=f"A program of {locked.username} asked for it.",
                )
            ]
        )
    return run, True


def run_cancel(*, run: Run) -> bool:
    """Cancel a run at its caller's request; return False when it is over already."""
    job = Duel.objects.filter(run=run).first() or Evaluation.every.get(run=run)
    return job_cancel_if_open(job=job, code=CancelCode.BY_OWNER, reason=BY_OWNER)


def runs_expire() -> int:
    """Cancel the runs whose time is over; return how many."""
    expired = 0
    over = {"run__expires_at__lte": Now(), "state__in": OPEN}
    for job in (*Duel.objects.filter(**over).order_by("pk"), *Evaluation.every.filter(**over).order_by("pk")):
        with apart(f"The {job.KIND} {job.pk}"):
            expired += job_cancel_if_open(job=job, code=CancelCode.TIME_OVER, reason=TIME_OVER)
    return expired


def _evaluation_create(run: Run, submission: Submission, episodes: int) -> None:
    """Put the first episodes of the public seeds in line. Raises Refused."""
    environment = submission.agent.environment
    seeds = environment.seed_lists.filter(purpose=SeedPurpose.PRACTICE).order_by("pk").last()
    if seeds is None or episodes > len(seeds.seeds):
        count = 0 if seeds is None else len(seeds.seeds)
        raise Refused(f"{environment} has {count} public seeds: ask for at most as many.", field="match_count")
    evaluation = Evaluation.every.create(
        run=run,
        submission=submission,
        agent=submission.agent,
        environment=environment,
        environment_version=environment.spec_id,
        seed_list=seeds,
        episode_count=episodes,
    )
    job_enqueue(job=evaluation)
