"""Records a finished episode: a video with a still picture, a text replay, and the rewards.

`record_apart` runs this module as a program, `python -m arena_kit.environment.adapters.video FOLDER < job.json`, so
that drawing happens in a process of its own, without a display and with limits. The job is what `Job.to_json` writes.
"""

from __future__ import annotations

import gzip
import json
import math
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from ctypes.util import find_library
from dataclasses import asdict, dataclass, field
from itertools import accumulate
from pathlib import Path
from timeit import timeit
from typing import Any

from arena_kit.environment.adapters.encoding import Bounds, encode, picture
from arena_kit.environment.adapters.gymnasium import GymnasiumEnvironment, render_modes
from arena_kit.environment.episodes import EpisodeRecord
from arena_kit.environment.protocol import Action, ArenaEnvironmentError, MissingExtra
from arena_kit.environment.registry import get_spec, use_folder
from arena_kit.environment.replay import ReplayMismatch
from arena_kit.environment.replay_file.document import document_bytes, replay_document
from arena_kit.environment.replay_file.facts import ReplayAgent, ReplayFacts
from arena_kit.environment.replay_file.page import replay_page
from arena_kit.environment.replay_file.views import NotDrawable
from arena_kit.environment.spec import EnvironmentSpec
from arena_kit.machine.processes import limit

VIDEO, STILL, RETURNS, TEXT = "episode.webm", "still.webp", "episode.json", "text.json"
DOCUMENT, PAGE = "replay.json.gz", "replay.html.gz"
MEMORY_LIMIT_BYTES = 6 << 30
"""Limit on the process's address space, of which software drawing reserves much more than it uses."""
LOOK_SECONDS = 1.0
"""Seconds between two calls of `on_look`."""
TEXT_VALUES = 8
"""Only states of at most this many whole numbers get a text replay."""


class CannotRecord(ArenaEnvironmentError):
    """This machine cannot draw the environment; the message has the reason."""


@dataclass(frozen=True, slots=True)
class EpisodeToRecord:
    """A recording to make: an episode as `arena_kit.environment.episodes` keeps it."""

    environment: str
    """Slug, id or public id."""
    seed: int
    actions: tuple[int, ...] | tuple[bytes, ...]
    score: float | None = None
    """The recorded return, which the replay must reach; None to skip that check."""
    folders: tuple[str, ...] = ()
    """The folders of organisers' own environments."""
    bounds: Bounds = field(default_factory=Bounds)
    number: int = 1
    """The episode's number in the records."""
    facts: ReplayFacts | None = None
    """The facts of its replay files besides its states; None for no such files."""

    def to_json(self) -> str:
        """Return a JSON object, with array actions in hexadecimal."""
        actions = [action.hex() if isinstance(action, bytes) else action for action in self.actions]
        return json.dumps(asdict(self) | {"actions": actions})

    @classmethod
    def from_json(cls, text: str) -> EpisodeToRecord:
        """Read what `to_json` wrote. Raises CannotRecord for anything else."""
        try:
            data = json.loads(text)
            given = data.pop("actions")
            actions = (
                tuple(map(bytes.fromhex, given)) if given and isinstance(given[0], str) else tuple(map(int, given))
            )
            bounds, folders = Bounds(**data.pop("bounds", {})), tuple(data.pop("folders", ()))
            facts = data.pop("facts", None)
            if facts is not None:
                agents = tuple(ReplayAgent(**agent) for agent in facts.pop("agents"))
                facts = ReplayFacts(agents=agents, **facts)
            return cls(actions=actions, bounds=bounds, folders=folders, facts=facts, **data)
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            raise CannotRecord(f"The job cannot be read: {type(error).__name__}: {error}") from None


@dataclass(frozen=True, slots=True)
class RecordedFiles:
    """The result of a recording."""

    files: tuple[str, ...]
    """Names of the files that were written: VIDEO, STILL, RETURNS, TEXT, DOCUMENT, PAGE."""
    no_video: str = ""
    """Why there is no video; empty when there is one."""


def record(job: EpisodeToRecord, folder: Path) -> RecordedFiles:
    """Record an episode into a folder.

    `episode.json` holds rewards and returns, one entry per step, and about the video its `stride` (steps from one frame
    to the next; the last step is always shown), `fps`, `frames`, size, and whether it was `cut`. `text.json` holds
    frames, actions, rewards and returns, with an entry for the start. `replay.json.gz` and `replay.html.gz` are its
    replay files. Raises ReplayMismatch when the episode does not reach its recorded score again.
    """
    for own in job.folders:
        use_folder(Path(own))
    spec = get_spec(job.environment)
    rewards = _rewards(spec, job)
    made, facts, no_video = [RETURNS], {}, ""
    if _is_text(spec):
        (folder / TEXT).write_text(json.dumps(text_replay(spec, job), separators=(",", ":")), encoding="utf-8")
        made.append(TEXT)
    made += _write_replay(spec, job, rewards, folder)
    try:
        facts = _record_video(spec, job, folder)
        made += [VIDEO, STILL]
    except CannotRecord as error:
        no_video = str(error)
    data = {"rewards": rewards, "returns": _returns(rewards), "video": facts or None}
    (folder / RETURNS).write_text(json.dumps(data, separators=(",", ":")), encoding="utf-8")
    return RecordedFiles(tuple(made), no_video)


def record_apart(
    job: EpisodeToRecord, folder: Path, *, seconds: float | None = None, on_look: Callable[[], object] = lambda: None
) -> RecordedFiles:
    """Do what `record` does in a process of its own, with less priority, limited memory and no display.

    seconds: the process's time limit; None for twice the job's `bounds.seconds`. on_look: called about once a second;
    an exception that it raises ends the process and is passed on. Raises CannotRecord, also when the process dies, and
    ReplayMismatch.
    """
    command = [sys.executable, "-m", "arena_kit.environment.adapters.video", str(folder.absolute())]
    environment = {"PATH": os.defpath, "HOME": str(folder), "PYTHONDONTWRITEBYTECODE": "1"}
    until = time.monotonic() + (seconds or 2 * job.bounds.seconds)
    with subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment,
        cwd=Path(__file__).parents[3],
    ) as process:
        try:
            printed, complaints = _communicate(process, job.to_json(), until, on_look)
        finally:
            process.kill()
    try:
        answer = json.loads(printed.splitlines()[-1])
    except (IndexError, ValueError):
        last = (complaints.strip().splitlines() or ["it printed nothing"])[-1]
        raise CannotRecord(f"Recording ended with code {process.returncode}: {last[:300]}") from None
    if "mismatch" in answer:
        raise ReplayMismatch(answer["mismatch"])
    if "error" in answer:
        raise CannotRecord(answer["error"])
    return RecordedFiles(tuple(answer["files"]), answer["no_video"])


def _communicate(
    process: subprocess.Popen[str], said: str, until: float, on_look: Callable[[], object]
) -> tuple[str, str]:
    """Return both outputs of a process that ends before `until` (monotonic). Raises CannotRecord and what `on_look`
    raises."""
    left: str | None = said
    while True:
        try:
            return process.communicate(left, timeout=max(0.0, min(LOOK_SECONDS, until - time.monotonic())))
        except subprocess.TimeoutExpired:
            left = None
            on_look()
        if time.monotonic() >= until:
            raise CannotRecord("Recording the episode took too long.")


def text_replay(spec: EnvironmentSpec, job: EpisodeToRecord) -> dict[str, list[Any]]:
    """Return the first `bounds.frames` states as text, with the action, reward and return that led to each."""
    frames: list[str] = []
    actions: list[Any] = []
    rewards: list[float] = []
    returns: list[float] = []
    environment = GymnasiumEnvironment(spec)
    for _ in _played(environment, job):
        frame = environment.frame()
        # The first line of `text` is left out: it repeats what the other lists hold.
        frames.append(frame.get("text") or environment.text().partition("\n")[2])
        actions.append(frame["action"])
        rewards.append(frame["reward"])
        returns.append(frame["return"])
        if len(frames) == job.bounds.frames:
            break
    environment.close()
    return {"frames": frames, "actions": actions, "rewards": rewards, "returns": returns}


def _write_replay(spec: EnvironmentSpec, job: EpisodeToRecord, rewards: list[float], folder: Path) -> list[str]:
    """Write the replay files of a job with facts; return their names, none where the rules cannot be drawn."""
    if job.facts is None:
        return []
    score = job.score if job.score is not None else sum(rewards)
    record = EpisodeRecord(job.number, job.seed, job.actions, score, truncated=False)
    try:
        contents = {
            DOCUMENT: document_bytes(replay_document(spec, record, job.facts)),
            PAGE: replay_page(spec, record, job.facts).encode(),
        }
    except NotDrawable:
        return []
    for name, content in contents.items():
        (folder / name).write_bytes(gzip.compress(content, compresslevel=6, mtime=0))
    return list(contents)


def headless() -> None:
    """Make libraries draw without a display; MuJoCo only where EGL or OSMesa is installed.

    Must be called before anything is drawn, because the libraries read these variables once.
    """
    os.environ["SDL_VIDEODRIVER"] = os.environ["SDL_AUDIODRIVER"] = "dummy"
    if "MUJOCO_GL" not in os.environ:
        way = next((way for way, library in (("egl", "EGL"), ("osmesa", "OSMesa")) if find_library(library)), None)
        if way is not None:
            os.environ["MUJOCO_GL"] = os.environ["PYOPENGL_PLATFORM"] = way


def _is_text(spec: EnvironmentSpec) -> bool:
    return spec.observation.wire[0] in "iu" and math.prod(spec.observation.shape) <= TEXT_VALUES


def _rewards(spec: EnvironmentSpec, job: EpisodeToRecord) -> list[float]:
    """Return all rewards, from the environment without pictures, which is the one that the referee plays."""
    environment = GymnasiumEnvironment(spec)
    rewards = [reward for reward in _played(environment, job) if reward is not None]
    environment.close()
    score = _returns(rewards)[-1] if rewards else 0.0
    if job.score is not None and score != job.score:
        raise ReplayMismatch(f"The episode gives the score {score} when it is played again.")
    return rewards


def _returns(rewards: list[float]) -> list[float]:
    """Return the return after each step, added as the referee does; `sum` rounds differently since Python 3.12."""
    return list(accumulate(rewards, initial=0.0))[1:]


def _played(environment: GymnasiumEnvironment, job: EpisodeToRecord) -> Iterator[float | None]:
    """Play the episode again; yield None for the start, then the reward of every step. Raises ReplayMismatch."""
    environment.reset(job.seed)
    yield None
    for action in job.actions:
        step: dict[int, Action] = {0: action}
        try:
            (reward,) = environment.step(step)
        except ArenaEnvironmentError as error:
            raise ReplayMismatch(f"The episode does not fit {job.environment}: {error}") from None
        yield reward


def _record_video(spec: EnvironmentSpec, job: EpisodeToRecord, folder: Path) -> dict[str, Any]:
    """Write the video and the still picture; return what a page needs to know about the video."""
    if spec.gymnasium is None or "rgb_array" not in render_modes(spec.gymnasium.id):
        raise CannotRecord(f"{spec.name} has no pictures.")
    try:
        environment = GymnasiumEnvironment(spec, "rgb_array")
        environment.reset(job.seed)
        # The first picture includes the set-up; the second shows what one costs.
        seconds = [timeit(lambda: picture(environment), number=1) for _ in range(2)][-1]
    except MissingExtra as error:
        raise CannotRecord(str(error)) from None
    # The errors for a missing GL library, a missing pygame and a lack of memory have no common class.
    except Exception as error:
        raise CannotRecord(f"Nothing can be drawn here: {type(error).__name__}: {error}"[:300]) from error
    try:
        return encode(
            environment,
            _played(environment, job),
            last=len(job.actions),
            bounds=job.bounds,
            affordable=int(job.bounds.seconds / 2 / seconds),
            video=folder / VIDEO,
            still=folder / STILL,
        )
    finally:
        environment.close()


def main() -> None:
    """Read a job from standard input; write its files, and a line of JSON about them to standard output."""
    folder = Path(sys.argv[1])
    os.nice(10)
    limit("AS", MEMORY_LIMIT_BYTES)
    headless()
    answer: dict[str, Any]
    try:
        job = EpisodeToRecord.from_json(sys.stdin.read())
        limit("FSIZE", 4 * job.bounds.video_bytes)
        answer = asdict(record(job, folder))
    except ReplayMismatch as error:
        answer = {"mismatch": str(error)}
    except ArenaEnvironmentError as error:
        answer = {"error": str(error)}
    sys.stdout.write(json.dumps(answer) + "\n")


if __name__ == "__main__":
    main()
