"""A sitting: a match between a person and a player. The referee queries the player; the seat has the person's.

All moves are kept outside of this process, so a sitting can go on elsewhere: a fresh player is then asked every
question of the match again, from `start` on, as after the loss of a container in a duel. Its answers to moves that have
been made already are read and not played.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from arena_kit.environment.records import MatchRecord
from arena_kit.environment.spec import EnvironmentSpec, Limits
from arena_kit.machine.sockets import POLLIN, POLLOUT, Poll
from arena_kit.referee.faults import PlayerFault, first_line
from arena_kit.referee.link import PlayerLink, PlayerLost
from arena_kit.referee.match import Match
from arena_kit.referee.stalls import Stalls
from arena_kit.referee.wire import ACTION, END, ERROR, Answer, Encoder, Question
from arena_kit.sandbox.base import Container
from arena_kit.sandbox.ending import Ending

PERSON, PLAYER = 0, 1
"""The person is player_1 of the record, the submission player_2."""
POLL_SECONDS = 0.05


@dataclass(frozen=True, slots=True)
class SittingMove:
    """A move of a sitting. step: counted from 0 after the opening. seconds: how long the player thought."""

    step: int
    seat: int
    action: int
    seconds: float = 0.0


class PersonLeft(Exception):
    """The person gives the match up. fault: RESIGNED or LEFT."""

    def __init__(self, fault: PlayerFault) -> None:
        super().__init__(fault.value)
        self.fault = fault


class PersonsSeat(Protocol):
    """Where the person sits, and where the moves are kept."""

    def persons_move(self, step: int, valid: Sequence[int], seconds: float) -> int | None:
        """Return the person's valid action in a step, or None after at most `seconds`.

        May raise to end the match here: PersonLeft decides it, anything else leaves it open.
        """

    def player_moved(self, move: SittingMove) -> None:
        """Keep a move of the player; called before the person sees it."""

    def still_wanted(self) -> None:
        """Called several times a second while the player thinks; may raise as `persons_move`."""


@dataclass(frozen=True, slots=True)
class PlayedSitting:
    """A sitting that is over. log: the output of the player, in its last container."""

    record: MatchRecord
    log: str


def run_sitting(
    spec: EnvironmentSpec,
    launch: Callable[[], Container],
    table: PersonsSeat,
    *,
    seed: int,
    seats: tuple[int, ...],
    opening: Sequence[int],
    moves: Sequence[SittingMove],
    limits: Limits,
    clock: Callable[[], float],
) -> PlayedSitting:
    """Play a sitting from its moves so far to its end. Raises what the table raises, PlatformFault and SandboxError.

    launch: starts the player's container. seats: seats[seat] is PERSON or PLAYER. opening: the actions before the first
    step. moves: complete steps, and those of the next step that are known, as `so_far` takes them.
    """
    sitting = Sitting(spec, launch, table, seed=seed, seats=seats, opening=opening, limits=limits, clock=clock)
    try:
        sitting.play(moves)
    finally:
        sitting.link.close()
    assert sitting.match.record is not None
    return PlayedSitting(sitting.match.record, sitting.link.log)


class Sitting:
    """The loop of a sitting; `run_sitting` describes the arguments."""

    def __init__(
        self,
        spec: EnvironmentSpec,
        launch: Callable[[], Container],
        table: PersonsSeat,
        *,
        seed: int,
        seats: tuple[int, ...],
        opening: Sequence[int],
        limits: Limits,
        clock: Callable[[], float],
    ) -> None:
        encoder = Encoder(spec.observation, spec.action_count)
        self.link = PlayerLink(PLAYER, spec, encoder, launch, limits=limits, parallel_matches=1, clock=clock)
        self.match = Match(
            spec, encoder, number=1, seed=seed, seats=seats, bank=limits.bank_seconds, opening=tuple(opening)
        )
        self._table, self._limits, self._clock = table, limits, clock
        self._seats = seats
        self._step = -1
        """The current step; -1 before the match has begun."""
        self._asked: dict[int, Question] = {}
        """By player: the questions of the current step that are not answered yet."""
        self._stalls = Stalls()

    def play(self, moves: Sequence[SittingMove]) -> None:
        """Repeat the moves that were made, start the player, and play to the end."""
        self._take(self.match.start())
        self._repeat(moves)
        link, match = self.link, self.match
        try:
            if not match.is_over:
                # A person who has left, or whose move ends the match, needs no player.
                self._look_at_person()
            if not match.is_over:
                link.open()
                link.waiting.extend(match.history[PLAYER])
                link.forgive_pause()
            while not match.is_over:
                self._turn()
            self._say_goodbye()
        except PlayerLost as loss:
            match.forfeit(PLAYER, self._fault_of(loss), loss.detail)
        except PersonLeft as left:
            match.forfeit(PERSON, left.fault)
            self._say_goodbye()
        link.hang_up()

    def _repeat(self, moves: Sequence[SittingMove]) -> None:
        by_place = {(move.step, move.seat): move for move in moves}
        while not self.match.is_over:
            step = self._step
            for player, question in list(self._asked.items()):
                move = by_place.get((self._step, self._seats.index(player)))
                if move is None or move.action not in question.valid:
                    continue
                self._charge(player, move.seconds)
                self._choose(player, move.action)
            if step == self._step:
                return

    def _turn(self) -> None:
        """Wait a moment for what is due next: an answer of the player, or the person's move."""
        link = self.link
        link.flush()
        is_busy = bool(link.outstanding)
        self._look_at_person(0.0 if is_busy else POLL_SECONDS)
        # A player without an open question is looked at as well: it may have died, or talk out of turn.
        self._listen(POLL_SECONDS if is_busy else 0.0)

    def _look_at_person(self, seconds: float = 0.0) -> None:
        """Take the person's move, if it is their turn and they make it within so many seconds."""
        asked = self._asked.get(PERSON)
        if asked is None:
            self._table.still_wanted()
            return
        action = self._table.persons_move(self._step, asked.valid, seconds)
        if action is not None:
            self._choose(PERSON, action)

    def _listen(self, seconds: float) -> None:
        """Wait for the player's answers and act on them. Raises PlayerLost."""
        link = self.link
        poll = Poll()
        poll.register(link.fileno(), POLLIN | (POLLOUT if link.wants_to_write else 0))
        events = poll.poll(seconds * 1000)
        if self._stalls.was_stalled(seconds):
            link.forgive_pause()
        if any(event & ~POLLOUT for _, event in events):
            took, answers = link.receive()
            for question, answer in answers:
                self._answer(question, answer, took)
                took = 0.0
            if link.broken is not None:
                raise link.broken
        if link.deadline is not None and self._clock() > link.deadline:
            link.raise_if_paused()
            raise PlayerLost(PlayerFault.TIMED_OUT)

    def _answer(self, question: Question, answer: Answer, seconds: float) -> None:
        match = self.match
        if answer.kind is ERROR:
            self.link.keep_trace(1, answer.text)
        if match.is_over or question.kind is END:
            return
        if answer.kind is not ACTION:
            fault = PlayerFault.RAISED if answer.kind is ERROR else PlayerFault.ILLEGAL_ACTION
            raise PlayerLost(fault, first_line(answer.text))
        if answer.sequence < match.move_counts[PLAYER] or PLAYER not in self._asked:
            # A question of before, which was asked again.
            return
        self._charge(PLAYER, seconds)
        if match.banks[PLAYER] < 0:
            raise PlayerLost(PlayerFault.TIMED_OUT)
        action = answer.action
        if isinstance(action, bytes) or action not in self._asked[PLAYER].valid:
            raise PlayerLost(PlayerFault.ILLEGAL_ACTION, f"{action!r} is not among the valid actions.")
        self._table.player_moved(SittingMove(self._step, self._seats.index(PLAYER), action, seconds))
        self._choose(PLAYER, action)

    def _charge(self, player: int, seconds: float) -> None:
        self.match.took(player, self.match.move_counts[player], seconds)
        self.match.charge(player, seconds, self._limits.move_seconds)

    def _choose(self, player: int, action: int) -> None:
        del self._asked[player]
        is_last = not self._asked
        questions = self.match.choose(player, action)
        if is_last:
            self._take(questions)

    def _take(self, questions: Sequence[Question]) -> None:
        """Begin the next step with its questions."""
        self._step += 1
        self._asked = {question.player: question for question in questions if question.kind is not END}
        # Before the player is there, its questions are kept in the match's history.
        if self.link.is_open:
            self.link.waiting += [question for question in questions if question.player == PLAYER]

    def _fault_of(self, loss: PlayerLost) -> PlayerFault:
        is_memory = loss.fault is PlayerFault.DIED and self.link.ending() is Ending.OUT_OF_MEMORY
        return PlayerFault.OUT_OF_MEMORY if is_memory else loss.fault

    def _say_goodbye(self) -> None:
        """Give the player the time of a move for its `end`, where it was asked anything."""
        link, until = self.link, self._clock() + self._limits.move_seconds
        if link.is_open and not any(question.kind is END for question in link.waiting):
            link.waiting += [question for question in self.match.ends() if question.player == PLAYER]
        while link.is_open and link.owes_end and link.broken is None and self._clock() < until:
            link.flush()
            if link.can_read():
                for question, answer in link.receive()[1]:
                    self._answer(question, answer, 0.0)
