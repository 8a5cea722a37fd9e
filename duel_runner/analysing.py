"""Analyses: the values of a match's positions, by the solver of its environment, and the worst mistakes."""

from __future__ import annotations

from arena_kit.analysis.blunders import blunders
from arena_kit.analysis.positions import solve_match
from arena_kit.environment.protocol import ArenaEnvironmentError
from core.duels.analyses import analysis_succeed
from core.duels.losses import unexplained_loss_play_out
from core.duels.selectors import NotStored, match_get
from core.jobs.lease import Lease
from core.jobs.lifecycle import job_fail
from core.models import Analysis, JobFault
from duel_runner.rules import rules


def analyse(analysis: Analysis, lease: Lease) -> None:
    """Solve a match from its end backwards, and keep what was found."""
    played = analysis.played
    spec = rules(played)
    try:
        record, _ = match_get(played, analysis.match_number)
        positions = solve_match(spec, record, still_wanted=lease.raise_if_lost)
        found = blunders(spec, record, positions, still_wanted=lease.raise_if_lost)
    except (NotStored, ArenaEnvironmentError, ValueError) as error:
        job_fail(
            job=analysis,
            fault=JobFault.PLATFORM,
            code="not_analysable",
            error=f"This match cannot be analysed: {error}",
            log=lease.text,
        )
        return
    solved = sum(position.value is not None for position in positions)
    lease.log(f"{solved} of {len(positions)} positions are solved.")
    analysis_succeed(analysis=analysis, positions=positions, log=lease.text, seats=record.seats, found=found)
    unexplained_loss_play_out(analysis)
