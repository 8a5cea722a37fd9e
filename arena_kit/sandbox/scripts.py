"""What a script submission is given, and how it ended."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from arena_kit.sandbox.ending import Ending
from arena_kit.text import plain_text

MAX_LOG_BYTES = 512 << 10
"""A byte of output can take six in a message of the supervisor, whose lines end at `control.LINE_BYTES`."""
BEST_EFFORT, IDLE = 2, 3
"""Classes of ionice(1)."""
ENVIRONMENT_ID = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.:/-]{0,127}", re.ASCII)
Watch = Callable[[str], None]
"""Called about once a second with the end of what was printed; what it raises ends the script."""


@dataclass(frozen=True, slots=True)
class ScriptLimits:
    """What a script submission may use. Raises ValueError for values that make no sense."""

    memory_limit_bytes: int = 512 << 20
    cpu_count: float = 0.5
    pids: int = 50
    seconds: float = 300.0
    """From the start of the script to its end, by the clock on the wall."""
    start_seconds: float = 60.0
    """For the engine and our supervisor, before the script starts."""
    log_limit_bytes: int = 256 << 10
    """The end of the output is kept: the score is looked for in it."""
    nice: int = 10
    """Steps of nice(1), 0 to 19; a container gets a smaller share of a busy host in the same proportion."""
    ionice_class: int = BEST_EFFORT
    ionice_level: int = 7
    """Of the best-effort class, 4 (as everybody) to 7 (last); nothing is read before others with class 3, idle."""
    file_limit_bytes: int = 64 << 20
    """Largest file that it may write; all together are bounded by the container's /tmp."""
    open_files: int = 256

    def __post_init__(self) -> None:
        wrong = [
            name
            for name, is_right in (
                ("memory_limit_bytes", self.memory_limit_bytes >= 32 << 20),
                ("cpu_count", math.isfinite(self.cpu_count) and self.cpu_count >= 0.01),
                ("pids", self.pids >= 2),
                ("seconds", math.isfinite(self.seconds) and self.seconds > 0),
                ("start_seconds", math.isfinite(self.start_seconds) and self.start_seconds > 0),
                ("log_limit_bytes", 1024 <= self.log_limit_bytes <= MAX_LOG_BYTES),
                ("nice", 0 <= self.nice <= 19),
                ("ionice_class", self.ionice_class in {BEST_EFFORT, IDLE}),
                ("ionice_level", 4 <= self.ionice_level <= 7),
                ("file_limit_bytes", self.file_limit_bytes >= 0),
                ("open_files", self.open_files >= 16),
            )
            if not is_right
        ]
        if wrong:
            raise ValueError(f"A script's limits cannot be so: {', '.join(f'{n}={getattr(self, n)}' for n in wrong)}.")


@dataclass(frozen=True, slots=True)
class ScriptLaunch:
    """Which script to run: `python -u submission.py ENVIRONMENT_ID` in the folder of the submission's files.

    image, name, labels, core and packages: as of a player's `Launch`. Raises ValueError for an id that no environment
    can have.
    """

    image: str
    name: str
    environment_id: str
    limits: ScriptLimits
    labels: Mapping[str, str]
    core: int | None = None
    packages: str = ""

    def __post_init__(self) -> None:
        if not ENVIRONMENT_ID.fullmatch(self.environment_id):
            raise ValueError(
                "The id of an environment is up to 128 letters, digits and . _ : / -, beginning with a letter, "
                f"a digit or _, not {self.environment_id[:40]!r}."
            )


@dataclass(frozen=True, slots=True)
class ScriptEnd:
    """How a script ended.

    exit_status: as of `subprocess`, negative for a signal; None when it had to be ended. cpu_seconds: of everything in
    its container, our supervisor's tenth of a second included; None where nobody can tell. log: what it printed last
    on both its outputs, plain, lines ended by newlines only; begins with `[N bytes cut]` when that is not all.
    """

    ending: Ending
    exit_status: int | None
    wall_seconds: float
    cpu_seconds: float | None
    log: str


def plain_output(printed: str) -> str:
    """Output as it is kept and judged: a return to the beginning of a line, as of progress bars, begins a new one."""
    return plain_text(re.sub("\r\n?", "\n", printed))
