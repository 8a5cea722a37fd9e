"""Run the suite: what uses the database on PostgreSQL, where it can be had, and everything on SQLite.

It runs in parts that go at once, because tests with players and browsers wait more than they compute. Each is shown
whole, one after the other. The last line is pytest's own summary, of a part that failed if one did, and the exit code
is not zero then.
"""

from __future__ import annotations

import os
import pwd
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO
from urllib.parse import quote

ROOT = Path(__file__).resolve().parent.parent
SERVER_OPTIONS = (
    "-c listen_addresses='' -c fsync=off -c synchronous_commit=off -c full_page_writes=off -c max_connections=200"
)
"""No network, and no care for a power cut: the data live as long as the tests."""


class NoPostgres(Exception):
    """PostgreSQL cannot be had here; the message says why."""


@dataclass(frozen=True)
class Part:
    """Tests that one pytest runs. arguments: which. variables: added to the environment."""

    name: str
    arguments: Sequence[str]
    variables: Mapping[str, str] = field(default_factory=dict)


ON_SQLITE = (
    Part("Without containers", ("-m", "not docker and not postgres and not slow")),
    Part("Slow ones without containers", ("-m", "slow and not docker and not postgres")),
    Part("Hostile players in containers", ("-m", "docker and hostile")),
    Part("With containers", ("-m", "docker and not hostile and not postgres")),
)
NOTHING_COLLECTED = 5


def main(arguments: list[str]) -> int:
    """Run all with further pytest arguments; return the exit code."""
    # A stop from outside becomes an exception, so that the private server and all parts are stopped as well.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    required = os.environ.get("ARENA_REQUIRE", "").replace(" ", "").split(",")
    parts: Sequence[Part] = ON_SQLITE
    with ExitStack() as stack:
        try:
            url = stack.enter_context(postgres_url())
        except NoPostgres as reason:
            if "postgres" in required or "all" in required:
                print(f"PostgreSQL is required here: {reason}", file=sys.stderr)
                return 1
            print(f"=== Without PostgreSQL: {reason}", flush=True)
        else:
            parts = (Part("The database on PostgreSQL", ["--database-only"], {"DATABASE_URL": url}), *ON_SQLITE)
        if "--pdb" in arguments or (os.cpu_count() or 1) < 2:
            return worst([run_pytest([*part.arguments, *arguments], part.variables) for part in parts])
        return run_at_once(parts, arguments)


def run_at_once(parts: Sequence[Part], arguments: Sequence[str]) -> int:
    """Run all parts, show one after the other, and the end of a failed one last; return the exit code."""
    with ExitStack() as stack:
        started = [
            (part, *stack.enter_context(running(part, arguments, own_redis(number))))
            for number, part in enumerate(parts)
        ]
        summaries = []
        for part, process, output in started:
            print(f"=== {part.name}", flush=True)
            follow(process, output)
            if process.returncode not in (0, NOTHING_COLLECTED):
                summaries.append((part, process, output))
        if summaries and summaries[-1][1] is not started[-1][1]:
            part, _, output = summaries[-1]
            print(f"=== {part.name}: failed, as shown above")
            output.seek(0)
            print(output.read().rpartition(" short test summary info ")[2].partition("\n")[2], end="", flush=True)
        return worst([process.returncode for _, process, _ in started])


def worst(codes: list[int]) -> int:
    """The exit code of all parts. That nothing was chosen is a mistake only when no part has chosen anything."""
    failed = [code for code in codes if code not in (0, NOTHING_COLLECTED)]
    return failed[0] if failed else min(codes)


@contextmanager
def running(
    part: Part, arguments: Sequence[str], variables: Mapping[str, str]
) -> Iterator[tuple[subprocess.Popen[bytes], IO[str]]]:
    """A part that runs with its output in a file; stopped at the end."""
    with tempfile.TemporaryDirectory(prefix="arena-tests-") as folder:
        path = Path(folder) / "output"
        with path.open("wb") as sink:
            process = subprocess.Popen(
                pytest_command([*part.arguments, *arguments]),
                cwd=ROOT,
                # By default the processes of an arena count together, and one goes on where another has ended.
                env=variables_for({**part.variables, **variables, "METRICS_DIR": f"{folder}/metrics"}),
                stdin=subprocess.DEVNULL,
                stdout=sink,
                stderr=subprocess.STDOUT,
            )
        try:
            with path.open(errors="replace") as output:
                yield process, output
        finally:
            stop(process)


def own_redis(number: int) -> Mapping[str, str]:
    """A database so much above the one that ARENA_TEST_REDIS_URL names, if it does: some tests empty theirs."""
    named = re.fullmatch(r"(.*(?:[?&]db=|://[^/]+/))(\d+)", os.environ.get("ARENA_TEST_REDIS_URL", ""))
    return {"ARENA_TEST_REDIS_URL": f"{named[1]}{int(named[2]) + number}"} if named else {}


def follow(process: subprocess.Popen[bytes], output: IO[str]) -> None:
    """Print what a part writes until it ends."""
    ended = False
    while not ended:
        ended = process.poll() is not None
        shutil.copyfileobj(output, sys.stdout)
        sys.stdout.flush()
        if not ended:
            time.sleep(0.5)


def stop(process: subprocess.Popen[bytes]) -> None:
    """As Ctrl-C does, after which pytest takes down what its tests have set up; by force if that takes a minute."""
    if process.poll() is None:
        process.send_signal(signal.SIGINT)
        try:
            process.wait(timeout=60)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def run_pytest(arguments: Sequence[str], variables: Mapping[str, str]) -> int:
    """Run pytest in the foreground under the arena's default variables and `variables`; return its exit code."""
    return subprocess.run(pytest_command(arguments), cwd=ROOT, env=variables_for(variables), check=False).returncode


def pytest_command(arguments: Sequence[str]) -> list[str]:
    return [sys.executable, "-m", "pytest", *arguments]


def variables_for(variables: Mapping[str, str]) -> dict[str, str]:
    return {**{name: value for name, value in os.environ.items() if name != "DATABASE_URL"}, **variables}


@contextmanager
def postgres_url() -> Iterator[str]:
    """A database address: the given ARENA_TEST_DATABASE_URL, or that of a private server. Raises NoPostgres."""
    given = os.environ.get("ARENA_TEST_DATABASE_URL")
    if given:
        yield given
        return
    programs = postgres_programs()
    folder = Path(tempfile.mkdtemp(prefix="arena-pg-"))
    user = unprivileged_user()
    try:
        if user is not None:
            os.chown(folder, user, -1)
        data = folder / "data"
        call([programs / "initdb", "-D", data, "-U", "arena", "-A", "trust", "-E", "UTF8", "--no-sync"], user)
        options = f"{SERVER_OPTIONS} -k {folder}"
        call([programs / "pg_ctl", "-D", data, "-w", "-l", folder / "log", "-o", options, "start"], user)
        try:
            yield f"postgresql://arena@{quote(str(folder), safe='')}/postgres"
        finally:
            call([programs / "pg_ctl", "-D", data, "-w", "-m", "immediate", "stop"], user)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def postgres_programs() -> Path:
    """Folder of initdb and pg_ctl, the newest version installed. Raises NoPostgres."""
    debian = sorted(Path("/usr/lib/postgresql").glob("*/bin"), key=lambda path: int(path.parent.name), reverse=True)
    on_path = shutil.which("initdb")
    for folder in [*debian, *([Path(on_path).parent] if on_path else [])]:
        if (folder / "initdb").exists() and (folder / "pg_ctl").exists():
            return folder
    raise NoPostgres("its server is not installed (on Debian: apt install postgresql).")


def unprivileged_user() -> int | None:
    """The user id that the server runs as: it refuses root. None: the caller's own."""
    if os.geteuid() != 0:
        return None
    for name in ("postgres", "nobody"):
        try:
            return pwd.getpwnam(name).pw_uid
        except KeyError:
            continue
    raise NoPostgres("it does not run as root, and there is no user postgres or nobody.")


def call(command: list[str | Path], user: int | None) -> None:
    """Run a server program to its end. Raises NoPostgres with its output when it fails."""
    # The server's output must not be a pipe: the daemon would hold it open for ever.
    with tempfile.TemporaryFile("w+") as output:
        done = subprocess.run(
            command, user=user, cwd="/", stdin=subprocess.DEVNULL, stdout=output, stderr=output, check=False
        )
        output.seek(0)
        if done.returncode != 0:
            raise NoPostgres(f"{Path(command[0]).name} failed: {output.read().strip()}")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
