"""Writes a match or an episode as a JSON document with every state: what happened, what each seat saw, what it got.

`schema.json` beside this module describes it. Equal records give equal bytes.
"""

from __future__ import annotations

import gzip
import json
import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from arena_kit.environment.episodes import EpisodeRecord
from arena_kit.environment.move_times import MoveTimes
from arena_kit.environment.protocol import Action, ArenaEnvironmentError, BrokenEnvironment, Observation
from arena_kit.environment.records import Fault, Outcome
from arena_kit.environment.replay import ReplayStep
from arena_kit.environment.replay_file.facts import (
    Played,
    ReplayFacts,
    scores_of,
    seats_of,
    states,
)
from arena_kit.environment.replay_file.views import NotDrawable
from arena_kit.environment.spec import EnvironmentSpec
from arena_kit.environment.words import action_values

VERSION = "1.0"
MAX_FRAMES = 10_000
MAX_OBSERVED_VALUES = 2_000_000
"""A document with more values in its observations, about 20 MB of them, is written without observations."""
SCHEMA = Path(__file__).parent / "schema.json"
TIMED_OUT = frozenset({"player_timed_out", "player_start_timed_out", "duel_time_exhausted"})
"""Error codes of forfeits by time, as `arena_kit.referee.faults` has them."""

Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class ReplayOptions:
    """The options of a document. max_frames: at most this many states, from the first on."""

    include_observations: bool = True
    include_actions: bool = True
    max_frames: int = MAX_FRAMES


EVERYTHING = ReplayOptions()
"""The default content of documents."""


def replay_document(
    spec: EnvironmentSpec, record: Played, facts: ReplayFacts, options: ReplayOptions = EVERYTHING
) -> Json:
    """Return the document. Raises NotDrawable if the record does not fit the rules."""
    observe = options.include_observations and _observed_values(spec, record, options) <= MAX_OBSERVED_VALUES
    try:
        steps = list(states(spec, record, observe=observe))
        shown = range(len(steps))[: options.max_frames]
        keys = facts.keys
        frames = [_frame(spec, steps, ply, keys, with_actions=options.include_actions) for ply in shown]
        if options.include_actions and not isinstance(record, EpisodeRecord):
            _add_times(frames, steps, keys, MoveTimes(record))
        metadata = _metadata(spec, record, facts, steps)
    except BrokenEnvironment:
        raise NotDrawable("The code of this environment has failed, so the match cannot be played again now.") from None
    except (ArenaEnvironmentError, LookupError, TypeError, ValueError):
        # A damaged record can hold anything, and each environment's rules fail on it with their own exceptions.
        what = "episode" if isinstance(record, EpisodeRecord) else "match"
        sentence = f"The record of {what} {record.number} does not fit its rules, so it cannot be played again."
        raise NotDrawable(sentence) from None
    metadata["observations"] = "included" if observe else "too many" if options.include_observations else "left out"
    return {"version": VERSION, "metadata": metadata, "truncated": len(frames) < len(steps), "frames": frames}


def document_reduced(document: Json, options: ReplayOptions) -> Json:
    """Return a whole document with only what the options ask for."""
    frames = document["frames"][: options.max_frames]
    metadata = document["metadata"]
    if not options.include_observations:
        frames = [frame | {"observations": {}} for frame in frames]
        metadata = metadata | {"observations": "left out"}
    if not options.include_actions:
        frames = [
            {key: value for key, value in frame.items() if key != "move_ms"} | {"actions": {}} for frame in frames
        ]
    is_cut = document["truncated"] or len(frames) < len(document["frames"])
    return document | {"metadata": metadata, "truncated": is_cut, "frames": frames}


def document_bytes(document: Json, *, compress: bool = False) -> bytes:
    """Return the document as JSON in ASCII without spaces, or that in gzip without a time."""
    try:
        text = json.dumps(document, separators=(",", ":"), allow_nan=False)
    except ValueError:
        # JSON has no word for a number that is not finite.
        text = json.dumps(_finite(document), separators=(",", ":"), allow_nan=False)
    data = text.encode("ascii") + b"\n"
    return gzip.compress(data, compresslevel=6, mtime=0) if compress else data


def _metadata(spec: EnvironmentSpec, record: Played, facts: ReplayFacts, steps: list[ReplayStep]) -> Json:
    keys, names = facts.keys, facts.names
    seats = seats_of(record)
    known = zip(facts.agents, keys, names, range(len(keys)), strict=True)
    metadata: Json = {
        "match_id": facts.match_id,
        "environment": spec.slug,
        "environment_version": spec.id,
        "agents": [
            {"agent_id": key, "name": name, "version": agent.version, "seat": seats.index(player)}
            for agent, key, name, player in known
        ],
        "number": record.number,
        "start_time": facts.start_time,
        "end_time": facts.end_time,
        "total_steps": len(steps) - 1,
        "winner": _winner(record, keys),
        "status": "success",
        "error_code": "",
        "error": "",
        "seed": record.seed,
        "scores": dict(zip(keys, scores_of(record), strict=True)),
    }
    if not isinstance(record, EpisodeRecord) and record.fault is not Fault.NONE:
        # The lines below the first one quote the player's source.
        metadata["error_code"], metadata["error"] = record.error_code, record.error.partition("\n")[0]
        metadata["status"] = "timeout" if record.error_code in TIMED_OUT else "error"
    return metadata


def _winner(record: Played, keys: tuple[str, ...]) -> str | None:
    if isinstance(record, EpisodeRecord) or record.outcome in (Outcome.DRAW, Outcome.NONE):
        return None
    return keys[0] if record.outcome is Outcome.PLAYER_1 else keys[1]


def _frame(
    spec: EnvironmentSpec, steps: list[ReplayStep], ply: int, keys: tuple[str, ...], *, with_actions: bool
) -> Json:
    step = steps[ply]
    by_seat = [keys[player] for player in step.seats]
    seen = zip(by_seat, step.observations, strict=False)
    frame: Json = {
        "frame_number": ply,
        "timestamp": None,
        "observations": {key: _observation(spec, observation) for key, observation in seen},
        "actions": {by_seat[seat]: _action(spec, action) for seat, action in step.moves if with_actions},
        "rewards": dict(zip(by_seat, step.rewards, strict=False)),
        "done": ply == len(steps) - 1,
        "info": {"text": step.text, "truncated": step.truncated},
        "frame": step.frame,
    }
    return frame | {"opening": True} if step.is_opening else frame


def _add_times(frames: list[Json], steps: list[ReplayStep], keys: tuple[str, ...], times: MoveTimes) -> None:
    """Add to each frame the milliseconds of the moves that led to it, where they are known."""
    for frame, step in zip(frames, steps, strict=False):
        by_player = zip((keys[step.seats[seat]] for seat, _ in step.moves), times.of(step), strict=True)
        if known := {key: took for key, took in by_player if took is not None}:
            frame["move_ms"] = known


def _observed_values(spec: EnvironmentSpec, record: Played, options: ReplayOptions) -> int:
    """Return an upper bound of the number of values in a document's observations."""
    length = record.length if isinstance(record, EpisodeRecord) else len(record.actions)
    return min(length + 1, options.max_frames) * spec.seats * math.prod(spec.observation.shape)


def _observation(spec: EnvironmentSpec, seen: Observation) -> Any:
    """Return what a seat sees as nested lists of the spec's shape, as the player's array has it."""
    array = spec.observation
    if isinstance(seen.observation, bytes):
        values = np.frombuffer(seen.observation, np.dtype(array.wire).newbyteorder("<"))
    else:
        values = np.asarray(seen.observation, array.wire)
    return values.reshape(array.shape).tolist()


def _action(spec: EnvironmentSpec, action: Action) -> int | list[float]:
    return action_values(spec, action) if isinstance(action, bytes) else int(action)


def _finite(value: Any) -> Any:
    """Return a JSON value with null for every number that is not finite."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {key: _finite(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(one) for one in value]
    return value
