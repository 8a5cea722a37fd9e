"""A sitting: a match between a person and a player. The referee queries the player; the seat has the person's.

All moves are kept outside of this process, and the player is asked only while it is to move. Between its moves it may
be kept, so that it answers the next question at once. Where it is not, or the sitting goes on elsewhere, a fresh player
is asked every question of the match again, from `start` on, as after the loss of a container in a duel. Its answers to
moves that have been made already are read and not played.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
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
POLL_SECONDS = 0.25


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


class SittingTable(Protocol):
    """Where the moves are kept."""

    def player_moved(self, move: SittingMove) -> None:
        """Keep a move of the player; called before the person sees it."""

    def still_wanted(self, *, is_persons_turn: bool) -> None:
        """Called several times a second while the player thinks, and once before.

        May raise to end the match here: PersonLeft decides it, anything else leaves it open.
        """


@dataclass(frozen=True, slots=True)
class PlayedSitting:
    """A sitting that is over. log: the output of the player, in its last container."""

    record: MatchRecord
    log: str


class Sitting:
    """The match, and its player between two of its moves. After any error of `go_on` it is of no more use: close it.

    launch: starts the player's container. seats: seats[seat] is PERSON or PLAYER. opening: the actions before the first
    step.
    """

    def __init__(
        self,
        spec: EnvironmentSpec,
        launch: Callable[[], Container],
        *,
        seed: int,
        seats: tuple[int, ...],
        opening: Sequence[int],
        limits: Limits,
        clock: Callable[[], float],
    ) -> None:
        encoder = Encoder(spec.observation, spec.action_count)
        self._link = PlayerLink(PLAYER, spec, encoder, launch, limits=limits, parallel_matches=1, clock=clock)
        self._match = Match(
            spec, encoder, number=1, seed=seed, seats=seats, bank=limits.bank_seconds, opening=tuple(opening)
        )
        self._limits, self._clock = limits, clock
        self._seats = seats
        self._step = -1
        """The current step; -1 before the match has begun."""
        self._asked: dict[int, Question] = {}
        """By player: the questions of the current step that are not answered yet."""
        self._made: dict[tuple[int, int], int] = {}
        """By step and seat: the action."""
        self._stalls = Stalls()

    def goes_on_to(self, moves: Sequence[SittingMove]) -> bool:
        """Return whether the moves continue those that were made here; not after one was taken back."""
        actions = {(move.step, move.seat): move.action for move in moves}
        return all(actions.get(place) == action for place, action in self._made.items())

    def go_on(self, moves: Sequence[SittingMove], table: SittingTable) -> PlayedSitting | None:
        """Play on until the person is to move, and return None; or to the end, and return the result.

        moves: all that were made, those of before too: complete steps, and those of the next step that are known, as
        `so_far` takes them. Raises what the table raises, PlatformFault and SandboxError.
        """
        match, known = self._match, {(move.step, move.seat): move for move in moves}
        try:
            if self._step < 0:
                self._take(match.start())
            self._repeat(known)
            if not match.is_over:
                # A person who has left, or whose move ends the match, needs no player.
                table.still_wanted(is_persons_turn=PERSON in self._asked)
                self._wake_player()
            self._stalls = Stalls()
            while PLAYER in self._asked and not match.is_over:
                self._link.flush()
                self._listen(table)
                self._repeat(known)
        except PlayerLost as loss:
            match.forfeit(PLAYER, self._fault_of(loss), loss.detail)
        except PersonLeft as left:
            match.forfeit(PERSON, left.fault)
        if match.record is None:
            return None
        self._say_goodbye(table)
        self.close()
        return PlayedSitting(match.record, self._link.log)

    @property
    def awaited(self) -> tuple[int, Sequence[int]]:
        """The step in which the person is to move, and their valid actions."""
        return self._step, self._asked[PERSON].valid

    def close(self) -> None:
        """End the player."""
        self._link.hang_up()
        self._link.close()

    def _wake_player(self) -> None:
        """Start the player, or find out how it has fared since its last move: it may have died, or talk out of turn."""
        link = self._link
        if link.is_open:
            if link.can_read(0.0):
                link.receive()
            if link.broken is not None:
                raise link.broken
            return
        link.open()
        link.waiting.extend(self._match.history[PLAYER])
        link.forgive_pause()

    def _repeat(self, known: Mapping[tuple[int, int], SittingMove]) -> None:
        """Make the moves that are known."""
        while not self._match.is_over:
            step = self._step
            for player, question in list(self._asked.items()):
                move = known.get((self._step, self._seats.index(player)))
                if move is None or move.action not in question.valid:
                    continue
                self._charge(player, move.seconds)
                self._choose(player, move.action)
            if step == self._step:
                return

    def _listen(self, table: SittingTable) -> None:
        """Wait a moment for the player's answers and act on them. Raises PlayerLost, and what the table raises."""
        link = self._link
        poll = Poll()
        poll.register(link.fileno(), POLLIN | (POLLOUT if link.wants_to_write else 0))
        events = poll.poll(POLL_SECONDS * 1000)
        if not events:
            table.still_wanted(is_persons_turn=PERSON in self._asked)
        if self._stalls.was_stalled(POLL_SECONDS):
            link.forgive_pause()
        if any(event & ~POLLOUT for _, event in events):
            took, answers = link.receive()
            for question, answer in answers:
                self._answer(question, answer, took, table)
                took = 0.0
            if link.broken is not None:
                raise link.broken
        if link.deadline is not None and self._clock() > link.deadline:
            link.raise_if_paused()
            raise PlayerLost(PlayerFault.TIMED_OUT)

    def _answer(self, question: Question, answer: Answer, seconds: float, table: SittingTable) -> None:
        match = self._match
        if answer.kind is ERROR:
            self._link.keep_trace(1, answer.text)
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
        table.player_moved(SittingMove(self._step, self._seats.index(PLAYER), action, seconds))
        self._choose(PLAYER, action)

    def _charge(self, player: int, seconds: float) -> None:
        self._match.took(player, self._match.move_counts[player], seconds)
        self._match.charge(player, seconds, self._limits.move_seconds)

    def _choose(self, player: int, action: int) -> None:
        del self._asked[player]
        self._made[self._step, self._seats.index(player)] = action
        is_last = not self._asked
        questions = self._match.choose(player, action)
        if is_last:
            self._take(questions)

    def _take(self, questions: Sequence[Question]) -> None:
        """Begin the next step with its questions."""
        self._step += 1
        self._asked = {question.player: question for question in questions if question.kind is not END}
        # Before the player is there, its questions are kept in the match's history.
        if self._link.is_open:
            self._link.waiting += [question for question in questions if question.player == PLAYER]

    def _fault_of(self, loss: PlayerLost) -> PlayerFault:
        is_memory = loss.fault is PlayerFault.DIED and self._link.ending() is Ending.OUT_OF_MEMORY
        return PlayerFault.OUT_OF_MEMORY if is_memory else loss.fault

    def _say_goodbye(self, table: SittingTable) -> None:
        """Give the player the time of a move for its `end`, where it was asked anything."""
        link, until = self._link, self._clock() + self._limits.move_seconds
        if link.is_open and not any(question.kind is END for question in link.waiting):
            link.waiting += [question for question in self._match.ends() if question.player == PLAYER]
        while link.is_open and link.owes_end and link.broken is None and self._clock() < until:
            link.flush()
            if link.can_read():
                for question, answer in link.receive()[1]:
                    self._answer(question, answer, 0.0, table)
