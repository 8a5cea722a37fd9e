"""A season on an arena of its own: uploads, editions, evaluations, and what is left of them at the end.

A season runs in a process of its own, because Django is set up for one database. Whatever asks a service here asks
again when it does not answer: that is what the faults are about.
"""

from __future__ import annotations

import hashlib
import io
import itertools
import logging
import os
import random
import sys
import tempfile
import threading
import time
import zipfile
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from typing import Any, TypeVar

from arena_kit.folders import remove_abandoned
from core.jobs import worker_processes
from core.jobs.scratch import PREFIX
from core.jobs.worker_processes import WorkerProcesses

DUELLING, SCORED = "connect-four", "frozen-lake-deterministic"
PLAYER = """
import time
import zlib


class Player:
    def __init__(self, train_mode):
        print("ready")

    def start(self, state, valid_actions):
        return self.step(state, valid_actions, 0.0)

    def step(self, state, valid_actions, prev_reward):
        time.sleep({pause})
        return valid_actions[zlib.crc32(state.tobytes() + b"{salt}") % len(valid_actions)]

    def end(self, state, prev_reward):
        pass
"""
"""Plays as it does for no reason, but always the same from the same state."""
DUEL_WORKERS = 4
LEASE_SECONDS = 20
"""The shortest lease that is allowed; and with a fault every few seconds no job may run out of attempts by bad luck."""
SETTLE_SECONDS = 420.0
SEED = 20_261
Answer = TypeVar("Answer")


class Unsettled(Exception):
    """The arena did not come to an end of its work; the message says where it stands."""


@dataclass(frozen=True, slots=True)
class Size:
    """How much is played."""

    agents: int
    scored_agents: int
    match_count: int
    pause_seconds: float
    meetings: int
    """How often every two agents meet in an edition: the last duels of one leave little to break."""


def again(function: Callable[..., Answer]) -> Callable[..., Answer]:
    """Ask again while the database is away, on a new connection."""

    @wraps(function)
    def wrapped(*arguments: Any, **named: Any) -> Answer:
        from django.db import Error, connection

        deadline = time.monotonic() + 90
        while True:
            try:
                return function(*arguments, **named)
            except Error:
                if time.monotonic() > deadline:
                    raise
                connection.close()
                time.sleep(0.2)

    return wrapped


class Season:
    """folder: of this season, with `files` in it, the mounted store."""

    def __init__(self, folder: Path, variables: dict[str, str], size: Size) -> None:
        self.folder, self.size = folder, size
        self.hooks, self.files, self.channels = folder / "hooks", folder / "files", folder / "c"
        self.prefix = variables["PLAYER_IMAGE_PREFIX"]
        self._late = itertools.count(1)
        self.editions = 0
        self.temporary = folder / "tmp"
        for path in (self.hooks, self.temporary):
            path.mkdir()
        os.environ |= {
            "DJANGO_SETTINGS_MODULE": "tests.season.settings",
            "DEBUG": "false",
            "SECRET_KEY": hashlib.sha256(str(folder).encode()).hexdigest(),
            "DATA_DIR": str(folder),
            "CHANNEL_DIR": str(self.channels),
            "TMPDIR": str(self.temporary),
            "SANDBOX": "docker",
            "PLAYER_CONTAINERS": "runtime=runc",
            "RECHECK_SAMPLE": "0",
            "LOGS": "level=INFO",
            "FAULTS_HOOKS": str(self.hooks),
            # One owner uploads them all.
            "QUOTAS": "uploads_per_day=0,active_agents=0,storage_bytes=0,concurrent_jobs=0",
            **variables,
        }
        tempfile.tempdir = None
        import django

        django.setup()
        logging.getLogger("django-q").setLevel(logging.ERROR)
        from django.core.management import call_command

        # The workers have a log of their own.
        logging.getLogger().setLevel(logging.ERROR)
        call_command("migrate", verbosity=0, interactive=False)
        call_command("sync_environments", verbosity=0, allow_left_out=True, stdout=io.StringIO())
        self._prepare()

    def _prepare(self) -> None:
        from django_q.models import Schedule

        from core.models import Environment, Play, SeedList, User

        Schedule.objects.filter(name="artifacts").update(minutes=1)
        duelling = Environment.objects.get(slug=DUELLING)
        duelling.matches_per_duel, duelling.matches_per_validation = self.size.match_count, 2
        # A container that is paused for longer than a move may last is to be noticed while a worker waits for it.
        duelling.move_seconds, duelling.bank_seconds = 2.0, 3.0
        # Or the arena would begin editions by itself, as many as the time of uploads makes.
        duelling.play = Play.NOTHING
        duelling.save()
        Environment.objects.filter(slug=SCORED).update(episodes_per_evaluation=10)
        # Hidden seeds are random; two seasons that are to be compared need the same.
        for number, row in enumerate(SeedList.objects.filter(environment__slug=SCORED).order_by("pk")):
            row.seeds = random.Random(SEED + number).sample(range(2**31), len(row.seeds))
            row.save()
        self._owner = User.objects.create(email="season@arena.example", username="season")

    # --- Work -------------------------------------------------------------------------------------------------

    def upload(self, slug: str, name: str, salt: str) -> None:
        """Upload an agent, once, whatever the services do meanwhile."""
        from django.core.files.uploadedfile import SimpleUploadedFile

        from core.models import Agent, Environment
        from core.submissions.services import agent_create

        content = io.BytesIO()
        with zipfile.ZipFile(content, "w") as packed:
            source = PLAYER.format(salt=salt, pause=self.size.pause_seconds if slug == DUELLING else 0.0)
            packed.writestr(zipfile.ZipInfo("player.py"), source)

        @again
        def upload_once() -> bool:
            if Agent.objects.filter(name=name).exists():
                return True
            archive = SimpleUploadedFile("player.zip", content.getvalue(), content_type="application/zip")
            environment = Environment.objects.get(slug=slug)
            try:
                agent_create(owner=self._owner, environment=environment, name=name, is_public=False, archive=archive)
            except OSError:
                # The store takes nothing just now: uploaders are told so and come back.
                time.sleep(0.5)
                return False
            return True

        while not upload_once():
            pass

    def upload_first(self) -> None:
        """The agents that play, and those that are scored."""
        for number in range(1, self.size.agents + 1):
            self.upload(DUELLING, f"agent-{number:02}", f"two-seat {number}")
        for number in range(1, self.size.scored_agents + 1):
            self.upload(SCORED, f"scored-{number:02}", f"one-seat {number}")

    def upload_late(self) -> None:
        """One more agent that takes no part, so that something is built."""
        number = next(self._late)
        self.upload(DUELLING, f"late-{number:03}", f"late {number}")

    @again
    def are_ready(self) -> bool:
        """Return whether all that play may play."""
        from core.models import Submission

        valid = Submission.objects.valid().filter(agent__name__startswith="agent-").count()
        return valid == self.size.agents

    def start_edition(self) -> None:
        """The next edition, with a seed that depends on its number only."""
        self.editions += 1
        number = self.editions

        @again
        def start_once() -> None:
            from arena_kit.ranking.pairing import round_robin
            from core.models import Environment, Submission
            from core.tournaments.services import tournament_create

            environment = Environment.objects.get(slug=DUELLING)
            if environment.tournaments.filter(edition=number).exists():
                return
            valid = Submission.objects.valid().filter(agent__name__startswith="agent-").select_related("agent")
            participants = sorted(valid, key=lambda submission: submission.agent.name)
            once = [
                [(participants[one], participants[two]) for one, two in pairs]
                for pairs in round_robin(len(participants))
            ]
            rounds = once * self.size.meetings
            tournament_create(
                environment=environment,
                edition=number,
                submissions=participants,
                rounds=rounds,
                seed=SEED + 1000 * number,
            )

        start_once()

    @again
    def edition_is_over(self) -> bool:
        from core.models import Tournament

        return not Tournament.objects.filter(ended_at=None).exists()

    @again
    def open_jobs(self) -> list[str]:
        """What is not over, in words."""
        from core.jobs.kinds import JOB_MODELS

        return [
            f"{job.KIND} {job.pk} {job.state} attempt {job.attempt} {job.error_code}"
            for model in JOB_MODELS.values()
            for job in model._default_manager.exclude(state__in=("SUCCEEDED", "FAILED", "CANCELLED"))
        ]

    def settle(self) -> float:
        """Wait until every job is in a final state and every edition ended; return the seconds. Raises Unsettled."""
        begun = time.monotonic()
        while (left := self.open_jobs()) or not self.edition_is_over():
            if time.monotonic() - begun > SETTLE_SECONDS:
                raise Unsettled(f"{len(left)} jobs are not over after {SETTLE_SECONDS:.0f} s: {left[:10]}")
            time.sleep(0.5)
        return time.monotonic() - begun

    def clean_now(self) -> None:
        """Do at once what the arena's schedules do every few minutes. The workers must have ended."""
        from django.conf import settings

        from builder.tasks import images_remove_unused
        from duel_runner.tasks import leftovers_reap
        from tournament_manager.tasks import artifacts_remove_unused

        # No zombie is left that would have to be waited for.
        settings.JOB_LEASE_SECONDS = 0
        for task in (leftovers_reap, images_remove_unused, artifacts_remove_unused):
            task()
        remove_abandoned(self.temporary, PREFIX)


class Workers:
    """The workers of a season as `run_workers` keeps them: a supervisor and a host of each name."""

    def __init__(self, season: Season, wrong_clock: Path | None) -> None:
        self._clock = season.folder / "clock"
        self.set_clock(0)
        variables: dict[str, dict[str, str]] = {
            "build": {"FAULTS_QUEUE": "build"},
            "tournament": {"FAULTS_QUEUE": "tournament"},
        }
        for number in range(1, DUEL_WORKERS + 1):
            variables[f"duel-{number}"] = {"FAULTS_QUEUE": "duel", "DUEL_PARALLELISM": "1"}
        self.clocked = f"duel-{DUEL_WORKERS}"
        if wrong_clock is not None:
            variables[self.clocked] |= {"LD_PRELOAD": str(wrong_clock), "FAULTS_CLOCK": str(self._clock)}
        # By the hundredth kill a pause that grows would leave most of the workers down; in operation it should.
        worker_processes.BACK_OFF_SECONDS = (1.0,) * 5
        self._log = (season.folder / "workers.log").open("a")
        self._supervisor = WorkerProcesses(
            worker_processes.programs(
                [sys.executable, "-m", "tests.season.worker", "run_workers"],
                {name: {**own, "FAULTS_NAME": name} for name, own in variables.items()},
            ),
            variables,
            clock=time.monotonic,
            write=lambda line: print(f"{time.time():.3f} {line}", file=self._log, flush=True),
        )
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, name="supervisor", daemon=True)
        self._thread.start()

    def _run(self) -> None:
        while not self._ended.wait(0.2):
            self._supervisor.step()

    def set_clock(self, ahead: int) -> None:
        """Let the clock of one worker be so many seconds ahead from now on."""
        # In its place: the workers have mapped it.
        with self._clock.open("r+b" if self._clock.exists() else "wb") as file:
            file.write(ahead.to_bytes(8, sys.byteorder, signed=True))

    def stop(self) -> None:
        """Ask all to stop, as every upgrade does it."""
        self._ended.set()
        self._thread.join()
        self._supervisor.end(grace_seconds=60)
        with suppress(OSError):
            self._log.close()
