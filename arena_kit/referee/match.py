"""A running match: the environment, the players' seats, and the questions and answers so far."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

from arena_kit.environment.openings import begin, opening_of
from arena_kit.environment.protocol import Action, BrokenEnvironment, Environment
from arena_kit.environment.records import Fault, MatchRecord, Outcome
from arena_kit.environment.spec import EnvironmentSpec
from arena_kit.errors import PlatformFault
from arena_kit.referee.faults import ENVIRONMENT_FAILED, PlayerFault, sentence
from arena_kit.referee.wire import END, START, STEP, Encoder, Question, new_tuple

ERROR_CHARACTERS = 2000
LEAST_SECONDS = 0.0005
"""Moves are recorded in whole milliseconds, so a shorter one is recorded as 0."""
WINNERS = (Outcome.PLAYER_1, Outcome.PLAYER_2)


def pair_seed(seed: int, pair: int) -> int:
    """Return the seed of a pair of matches: the 4-byte BLAKE2b hash of "seed/pair" as an unsigned integer.

    seed: the duel's. pair: counted from 0.
    """
    return _seed_of(f"{seed}/{pair}")


def match_seed(spec: EnvironmentSpec, seed: int, number: int) -> int:
    """Return the seed of a match: that of its pair, or in the second match of a pair that shares no chance, its own.

    seed: the duel's. number: of the match, from 1.
    """
    pair, is_second = divmod(number - 1, 2)
    if is_second and not spec.pairs_share_chance:
        return _seed_of(f"{seed}/{pair}/2")
    return pair_seed(seed, pair)


def _seed_of(text: str) -> int:
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=4).digest(), "little")


class Match:
    """The state of a match between two players. The referee decides which actions are legal."""

    def __init__(
        self,
        spec: EnvironmentSpec,
        encoder: Encoder,
        *,
        number: int,
        seed: int,
        seats: tuple[int, ...],
        bank: float,
        opening: tuple[int, ...] | None = None,
    ) -> None:
        """opening: the actions that the match begins with; None to draw them from the seed as the spec says."""
        self.number, self.seed, self.seats, self._opening = number, seed, seats, opening
        self.record: MatchRecord | None = None
        self.is_over = False
        """Whether it is decided; a plain attribute, which is fast to read after every move."""
        self.banks = [bank, bank]
        self.history: tuple[list[Question], list[Question]] = ([], [])
        """By player: every START and STEP so far, to repeat after a restart of its container."""
        self._spec, self._encoder = spec, encoder
        try:
            self._environment = spec.make()
        except BrokenEnvironment as error:
            raise self._broken(error) from error
        self._actions: list[int] = []
        self._opening_count = 0
        self._chosen: dict[int, int] = {}
        self._blamed: dict[int, tuple[PlayerFault, str]] = {}
        """By seat: the faults of the current step, while the other seats still have to answer."""
        self._pending_rewards = [0.0] * spec.seats
        self._scores = [0.0] * spec.seats
        self.move_counts = [0, 0]
        """By player: the number of accepted actions. Questions with a lower sequence are repeated after a restart."""
        self.cpu_seconds = [0.0, 0.0]
        """By player: processor time of its container."""
        self._thinking = [0.0, 0.0]
        self._slowest = [0.0, 0.0]
        self._timed: list[tuple[int, int, float]] = []
        """Player, sequence and seconds of the answers whose time is known; a list of all moves would cost more."""
        self._valid: dict[int, Sequence[int]] = {}
        self._seat_of = tuple(seats.index(player) for player in range(2))

    def start(self) -> list[Question]:
        """Reset the environment and play the opening; return the first questions."""
        environment, (seed, opening) = self.beginning()
        try:
            # The opening's rewards count, but no player is told them: a match begins with `start`.
            for seat, reward in enumerate(begin(environment, seed, opening)):
                self._scores[seat] += reward
        except Exception as error:
            raise self._broken(error) from error
        self._actions += opening
        self._opening_count = len(opening)
        return self._ask(environment.to_move)

    def choose(self, player: int, action: int) -> list[Question]:
        """Take a player's action; return the questions that follow, including END.

        Raises ValueError with a sentence when the action is not valid, and PlatformFault when the environment fails.
        """
        seat = self._seat_of[player]
        environment, movers = self._environment, self._valid
        if action not in movers[seat]:
            raise ValueError(f"{action} is not among {_shorten(movers[seat])}.")
        self.move_counts[player] += 1
        if len(movers) == 1:
            self._actions.append(action)
            chosen = {seat: action}
        else:
            self._chosen[seat] = action
            if len(self._chosen) + len(self._blamed) < len(movers):
                return []
            if self._blamed:
                ((other, (fault, detail)),) = self._blamed.items()
                self.forfeit(self.seats[other], fault, detail)
                return self.ends()
            chosen, self._chosen = self._chosen, {}
            self._actions += [chosen[mover] for mover in movers]
        try:
            rewards = environment.step(chosen)
        except Exception as error:
            raise self._broken(error) from error
        pending = self._pending_rewards
        for mover in chosen:
            pending[mover] = 0.0
        if any(rewards):
            for index, reward in enumerate(rewards):
                pending[index] += reward
                self._scores[index] += reward
        if to_move := environment.to_move:
            return self._ask(to_move)
        scores = tuple(self._scores[seat] for seat in self._seat_of)
        outcome = Outcome.DRAW if scores[0] == scores[1] else WINNERS[scores[1] > scores[0]]
        self._finish(outcome, scores)
        return self.ends()

    def beginning(self) -> tuple[Environment, tuple[int, tuple[int, ...]]]:
        """Return the environment, and the seed and opening that `start` gives it. Raises PlatformFault."""
        try:
            opening = opening_of(self._spec, self.seed) if self._opening is None else self._opening
            return self._environment, (self.seed, opening)
        except Exception as error:
            raise self._broken(error) from error

    def next_step(self, player: int, action: Action, sequence: int) -> tuple[Environment, dict[int, Action]] | None:
        """Return the step that an answer leads to; None if it leads to none, or waits for another seat."""
        seat = self._seat_of[player]
        movers = self._valid
        if self.is_over or len(movers) != 1 or sequence != self.move_counts[player]:
            return None
        return (self._environment, {seat: action}) if action in movers.get(seat, ()) else None

    def blame(self, player: int, fault: PlayerFault, detail: str = "") -> bool:
        """Note the fault of a player's answer; return whether every seat of the step has answered, so that it counts.

        A step of simultaneous moves is judged as a whole, or the player that answers sooner would be worse off.
        """
        self._blamed.setdefault(self._seat_of[player], (fault, detail))
        return len(self._chosen) + len(self._blamed) == len(self._valid)

    def is_blamed(self, player: int) -> bool:
        """Return whether a fault of the player in the current step is noted, so that its answer there is known."""
        return self._seat_of[player] in self._blamed

    def forfeit(self, player: int, fault: PlayerFault, detail: str = "") -> None:
        """Decide the match against `player`, with the score of a lost match, so that failing is never better.

        If both players are at fault in the same step, seat 0 forfeits: each player has it once in a pair of matches.
        """
        self._blamed.setdefault(self._seat_of[player], (fault, detail))
        seat = min(self._blamed)
        player, (fault, detail) = self.seats[seat], self._blamed[seat]
        loss = self._spec.forfeit_score
        scores = (-loss, loss) if player == 0 else (loss, -loss)
        self._finish(WINNERS[1 - player], scores, fault, player, sentence(fault, detail)[:ERROR_CHARACTERS])

    def ends(self) -> list[Question]:
        """Return END for each player of a decided match that was asked anything in it."""
        return [self._end(player) for player in range(2) if self.history[player]]

    def forget(self) -> None:
        """Drop the questions, which refer to the match and would keep it in memory."""
        self.history = ([], [])

    def actions_so_far(self) -> tuple[int, ...]:
        """Return the actions that were played, the opening included."""
        return tuple(self._actions)

    def took(self, player: int, sequence: int, seconds: float) -> None:
        """Note the time of the answer to a question for the record. sequence: the question's."""
        if self.is_over or sequence < self.move_counts[player] or self._seat_of[player] in self._blamed:
            return
        self._thinking[player] += seconds
        self._slowest[player] = max(self._slowest[player], seconds)
        self._timed.append((player, sequence, seconds))

    def charge(self, player: int, seconds: float, free_seconds: float) -> None:
        """Take the time of a move from the player's bank, as far as it goes beyond the free time."""
        if seconds > free_seconds:
            self.banks[player] -= seconds - free_seconds

    def _ask(self, to_move: tuple[int, ...]) -> list[Question]:
        self._valid = {}
        requests = []
        for seat in to_move:
            try:
                values, valid = self._environment.observe(seat)
                observation = self._encoder.observation(values)
            except Exception as error:
                raise self._broken(error) from error
            self._valid[seat] = valid
            player = self.seats[seat]
            history = self.history[player]
            kind, sequence = STEP if history else START, len(history)
            # Nothing is reported to a first move, so its column holds the seat.
            reward = self._pending_rewards[seat] if history else float(seat)
            request = new_tuple(Question, (self.number, kind, sequence, reward, valid, observation, self, player))
            history.append(request)
            requests.append(request)
        return requests

    def _end(self, player: int) -> Question:
        seat = self._seat_of[player]
        try:
            observation = self._encoder.observation(self._environment.observe(seat).observation)
        except Exception as error:
            raise self._broken(error) from error
        sequence, reward = len(self.history[player]), self._pending_rewards[seat]
        return Question(self.number, END, sequence, reward, (), observation, self, player)

    def _finish(
        self,
        outcome: Outcome,
        scores: tuple[float, ...],
        fault: PlayerFault | None = None,
        faulty_player: int | None = None,
        error: str = "",
    ) -> None:
        self.is_over = True
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
            move_counts=tuple(self.move_counts),
            thinking_seconds=tuple(self._thinking),
            slowest_move_seconds=tuple(self._slowest),
            cpu_seconds=tuple(self.cpu_seconds),
            opening_count=self._opening_count,
            move_ms=(self._in_ms(0), self._in_ms(1)),
        )

    def _in_ms(self, player: int) -> tuple[int, ...]:
        """Return the times of a player's moves for the record; `()` if none of them took half a millisecond."""
        if self._slowest[player] < LEAST_SECONDS:
            return ()
        found = [0] * self.move_counts[player]
        for mover, sequence, seconds in self._timed:
            # The last answer may have been refused.
            if mover == player and sequence < len(found):
                found[sequence] = round(1000 * seconds)
        return tuple(found)

    def _broken(self, error: Exception) -> PlatformFault:
        return PlatformFault(
            f"The environment {self._spec.id} failed in match {self.number}: {type(error).__name__}: {error}",
            code=ENVIRONMENT_FAILED,
            matches=(self.number,),
        )


def _shorten(actions: Sequence[int]) -> str:
    text = ", ".join(str(action) for action in actions)
    return text if len(text) <= 60 else text[:57] + "..."
