"""The start of a script submission, and its end."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from arena_kit.sandbox.ending import Ending
from arena_kit.text import plain_text

MAX_LOG_BYTES = 512 << 10
"""Largest `log_limit_bytes`: a byte of output can take six in a supervisor's line, which is at most
`control.LINE_BYTES` long."""
BEST_EFFORT, IDLE = 2, 3
"""Scheduling classes of ionice(1)."""
ENVIRONMENT_ID = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.:/-]{0,127}", re.ASCII)
COLOURS = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|\ufeff")
"""Matches what terminals read as colours and movements, and the mark that some editors put before a text."""
OnOutput = Callable[[str], None]
"""A function called about once a second with the end of the output; an exception that it raises ends the script."""


@dataclass(frozen=True, slots=True)
class ScriptLimits:
    """The limits of a script submission. Raises ValueError for values out of range."""

    memory_limit_bytes: int = 512 << 20
    cpu_count: float = 0.5
    pids: int = 50
    seconds: float = 300.0
    """Wall time from the start of the script to its end."""
    start_seconds: float = 60.0
    """Wall time for the engine and the supervisor before the script starts."""
    log_limit_bytes: int = 256 << 10
    """Bytes kept of the end of the output, where the score is."""
    nice: int = 10
    """Niceness as in nice(1), 0 to 19; a container's share of a busy host shrinks in the same proportion."""
    ionice_class: int = BEST_EFFORT
    ionice_level: int = 7
    """Priority within the best-effort class, from 4 (the usual one) to 7 (the lowest); not used with IDLE."""
    file_limit_bytes: int = 64 << 20
    """Largest file that it may write; the container's /tmp limits all files together."""
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
            given = ", ".join(f"{name}={getattr(self, name)}" for name in wrong)
            raise ValueError(f"These limits of a script are out of range: {given}.")


@dataclass(frozen=True, slots=True)
class ScriptLaunch:
    """The script to run, as `python -u submission.py ENVIRONMENT_ID` in the folder of the submission's files.

    image, name, packages, labels, core: as in a player's `Launch`. Raises ValueError when `environment_id` is not a
    valid id.
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

    exit_status: as in `subprocess`, negative for a signal; None when the script had to be ended. cpu_seconds: CPU time
    of its container, including about a tenth of a second for the supervisor; None when unknown. log: the end of both
    its outputs as plain text with newlines; begins with `[N bytes cut]` when the beginning is missing. printed:
    the same of standard output alone; empty where it is not known apart.
    """

    ending: Ending
    exit_status: int | None
    wall_seconds: float
    cpu_seconds: float | None
    log: str
    printed: str = ""


def plain_output(printed: str) -> str:
    """Return output as plain text without colours; a carriage return, as progress bars print it, begins a new line."""
    return plain_text(re.sub("\r\n?", "\n", COLOURS.sub("", printed)))
