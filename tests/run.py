"""Run the suite: everything on PostgreSQL, where it can be had, and on SQLite what can differ there.

    python tests/run.py [--nightly] [pytest's arguments]

Without PostgreSQL everything runs on SQLite, but for what is slow. `--nightly` adds what is slow and rarely breaks, and
runs all tests that use the database on SQLite, too. The processes of a run share its tests. The last line is pytest's
own summary, of a part that failed if one did, and the exit code is not zero then.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
from collections import deque
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

# Started as a file, Python looks for packages beside this file only.
ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from tests.postgres import NoPostgres, postgres_url  # noqa: E402  (as above)

WORKERS_PER_CORE = 2
"""Tests with players, browsers and databases wait as long as they compute. Those for SQLite alone do not."""
NOTHING_COLLECTED = 5
TAIL_LINES = 200


@dataclass(frozen=True)
class Part:
    """Tests that one pytest runs.

    arguments: which. variables: added to the environment. workers_per_core: processes that share them.
    """

    name: str
    arguments: Sequence[str] = ()
    variables: Mapping[str, str] = field(default_factory=dict)
    workers_per_core: int = WORKERS_PER_CORE


def main(arguments: list[str]) -> int:
    """Run all parts with further pytest arguments; return the exit code."""
    # A stop from outside becomes an exception, so that the private server and pytest are stopped as well.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    required = os.environ.get("ARENA_REQUIRE", "").replace(" ", "").split(",")
    with ExitStack() as stack:
        try:
            url = stack.enter_context(postgres_url())
        except NoPostgres as reason:
            if "postgres" in required or "all" in required:
                print(f"PostgreSQL is required here: {reason}", file=sys.stderr)
                return 1
            print(f"=== On SQLite: there is no PostgreSQL here, {reason}", flush=True)
            # Who has just cloned the arena gets an answer soon; who works on it has PostgreSQL.
            shortened = [] if "--nightly" in arguments else ["--no-slow"]
            return run([Part("Everything on SQLite", shortened)], arguments)
        on_sqlite = Part("What can differ on SQLite", ["--both-databases"], workers_per_core=1)
        if "--nightly" in arguments:
            on_sqlite = Part(on_sqlite.name, ["--database-only"])
        return run(
            [
                on_sqlite,
                Part("Everything on PostgreSQL", (), {"DATABASE_URL": url}),
            ],
            arguments,
        )


def run(parts: Sequence[Part], arguments: Sequence[str]) -> int:
    """Run one part after the other, and show the end of one that failed last; return the exit code."""
    ended = [run_part(part, arguments) for part in parts]
    failed = [(part, code, tail) for part, (code, tail) in zip(parts, ended, strict=True) if is_failure(code)]
    if not failed:
        # That nothing was chosen is a mistake only when no part has chosen anything.
        return min(code for code, _ in ended)
    part, code, tail = failed[-1]
    if part is not parts[-1]:
        print(f"=== {part.name}: failed, as shown above")
        print(tail.rpartition(" short test summary info ")[2].partition("\n")[2], end="", flush=True)
    return code


def is_failure(code: int) -> bool:
    return code not in (0, NOTHING_COLLECTED)


def run_part(part: Part, arguments: Sequence[str]) -> tuple[int, str]:
    """Run a part, show its output; return its exit code and the end of its output."""
    print(f"=== {part.name}", flush=True)
    command = [sys.executable, "-m", "pytest", *part.arguments, *spread(arguments, part.workers_per_core), *arguments]
    tail: deque[str] = deque(maxlen=TAIL_LINES)
    with tempfile.TemporaryDirectory(prefix="arena-tests-") as folder:
        # By default the processes of an arena count together, and one goes on where another has ended.
        variables = variables_for({**part.variables, "METRICS_DIR": f"{folder}/metrics"})
        if "--pdb" in arguments:
            return subprocess.run(command, cwd=ROOT, env=variables, check=False).returncode, ""
        process = subprocess.Popen(
            command, cwd=ROOT, env=variables, text=True, errors="replace",
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        )  # fmt: skip
        try:
            assert process.stdout is not None
            while text := process.stdout.readline():
                tail.append(text)
                print(text, end="", flush=True)
            process.wait()
        finally:
            stop(process)
    return process.returncode, "".join(tail)


def spread(arguments: Sequence[str], workers_per_core: int) -> list[str]:
    """Arguments that share the tests among processes, unless `arguments` say how or ask for a debugger."""
    if any(word == "--pdb" or word.startswith(("-n", "--numprocesses")) for word in arguments):
        return []
    return ["-n", str(workers_per_core * (os.cpu_count() or 1)), "--dist", "worksteal"]


def stop(process: subprocess.Popen[str]) -> None:
    """As Ctrl-C does, after which pytest takes down what its tests have set up; by force if that takes a minute."""
    if process.poll() is None:
        process.send_signal(signal.SIGINT)
        try:
            process.wait(timeout=60)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def variables_for(variables: Mapping[str, str]) -> dict[str, str]:
    """The environment of a part: without the caller's database."""
    return {**{name: value for name, value in os.environ.items() if name != "DATABASE_URL"}, **variables}


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
