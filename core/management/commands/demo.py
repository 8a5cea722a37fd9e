"""The whole arena on one machine: `make demo`."""

from __future__ import annotations

import io
import logging
import os
import signal
import sys
import time
from argparse import SUPPRESS, ArgumentParser
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from hashlib import blake2b
from pathlib import Path
from typing import Any, NoReturn
from urllib.parse import urlsplit

from django.conf import settings
from django.core.management import call_command
from django.core.management.base import BaseCommand, CommandError
from django.db.models import Q

from arena_kit.environment.registry import all_specs
from arena_kit.machine.files import lock
from arena_kit.machine.processes import ending_signals
from arena_kit.sandbox.choice import containers, trial
from core.demo.accounts import ORGANISER, OWNER, account
from core.demo.agents import SCORED, examples_upload, images_follow_sandbox
from core.demo.application import ApplicationDemo, images_missing
from core.demo.processes import Child, free_port, port_answers, port_is_free
from core.demo.progress import failures, leaderboard, stages
from core.jobs.control import job_requeue
from core.jobs.kinds import JOB_MODELS
from core.jobs.messages import BASE_IMAGE_TASK, TOURNAMENT_TASK, task_request
from core.jobs.registry import CHORES, TASKS
from core.jobs.states import StaleJob
from core.models import Environment, EnvironmentKind, JobState
from core.rollouts.permissions import MEMBERS

HOST = "127.0.0.1"
DEFAULT_PORT = 8000
DEFAULT_MATCHES = 100
"""Matches per duel: enough to tell the example players apart, few enough for a quick first leaderboard."""
LONG_STEPS, LONG_MATCHES = 100, 10
"""Where a match can have more steps than this, a duel of the demo has this many matches."""
POLL_SECONDS = 0.5
PROGRESS_SECONDS = 10.0
"""Minimum time between two lines of progress."""
START_SECONDS = 120.0
"""Time for the site to collect its static files and to answer."""
STALL_SECONDS = 180.0
GRACE_SECONDS = settings.STOP_GRACE_SECONDS + 10.0
"""Longer than `run_workers` waits for its workers."""


class Command(BaseCommand):
    help = "Set up and run the whole arena here, with example agents, until it is stopped."
    requires_migrations_checks = False
    requires_system_checks = ()
    """The first stage creates the data folder, and the second one runs the checks."""

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--port", type=int, default=DEFAULT_PORT, help=f"port of the site on {HOST}")
        parser.add_argument(
            "--sandbox", choices=["auto", "docker", "process"], default="auto", help="default: docker where it works"
        )
        parser.add_argument(
            "--matches", type=int, help=f"matches per duel, even (default: {DEFAULT_MATCHES}, later the last value)"
        )
        parser.add_argument("--once", action="store_true", help="stop once the first leaderboards are complete")
        # For the second stage, which runs with the variables that the first one chose: when the first one began.
        parser.add_argument("--started-at", type=float, help=SUPPRESS)

    def handle(self, *args: Any, **options: Any) -> None:
        if not settings.DEBUG:
            raise CommandError("The demo is for your own machine and needs DEBUG=true: use `make demo`.")
        if options["matches"] is not None and (options["matches"] < 2 or options["matches"] % 2):
            raise CommandError("The matches per duel must be an even number from 2, because the players change seats.")
        if options["started_at"] is None:
            self._choose(options["sandbox"], options["port"])
        self.check()
        # Progress replaces the log of successes; warnings and errors are still shown.
        logging.disable(logging.INFO)
        for number in ending_signals():
            signal.signal(number, _stop)
        try:
            with ExitStack() as stack:
                self._run(stack, options)
        except KeyboardInterrupt:
            self._say("Stopped. `make demo` continues where it stopped.")

    def _choose(self, wanted: str, port: int) -> NoReturn:
        """Choose the sandbox and a port for live events, then restart with them.

        Settings are read once, and children inherit them.
        """
        started_at, data = time.monotonic(), settings.DATA_DIR.resolve()
        data.mkdir(parents=True, exist_ok=True)
        variables = {
            "DATA_DIR": str(data),
            "SANDBOX": (sandbox := self._choose_sandbox(wanted)),
            "ROLLOUTS": os.environ.get("ROLLOUTS") or self._choose_rollouts(sandbox),
            # Two arenas on one engine must not use each other's images.
            "PLAYER_IMAGE_PREFIX": f"rl-arena-demo-{blake2b(bytes(data), digest_size=4).hexdigest()}",
            "EVENTS_URL": f"http://{HOST}:{free_port(HOST, other=port)}/events",
            # The demo listens on this machine only.
            "ANONYMOUS_SUBMISSIONS": os.environ.get("ANONYMOUS_SUBMISSIONS", "true"),
        }
        if sys.platform == "darwin":
            # Workers fork, which Objective-C otherwise ends the process for.
            variables["OBJC_DISABLE_INITIALIZE_FORK_SAFETY"] = "YES"
        if not settings.EMAIL_HOST:
            # The page /demo/mail/ shows them.
            variables["EMAIL_URL"] = (data / "mails").as_uri()
        if not settings.SITE_URL:
            # Links in mails and webhooks lead to the demo as well.
            variables["SITE_URL"] = f"http://{HOST}:{port}"
        os.execve(
            sys.executable,
            [sys.executable, *sys.argv, "--started-at", str(started_at)],
            {**os.environ, **variables},
        )

    def _run(self, stack: ExitStack, options: dict[str, Any]) -> None:
        port, data = options["port"], settings.DATA_DIR
        stack.enter_context(only_one(data / "demo.lock"))
        if not port_is_free(HOST, port):
            raise CommandError(
                f"Port {port} on {HOST} is in use. Stop the program that uses it, or run: make demo PORT={port + 1}"
            )
        environments = self._prepare(data, options["matches"])
        children = stack.enter_context(self._children(data / "logs", port))
        self._wait_for_site(children, port)
        address = f"http://{HOST}:{port}/"
        self._say(f"The site is up: {address} (live events: {settings.EVENTS_URL})")
        # Meanwhile the workers have begun with the games.
        examples_upload(account(data, OWNER), [row for row in environments if row.is_scored], self._say)
        self._follow(children, environments, gives_up=options["once"])
        self._say(f"Leaderboards complete after {time.monotonic() - options['started_at']:.0f} s.")
        if options["once"]:
            return
        if not settings.CHART_LIBRARY.is_dir():
            self._say("Charts are shown as tables: `npm ci --ignore-scripts` installs the library that draws them.")
        self._say(f"Open {address} (Ctrl-C stops everything and keeps the data).")
        # Only now: the leaderboards need the cores first.
        application = ApplicationDemo(account(data, ORGANISER), account(data, OWNER), self._say)
        while True:
            self._check(children)
            if settings.ROLLOUTS == MEMBERS:
                application.follow()
            time.sleep(POLL_SECONDS)

    def _choose_sandbox(self, wanted: str) -> str:
        """Return "docker" where an engine answers, has or gets a base image and starts a player, else "process"."""
        if wanted == "process":
            self._say("Sandbox: local processes, as you asked. Run only players that you trust.")
            return "process"
        try:
            TASKS[BASE_IMAGE_TASK](settings.PLAYER_BASE_IMAGE)
            runtime, channels = settings.PLAYER_CONTAINERS["runtime"], settings.CHANNEL_DIR
            trial(containers(base_image=settings.PLAYER_BASE_IMAGE, runtime=runtime, channel_dir=channels))
        except Exception as error:
            if wanted == "docker":
                raise CommandError(f"The Docker sandbox cannot be used: {error}") from error
            reason = " ".join(str(error).split())[:200].rstrip(".")
            self._say(
                f"Sandbox: local processes, because Docker does not work ({reason}). Run only players that you trust."
            )
            return "process"
        self._say(f"Sandbox: Docker, because a player starts there, on the base image {settings.PLAYER_BASE_IMAGE}.")
        return "docker"

    def _choose_rollouts(self, sandbox: str) -> str:
        """Return who may ask for rollouts: everyone where Docker is used and has their images, else no one."""
        reason = images_missing() if sandbox == "docker" else "applications need Docker"
        if not reason:
            return MEMBERS
        self._say(f"Applications: left out, because {reason}. `make rollout` makes the images.")
        return "false"

    def _prepare(self, data: Path, matches: int | None) -> list[Environment]:
        self._say(f"Data: {data}")
        call_command("migrate", verbosity=0, interactive=False)
        is_new = not Environment.objects.exists()
        call_command("sync_environments", verbosity=0, allow_left_out=True, stdout=io.StringIO())
        long = [spec.slug for spec in all_specs() if spec.max_steps > LONG_STEPS]
        if is_new or matches is not None:
            Environment.objects.filter(seats__gt=1).update(matches_per_duel=matches or DEFAULT_MATCHES)
        if is_new and matches is None:
            Environment.objects.filter(seats__gt=1, slug__in=long).update(matches_per_duel=LONG_MATCHES)
        in_demo = Q(seats__gt=1) | Q(env_id__in=SCORED)
        available = Environment.objects.filter(is_active=True, unavailable_because="")
        environments = list(available.filter(in_demo).order_by("-seats", "name"))
        # Short games come first, so that the first leaderboard is soon there.
        environments.sort(key=lambda environment: (environment.is_scored, environment.slug in long))
        games = [environment for environment in environments if not environment.is_scored]
        counts = ", ".join(f"{environment} ({environment.matches_per_duel})" for environment in games)
        self._say(f"Environments and their matches per duel: {counts}. MATCHES=... changes the number.")
        missing = Environment.objects.filter(is_active=True).exclude(unavailable_because="")
        missing = missing.exclude(kind=EnvironmentKind.APP)
        if names := ", ".join(missing.values_list("name", flat=True)):
            self._say(f"Not available here because packages are missing: {names}. `make extras` installs them.")
        organiser = account(data, ORGANISER)
        password = (kept := data / f"{ORGANISER}-password").read_text().strip()
        self._say(f"Organiser: log in as {organiser.email}, password {password} (kept in {kept})")
        examples_upload(account(data, OWNER), games, self._say)
        rebuilt = images_follow_sandbox(data / "sandbox", settings.SANDBOX)
        if rebuilt:
            self._say(f"The sandbox has changed: {rebuilt} submissions are rebuilt.")
        self._resume(environments)
        return environments

    def _resume(self, environments: list[Environment]) -> None:
        """Continue where the last run stopped. The lock guarantees that no other worker is alive."""
        give_back_running("The arena was started again.")
        for environment in environments:
            task_request("tournament", TOURNAMENT_TASK, environment.pk)

    @contextmanager
    def _children(self, logs: Path, port: int) -> Iterator[list[Child]]:
        """Run the site and the workers; stop both and their containers at the end."""
        logs.mkdir(exist_ok=True)
        site = [sys.executable, "-m", "core.demo.site", f"{HOST}:{port}"]
        workers = [sys.executable, str(settings.BASE_DIR / "manage.py"), "run_workers"]
        events = [sys.executable, "-m", "gunicorn", "core.asgi", "--worker-class", "asgi", "--graceful-timeout", "1"]
        # The site has the control socket of this machine.
        events += ["--no-control-socket", "--bind", urlsplit(settings.EVENTS_URL).netloc]
        children: list[Child] = []
        try:
            for name, command in (("site", site), ("workers", workers), ("events", events)):
                children.append(Child(name, command, log_path=logs / f"{name}.log"))
            yield children
        finally:
            # A second Ctrl-C must not leave containers behind.
            for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
                signal.signal(number, signal.SIG_IGN)
            self._say("Stopping the site and the workers ...")
            for child in children:
                child.ask_to_stop()
            deadline = time.monotonic() + GRACE_SECONDS
            while any(child.is_running for child in children) and time.monotonic() < deadline:
                # A worker drops a job that it has lost, instead of finishing a long duel first.
                give_back_running("The arena was stopped.")
                time.sleep(POLL_SECONDS)
            for child in children:
                child.stop(grace_seconds=POLL_SECONDS)
            give_back_running("The arena was stopped.")
            # Rollouts have no queue here without an engine, and what clears up after them needs one.
            for chore in (chore for chore in CHORES if {*chore.queues} & {*settings.QUEUES}):
                chore()

    def _wait_for_site(self, children: list[Child], port: int) -> None:
        deadline = time.monotonic() + START_SECONDS
        while not port_answers(HOST, port):
            self._check(children)
            if time.monotonic() > deadline:
                raise CommandError(f"The site did not start:\n{children[0].last_lines()}")
            time.sleep(POLL_SECONDS / 5)

    def _follow(self, children: list[Child], environments: list[Environment], *, gives_up: bool) -> None:
        """Write a line for each leaderboard when it is complete, and one of all stages now and then until then."""
        said: set[str] = set()
        last, moved_at, shown_at = "", time.monotonic(), time.monotonic()
        waiting = list(environments)
        while waiting:
            self._check(children)
            boards = {environment: leaderboard(environment) for environment in waiting}
            waiting = [environment for environment, board in boards.items() if board is None]
            for line in [*failures(environments), *filter(None, boards.values())]:
                if line not in said:
                    said.add(line)
                    self._say(line)
            if (progress := stages(environments)) != last:
                last, moved_at = progress, time.monotonic()
                if moved_at - shown_at >= PROGRESS_SECONDS:
                    shown_at = moved_at
                    self._say(progress)
            elif time.monotonic() - moved_at > STALL_SECONDS:
                stalled = f"No progress for {STALL_SECONDS:.0f} s; see the workers' log: {children[1].log_path}"
                if gives_up:
                    raise CommandError(stalled)
                self._say(stalled)
                moved_at = time.monotonic()
            time.sleep(POLL_SECONDS)

    def _check(self, children: list[Child]) -> None:
        for child in children:
            if not child.is_running:
                raise CommandError(f"The {child.name} stopped (log: {child.log_path}):\n{child.last_lines()}")

    def _say(self, text: str) -> None:
        # The terminal may be closed while the children still have to be stopped.
        with suppress(OSError):
            self.stdout.write(text)
            self.stdout.flush()


@contextmanager
def only_one(path: Path) -> Iterator[None]:
    """Hold a lock file. Raises CommandError when another demo holds it."""
    with path.open("w") as file:
        if not lock(file.fileno()):
            raise CommandError("Another demo is running with this data; stop it first.")
        yield


def give_back_running(reason: str) -> None:
    """Take every running job from its worker."""
    for model in JOB_MODELS.values():
        for job in model._base_manager.filter(state=JobState.RUNNING):
            # It may have just ended.
            with suppress(StaleJob):
                job_requeue(job=job, reason=reason)


def _stop(*_: object) -> None:
    raise KeyboardInterrupt
