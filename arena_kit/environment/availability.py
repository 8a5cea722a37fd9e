"""Finds out which environments can be made on this machine, in a process of its own that may crash or hang.

Run as a program, it is that process: it tries the environments one by one, and writes a line of JSON before and after
each.
"""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from arena_kit.environment.openings import NoOpening, check_openings
from arena_kit.environment.protocol import MissingExtra
from arena_kit.environment.registry import all_specs, get_spec, use_folder
from arena_kit.environment.spec import EnvironmentSpec
from arena_kit.machine import processes

TRIAL_SECONDS = 60.0
"""Limit on the wall and processor time of all trials together; environments not tried by then count as available."""
ONE_TRIAL_SECONDS = 15.0
"""Limit on the wall time of one trial; making an environment normally takes milliseconds."""
MOST_AGAIN = 3
"""So many environments that took too long are tried once more, alone and with twice the time."""
ROOT = Path(__file__).resolve().parents[2]


@dataclass(frozen=True, slots=True)
class Unavailability:
    """Why an environment cannot be made."""

    because: str
    """A sentence for organisers."""
    is_missing: bool = False
    """Whether a package that the environment names is not installed; otherwise the environment is broken."""
    hint: str = ""
    """The command that installs the package."""


def trouble_of(spec: EnvironmentSpec) -> Unavailability | None:
    """Make the environment and begin an episode in this process; return what went wrong, or None."""
    try:
        environment = spec.make()
        environment.reset(0)
        for seat in environment.to_move:
            environment.observe(seat)
        check_openings(spec)
    except NoOpening as error:
        return Unavailability(str(error))
    except MissingExtra as error:
        return Unavailability(str(error), is_missing=True, hint=error.hint)
    except ImportError as error:
        return Unavailability(f"{spec.id} cannot be loaded: {error}")
    except Exception as error:
        return Unavailability(f"{spec.id} cannot be made: {type(error).__name__}: {error}")
    return None


class Trials:
    """Tries environments in the background; `finish` waits for the results."""

    def __init__(
        self, slugs: Iterable[str], folders: Sequence[Path] = (), *, seconds: float = ONE_TRIAL_SECONDS
    ) -> None:
        """slugs: the environments to try. folders: as for `use_folder`. seconds: limit on one trial's wall time."""
        self._left, self._folders, self._seconds = list(slugs), [str(folder) for folder in folders], seconds
        self._late: list[str] = []
        self._until = time.monotonic() + TRIAL_SECONDS
        self._process = self._start()

    def finish(self) -> dict[str, Unavailability]:
        """Return the trouble by slug; environments without an entry can be made."""
        found = self._collect()
        # Loading a large library takes long on a busy machine, and less the second time.
        for slug in self._late[:MOST_AGAIN]:
            again = Trials([slug], [Path(folder) for folder in self._folders], seconds=2 * self._seconds)
            del found[slug]
            found |= again._collect()
        return found

    def _collect(self) -> dict[str, Unavailability]:
        found: dict[str, Unavailability] = {}
        while self._left:
            output, hangs = self._read()
            tried = ""
            for line in output.splitlines():
                with contextlib.suppress(ValueError, KeyError, TypeError):
                    said = json.loads(line)
                    tried = said["slug"]
                    if said["tried"]:
                        self._left.remove(tried)
                        if said["trouble"]:
                            found[tried] = Unavailability(**said["trouble"])
            if not self._left or not tried:
                break
            # The process crashed or hung at `tried`; a new one goes on with the rest.
            if tried in self._left:
                self._left.remove(tried)
                self._late += [tried] if hangs else []
                what = f"takes more than {self._seconds:g} s" if hangs else "ends the process that tries it"
                found[tried] = Unavailability(f"{tried} cannot be made: it {what}.")
            if time.monotonic() > self._until:
                break
            self._process = self._start()
        return found

    def _start(self) -> subprocess.Popen[str] | None:
        if not self._left:
            return None
        wanted = json.dumps([self._folders, self._left, self._seconds])
        command = [sys.executable, "-m", "arena_kit.environment.availability", wanted]
        variables = os.environ | {"PYTHONPATH": os.pathsep.join([str(ROOT), *filter(None, sys.path)])}
        return subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            env=variables,
            **processes.apart(),
        )

    def _read(self) -> tuple[str, bool]:
        """Return what the process printed, and whether it took too long."""
        assert self._process is not None
        with self._process as process:
            try:
                output, _ = process.communicate(timeout=TRIAL_SECONDS)
            except subprocess.TimeoutExpired:
                process.kill()
                output, _ = process.communicate()
                return output, True
            return output, process.returncode == processes.ALARM_STATUS


def _try_all(slugs: Sequence[str], seconds: float) -> None:
    processes.limit("CORE", 0)
    processes.limit("CPU", int(TRIAL_SECONDS))
    # Answers go to a copy of standard output; what libraries print goes to standard error.
    out = os.dup(1)
    os.dup2(2, 1)
    for slug in slugs:
        _say(out, {"slug": slug, "tried": False})
        processes.alarm(seconds)
        # This process is as good as an environment server, and knows a missing package by its exception.
        trouble = trouble_of(replace(get_spec(slug), is_outside=False, kept_text=""))
        processes.alarm(0)
        shown = (
            None
            if trouble is None
            else {
                "because": trouble.because,
                "is_missing": trouble.is_missing,
                "hint": trouble.hint,
            }
        )
        _say(out, {"slug": slug, "tried": True, "trouble": shown})


def _say(out: int, answer: object) -> None:
    os.write(out, json.dumps(answer).encode() + b"\n")


def main() -> None:
    """Try the environments that the only argument names as JSON: [folders, slugs, seconds of one trial]."""
    folders, slugs, seconds = json.loads(sys.argv[1])
    for folder in folders:
        use_folder(Path(folder))
    known = {spec.slug for spec in all_specs()}
    _try_all([slug for slug in slugs if slug in known], seconds)


if __name__ == "__main__":
    main()
