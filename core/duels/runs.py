"""Runs: unrated duels that programs ask for. A key of the same caller is played once."""

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
from core.duels.services import duel_create
from core.errors import Refused
from core.jobs.apart import apart
from core.jobs.control import BY_OWNER, job_cancel_if_open
from core.jobs.lifecycle import from_now
from core.jobs.states import OPEN
from core.models import CancelCode, Duel, Run, User
from core.people.quotas import challenge_quota_check, owner_lock

TIME_OVER = "The time that its caller gave it was over."


def run_start(*, caller: User, request: RunRequest, now: datetime) -> tuple[Run, bool]:
    """Put a duel in line for a program; return its run, and whether it is new.

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
                raise Refused(why, field="match_id", code=KEY_TAKEN)
            return earlier, False
        environment = environment_find(request.environment)
        player_1, player_2 = players_find(request, environment, locked)
        challenge_quota_check(owner=locked, environment=environment, duel_count=1, what="run", now=now)
        run = Run.objects.create(
            caller=locked,
            key=request.key,
            content_sha256=request.sha256,
            player_1_name=request.players[0].name,
            player_2_name=request.players[1].name,
            expires_at=from_now(timedelta(seconds=request.seconds or DEFAULT_SECONDS)),
        )
        duel_create(
            run=run,
            player_1=player_1,
            player_2=player_2,
            seed=secrets.randbelow(MOST_SEED) if request.seed is None else request.seed,
            match_count=request.match_count,
            reason=f"A program of {locked.username} asked for it.",
        )
    return run, True


def run_cancel(*, run: Run) -> bool:
    """Cancel a run at its caller's request; return False when it is over already."""
    duel = Duel.objects.get(run=run)
    return job_cancel_if_open(job=duel, code=CancelCode.BY_OWNER, reason=BY_OWNER)


def runs_expire() -> int:
    """Cancel the runs whose time is over; return how many."""
    expired = 0
    for duel in Duel.objects.filter(run__expires_at__lte=Now(), state__in=OPEN).order_by("pk"):
        with apart(f"Duel {duel.pk}"):
            expired += job_cancel_if_open(job=duel, code=CancelCode.TIME_OVER, reason=TIME_OVER)
    return expired
