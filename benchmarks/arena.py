"""A whole arena for a benchmark: its own database and files, real uploads, and workers of `manage.py run_workers`.

`Arena` itself sets up Django, once per process, so modules that need Django are imported later.
"""

from __future__ import annotations

import io
import os
import re
import secrets
import signal
import subprocess
import sys
import time
import zipfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from core.models import Environment, User

ROOT = Path(__file__).resolve().parents[1]
STEP_SECONDS = 0.1
STALL_SECONDS = 300.0
GRACE_SECONDS = 30.0
PLAYING = re.compile(r"^Playing took ([0-9.]+) s\.$", re.MULTILINE)
"""The line of a duel's log with the time that its matches took."""


class ArenaFailed(Exception):
    """The arena got stuck or refused a player; the message has its last step."""


@dataclass(frozen=True, slots=True)
class Edition:
    """A finished tournament. wall_seconds: of the whole. playing_seconds: of each duel whose log says it."""

    agents: int
    workers: int
    match_count: int
    wall_seconds: float
    playing_seconds: tuple[float | None, ...]
    other_seconds: tuple[float, ...]
    """Seconds of each duel from its claim by a worker to its end, without the playing."""
    is_cold: bool = False
    """Whether the workers had no warm containers of these players."""


def playing_seconds(log: str) -> float | None:
    """Return the seconds that a duel's matches took according to its log; None if the log does not say."""
    found = PLAYING.findall(log)
    return float(found[-1]) if found else None


class Arena:
    """An arena in its own folder.

    sandbox: docker or process. variables: added to its own, e.g. another database. mark: called with the workers'
    processes when they begin what is measured, and when they have done it.
    """

    def __init__(
        self, folder: Path, *, sandbox: str, base_image: str, variables: Mapping[str, str] | None = None,
        mark: Callable[[Sequence[int]], None] = lambda _: None,
    ) -> None:  # fmt: skip
        self._folder, self._sandbox, self._prefix = folder, sandbox, f"rl-arena-bench-{os.getpid()}"
        self._mark = mark
        os.environ |= {
            "DJANGO_SETTINGS_MODULE": "core.settings",
            "DEBUG": "false" if sandbox == "docker" else "true",
            "SECRET_KEY": secrets.token_urlsafe(40),
            "DATA_DIR": str(folder / "data"),
            "DATABASE_URL": f"sqlite:///{folder / 'data' / 'arena.sqlite3'}",
            "CHANNEL_DIR": str(folder / "c"),
            "SANDBOX": sandbox,
            "PLAYER_BASE_IMAGES": base_image,
            "PLAYER_IMAGE_PREFIX": self._prefix,
            "LOGS": "level=WARNING",
            # One owner uploads all players.
            "QUOTAS": "uploads_per_day=0,active_agents=0,storage_bytes=0,concurrent_jobs=0",
            **(variables or {}),
        }
        os.environ.pop("REDIS_URL", None)
        (folder / "data").mkdir()
        import django

        django.setup()
        from django.core.management import call_command

        call_command("migrate", verbosity=0, interactive=False)
        call_command("sync_environments", verbosity=0, allow_left_out=True, stdout=io.StringIO())

    def prepare(self, sources: Sequence[str], *, slug: str, match_count: int, workers: int) -> tuple[float, float]:
        """Upload, build and validate a player per source.

        Returns the seconds from upload to ready for the first player, on idle workers, and for all players together.
        Raises ArenaFailed if one is refused.
        """
        from core.models import Environment, Play, User

        environment = Environment.objects.get(slug=slug)
        environment.matches_per_duel = match_count
        environment.save()
        owner = User.objects.create(email="bench@arena.example", username="bench")
        with self.workers(["build", "duel"], workers) as pids:
            self._await_workers({"build": 1, "duel": workers})
            begun = time.monotonic()
            self._upload(owner, environment, sources[:1], first=1)
            ready = time.monotonic() - begun
            self._mark(pids)
            self._upload(owner, environment, sources[1:], first=2)
            self._mark(pids)
        # From now on only this benchmark starts editions.
        environment.play = Play.NOTHING
        environment.save()
        return ready, time.monotonic() - begun

    def _upload(self, owner: User, environment: Environment, sources: Sequence[str], *, first: int) -> None:
        """Upload agents and return once all of them may play."""
        from django.core.files.uploadedfile import SimpleUploadedFile

        from core.models import Build, Submission, Validation
        from core.submissions.services import agent_create

        for number, source in enumerate(sources, start=first):
            archive = SimpleUploadedFile("player.zip", zipped(source), content_type="application/zip")
            agent_create(owner=owner, environment=environment, name=f"agent-{number}", is_public=False, archive=archive)

        def ready() -> int:
            for jobs in (Build.objects, Validation.objects):
                for job in jobs.filter(state="FAILED").select_related("submission__agent"):
                    raise ArenaFailed(f"{job.submission} was refused: {job.error}\n{job.log}")
            return Submission.objects.valid().count()

        wait_until(ready, first - 1 + len(sources))

    def score(self, source: str, *, slug: str) -> float:
        """Upload a player to a one-seat environment; return the seconds until it is on the board."""
        from django.core.files.uploadedfile import SimpleUploadedFile

        from core.models import Environment, Evaluation, User
        from core.submissions.services import agent_create

        owner = User.objects.create(email="bench@arena.example", username="bench")
        environment = Environment.objects.get(slug=slug)
        with self.workers(["build", "duel"], 1):
            self._await_workers({"build": 1, "duel": 1})
            begun = time.monotonic()
            archive = SimpleUploadedFile("player.zip", zipped(source), content_type="application/zip")
            agent_create(owner=owner, environment=environment, name="agent-1", is_public=False, archive=archive)
            wait_until(lambda: Evaluation.objects.filter(is_current=True).count(), 1)
            return time.monotonic() - begun

    def play(self, *, slug: str, agents: int, workers: int, engines: Sequence[str] = ("",)) -> tuple[Edition, Edition]:
        """Play an edition among the first `agents` agents with cold workers, and another one with the same workers.

        engines: addresses, of which each has the same share of the workers; empty for the engine of this machine.
        """
        with self.workers(["duel", "tournament"], workers, engines) as pids:
            self._await_workers({"duel": workers, "tournament": 1})
            cold = self._edition(slug, agents, workers)
            self._mark(pids)
            warm = self._edition(slug, agents, workers)
            self._mark(pids)
        return replace(cold, is_cold=True), warm

    def _edition(self, slug: str, agents: int, workers: int) -> Edition:
        from core.editions.selectors import participants_due
        from core.editions.services import start
        from core.models import Environment
        from core.tournaments.selectors import next_edition

        environment = Environment.objects.get(slug=slug)
        participants = participants_due(environment)[:agents]
        tournament = start(environment, next_edition(environment), participants)
        wait_until(lambda: tournament.duels.filter(state="SUCCEEDED").count(), tournament.duels.count())

        def finished() -> int:
            tournament.refresh_from_db()
            return int(tournament.ended_at is not None)

        wait_until(finished, 1)
        assert tournament.started_at is not None
        assert tournament.ended_at is not None
        duels = list(tournament.duels.all())
        playing = tuple(playing_seconds(duel.log) for duel in duels)
        busy = [
            (duel.ended_at - duel.started_at).total_seconds() for duel in duels if duel.ended_at and duel.started_at
        ]
        return Edition(
            agents=agents,
            workers=workers,
            match_count=sum(duel.match_count for duel in duels),
            wall_seconds=(tournament.ended_at - tournament.started_at).total_seconds(),
            playing_seconds=playing,
            other_seconds=tuple(round(whole - (part or 0.0), 4) for whole, part in zip(busy, playing, strict=True)),
        )

    @contextmanager
    def workers(
        self, queues: Sequence[str], parallelism: int, engines: Sequence[str] = ("",)
    ) -> Iterator[tuple[int, ...]]:
        """Run workers of these queues, `parallelism` of them for duels, and end them all afterwards.

        Yields their first processes: one for each engine, of which all but the first have workers of duels only.
        """
        processes = []
        with (self._folder / "workers.log").open("ab") as log:
            for number, engine in enumerate(engines):
                variables = {"DUEL_PARALLELISM": str(parallelism // len(engines))}
                variables |= {"DOCKER_HOST": engine} if engine else {}
                # Processes of one name would count as one host, whose engine is known.
                name = [] if number == 0 else ["--host", f"engine-{number + 1}"]
                command = [sys.executable, "manage.py", "run_workers", *(queues if number == 0 else ["duel"]), *name]
                processes.append(
                    subprocess.Popen(
                        command,
                        cwd=ROOT,
                        env={**os.environ, **variables},
                        stdin=subprocess.DEVNULL,
                        stdout=log,
                        stderr=log,
                        start_new_session=True,
                    )
                )
        try:
            yield tuple(process.pid for process in processes)
        except ArenaFailed as error:
            raise ArenaFailed(f"{error}\n{self._last_lines()}") from None
        finally:
            for process in processes:
                process.terminate()
            for process in processes:
                try:
                    process.wait(GRACE_SECONDS)
                except subprocess.TimeoutExpired:
                    os.killpg(process.pid, signal.SIGKILL)
                    process.wait()

    def remove(self) -> None:
        """Remove this arena's containers and then its images from the engine."""
        if self._sandbox != "docker":
            return
        from arena_kit.image.engine import connect

        client = connect()
        try:
            for container in client.containers.list(all=True, ignore_removed=True):
                if str(container.attrs["Config"]["Image"]).startswith(self._prefix):
                    container.remove(force=True)
            for image in client.images.list():
                for tag in image.tags:
                    if tag.startswith(self._prefix):
                        client.images.remove(tag, force=True)
        finally:
            client.close()

    def _await_workers(self, counts: dict[str, int]) -> None:
        """Wait until every worker of these queues is in its loop, and so has loaded its code."""
        from core.jobs.worker_selectors import workers_alive

        wait_until(
            lambda: sum(min(count, workers_alive(queue).count()) for queue, count in counts.items()),
            sum(counts.values()),
        )

    def _last_lines(self) -> str:
        return "\n".join((self._folder / "workers.log").read_text(errors="replace").splitlines()[-15:])


def zipped(source: str) -> bytes:
    """Return an archive with this `player.py`."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("player.py", source)
    return file.getvalue()


def wait_until(count: Callable[[], int], goal: int) -> None:
    """Return once `count` has reached `goal`. Raises ArenaFailed if it does not grow for too long."""
    last, moved = None, time.monotonic()
    while (now := count()) < goal:
        if now != last:
            last, moved = now, time.monotonic()
        elif time.monotonic() - moved > STALL_SECONDS:
            raise ArenaFailed(f"No progress for {STALL_SECONDS:.0f} s, at {now} of {goal}.")
        time.sleep(STEP_SECONDS)
