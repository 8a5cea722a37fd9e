"""Frozen, versioned descriptions of environments: what they are and under which limits they are played."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import asdict, dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

from environments.api import Environment, Frame

WIRE_RANGES: dict[str, tuple[float, float]] = {
    "int8": (-128, 127),
    "uint8": (0, 255),
    "int16": (-(2**15), 2**15 - 1),
    "int32": (-(2**31), 2**31 - 1),
    "int64": (-(2**63), 2**63 - 1),
    "float32": (-math.inf, math.inf),
    "float64": (-math.inf, math.inf),
}
"""The types of values on the wire and what fits into them."""


@dataclass(frozen=True, slots=True)
class ArraySpec:
    """Shape and types of an array a player receives.

    shape: dimensions, row-major. dtype: the NumPy type the player sees. wire: the little-endian type sent.
    """

    shape: tuple[int, ...]
    dtype: str = "int64"
    wire: str = "int8"


@dataclass(frozen=True, slots=True)
class Limits:
    """What a player may use. Organisers may change the defaults of an environment on its row."""

    cpu_count: float = 1.0
    memory_limit_bytes: int = 1 << 30
    move_seconds: float = 2.0
    """Wall time of a move that costs nothing."""
    bank_seconds: float = 30.0
    """Wall time of a match on top of `move_seconds`; when it is used up the player forfeits."""
    start_seconds: float = 30.0
    """Wall time to load the player and construct its first `Player`."""
    duel_seconds: float = 1800.0
    """Wall time of a whole duel."""
    log_limit_bytes: int = 64 * 1024
    """Bytes kept of what a player prints in a duel."""
    max_restarts: int = 3
    """Times a dead player gets a fresh container within a duel before it forfeits the rest."""


@dataclass(frozen=True, slots=True)
class EnvironmentSpec:
    """An environment at one version of its rules. A change of rules is a new version and so a new id."""

    slug: str
    version: int
    name: str
    description: str
    """Markdown."""
    image: str
    """File name under the environment's `static/` folder."""
    entry_point: str
    """`module:Class` of the Environment."""
    renderer: str
    """`module:function` taking a frame and returning SVG text."""
    seats: int
    observation: ArraySpec
    action_count: int
    """Actions are the integers 0 .. action_count - 1."""
    forfeit_score: float
    """Score of a forfeited match: the player at fault gets minus this, its opponent plus this."""
    max_steps: int
    """No match has more steps than this."""
    matches_per_duel: int
    matches_per_validation: int
    parallel_matches: int = 32
    limits: Limits = Limits()
    deterministic: bool = True

    @property
    def id(self) -> str:
        """`connect-four-v1`: the name of these exact rules, written into every record."""
        return f"{self.slug}-v{self.version}"

    @property
    def folder(self) -> Path:
        """The environment's own folder, holding `info.yml` and `static/`."""
        module_file = import_module(self.entry_point.partition(":")[0]).__file__
        assert module_file is not None
        return Path(module_file).parent

    def validate(self) -> None:
        """Check the values that types cannot. Raises ValueError with the key and a sentence."""
        whole = ("version", "seats", "action_count", "max_steps", "matches_per_duel", "parallel_matches")
        faults = [
            (name, "must be at least 1.") for name in (*whole, "matches_per_validation") if getattr(self, name) < 1
        ]
        faults += [
            (f"limits.{name}", "must be a finite number, not below 0.")
            for name, value in asdict(self.limits).items()
            if not (math.isfinite(value) and value >= 0)
        ]
        if not re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", self.slug):
            faults.append(("slug", "must be lower-case words of letters and digits joined by hyphens."))
        if not (math.isfinite(self.forfeit_score) and self.forfeit_score >= 0):
            faults.append(("forfeit_score", "must be a finite number, not below 0."))
        if not all(size >= 1 for size in self.observation.shape):
            faults.append(("observation.shape", "must be sizes of at least 1."))
        if self.observation.wire not in WIRE_RANGES:
            faults.append(("observation.wire", f"must be one of {', '.join(WIRE_RANGES)}."))
        if self.seats == 2 and self.matches_per_duel % 2:
            faults.append(("matches_per_duel", "must be even: pairs of matches swap seats."))
        if not re.fullmatch(r"\w[\w.-]*", self.image):
            faults.append(("image", "must be the name of a file under static/."))
        faults += [
            (name, "must be written module:name.")
            for name in ("entry_point", "renderer")
            if not re.fullmatch(r"[\w.]+:\w+", getattr(self, name))
        ]
        if faults:
            raise ValueError(": ".join(faults[0]))

    def make(self) -> Environment:
        """A new, not yet reset environment."""
        environment: Environment = _load(self.entry_point)()
        return environment

    def render(self, frame: Frame) -> str:
        """The frame as a stand-alone SVG picture."""
        renderer: Callable[[Frame], str] = _load(self.renderer)
        return renderer(frame)


def _load(path: str) -> Any:
    module, _, name = path.partition(":")
    return getattr(import_module(module), name)
