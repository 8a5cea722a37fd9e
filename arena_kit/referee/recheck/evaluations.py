"""Checks the record of an evaluation by playing every episode again with its seed and actions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from arena_kit.environment.episodes import EpisodeRecord, EvaluationRecord, evaluation_sha256, seeds_sha256
from arena_kit.environment.protocol import Action, BrokenEnvironment, Environment, MissingExtra
from arena_kit.environment.spec import EnvironmentSpec
from arena_kit.referee.recheck.mismatch import NOT_PLAYABLE, CannotCheck, Mismatch, first_difference

CHECKED = "seeds, actions, lengths, ends and scores of every episode"
"""The checks of `recheck_evaluation`, in words."""
EPISODE = "Episode"


def recheck_evaluation(
    spec: EnvironmentSpec,
    record: EvaluationRecord,
    *,
    seeds: Sequence[int] | None = None,
    sha256: str = "",
    sha256_of_seeds: str = "",
) -> list[Mismatch]:
    """Return everything that is wrong with a record; empty when it verifies.

    Scores must be the same to the last bit. No sentence names a seed, because seeds may be hidden.

    spec: the rules that the record names. seeds: the list that it was played on; None when unknown. sha256: the hash
    kept when it was played; empty when unknown. sha256_of_seeds: the hash of the list; empty when unknown. Raises
    CannotCheck when nothing is wrong so far and the episodes cannot be played again here, because a package is missing
    or has another version than in the record, or because the environment is not deterministic.
    """
    found = [*_hash_faults(spec, record, sha256, sha256_of_seeds), *_order_faults(record, seeds)]
    try:
        environment = _environment(spec, record)
    except CannotCheck:
        if found:
            return found
        raise
    for episode in record.episodes:
        found += [Mismatch(episode.number, sentence, EPISODE) for sentence in _episode_faults(environment, episode)]
    return found


def compare_episodes(record: EvaluationRecord, again: EvaluationRecord) -> list[Mismatch]:
    """Return the episodes that went differently when the player played again on the same seeds."""
    played = {episode.number: episode.actions for episode in again.episodes}
    found = []
    for episode in record.episodes:
        actions = played.get(episode.number)
        step = None if actions is None else first_difference(episode.actions, actions)
        if actions is None:
            found.append(Mismatch(episode.number, "it was not finished this time.", EPISODE))
        elif step is not None:
            found.append(Mismatch(episode.number, f"other actions from step {step + 1} on.", EPISODE))
    return found


def _hash_faults(
    spec: EnvironmentSpec, record: EvaluationRecord, sha256: str, sha256_of_seeds: str
) -> Iterator[Mismatch]:
    if record.environment != spec.id:
        yield Mismatch(None, f"The record is of {record.environment}, not of {spec.id}.")
    if sha256 and (own := evaluation_sha256(record)) != sha256:
        yield Mismatch(None, f"The record's hash is {own}, not {sha256}.")
    if sha256_of_seeds and (own := seeds_sha256([episode.seed for episode in record.episodes])) != sha256_of_seeds:
        yield Mismatch(None, f"The hash of its seeds is {own}, not {sha256_of_seeds}.")


def _order_faults(record: EvaluationRecord, seeds: Sequence[int] | None) -> Iterator[Mismatch]:
    """Check that every episode from 1 on is there once, in order, with the seed at its place in the list."""
    numbers = [episode.number for episode in record.episodes]
    count = len(numbers) if seeds is None else len(seeds)
    for number in sorted(set(range(1, count + 1)) - set(numbers)):
        yield Mismatch(number, "it is missing.", EPISODE)
    if numbers != sorted(numbers):
        yield Mismatch(None, "The episodes are not in the order of their numbers.")
    seen: set[int] = set()
    for episode in record.episodes:
        if not 1 <= episode.number <= count:
            yield Mismatch(episode.number, f"it is not one of the {count} that were to be played.", EPISODE)
        elif episode.number in seen:
            yield Mismatch(episode.number, "it is recorded more than once.", EPISODE)
        elif seeds is not None and episode.seed != seeds[episode.number - 1]:
            yield Mismatch(episode.number, "its seed is not the one at its place in the list.", EPISODE)
        seen.add(episode.number)


def _environment(spec: EnvironmentSpec, record: EvaluationRecord) -> Environment:
    """Return an environment to play the episodes again in. Raises CannotCheck."""
    if record.environment != spec.id:
        raise CannotCheck(f"The record is of {record.environment}, not of {spec.id}.")
    if not spec.deterministic:
        raise CannotCheck(f"{spec.id} is not deterministic: the same actions need not give the same score again.")
    try:
        environment = spec.make()
    except (MissingExtra, BrokenEnvironment) as error:
        raise CannotCheck(str(error)) from error
    if differs := other_runtime(spec, record.runtime):
        raise CannotCheck(differs)
    return environment


def other_runtime(spec: EnvironmentSpec, then: str) -> str:
    """Return a sentence when scores of the runtime `then` may differ here; "" when the runtime is the same."""
    if then == spec.runtime:
        return ""
    then, now = then or "unknown versions", spec.runtime or "no such packages"
    return f"It was played with {then}, but this machine has {now}. Other versions may give other scores."


def _episode_faults(environment: Environment, episode: EpisodeRecord) -> Iterator[str]:
    """Yield a sentence for everything that is wrong with an episode, after playing it again in `environment`."""
    if episode.seed < 0:
        yield "its seed is below 0."
        return
    environment.reset(episode.seed)
    score = 0.0
    actions: Sequence[Action] = episode.actions
    for step, action in enumerate(actions, start=1):
        try:
            (reward,) = environment.step({0: action})
        except NOT_PLAYABLE as error:
            yield f"step {step} is not possible: {error}"
            return
        score += reward
    if environment.to_move:
        yield f"it stops after {episode.length} steps, before its end."
        return
    if episode.score != score:
        yield f"its score is {episode.score!r}, not {score!r}."
    if episode.truncated != environment.truncated:
        ends = ("by the task", "by the limit of steps")
        yield f"it is recorded as ended {ends[episode.truncated]}, but was ended {ends[environment.truncated]}."
