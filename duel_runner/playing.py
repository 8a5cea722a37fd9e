"""Plays the matches of a job between two submissions at this worker's workplace."""

from __future__ import annotations

import time
from dataclasses import replace

from django.db import close_old_connections

from arena_kit.errors import PlatformFault
from arena_kit.log_context import bind
from arena_kit.referee import play as referee
from arena_kit.referee.live import LiveView
from arena_kit.sandbox.base import Container, Launch
from arena_kit.sandbox.cores import pinned
from core.duels.selectors import duels_next
from core.jobs.lease import Lease
from core.jobs.log import log_stage
from core.models import Duel
from duel_runner.giving_way import GivingWay
from duel_runner.live_feed import LiveFeed
from duel_runner.rules import branch_of, decided_by, limits_of, rules
from duel_runner.steps import MatchesOfJob
from duel_runner.workplace import workplace_of_this_worker

IDLE_CONNECTION_SECONDS = 30.0
"""Seconds after which an idle database connection may have been cut and is replaced."""
PREPARED_DUELS = 2
"""Number of duels at the head of the queue whose players are prepared while another duel is played."""
LEAST_START_SECONDS = 1.0
"""Minimum time to load for a player that starts at the end of a trial."""


def in_time(launch: Launch, trial_until: float | None) -> Launch:
    """Return the launch with the time to load limited to what is left of the trial."""
    if trial_until is None or (left := trial_until - time.monotonic()) >= launch.limits.start_seconds:
        return launch
    return replace(launch, limits=replace(launch.limits, start_seconds=max(LEAST_START_SECONDS, left)))


def play_matches(play: MatchesOfJob, lease: Lease) -> referee.PlayedDuel:
    """Play the matches of a job. Raises PlatformFault."""
    job, players = play.job, play.players
    is_heavy = isinstance(job, Duel) and job.is_heavy
    coming = duels_next(count=PREPARED_DUELS, is_heavy=is_heavy)
    trial_until = None if play.trial_seconds is None else time.monotonic() + play.trial_seconds
    environment = players[0].agent.environment
    spec = rules(job)
    names = (str(players[0]), str(players[1]))
    for player in players:
        if not player.launched_image:
            raise PlatformFault(f"{player} has no image. Build it again first.", code="image_missing")
    workplace = workplace_of_this_worker()
    core = workplace.core
    containers: list[str] = []

    def launch(player: int) -> Container:
        lease.raise_if_lost()
        slot = workplace.players.slot(in_time(workplace.launch(players[player], core), trial_until))
        containers.append(slot.container_id)
        bind(container_id=",".join(containers))
        if slot.why_cold and not players[player].needs_fresh_container:
            lease.log(f"{names[player]} gets a fresh container for every duel: {slot.why_cold}.")
        return slot

    others = GivingWay(job)

    def on_progress(matches_done: int) -> None:
        others.give_way()
        lease.raise_if_lost()
        lease.progress(matches_done=matches_done)

    live = None
    if isinstance(job, Duel):
        live = LiveView()
        lease.every_second(LiveFeed(job, live).tell)
    log_stage("play")
    lease.log(
        f"{names[0]} against {names[1]}: {job.match_count} matches of {spec.id}, sandbox {workplace.sandbox.name}."
    )
    workplace.players.prepare(
        [[workplace.launch(submission, core) for submission in (duel.player_1, duel.player_2)] for duel in coming]
    )
    with pinned(core):
        played = referee.run_duel(
            spec,
            launch,
            names=names,
            seed=job.seed,
            match_count=job.match_count,
            parallel_matches=environment.parallel_matches,
            limits=limits_of(job, environment),
            clock=others.clock,
            one_core=core is not None,
            on_progress=on_progress,
            decided=decided_by(play.test),
            trial_until=trial_until,
            opening=branch_of(job),
            live=live,
        )
    if played.playing_seconds > IDLE_CONNECTION_SECONDS:
        # The result is written next.
        close_old_connections()
    lease.log(f"Playing took {played.playing_seconds:.3f} s.")
    if played.log:
        lease.log(played.log)
    log_stage("store")
    return played
