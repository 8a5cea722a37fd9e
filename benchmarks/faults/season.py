"""A season on an arena of its own: uploads, editions, evaluations, and what is left of them at the end.

A season runs in a process of its own, because Django is set up for one database. Whatever asks a service here asks
again when it does not answer: that is what the faults are about.
"""

from __future__ import annotations

import hashlib
import io
import itertools
import json
import logging
import os
import random
import sys
import tempfile
import threading
import time
import zipfile
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from typing import Any, TypeVar

from core import supervisor
from core.engine import connect
from core.folders import remove_abandoned
from core.scratch import PREFIX
from core.supervisor import Supervisor
from environments.archive_format import ArtifactDamaged, DuelArchive

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
LEASE_SECONDS, REST_SECONDS, ATTEMPTS = 20, 1, 40
"""The shortest lease that is allowed; and with a fault every few seconds no job may run out of attempts by bad luck."""
SETTLE_SECONDS, CLEAN_SECONDS = 420.0, 200.0
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
        self._temporary = folder / "tmp"
        for path in (self.hooks, self._temporary):
            path.mkdir()
        os.environ |= {
            "DJANGO_SETTINGS_MODULE": "core.settings",
            "DEBUG": "false",
            "SECRET_KEY": hashlib.sha256(str(folder).encode()).hexdigest(),
            "DATA_DIR": str(folder),
            "CHANNEL_DIR": str(self.channels),
            "TMPDIR": str(self._temporary),
            "SANDBOX": "docker",
            "PLAYER_RUNTIME": "runc",
            "JOB_LEASE_SECONDS": str(LEASE_SECONDS),
            "JOB_REST_SECONDS": str(REST_SECONDS),
            "JOB_MAX_ATTEMPTS": str(ATTEMPTS),
            "VERIFY_SAMPLE": "0",
            "LOG_LEVEL": "INFO",
            "FAULTS_HOOKS": str(self.hooks),
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
        call_command("sync_environments", verbosity=0, stdout=io.StringIO())
        self._prepare()

    def _prepare(self) -> None:
        from django_q.models import Schedule

        from core.models import Environment, SeedList, User

        Schedule.objects.filter(name="artifacts").update(minutes=1)
        duelling = Environment.objects.get(slug=DUELLING)
        duelling.matches_per_duel, duelling.matches_per_validation = self.size.match_count, 2
        # A container that is paused for longer than a move may last is to be noticed while somebody waits for it.
        duelling.move_seconds, duelling.bank_seconds = 2.0, 3.0
        # Or the arena would begin editions by itself, as many as the time of uploads makes.
        duelling.is_active = False
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
        from core.services.agents import agent_create

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
            # In this process only, see _prepare.
            environment.is_active = True
            try:
                agent_create(owner=self._owner, environment=environment, name=name, is_public=False, archive=archive)
            except OSError:
                # The store takes nothing just now: whoever uploads is told so and comes back.
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
        """Whether all that play may play."""
        from core.models import Submission

        valid = Submission.objects.valid().filter(agent__name__startswith="agent-").count()
        return valid == self.size.agents

    def start_edition(self) -> None:
        """The next edition, with a seed that depends on its number only."""
        self.editions += 1
        number = self.editions

        @again
        def start_once() -> None:
            from core.models import Environment, Submission
            from core.services.tournaments import tournament_create
            from tournament_manager.pairing import round_robin

            environment = Environment.objects.get(slug=DUELLING)
            if environment.tournaments.filter(edition=number).exists():
                return
            valid = Submission.objects.valid().filter(agent__name__startswith="agent-").select_related("agent")
            entrants = sorted(valid, key=lambda submission: submission.agent.name)
            once = [[(entrants[one], entrants[two]) for one, two in pairs] for pairs in round_robin(len(entrants))]
            rounds = once * self.size.meetings
            tournament_create(
                environment=environment, edition=number, submissions=entrants, rounds=rounds, seed=SEED + 1000 * number
            )

        start_once()

    @again
    def edition_is_over(self) -> bool:
        from core.models import Tournament

        return not Tournament.objects.filter(ended_at=None).exists()

    @again
    def open_jobs(self) -> list[str]:
        """What is not over, in words."""
        from core.services.jobs import JOB_MODELS

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

    # --- What is left -----------------------------------------------------------------------------------------

    @again
    def results(self) -> dict[str, list[str]]:
        """Standings, ledger, ratings and scores as lines that do not depend on ids and times."""
        from core.models import Duel, Evaluation, LedgerEntry, Participant, Rating

        participants = Participant.objects.select_related("tournament", "submission__agent")
        entries = LedgerEntry.objects.select_related("duel__tournament", "submission__agent", "opponent__agent")
        ratings = Rating.objects.select_related("submission__agent")
        evaluations = Evaluation.objects.select_related("submission__agent")
        return {
            "standings": sorted(
                f"{row.tournament.edition} {row.submission.agent.name} {row.rank} {row.points} {row.wins} {row.draws} "
                f"{row.losses} {_exact(row.total_score)} {_exact(row.rating)}"
                for row in participants
            ),
            "ledger": sorted(
                f"{row.duel.tournament.edition}/{row.duel.number} {row.submission.agent.name} {row.seat} "
                f"{row.opponent.agent.name} {row.wins} {row.losses} {row.draws} {row.errors} {row.opponent_errors} "
                f"{_exact(row.score)}"
                for row in entries
            ),
            "ratings": sorted(f"{row.submission.agent.name} {_exact(row.value)} {row.duel_count}" for row in ratings),
            "plays": sorted(
                f"{duel.tournament.edition}/{duel.number} {duel.state} {duel.outcome} {duel.record_sha256}"
                for duel in Duel.objects.select_related("tournament")
            ),
            "scores": sorted(
                f"{row.submission.agent.name} {row.state} {_exact(row.score)} {_exact(row.median)} {row.record_sha256}"
                for row in evaluations
            ),
        }

    @again
    def lost(self) -> list[str]:
        """Jobs that ended without what they should have brought, and artifacts that are missing or torn."""
        from django.db.models import FileField

        from core.models import Duel
        from core.services.jobs import JOB_MODELS

        found = []
        for model in JOB_MODELS.values():
            files = [field.name for field in model._meta.concrete_fields if isinstance(field, FileField)]
            for job in model._default_manager.all():
                if job.state != "SUCCEEDED":
                    found.append(f"{job.KIND} {job.pk}: {job.state} {job.error_code} {job.error}")
                for name in files:
                    path = self.files / str(getattr(job, name))
                    if getattr(job, name) and not (path.is_file() and path.stat().st_size):
                        found.append(f"{job.KIND} {job.pk}: its {name} is missing or empty")
        for duel in Duel.objects.filter(state="SUCCEEDED"):
            try:
                with duel.records.open("rb") as file:
                    archive = DuelArchive(file)
                    for number in range(1, duel.match_count + 1):
                        archive.match(number)
            except (OSError, LookupError, ArtifactDamaged) as error:
                found.append(f"duel {duel.pk}: its records are torn: {error}")
            if duel.ledger_entries.count() < 4:
                found.append(f"duel {duel.pk}: {duel.ledger_entries.count()} entries in the ledger")
        return found

    @again
    def duplicated(self) -> list[str]:
        """What is there more than once."""
        from django.db.models import Count

        from core.models import Duel, Evaluation, Submission

        found = [
            f"duel {row['pk']}: {row['entries']} entries in the ledger"
            for row in Duel.objects.order_by().values("pk").annotate(entries=Count("ledger_entries"))
            if row["entries"] > 4
        ]
        builds = Submission.objects.order_by().values("pk").annotate(times=Count("validations")).filter(times__gt=1)
        found += [f"submission {row['pk']}: {row['times']} validations of one build" for row in builds]
        scores = Evaluation.objects.order_by().values("submission").annotate(times=Count("pk")).filter(times__gt=1)
        found += [f"submission {row['submission']}: {row['times']} evaluations" for row in scores]
        return found

    @again
    def leftovers(self, *, workers_live: bool) -> list[str]:
        """Containers, images, networks, volumes and files that belong to nothing any more."""
        from core.models import Submission

        found = [f"file {path.relative_to(self.files)}" for path in self._unnamed_files()]
        from duel_runner.bench import worker_label
        from duel_runner.presence import tokens_alive

        alive = tokens_alive(self.channels) if workers_live and self.channels.is_dir() else frozenset()
        named = set(Submission.objects.values_list("image", flat=True))
        client = connect()
        try:
            for container in client.containers.list(all=True, ignore_removed=True):
                found += [f"container {container.name}"] if container.labels.get(worker_label()) not in alive else []
            for image in client.images.list():
                found += [f"image {tag}" for tag in image.tags if tag.startswith(self.prefix) and tag not in named]
                found += [] if image.tags else [f"image {image.short_id} without a name"]
            networks = client.networks.list()
            found += [f"network {row.name}" for row in networks if row.name not in ("none", "host", "bridge")]
            found += [f"volume {volume.name}" for volume in client.volumes.list()]
        finally:
            client.close()
        if not workers_live:
            found += [f"temporary {path.name}" for path in self._temporary.iterdir()]
            found += [f"channel {path.name}" for path in self.channels.iterdir() if not path.name.startswith("core-")]
        return found

    def _unnamed_files(self) -> list[Path]:
        from django.apps import apps
        from django.db.models import FileField

        named = set()
        for model in apps.get_app_config("core").get_models():
            for field in model._meta.concrete_fields:
                if isinstance(field, FileField):
                    named |= set(model._default_manager.values_list(field.name, flat=True))
        found = [path for path in self.files.rglob("*") if path.is_file()]
        return [path for path in found if str(path.relative_to(self.files)) not in named]

    def await_clean(self) -> float:
        """Wait until the arena itself has removed what dead workers left; return the seconds it took."""
        begun = time.monotonic()
        while time.monotonic() - begun < CLEAN_SECONDS:
            if not self.leftovers(workers_live=True):
                break
            time.sleep(2.0)
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
        remove_abandoned(self._temporary, PREFIX)


class Workers:
    """The workers of a season as `run_workers` keeps them: a supervisor and a cluster of each name."""

    def __init__(self, season: Season, wrong_clock: Path | None) -> None:
        self._clock = season.folder / "clock"
        self.set_clock(0)
        variables: dict[str, dict[str, str]] = {
            "build": {"Q_CLUSTER_NAME": "build"},
            "tournament": {"Q_CLUSTER_NAME": "tournament"},
        }
        for number in range(1, DUEL_WORKERS + 1):
            variables[f"duel-{number}"] = {"Q_CLUSTER_NAME": "duel", "DUEL_PARALLELISM": "1"}
        self.clocked = f"duel-{DUEL_WORKERS}"
        if wrong_clock is not None:
            variables[self.clocked] |= {"LD_PRELOAD": str(wrong_clock), "FAULTS_CLOCK": str(self._clock)}
        # By the hundredth kill a pause that grows would leave most of the workers down; in operation it should.
        supervisor.BACK_OFF_SECONDS = (1.0,) * 5
        self._log = (season.folder / "workers.log").open("a")
        self._supervisor = Supervisor(
            [sys.executable, "-m", "benchmarks.faults.worker", "qcluster"],
            {name: {**own, "FAULTS_NAME": name} for name, own in variables.items()},
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


def as_bytes(results: dict[str, Sequence[str]]) -> bytes:
    """What is compared."""
    return json.dumps(results, indent=1, sort_keys=True).encode()


def _exact(value: float | None) -> str:
    return "-" if value is None else float(value).hex()
