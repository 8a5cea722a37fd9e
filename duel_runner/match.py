"""One running match: the environment, who sits where, what was asked and answered."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

from duel_runner.faults import PlatformFault, PlayerFault, sentence
from duel_runner.protocol import Encoder
from environments.api import Observation
from environments.records import Fault, MatchRecord, Outcome
from environments.spec import EnvironmentSpec

ERROR_CHARACTERS = 2000
WINNERS = (Outcome.PLAYER_1, Outcome.PLAYER_2)


def pair_seed(seed: int, pair: int) -> int:
    """Seed of both matches of a pair: the first four bytes of BLAKE2b over "seed/pair", as an unsigned integer."""
    return int.from_bytes(hashlib.blake2b(f"{seed}/{pair}".encode(), digest_size=4).digest(), "little")


@dataclass(slots=True)
class Request:
    """One frame to a player and what became of it."""

    match: Match
    sequence: int
    data: bytes
    is_end: bool = False
    answered: bool = False
    """Its answer counted already; sent again to a fresh container it only brings the player up to date."""
    written_at: float = 0.0


class Match:
    """State of a match between two players. The referee decides what is legal, never the player."""

    def __init__(
        self, spec: EnvironmentSpec, encoder: Encoder, *, number: int, seed: int, seats: tuple[int, ...], bank: float
    ) -> None:
        self.number, self.seed, self.seats = number, seed, seats
        self.record: MatchRecord | None = None
        self.banks = [bank, bank]
        self.history: tuple[list[Request], list[Request]] = ([], [])
        """By player: every START and STEP so far, to resume on a fresh container."""
        self._spec, self._encoder = spec, encoder
        self._environment = spec.make()
        self._actions: list[int] = []
        self._chosen: dict[int, int] = {}
        self._pending_rewards = [0.0] * spec.seats
        self._scores = [0.0] * spec.seats
        self._move_counts = [0, 0]
        self._thinking = [0.0, 0.0]
        self._slowest = [0.0, 0.0]
        self._valid: dict[int, Sequence[int]] = {}
        self._seat_of = tuple(seats.index(player) for player in range(2))

    @property
    def decided(self) -> bool:
        return self.record is not None

    def start(self) -> list[tuple[int, Request]]:
        """Reset the environment; return the first requests as (player, request)."""
        try:
            self._environment.reset(self.seed)
        except Exception as error:
            raise self._broken(error) from error
        return self._ask()

    def choose(self, player: int, action: int) -> list[tuple[int, Request]]:
        """Take a player's action; return the requests that follow, END included.

        Raises ValueError, with a sentence, when the action is not valid; PlatformFault when the environment breaks.
        """
        seat = self._seat_of[player]
        environment = self._environment
        if action not in self._valid[seat]:
            raise ValueError(f"{action} is not among {_shorten(self._valid[seat])}.")
        self._chosen[seat] = action
        self._move_counts[player] += 1
        if len(self._chosen) < len(self._valid):
            return []
        chosen, self._chosen = self._chosen, {}
        self._actions += [chosen[mover] for mover in self._valid]
        try:
            rewards = environment.step(chosen)
        except Exception as error:
            raise self._broken(error) from error
        for mover in chosen:
            self._pending_rewards[mover] = 0.0
        for index, reward in enumerate(rewards):
            self._pending_rewards[index] += reward
            self._scores[index] += reward
        if environment.to_move:
            return self._ask()
        scores = tuple(self._scores[seat] for seat in self._seat_of)
        outcome = Outcome.DRAW if scores[0] == scores[1] else WINNERS[scores[1] > scores[0]]
        self._finish(outcome, scores)
        return self.ends()

    def forfeit(self, player: int, fault: PlayerFault, detail: str = "") -> None:
        """Decide the match against `player`. Its score is a lost match's, so that erring never beats losing."""
        loss = self._spec.forfeit_score
        scores = (-loss, loss) if player == 0 else (loss, -loss)
        self._finish(WINNERS[1 - player], scores, fault, player, sentence(fault, detail)[:ERROR_CHARACTERS])

    def ends(self) -> list[tuple[int, Request]]:
        """END for both players of a decided match, as far as they have been asked anything in it."""
        return [(player, self._end(player)) for player in range(2) if self.history[player]]

    def charge(self, player: int, seconds: float, free_seconds: float) -> None:
        """Book the time of a move; what exceeds the free time comes from the player's bank."""
        self._thinking[player] += seconds
        self._slowest[player] = max(self._slowest[player], seconds)
        if seconds > free_seconds:
            self.banks[player] -= seconds - free_seconds

    def _ask(self) -> list[tuple[int, Request]]:
        environment, encoder = self._environment, self._encoder
        self._valid = {}
        requests = []
        for seat in environment.to_move:
            seen = self._see(seat)
            self._valid[seat] = seen.valid_actions
            player = self.seats[seat]
            history = self.history[player]
            sequence = len(history)
            observation = encoder.observation(seen.observation)
            valid = encoder.valid_actions(seen.valid_actions)
            if history:
                data = encoder.step(self.number, sequence, observation, valid, self._pending_rewards[seat])
            else:
                data = encoder.start(self.number, sequence, observation, valid)
            request = Request(self, sequence, data)
            history.append(request)
            requests.append((player, request))
        return requests

    def _end(self, player: int) -> Request:
        seat = self._seat_of[player]
        sequence = len(self.history[player])
        observation = self._encoder.observation(self._see(seat).observation)
        data = self._encoder.end(self.number, sequence, observation, self._pending_rewards[seat])
        return Request(self, sequence, data, is_end=True)

    def _see(self, seat: int) -> Observation:
        try:
            return self._environment.observe(seat)
        except Exception as error:
            raise self._broken(error) from error

    def _finish(
        self,
        outcome: Outcome,
        scores: tuple[float, ...],
        fault: PlayerFault | None = None,
        faulty_player: int | None = None,
        error: str = "",
    ) -> None:
        self.record = MatchRecord(
            number=self.number,
            seed=self.seed,
            seats=self.seats,
            actions=tuple(self._actions),
            outcome=outcome,
            scores=scores,
            fault=Fault.NONE if fault is None else Fault.PLAYER,
            faulty_player=faulty_player,
            error_code="" if fault is None else fault.value,
            error=error,
            move_counts=tuple(self._move_counts),
            thinking_seconds=tuple(self._thinking),
            slowest_move_seconds=tuple(self._slowest),
        )

    def _broken(self, error: Exception) -> PlatformFault:
        return PlatformFault(
            f"The environment {self._spec.id} failed in match {self.number}: {type(error).__name__}: {error}",
            code="environment_failed",
        )


def _shorten(actions: Sequence[int]) -> str:
    text = ", ".join(str(action) for action in actions)
    return text if len(text) <= 60 else text[:57] + "..."
