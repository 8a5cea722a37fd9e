"""Follows work on a site: a version from its upload until it is ready or has failed, a challenge until it is over."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable
from typing import TypeVar

from arena_kit.cli.common import DONE, NO, TRY_LATER
from arena_kit.cli.status import FAILED, waiting_job
from arena_kit.client import Client, SiteError, Trouble
from arena_kit.client.answers import Challenge, Job, Version

Answer = TypeVar("Answer")
Say = Callable[[str], None]
Sleep = Callable[[float], None]
POLL_SECONDS = 2.0
TRIES = 15
"""How often in a row the network or the site may fail before following ends."""
STUCK_POLLS = 30
"""How often in a row the site may answer that waiting does not help before following ends."""
LONGEST_PAUSE_SECONDS = 60.0
STUCK = "Waiting longer does not help: the organisers have to act."
LOST = frozenset(
    {Trouble.TIMED_OUT, Trouble.CUT, Trouble.REFUSED_CONNECTION, Trouble.FAILED, Trouble.BUSY, Trouble.UNKNOWN_HOST}
)
"""Trouble that may pass by itself."""


def patiently(ask: Callable[[], Answer], say: Say, sleep: Sleep = time.sleep) -> Answer:
    """Return what `ask` returns, and ask again after trouble that may pass. Raises the SiteError that stays."""
    for failures in itertools.count(1):
        try:
            return ask()
        except SiteError as error:
            if error.trouble not in LOST or failures >= TRIES:
                raise
            say(f"{error} Trying again.")
            sleep(min(LONGEST_PAUSE_SECONDS, float(error.retry_after_seconds or POLL_SECONDS * failures)))
    raise AssertionError("counting never ends")


class Patience:
    """Counts how often in a row the site answers that waiting does not help."""

    def __init__(self) -> None:
        self._stuck = 0

    def ends(self, job: Job | None) -> bool:
        """Return whether it is pointless to go on waiting for a job. A worker that restarts is away for a moment."""
        self._stuck = self._stuck + 1 if job is not None and job.wait is not None and job.wait.is_stuck else 0
        return self._stuck > STUCK_POLLS


def follow(
    client: Client,
    public_id: str,
    say: Say,
    on_version: Callable[[Version], None] = lambda _: None,
    *,
    sleep: Sleep = time.sleep,
) -> tuple[Version, int]:
    """Ask for a version until its phases are over; return it with the exit status.

    say: gets a sentence for every change. on_version: gets every answer. The status is 0 if the version is ready, 3 if
    it failed, and 1 if the arena failed on it or it waits for something that will not happen by itself. Raises
    SiteError when the network or the site fails too often.
    """
    heard, patience = "", Patience()

    def ask() -> tuple[Version, Job | None]:
        version = client.version(public_id)
        return version, waiting_job(client, version)

    while True:
        version, job = patiently(ask, say, sleep)
        on_version(version)
        sentence = _sentence(version, job)
        if sentence != heard:
            say(sentence)
            heard = sentence
        if version.status in FAILED:
            return version, TRY_LATER if any(phase.fault == "PLATFORM" for phase in version.phases) else NO
        # The publication of a version that plays already is of no interest here.
        if version.status == "READY":
            return version, DONE
        if patience.ends(job):
            say(STUCK)
            return version, TRY_LATER
        sleep(POLL_SECONDS)


def challenge_follow(client: Client, number: int, say: Say, *, sleep: Sleep = time.sleep) -> tuple[Challenge, int]:
    """Ask for a challenge until all its duels are over; return it with the exit status.

    say: gets a sentence for every change. The status is 0 if the challenge is over, and 1 if the arena could not play
    one of its duels, or if it waits for something that will not happen by itself. Raises SiteError when the network or
    the site fails too often.
    """
    heard, patience = "", Patience()

    def ask() -> tuple[Challenge, Job | None]:
        challenge = client.challenge(number)
        waiting = next((duel.duel for duel in challenge.duels if not duel.is_over), None)
        return challenge, None if waiting is None else client.job("duel", waiting)

    while True:
        challenge, job = patiently(ask, say, sleep)
        if challenge.is_over:
            return challenge, TRY_LATER if any(duel.state == "FAILED" for duel in challenge.duels) else DONE
        done, count = sum(duel.is_over for duel in challenge.duels), len(challenge.duels)
        one = f"The duel is {challenge.duels[0].state.lower()}."
        sentence = f"{done} of {count} duels are over." if count > 1 else one
        if job is not None and job.wait is not None:
            sentence += f" {job.wait.sentence}"
        if sentence != heard:
            say(sentence)
            heard = sentence
        if patience.ends(job):
            say(STUCK)
            return challenge, TRY_LATER
        sleep(POLL_SECONDS)


def _sentence(version: Version, job: Job | None) -> str:
    said = f"{version.title}: {version.status.lower()}"
    if job is None:
        return said
    wait = "" if job.wait is None else f" {job.wait.sentence}"
    return f"{said} ({job.kind} {job.state.lower()}.{wait})"
