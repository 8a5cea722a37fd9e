"""Performs the steps of a job here: its matches are played at this worker's workplace, one after another."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import wraps
from typing import TypeVar

from arena_kit.errors import PlatformFault
from core.jobs.fetching import images_fetch
from core.jobs.lease import Lease
from core.models import Job
from duel_runner.evaluating import play_episodes
from duel_runner.playing import play_matches
from duel_runner.steps import MatchesOfJob, PlayResult, Steps

AnyJob = TypeVar("AnyJob", bound=Job)


def here(steps: Callable[[AnyJob, Lease], Steps]) -> Callable[[AnyJob, Lease], None]:
    """Return a function that performs the steps of a job and plays what they want. It raises what they raise."""

    @wraps(steps)
    def perform(job: AnyJob, lease: Lease) -> None:
        running = steps(job, lease)
        try:
            play = next(running)
            while True:
                images_fetch(*play.submissions, lease=lease)
                begun = time.monotonic()
                try:
                    played = play_matches(play, lease) if isinstance(play, MatchesOfJob) else play_episodes(play, lease)
                except PlatformFault as fault:
                    play = running.throw(fault)
                else:
                    play = running.send(PlayResult(played, time.monotonic() - begun))
        except StopIteration:
            return
        finally:
            running.close()

    return perform
