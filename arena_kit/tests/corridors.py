"""Two tiny tasks with one seat, one with numbered and one with array actions, and evaluations on them, for tests."""

from __future__ import annotations

import dataclasses
import math
import struct
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from arena_kit.environment.episodes import EpisodeRecord, EvaluationRecord
from arena_kit.environment.protocol import Action, IllegalAction, MatchOver, Observation
from arena_kit.environment.spec import ActionArraySpec, ArraySpec, EnvironmentSpec, Limits
from arena_kit.referee.play import Failure, PlayedEvaluation, run_evaluation
from arena_kit.referee.wire import Kind
from arena_kit.sandbox.base import Container
from arena_kit.tests.fake import Answerer, Asked, FakeContainer, Said, action, done, frame

LENGTH, MAX_STEPS = 10, 40
FAST = Limits(move_seconds=1.0, bank_seconds=0.5, start_seconds=30, duel_seconds=120)
"""Limits for players that never answer; a stall of this machine of more than a second is not charged to them."""
PATIENT = Limits(move_seconds=30, bank_seconds=30, start_seconds=30, duel_seconds=300)
SEEDS = tuple(range(11, 31))


class Corridor:
    """Walk to the end of a corridor. The seed decides where it begins; at the wall only one action is valid."""

    def reset(self, seed: int) -> None:
        self._place, self._steps = 1 + seed % 7, 0
        self.to_move: tuple[int, ...] = (0,)
        self.truncated = False

    def observe(self, seat: int) -> Observation:
        valid = () if not self.to_move else (1,) if self._place == 0 else (0, 1)
        return Observation([self._place, LENGTH], valid)

    def step(self, actions: Mapping[int, Action]) -> tuple[float, ...]:
        if not self.to_move:
            raise MatchOver("The episode is over.")
        if actions[0] not in self.observe(0).valid_actions:
            raise IllegalAction(f"{actions[0]!r} leads nowhere.")
        self._place += 1 if actions[0] else -1
        self._steps += 1
        is_there = self._place == LENGTH
        if is_there or self._steps == MAX_STEPS:
            self.to_move, self.truncated = (), not is_there
        return (1.0 if is_there else -0.125,)

    def frame(self) -> dict[str, Any]:
        return {"place": self._place}

    def text(self) -> str:
        return f"At {self._place} of {LENGTH}."


class Slider(Corridor):
    """Hit the point that the seed decides, five times. An action is two numbers, whose sum counts."""

    def reset(self, seed: int) -> None:
        super().reset(seed)
        self._target = (seed % 9) / 4 - 1

    def observe(self, seat: int) -> Observation:
        return Observation([self._target, float(self._steps)], ())

    def step(self, actions: Mapping[int, Action]) -> tuple[float, ...]:
        raw = actions[0]
        assert isinstance(raw, bytes)
        values = struct.unpack("<2f", raw)
        if not all(map(math.isfinite, values)):
            raise IllegalAction("An action must be finite.")
        self._steps += 1
        if self._steps == 5:
            self.to_move = ()
        return (-abs(self._target - sum(values)),)


class Broken(Corridor):
    """A corridor that fails at its third step."""

    def step(self, actions: Mapping[int, Action]) -> tuple[float, ...]:
        if self._steps == 2:
            raise RuntimeError("division by cucumber")
        return super().step(actions)


class Fickle(Corridor):
    """A corridor that refuses what it has called valid."""

    def step(self, actions: Mapping[int, Action]) -> tuple[float, ...]:
        raise IllegalAction("not today")


class Infinite(Corridor):
    """A corridor that gives an infinite reward."""

    def step(self, actions: Mapping[int, Action]) -> tuple[float, ...]:
        super().step(actions)
        return (math.inf,)


CORRIDOR = EnvironmentSpec(
    slug="corridor",
    version=1,
    name="Corridor",
    description="",
    image="corridor.svg",
    entry_point=f"{__name__}:Corridor",
    renderer=f"{__name__}:unseen",
    seats=1,
    observation=ArraySpec((2,)),
    action_count=2,
    forfeit_score=0.0,
    max_steps=MAX_STEPS,
    episodes_per_evaluation=20,
    matches_per_validation=3,
)
SLIDER = dataclasses.replace(
    CORRIDOR,
    slug="slider",
    entry_point=f"{__name__}:Slider",
    observation=ArraySpec((2,), "float64", "float64"),
    action_count=0,
    action=ActionArraySpec((2,), low=(-1.0,), high=(1.0,)),
)


def of_class(kind: type[Corridor]) -> EnvironmentSpec:
    """Return the spec of the corridor with the rules of another class of this module."""
    return dataclasses.replace(CORRIDOR, entry_point=f"{__name__}:{kind.__name__}")


class Clock:
    """A clock that tests move; players answer from other threads."""

    def __init__(self) -> None:
        self._now, self._lock = 100.0, threading.Lock()

    def __call__(self) -> float:
        return self._now

    def pass_(self, seconds: float) -> None:
        with self._lock:
            self._now += seconds


def rightwards(asked: Asked) -> bytes:
    """Walk straight to the end of the corridor."""
    return done(asked.match, asked.sequence) if asked.kind is Kind.END else action(asked.match, asked.sequence, 1)


def wandering(asked: Asked) -> bytes:
    """Choose actions that are deterministic, but differ between episodes and steps."""
    if asked.kind is Kind.END:
        return done(asked.match, asked.sequence)
    turns_back = (7 * asked.match + 3 * asked.sequence**2) % 5 == 0
    return action(asked.match, asked.sequence, asked.valid[0 if turns_back else -1])


def floats(asked: Asked, *values: float) -> bytes:
    """Return an ACTION with an array of float32."""
    return frame(Kind.ACTION, struct.pack(f"<II{len(values)}f", asked.match, asked.sequence, *values))


def sliding(asked: Asked) -> bytes:
    if asked.kind is Kind.END:
        return done(asked.match, asked.sequence)
    return floats(asked, 0.1 * asked.sequence, 0.3)


def at(episode: int, sequence: int, answer: Callable[[Asked], Said], *, else_: Answerer = rightwards) -> Answerer:
    """Return a player that walks to the end, but gives `answer` to one question."""
    return lambda asked: (
        answer(asked)
        if (asked.match, asked.sequence) == (episode, sequence) and asked.kind is not Kind.END
        else else_(asked)
    )


def evaluate(
    player: Answerer,
    *,
    spec: EnvironmentSpec = CORRIDOR,
    seeds: Sequence[int] = SEEDS,
    parallel: int = 4,
    limits: Limits = PATIENT,
    clock: Callable[[], float] = time.monotonic,
    containers: list[FakeContainer] | None = None,
    launch: Callable[[], Container] | None = None,
    **options: Any,
) -> PlayedEvaluation:
    """Evaluate a player that speaks the wire itself, or what `launch` starts; check that no container is left."""
    made: list[FakeContainer] = [] if containers is None else containers

    def start() -> Container:
        if launch is not None:
            return launch()
        container = FakeContainer(player)
        made.append(container)
        return container

    try:
        return run_evaluation(
            spec, start, name="one", seeds=seeds, parallel_episodes=parallel, limits=limits, clock=clock, **options
        )
    finally:
        assert all(container.closed for container in made)


def outline(record: EvaluationRecord) -> list[EpisodeRecord]:
    """Return a record without its times, which is what must not depend on time."""
    return [
        dataclasses.replace(episode, thinking_seconds=0.0, slowest_move_seconds=0.0, cpu_seconds=0.0)
        for episode in record.episodes
    ]


def failure_of(played: PlayedEvaluation) -> Failure:
    assert played.failure is not None
    # `on_episode` gets whole episodes even when the evaluation fails.
    assert all(episode.length <= MAX_STEPS for episode in played.record.episodes)
    assert len(played.record.episodes) < len(SEEDS)
    return played.failure


def slow(clock: Clock, seconds: Callable[[Asked], float]) -> Answerer:
    """Return a player that walks to the end of the corridor and moves the clock; the test does not wait."""

    def answerer(asked: Asked) -> bytes:
        clock.pass_(0.0 if asked.kind is Kind.END else seconds(asked))
        return rightwards(asked)

    return answerer
