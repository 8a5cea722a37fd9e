"""Evaluations of players that speak the wire themselves: what counts, and which faults fail the evaluation."""

from __future__ import annotations

import struct
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from arena_kit.environment.episodes import EpisodeRecord
from arena_kit.environment.spec import EnvironmentSpec
from arena_kit.errors import PlatformFault
from arena_kit.referee.faults import SENTENCES, PlayerFault
from arena_kit.referee.play import run_episode, run_evaluation
from arena_kit.referee.wire import MAX_ANSWER_BYTES, Kind
from arena_kit.sandbox.base import Container, PlayerDidNotStart
from arena_kit.sandbox.ending import Ending
from arena_kit.tests.corridors import (
    CORRIDOR,
    FAST,
    MAX_STEPS,
    SEEDS,
    SLIDER,
    Broken,
    Clock,
    Fickle,
    Infinite,
    at,
    evaluate,
    failure_of,
    floats,
    of_class,
    outline,
    rightwards,
    sliding,
    slow,
    wandering,
)
from arena_kit.tests.fake import Answerer, Asked, FakeContainer, Said, Stall, action, done, frame, ready, text_answer

# --- Without faults ---------------------------------------------------------------------------------------


def test_the_score_is_the_sum_of_the_rewards_that_the_referee_has_counted() -> None:
    record = evaluate(rightwards, seeds=[0, 6]).record

    assert [(e.number, e.seed, e.length, e.score, e.truncated) for e in record.episodes] == [
        (1, 0, 9, 1.0 - 8 / 8, False),
        (2, 6, 3, 1.0 - 2 / 8, False),
    ]
    assert (record.environment, record.runtime, record.player) == ("corridor-v1", "", "one")


def test_an_episode_that_a_limit_ends_is_kept_as_truncated() -> None:
    never: Answerer = lambda asked: asked.good_answer()  # noqa: E731  # the first valid action leads away
    (episode,) = evaluate(never, seeds=[3]).record.episodes

    assert (episode.length, episode.truncated, episode.score) == (MAX_STEPS, True, -MAX_STEPS / 8)


def test_a_player_is_told_turns_while_the_record_knows_the_places_of_the_list() -> None:
    container = FakeContainer(rightwards)

    played = run_evaluation(
        CORRIDOR, lambda: container, name="one", seeds=[0, 6, 3], order=[2, 0, 1], parallel_episodes=1, limits=FAST,
        clock=time.monotonic,
    )  # fmt: skip

    episodes = played.record.episodes
    assert [(episode.number, episode.seed) for episode in episodes] == [(1, 0), (2, 6), (3, 3)]
    turns = [sum(asked.match == turn and asked.kind is not Kind.END for asked in container.asked) for turn in (1, 2, 3)]
    assert turns == [episodes[place].length for place in (2, 0, 1)]
    assert len(set(turns)) == 3


@pytest.mark.parametrize(("spec", "player"), [(CORRIDOR, wandering), (SLIDER, sliding)], ids=["numbers", "arrays"])
def test_the_record_does_not_depend_on_how_many_episodes_run_at_once(spec: EnvironmentSpec, player: Answerer) -> None:
    records = [evaluate(player, spec=spec, parallel=parallel).record for parallel in (1, 3, 8, 64)]

    assert [outline(record) for record in records[1:]] == [outline(records[0])] * 3
    assert [episode.seed for episode in records[0].episodes] == list(SEEDS)
    assert len({episode.score for episode in records[0].episodes}) > 3


class Rightwards:
    """A player like `rightwards`, in this process."""

    def start(self, state: Any, valid_actions: Any) -> Any:
        return valid_actions[-1]

    def step(self, state: Any, valid_actions: Any, prev_reward: float) -> Any:
        return valid_actions[-1]

    def end(self, state: Any, prev_reward: float) -> None:
        self.last = prev_reward


class Sliding(Rightwards):
    def start(self, state: Any, valid_actions: Any) -> Any:
        self.steps = 0
        return np.array([0.0, 0.3])

    def step(self, state: Any, valid_actions: Any, prev_reward: float) -> Any:
        self.steps += 1
        return [0.1 * self.steps, 0.3]


@pytest.mark.parametrize(
    ("spec", "bare", "wired"),
    [(CORRIDOR, Rightwards(), rightwards), (SLIDER, Sliding(), sliding)],
    ids=["numbers", "arrays"],
)
def test_an_episode_in_one_process_gives_the_same_record_as_over_the_wire(
    spec: EnvironmentSpec, bare: Rightwards, wired: Answerer
) -> None:
    (episode,) = outline(evaluate(wired, spec=spec, seeds=[13]).record)

    assert run_episode(spec, bare, 13) == episode


def test_every_step_carries_the_reward_of_the_one_before_and_the_end_the_last() -> None:
    containers: list[FakeContainer] = []
    evaluate(rightwards, seeds=[5, 6], parallel=1, containers=containers)

    asked = [(a.kind, a.match, a.sequence, a.reward, a.valid) for a in containers[0].asked if a.match == 1]
    assert asked == [
        (Kind.START, 1, 0, 0.0, (0, 1)),
        (Kind.STEP, 1, 1, -0.125, (0, 1)),
        (Kind.STEP, 1, 2, -0.125, (0, 1)),
        (Kind.STEP, 1, 3, -0.125, (0, 1)),
        (Kind.END, 1, 4, 1.0, ()),
    ]
    assert [a.match for a in containers[0].asked if a.kind is Kind.END] == [1, 2]


def test_no_more_episodes_run_at_once_than_the_player_takes() -> None:
    made: list[FakeContainer] = []

    def launch() -> Container:
        made.append(FakeContainer(rightwards, hello=ready(2)))
        return made[0]

    evaluate(rightwards, parallel=8, launch=launch)

    assert made[0].most_at_once() == 2


def test_every_episode_is_told_once_when_it_is_over() -> None:
    told: list[EpisodeRecord] = []

    played = evaluate(wandering, parallel=8, on_episode=told.append)

    assert sorted(told, key=lambda episode: episode.number) == list(played.record.episodes)
    assert len(told) == len(SEEDS)


def test_an_end_that_fails_is_in_the_log_and_not_punished() -> None:
    def answerer(asked: Asked) -> bytes:
        if asked.kind is Kind.END:
            return text_answer(Kind.ERROR, asked.match, asked.sequence, "OSError: cannot save")
        return rightwards(asked)

    played = evaluate(answerer)

    assert (played.failure, len(played.record.episodes)) == (None, len(SEEDS))
    assert "[match 1] OSError: cannot save" in played.player_log


@pytest.mark.parametrize("last", [None, Stall()], ids=["dying", "hanging"])
def test_what_becomes_of_the_last_end_changes_nothing(last: Said) -> None:
    answerer: Answerer = lambda asked: last if asked.kind is Kind.END else rightwards(asked)  # noqa: E731

    played = evaluate(answerer, seeds=[4], limits=FAST)

    assert (played.failure, len(played.record.episodes)) == (None, 1)


# --- Faults ----------------------------------------------------------------------------------------------


def big(kind: int) -> bytes:
    return struct.pack("<IB", MAX_ANSWER_BYTES + 1, kind)


FAULTS: dict[str, tuple[Callable[[Asked], Said], str, str]] = {
    "raises": (
        lambda a: text_answer(Kind.ERROR, a.match, a.sequence, "ValueError: no\x00 idea\nTraceback"),
        "player_raised",
        "Episode 3: The player raised an exception: ValueError: no idea",
    ),
    "returns no integer": (
        lambda a: text_answer(Kind.INVALID, a.match, a.sequence, "The action must be an integer, not float."),
        "illegal_action",
        "Episode 3: The player chose an action that is not valid here: The action must be an integer, not float.",
    ),
    "returns what is not valid": (
        lambda a: action(a.match, a.sequence, 2),
        "illegal_action",
        "Episode 3: The player chose an action that is not valid here: 2 is not among the valid actions.",
    ),
    "returns the largest number": (
        lambda a: action(a.match, a.sequence, 2**63 - 1),
        "illegal_action",
        f"Episode 3: The player chose an action that is not valid here: {2**63 - 1} is not among the valid actions.",
    ),
    "answers twice": (
        lambda a: action(a.match, a.sequence, 1) * 2,
        "unexpected_answer",
        "The player sent an unexpected answer: ",
    ),
    "answers another episode": (
        lambda a: action(a.match + 1, a.sequence, 1),
        "unexpected_answer",
        "The player sent an unexpected answer: ",
    ),
    "is done too early": (
        lambda a: done(a.match, a.sequence),
        "unexpected_answer",
        "The player sent an unexpected answer: ",
    ),
    "forges a READY": (
        lambda a: ready(1),
        "unexpected_answer",
        "The player sent an unexpected answer: ",
    ),
    "sends an unknown kind": (
        lambda a: frame(77, b"{}" * 20),
        "malformed_answer",
        "The player's answer does not follow the protocol: An answer has the unknown kind 77.",
    ),
    "sends a short action": (
        lambda a: frame(Kind.ACTION, struct.pack("<IIi", a.match, a.sequence, 1)),
        "malformed_answer",
        "The player's answer does not follow the protocol: An action must have 8 bytes.",
    ),
    "floods": (
        lambda a: big(Kind.ERROR),
        "oversized_answer",
        "The player's answer is too large: An answer of 65537 bytes is too large.",
    ),
    "hangs up": (lambda a: None, "player_died", "The player's process ended in the middle of its play."),
}


@pytest.mark.parametrize("name", FAULTS)
@pytest.mark.parametrize("parallel", [1, 4])
def test_a_fault_fails_the_evaluation_with_its_code_and_a_sentence(name: str, parallel: int) -> None:
    answer, code, sentence = FAULTS[name]

    played = evaluate(at(3, 1, answer), parallel=parallel)

    failure = failure_of(played)
    assert failure.fault == code
    assert sentence.removeprefix("Episode 3: ") in failure.sentence
    assert failure.public_sentence.rstrip(".") == SENTENCES[failure.fault].rstrip(".")
    # The episode is known because its answer was read.
    assert failure.episode == 3 or not sentence.startswith("Episode")


@pytest.mark.parametrize(
    ("answer", "code", "detail"),
    [
        (lambda a: floats(a, float("nan"), 0.0), "illegal_action", "An action must be finite."),
        (lambda a: floats(a, float("inf"), 0.0), "illegal_action", "An action must be finite."),
        (lambda a: floats(a, 0.0), "malformed_answer", "An action must have 8 bytes."),
        (lambda a: floats(a, 0.0, 0.0, 0.0), "malformed_answer", "An action must have 8 bytes."),
        (lambda a: floats(a, *[0.0] * 20_000), "oversized_answer", "An answer of 80009 bytes is too large."),
        (
            lambda a: text_answer(Kind.INVALID, a.match, a.sequence, "The action must have the shape (2,)."),
            "illegal_action",
            "The action must have the shape (2,).",
        ),
    ],
    ids=["not a number", "infinite", "too short", "too long", "far too long", "wrong shape"],
)
def test_a_bad_array_fails_the_evaluation(answer: Callable[[Asked], bytes], code: str, detail: str) -> None:
    failure = failure_of(evaluate(at(2, 3, answer, else_=sliding), spec=SLIDER))

    assert failure.fault == code
    assert failure.sentence.endswith(detail)


def test_running_out_of_memory_is_told_from_dying() -> None:
    dying = lambda: FakeContainer(at(1, 2, lambda _: None), ending=Ending.OUT_OF_MEMORY)  # noqa: E731

    assert failure_of(evaluate(rightwards, launch=dying)).fault is PlayerFault.OUT_OF_MEMORY


@pytest.mark.parametrize(
    ("ending", "code"),
    [(Ending.EXITED, "player_failed_to_start"), (Ending.OUT_OF_MEMORY, "player_out_of_memory")],
)
def test_a_player_that_does_not_start_fails_and_its_output_is_kept(ending: Ending, code: str) -> None:
    def launch() -> Container:
        raise PlayerDidNotStart("It ended with status 1.", ending=ending, log="ImportError: no module named torch\n")

    played = evaluate(rightwards, launch=launch)

    assert failure_of(played).fault == code
    assert failure_of(played).sentence.endswith("It ended with status 1.")
    assert (played.record.episodes, played.player_log) == ((), "ImportError: no module named torch")


@pytest.mark.parametrize(
    ("hello", "code"),
    [
        (ready(0), "malformed_answer"),
        (ready(99), "malformed_answer"),
        (ready("many"), "malformed_answer"),
        (action(1, 0, 1), "unexpected_answer"),
        (frame(Kind.READY, b"[" * 60_000), "malformed_answer"),
    ],
    ids=["none", "too many", "in words", "an action", "nested"],
)
def test_a_handshake_that_is_none_fails_the_evaluation(hello: bytes, code: str) -> None:
    failure = failure_of(evaluate(rightwards, launch=lambda: FakeContainer(rightwards, hello=hello)))

    assert failure.fault == code


# --- The platform ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("spec", "sentence"),
    [
        (of_class(Broken), "The environment corridor-v1 failed: RuntimeError: division by cucumber"),
        (of_class(Fickle), "The environment corridor-v1 failed: IllegalAction: not today"),
        (of_class(Infinite), "The environment corridor-v1 gave the reward inf."),
    ],
    ids=["raises", "refuses a valid action", "infinite reward"],
)
def test_an_environment_that_breaks_is_no_player_s_fault(spec: EnvironmentSpec, sentence: str) -> None:
    with pytest.raises(PlatformFault) as caught:
        evaluate(rightwards, spec=spec)

    assert (str(caught.value), caught.value.code) == (sentence, "environment_failed")


def test_an_evaluation_that_is_wanted_no_longer_ends_at_once() -> None:
    clock = Clock()

    class Unwanted(Exception):
        pass

    def still_wanted() -> None:
        raise Unwanted

    with pytest.raises(Unwanted):
        evaluate(slow(clock, lambda _: 0.75), clock=clock, still_wanted=still_wanted)
