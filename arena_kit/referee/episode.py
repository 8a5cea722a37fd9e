"""One episode of an evaluation: the referee steps its environment and books what its player did."""

from __future__ import annotations

from dataclasses import dataclass
from math import isfinite

from arena_kit.environment.episodes import EpisodeRecord
from arena_kit.environment.protocol import Action, Environment, IllegalAction
from arena_kit.environment.spec import EnvironmentSpec
from arena_kit.errors import PlatformFault
from arena_kit.referee.faults import ENVIRONMENT_FAILED, PlayerFault
from arena_kit.referee.wire import ACTION, END, START, STEP, Answer, Encoder, Question, new_tuple


@dataclass(frozen=True, slots=True)
class Failure:
    """Why an evaluation failed.

    fault: the player's fault. episode: its number, if known. sentence: for the owner. public_sentence: the same for the
    public, without the episode and without text from the player.
    """

    fault: PlayerFault
    episode: int | None
    sentence: str
    public_sentence: str


class Episode:
    """One running episode, and after it the next one in the same environment."""

    is_over = False

    def __init__(self, spec: EnvironmentSpec, encoder: Encoder, bank: float) -> None:
        """bank: wall seconds that an episode may take in addition to the free time of each move."""
        self._encoder, self._bank, self._id = encoder, bank, spec.id
        try:
            self._environment = spec.make()
        except Exception as error:
            raise self._broken(error) from error
        self.banks = [bank]

    def start(self, turn: int, number: int, seed: int) -> Question:
        """Begin an episode in the same environment; return the first question.

        turn: counts the episodes begun, this one included; it is all that the player is told. number: the place of the
        seed in the list, from 1.
        """
        self.turn, self.number, self.seed = turn, number, seed
        self.actions: list[Action] = []
        self.score = 0.0
        self.banks[0] = self._bank
        self.thinking_seconds = self.slowest_move_seconds = self.cpu_seconds = 0.0
        try:
            self._environment.reset(seed)
        except Exception as error:
            raise self._broken(error) from error
        return self._question(START, 0.0)

    def step(self, action: Action) -> Question:
        """Take an action; return the next question, which is END when the episode is over.

        Raises IllegalAction, and PlatformFault when the environment fails, or refuses a number that it called valid.
        """
        if type(action) is int and action not in self._valid:
            raise IllegalAction(f"{action} is not among the valid actions.")
        try:
            (reward,) = self._environment.step({0: action})
        except Exception as error:
            if isinstance(error, IllegalAction) and type(action) is not int:
                raise
            raise self._broken(error) from error
        self.actions.append(action)
        self.score += float(reward)
        if not isfinite(self.score):
            raise PlatformFault(f"The environment {self._id} gave the reward {reward}.", code=ENVIRONMENT_FAILED)
        return self._question(STEP if self._environment.to_move else END, reward)

    def next_step(self, answer: Answer) -> tuple[Environment, dict[int, Action]] | None:
        """Return the step that an answer leads to; None if it leads to none."""
        if answer.kind is not ACTION or (type(answer.action) is int and answer.action not in self._valid):
            return None
        return self._environment, {0: answer.action}

    def charge(self, seconds: float, free_seconds: float) -> None:
        """Take the time of a move beyond the free time from the bank."""
        if seconds > free_seconds:
            self.banks[0] -= seconds - free_seconds

    def book(self, seconds: float, cpu_seconds: float) -> None:
        """Add the times of a move; answers that arrive together share their time equally."""
        self.thinking_seconds += seconds
        self.slowest_move_seconds = max(self.slowest_move_seconds, seconds)
        self.cpu_seconds += cpu_seconds

    def record(self) -> EpisodeRecord:
        """Return the record of an episode that is over."""
        return EpisodeRecord(
            number=self.number,
            seed=self.seed,
            actions=tuple(self.actions),  # type: ignore[arg-type]  # one kind of action an environment
            score=self.score,
            truncated=self._environment.truncated,
            thinking_seconds=self.thinking_seconds,
            slowest_move_seconds=self.slowest_move_seconds,
            cpu_seconds=self.cpu_seconds,
        )

    def _question(self, kind: int, reward: float) -> Question:
        try:
            values, self._valid = self._environment.observe(0)
            observation = self._encoder.observation(values)
        except Exception as error:
            raise self._broken(error) from error
        return new_tuple(Question, (self.turn, kind, len(self.actions), reward, self._valid, observation, self, 0))

    def _broken(self, error: Exception) -> PlatformFault:
        return PlatformFault(
            f"The environment {self._id} failed: {type(error).__name__}: {error}", code=ENVIRONMENT_FAILED
        )
