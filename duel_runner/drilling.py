"""Drills: a version is asked for its moves in the positions in which its agent has blundered."""

from __future__ import annotations

import time

from arena_kit.analysis.blunders import Blunder
from arena_kit.analysis.drill import Drilled, move_at
from core.duels.blunders import ASKED, drill_positions, drill_succeed
from core.jobs.lease import Lease
from core.models import Drill
from duel_runner.makeable import if_makeable
from duel_runner.rules import rules
from duel_runner.single import player_start


@if_makeable
def drill(job: Drill, lease: Lease) -> None:
    """Ask a version for its moves, the newest positions first, as long as a validation may take."""
    submission = job.submission
    spec, limits = rules(job), submission.agent.environment.limits
    until = time.monotonic() + limits.validation_seconds
    launch = player_start(submission, lease)
    moves: dict[int, Drilled] = {}
    for row in drill_positions(submission, job.environment_version)[:ASKED]:
        if time.monotonic() > until:
            break
        moves[row.pk] = move_at(
            spec,
            launch,
            Blunder.of(row),
            limits=limits,
            clock=time.monotonic,
            still_wanted=lease.raise_if_lost,
        )
    lease.log(f"{submission} was asked in {len(moves)} positions of {spec.id}.")
    drill_succeed(drill=job, moves=moves, log=lease.text)
