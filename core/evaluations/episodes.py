"""Evaluations, their episodes and recordings for pages; hidden seeds never leave this module."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any
from uuid import UUID

import numpy as np
from django.db.models import Prefetch
from django.db.models.fields.files import FieldFile

from arena_kit.environment.episodes import EvaluationArchive
from arena_kit.environment.protocol import UnknownEnvironment
from arena_kit.environment.record_archive import ArtifactDamaged
from arena_kit.environment.registry import get_spec
from arena_kit.environment.spec import EnvironmentSpec
from arena_kit.ranking.scores import bin_edges
from core.duels.selectors import NotStored, file_open
from core.jobs.phase_selectors import submissions_with_phases
from core.models import Evaluation, JobState, Recording, SeedList, Submission, Validation


@dataclass(frozen=True, slots=True)
class Episode:
    """One episode of an evaluation. seed: None while it is hidden."""

    number: int
    score: float
    length: int
    thinking_seconds: float
    seed: int | None = None


@dataclass(frozen=True, slots=True)
class Steps:
    """The rewards of a recorded episode, step by step. is_cut: whether the video ends before the episode does."""

    rewards: tuple[float, ...]
    returns: tuple[float, ...]
    is_cut: bool = False


@dataclass(frozen=True, slots=True)
class TextReplay:
    """The states of an episode as text, each with the action that led to it and the return so far."""

    frames: tuple[str, ...]
    actions: tuple[object, ...]
    returns: tuple[float, ...]


def evaluation_get(evaluation_id: int) -> Evaluation:
    """Return an evaluation with everything that its page names. Raises Evaluation.DoesNotExist."""
    recordings = Prefetch("recordings", Recording.objects.defer("log").select_related("practice"))
    return Evaluation.objects.select_related(*Evaluation.RELATED).prefetch_related(recordings).get(pk=evaluation_id)


def spec_or_none(version: str) -> EnvironmentSpec | None:
    """Return the rules of an id or slug; None when this arena does not have them."""
    try:
        return get_spec(version)
    except UnknownEnvironment:
        return None


def seeds_hidden(evaluation: Evaluation) -> bool:
    """Return whether an evaluation was played on seeds that are still secret."""
    return evaluation.seed_list is not None and not evaluation.seed_list.is_public


def episode_list(evaluation: Evaluation) -> list[Episode]:
    """Return the finished episodes in the order in which they are stored; check `episodes_visible` first."""
    seeds = _seeds(evaluation.seed_list)
    return [
        Episode(int(number), float(score), int(length), float(seconds), seeds.get(int(number)))
        for number, score, length, seconds in evaluation.episodes
    ]


@dataclass(frozen=True, slots=True)
class FullEpisode:
    """One complete episode. actions: whole numbers, or lists of numbers where an action is an array."""

    number: int
    seed: int
    score: float
    length: int
    truncated: bool
    actions: list[Any]


def episode_get(evaluation: Evaluation, number: int) -> FullEpisode:
    """Return one episode of the records; check `records_visible` first. Raises NotStored."""
    spec = spec_or_none(evaluation.environment_version)
    with file_open(evaluation.records, "The records of this evaluation are") as file:
        try:
            record = EvaluationArchive(file).episode(number)
        except (ArtifactDamaged, LookupError) as damage:
            raise NotStored(str(damage.args[0])) from None
    actions = [_action(action, spec) for action in record.actions]
    return FullEpisode(record.number, record.seed, record.score, record.length, record.truncated, actions)


def _action(action: int | bytes, spec: EnvironmentSpec | None) -> Any:
    if isinstance(action, int):
        return action
    if spec is None or spec.action is None:
        raise NotStored("This was played with rules that this arena no longer has, so its actions cannot be read.")
    try:
        return np.frombuffer(action, np.dtype(spec.action.wire).newbyteorder("<")).reshape(spec.action.shape).tolist()
    except ValueError:
        raise NotStored("The actions of this episode are damaged and cannot be read.") from None


@dataclass(frozen=True, slots=True)
class Distribution:
    """The distribution of an evaluation's scores: edges of equal bins, and the number of episodes in each bin."""

    edges: list[float]
    counts: list[int]


def score_distribution(evaluation: Evaluation) -> Distribution | None:
    """Return the only public view of episodes while seeds are hidden; None before the evaluation is over."""
    scores = [float(row[1]) for row in evaluation.episodes]
    if evaluation.state != JobState.SUCCEEDED or not scores or not math.isfinite(max(scores) - min(scores)):
        return None
    edges = bin_edges(scores)
    return Distribution(edges.tolist(), np.histogram(scores, edges)[0].tolist())


def practice_results(validation: Validation) -> list[Episode]:
    """Return a submission's results on the public seeds, by seed. Raises NotStored."""
    if not validation.records:
        return []
    with episodes_open(validation) as archive:
        return [
            Episode(one.number, one.score, one.length, one.thinking_seconds, one.seed) for one in archive.episodes()
        ]


@contextmanager
def episodes_open(job: Evaluation | Validation) -> Iterator[EvaluationArchive]:
    """Open the episode records of an evaluation or of practice. Raises NotStored."""
    with file_open(job.records, f"The records of this {job.KIND} are") as file:
        try:
            yield EvaluationArchive(file)
        except ArtifactDamaged as damage:
            raise NotStored(str(damage)) from None


def mean_so_far(evaluation: Evaluation) -> float | None:
    """Return the mean of the finished episodes; None on hidden seeds, where two means in a row reveal a score."""
    if seeds_hidden(evaluation):
        return None
    scores = [float(row[1]) for row in evaluation.episodes]
    return math.fsum(scores) / len(scores) if scores else None


def recording_steps(recording: Recording) -> Steps:
    """Return the rewards of a recorded episode. Raises NotStored."""
    data = _json(recording.steps, "The steps of this episode are")
    try:
        facts = data["video"] or {}
        return Steps(_numbers(data["rewards"]), _numbers(data["returns"]), is_cut=bool(facts.get("cut")))
    except (ValueError, KeyError, TypeError, AttributeError):
        raise NotStored("The steps of this episode are damaged and cannot be shown.") from None


def recording_text(recording: Recording) -> TextReplay:
    """Return a recorded episode as text. Raises NotStored."""
    data = _json(recording.text, "The text of this episode is")
    try:
        frames = tuple(str(frame) for frame in data["frames"])
        actions, returns = tuple(data["actions"]), _numbers(data["returns"])
        if not frames or len({len(frames), len(actions), len(returns)}) > 1:
            raise ValueError
        return TextReplay(frames, actions, returns)
    except (ValueError, KeyError, TypeError):
        raise NotStored("The text of this episode is damaged and cannot be shown.") from None


def submission_by_id(public_id: UUID) -> Submission | None:
    """Return a submission by its public id; None for an unknown one."""
    return submissions_with_phases().filter(public_id=public_id).select_related("agent__owner").first()


def metric_list(evaluation: Evaluation) -> list[tuple[str, float]]:
    """Return the metrics that a script reported beside its score: by name, or numbered from 1."""
    metrics: object = evaluation.metrics
    if isinstance(metrics, dict):
        return [(str(name), float(value)) for name, value in metrics.items()]
    assert isinstance(metrics, Sequence)
    return [(str(number), float(value)) for number, value in enumerate(metrics, start=1)]


def _seeds(seed_list: SeedList | None) -> dict[int, int]:
    if seed_list is None or not seed_list.is_public:
        return {}
    return dict(enumerate(seed_list.seeds, start=1))


def _json(field: FieldFile, what: str) -> dict[str, Any]:
    with file_open(field, what) as file:
        try:
            data = json.load(file)
        except ValueError:
            data = None
    if not isinstance(data, dict):
        raise NotStored(f"{what} damaged.")
    return data


def _numbers(values: Iterable[float]) -> tuple[float, ...]:
    return tuple(float(value) for value in values)
