"""Frozen, versioned descriptions of environments: their rules' entry point, observations, actions and limits."""

from __future__ import annotations

import math
import platform
import re
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from arena_kit.environment.adapters.classic.info import ClassicSource
from arena_kit.environment.loading import load
from arena_kit.environment.openings_key import Openings
from arena_kit.environment.protocol import Environment, Frame, MissingExtra
from arena_kit.environment.reference import RANDOM, Reference
from arena_kit.environment.server.client import connect, draw
from arena_kit.environment.server.frames import Drawing
from arena_kit.errors import parts_needed

WIRE_RANGES: dict[str, tuple[float, float]] = {
    "int8": (-128, 127),
    "uint8": (0, 255),
    "int16": (-(2**15), 2**15 - 1),
    "int32": (-(2**31), 2**31 - 1),
    "int64": (-(2**63), 2**63 - 1),
    "float32": (-math.inf, math.inf),
    "float64": (-math.inf, math.inf),
}
"""The types of values on the wire, with the least and the greatest value of each."""
BARE = "-bare"
"""Ends the id of rules that are played without their openings."""
WIRE_CODES = {"int8": "b", "uint8": "B", "int16": "h", "int32": "i", "int64": "q", "float32": "f", "float64": "d"}
"""The format characters of the wire types in `struct`."""
WIRE_BYTES = {"int8": 1, "uint8": 1, "int16": 2, "int32": 4, "int64": 8, "float32": 4, "float64": 8}


@dataclass(frozen=True, slots=True)
class ArraySpec:
    """Shape and types of an array that a player receives.

    shape: dimensions, row-major. dtype: the NumPy type the player sees. wire: the little-endian type sent.
    """

    shape: tuple[int, ...]
    dtype: str = "int64"
    wire: str = "int8"

    @property
    def byte_count(self) -> int:
        """Size of one array on the wire."""
        return math.prod(self.shape) * WIRE_BYTES[self.wire]


@dataclass(frozen=True, slots=True)
class ActionArraySpec(ArraySpec):
    """Actions that are arrays of real numbers (Gymnasium's Box) or of whole numbers (MultiDiscrete, MultiBinary).

    low, high: bounds of each value in row-major order, or one bound for all values; empty where values are unbounded. A
    real number beyond a bound is moved onto it; a whole number beyond a bound and a number that is not finite are
    illegal.
    """

    dtype: str = "float32"
    wire: str = "float32"
    low: tuple[float, ...] = ()
    high: tuple[float, ...] = ()


@dataclass(frozen=True, slots=True)
class GymnasiumSource:
    """An environment that Gymnasium has registered.

    id: its registered name, e.g. `CartPole-v1`. arguments: further arguments for `gymnasium.make`. extra: the optional
    part of this arena and of Gymnasium that it needs, e.g. `mujoco`; empty if it needs no extra. new_each_episode:
    whether every episode gets a new environment, because this one's reset leaves something behind. picture_arguments:
    arguments that `gymnasium.make` gets in addition for drawing pictures, e.g. a camera.
    """

    id: str
    arguments: Mapping[str, Any] = field(default_factory=dict, hash=False)
    extra: str = ""
    new_each_episode: bool = False
    picture_arguments: Mapping[str, Any] = field(default_factory=dict, hash=False)


@dataclass(frozen=True, slots=True)
class Limits:
    """The limits of a player. Organisers can change an environment's limits on its row in the database."""

    cpu_count: float = 1.0
    memory_limit_bytes: int = 1 << 30
    gpu_count: int = 0
    """Graphics cards of its own. Only a sandbox that gives them out plays an environment with any."""
    move_seconds: float = 2.0
    """Wall time of one move that is not taken from the bank."""
    bank_seconds: float = 20.0
    """Wall time that all moves of a match may take beyond `move_seconds`; a player that uses it up forfeits."""
    start_seconds: float = 30.0
    """Wall time for loading the player and constructing its first `Player`."""
    duel_seconds: float = 1800.0
    """Wall time of a whole duel or evaluation."""
    validation_seconds: float = 120.0
    """Wall time of a whole validation, including the player's start and a second try."""
    log_limit_bytes: int = 64 * 1024
    """Bytes kept of a player's output in a duel."""
    max_restarts: int = 3
    """How often a player that died gets a new container within a duel before it forfeits the remaining matches."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EnvironmentSpec:
    """An environment at one version of its rules. A change of rules needs a new version, and so gets a new id."""

    slug: str
    version: int
    name: str
    description: str
    """Markdown."""
    image: str
    """File name under the `static/` folder of `folder`."""
    entry_point: str
    """`module:Class` of the Environment, in `folder` or installed; where `gymnasium` is set, it takes this spec."""
    renderer: str
    """`module:function`, which takes a frame and returns SVG text."""
    solver: str = ""
    """`module:Class` of the solver, see `arena_kit.environment.solver`; empty without one."""
    move_words: str = ""
    """`module:function`, which takes the frame before a move and the action, and returns the move as people call it."""
    seats: int
    observation: ArraySpec
    action_count: int = 0
    """Actions are the integers from 0 to action_count - 1; 0 where actions are arrays."""
    action: ActionArraySpec | None = None
    """The array that an action is, where actions are arrays; only with one seat."""
    forfeit_score: float
    """In a forfeited match the player at fault scores minus this, its opponent plus this."""
    max_steps: int
    """The largest number of steps in a match."""
    matches_per_duel: int = 0
    """Even with two seats, because the players swap seats within each pair of matches; not used with one seat."""
    episodes_per_evaluation: int = 0
    """With one seat, the length of the hidden list of seeds that submissions are ranked by; not used with more."""
    matches_per_validation: int
    """Matches of the player against itself; with one seat, episodes on the first seeds of the public list."""
    parallel_matches: int = 32
    limits: Limits = Limits()
    heavy: bool = False
    """Whether its evaluations and duels take long: a site lets them stand in lines of their own."""
    deterministic: bool = True
    isolation: str = "shared"
    """`apart` where players could gain by telling each other what they see: a sandbox that cannot show that its players
    have no way to each other then refuses to play it."""
    chance: bool = False
    """Whether the rules draw by chance, in a game that more than one seat plays. One process plays both matches of a
    pair, so such a pair shares no chance: what a player remembers of one match must not help it in the other."""
    openings: Openings | None = None
    """The first plies of every match, played by the referee; None where the players play from the start."""
    from_start: bool = False
    """Whether the openings of these rules are left out."""
    reference: Reference = RANDOM
    """The agent that holds the scale of ratings in place, where agents play duels."""
    mirrored: bool = False
    """Whether seat 1 sees the state as in a mirror, so that every player seems to sit in seat 0; only with two seats.
    The class of the environment gets it as the argument `mirrored`."""
    gymnasium: GymnasiumSource | None = None
    env_id: str = ""
    """Replaces the default `public_id`, e.g. where two specs make the same Gymnasium id with different arguments."""
    solved_score: float | None = None
    """Mean score from which a task counts as solved; None when unknown."""
    observation_names: tuple[str, ...] = ()
    """A name for each value of an observation, for people; empty where there are too many to name."""
    action_names: tuple[str, ...] = ()
    """A name for each action, or for each value of `action`, for people; empty where the file gives none."""
    classic: ClassicSource | None = None
    """Set for an environment of the older arena, which shows its states as HTML."""
    folder: Path = field(default=Path(), compare=False)
    """The folder of its code and `static/`, set by the registry; all of Gymnasium's environments share one."""
    file: Path = field(default=Path(), compare=False)
    """The file that describes it, set by the registry; an organiser's pictures are in `static/` beside it."""
    is_outside: bool = field(default=False, compare=False)
    """Whether it is described in a folder of an organiser."""
    announced_at: int = field(default=0, compare=False)
    """When `sync_environments` last announced the folder of an organiser that holds it, in nanoseconds."""
    kept_text: str = field(default="", compare=False)
    """The text that describes it, where no file does: a submission has added it."""
    keeps_twins: bool = field(default=False, compare=False)
    """Set to check a record of a time at which the pairs of all environments shared their chance."""
    earlier: tuple[EnvironmentSpec, ...] = field(default=(), compare=False)
    """Earlier versions of its rules, which play no new duels; their records can still be replayed and checked."""

    @property
    def id(self) -> str:
        """`connect-four-v1`: the name of these exact rules, written into every record; BARE if without openings."""
        return self.rules_id + (BARE if self.from_start else "")

    @property
    def rules_id(self) -> str:
        """`connect-four-v1`: the name of these rules, with their openings or without them."""
        return f"{self.slug}-v{self.version}"

    @property
    def runtime(self) -> str:
        """The software and hardware that the last bit of a score can depend on; empty without `gymnasium`.

        It names the versions of the packages that hold the rules, the kind of processor, and the instructions that
        NumPy uses on it, e.g. `gymnasium 1.4.0, numpy 2.4.6, x86_64 X86_V4`.
        """
        if self.gymnasium is None:
            return ""
        found = []
        for package in ("gymnasium", "numpy", *filter(None, [self.gymnasium.extra])):
            # The shipped extras are named after their packages; an organiser's need not be.
            with suppress(PackageNotFoundError):
                found.append(f"{package} {version(package)}")
        return ", ".join([*found, _processor()])

    @property
    def runs_apart(self) -> bool:
        """Return whether others have added it: then its code runs in an environment server, never in this process."""
        return self.is_outside or bool(self.kept_text)

    @property
    def pairs_share_chance(self) -> bool:
        """Return whether both matches of a pair have one seed."""
        return self.keeps_twins or not (self.chance or self.isolation == "apart")

    @property
    def picture(self) -> str:
        """Path of the card picture among the site's static files."""
        if self.is_outside:
            return f"environments/{self.slug}/{self.image}"
        return f"environments/{self.folder.name.replace('_', '-')}/{self.image}"

    @property
    def public_id(self) -> str:
        """The name that clients of the API use: Gymnasium's own where it has one."""
        return self.env_id or (self.id if self.gymnasium is None else self.gymnasium.id)

    def without_openings(self) -> EnvironmentSpec:
        """Return the same rules from the start position: in every match the players make the first move."""
        return replace(self, openings=None, from_start=True)

    def validate(self) -> None:
        """Check what types cannot express. Raises ValueError with the key and a sentence."""
        whole = ("version", "seats", "max_steps", "parallel_matches", "matches_per_validation")
        faults = [(name, "must be at least 1.") for name in whole if getattr(self, name) < 1]
        plays = "episodes_per_evaluation" if self.seats == 1 else "matches_per_duel"
        if getattr(self, plays) < 2:
            # Each seat has its turn in a duel, and a single hidden seed could be found from its public hash.
            faults.append((plays, "must be at least 2."))
        faults += self._action_faults()
        faults += [
            (f"limits.{name}", "must be a finite number, not below 0.")
            for name, value in asdict(self.limits).items()
            if not (math.isfinite(value) and value >= 0)
        ]
        if not re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", self.slug):
            faults.append(("slug", "must be lower-case words of letters and digits joined by hyphens."))
        if not (math.isfinite(self.forfeit_score) and self.forfeit_score >= 0):
            faults.append(("forfeit_score", "must be a finite number, not below 0."))
        faults += _array_faults("observation", self.observation)
        faults += [
            (name, f"must be empty or {count} names.")
            for name, count in (
                ("observation_names", math.prod(self.observation.shape)),
                ("action_names", self.action_count if self.action is None else math.prod(self.action.shape)),
            )
            if len(getattr(self, name)) not in (0, count)
        ]
        faults += self._openings_faults()
        if self.seats == 2 and self.matches_per_duel % 2:
            faults.append(("matches_per_duel", "must be even: pairs of matches swap seats."))
        if self.mirrored and (self.seats != 2 or self.gymnasium is not None):
            faults.append(("mirrored", "can be true with two seats only, and not with gymnasium."))
        if self.chance and self.seats == 1:
            faults.append(("chance", "is for two seats or more: with one seat, every episode has a seed of its own."))
        if self.isolation not in ("shared", "apart"):
            faults.append(("isolation", "must be shared or apart."))
        if not re.fullmatch(r"\w[\w.-]*", self.image):
            faults.append(("image", "must be the name of a file under static/, of letters, digits, _, - and ."))
        faults += [
            (name, "must be written module:name.")
            for name in ("entry_point", "renderer", *(key for key in ("solver", "move_words") if getattr(self, key)))
            if not re.fullmatch(r"[\w.]+:\w+", getattr(self, name))
        ]
        if self.solver and self.seats != 2:
            faults.append(("solver", "is for environments with two seats."))
        if faults:
            raise ValueError(": ".join(faults[0]))

    def _openings_faults(self) -> list[tuple[str, str]]:
        if self.openings is None:
            return []
        if self.seats == 1:
            return [("openings", "are for two seats or more: with one seat, the seed varies the episodes.")]
        if not self.openings.is_book and self.openings.plies[1] >= self.max_steps:
            return [("openings.plies", f"must end below max_steps, which is {self.max_steps}.")]
        return []

    def _action_faults(self) -> list[tuple[str, str]]:
        if self.action is None:
            return [] if self.action_count >= 1 else [("action_count", "must be at least 1.")]
        faults = _array_faults("action", self.action)
        if self.action_count:
            faults.append(("action_count", "must be left out where an action is an array."))
        if self.seats != 1:
            faults.append(("action", "can be an array with one seat only."))
        size = math.prod(self.action.shape)
        faults += [
            (f"action.{name}", f"must be empty, one number, or {size} numbers.")
            for name in ("low", "high")
            if len(getattr(self.action, name)) not in (0, 1, size)
        ]
        return faults

    def make(self) -> Environment:
        """Return a new environment, not yet reset; that of an organiser's folder is a client of its server.

        Raises MissingExtra when a package that it needs is missing, and BrokenEnvironment.
        """
        return connect(self) if self.runs_apart else self.make_here()

    def make_here(self) -> Environment:
        """Return a new environment in this process, whatever its code may do. Raises what the code raises."""
        try:
            factory = load(self.entry_point, self.folder)
        except ModuleNotFoundError as error:
            if self.gymnasium is None or error.name != "gymnasium":
                raise
            message = f"{self.name} needs the package gymnasium, which is not installed here."
            raise MissingExtra(message, hint=f"To get it, {parts_needed('gymnasium')}.") from None
        if self.gymnasium is not None or self.classic is not None:
            environment: Environment = factory(self)
        else:
            environment = factory(mirrored=True) if self.mirrored else factory()
        return environment

    def render(self, frame: Frame) -> str:
        """Draw a frame as a stand-alone SVG picture. Raises BrokenEnvironment for an organiser's environment."""
        return draw(self, Drawing.PICTURE, frame) if self.runs_apart else self.render_here(frame)

    def render_here(self, frame: Frame) -> str:
        """Draw a frame in this process. Raises what the renderer raises."""
        renderer: Callable[[Frame], str] = load(self.renderer, self.folder)
        return renderer(frame)


@cache
def _processor() -> str:
    """Return the kind of processor, and the instructions with which NumPy computes a cosine on it."""
    try:
        from numpy.lib.introspect import opt_func_info
    except ImportError:
        # NumPy 1 does not say it.
        return platform.machine()
    ways = opt_func_info(func_name="^cos$", signature="float64").get("cos", {})
    return " ".join([platform.machine(), *(way["current"] for way in ways.values())])


def _array_faults(name: str, array: ArraySpec) -> list[tuple[str, str]]:
    faults = []
    if not all(size >= 1 for size in array.shape):
        faults.append((f"{name}.shape", "must be sizes of at least 1."))
    if array.wire not in WIRE_RANGES:
        faults.append((f"{name}.wire", f"must be one of {', '.join(WIRE_RANGES)}."))
    return faults
