"""The process that tries one folder: `python -m ... WIRE PARENT INFO`. It writes one line of JSON."""

from __future__ import annotations

import json
import os
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any

from arena_kit.environment.conformance import NotConforming, check_environment
from arena_kit.environment.outside import trial
from arena_kit.environment.outside.limited import Timer, confine, wire_of
from arena_kit.environment.outside.sentences import TooLong, sentence_of
from arena_kit.machine.processes import alarm

MATCHES = 3
SECONDS = 18.0
"""After this time the trial ends itself and names the line; its parent kills it a little later."""


def limit_time(seconds: float, told: float) -> None:
    """Raise TooLong in the code that runs when this process could have run for some seconds. told: those it names."""
    timer = Timer(os.getpid())

    def look() -> None:
        if (left := seconds - timer.seconds()) <= 0:
            raise TooLong(f"it takes more than {told:g} s")
        alarm(max(left, 0.1), look)

    alarm(seconds, look)


def try_here(path: Path) -> dict[str, Any]:
    """Try a folder in this process; return {"because", "facts", "notes"}. Raises what its code raises."""
    # Late: the limits of this process come first.
    from arena_kit.environment.info import BadInfo, read_info

    folder, facts = path.parent.resolve(), None
    try:
        spec = read_info(path)
        if spec.classic is not None:
            # Late: the limits of this process come first.
            from arena_kit.environment.outside.learning import learn

            facts = learn(folder, max_steps=spec.max_steps)
            spec = read_info(path, facts)
        check_environment(spec, matches=MATCHES, with_picture=False)
        if spec.classic is not None:
            # Late: the limits of this process come first.
            from arena_kit.environment.adapters.classic.environment import ClassicEnvironment, head_of, html_of

            environment = ClassicEnvironment(spec)
            environment.reset(0)
            head_of(spec)
            html_of(spec, environment.frame()["state"])
    except BadInfo as error:
        return {"because": str(error)}
    except NotConforming as error:
        return {"because": sentence_of(error, folder)}
    return {"because": "", "facts": None if facts is None else asdict(facts)}


def main() -> None:
    """Try the folder of an `info.yml` and write what came of it."""
    wire, parent, name = wire_of(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
    confine(parent, processor_seconds=30)
    process = os.getpid()
    limit_time(SECONDS, trial.SECONDS)
    path = Path(name)
    try:
        said = try_here(path)
    except BaseException as error:
        said = {"because": sentence_of(error, path.parent.resolve())}
    alarm(0)
    if os.getpid() == process:
        wire.sendall(json.dumps(said).encode() + b"\n")
    os._exit(0)


if __name__ == "__main__":
    main()
