"""Plays one side of a recorded match again with another player, and finds the first move that differs.

The player sees what the recorded player saw, move by move; the recorded actions are played whatever it answers.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from dataclasses import dataclass

from arena_kit.environment.openings import begin, opening_of
from arena_kit.environment.openings_key import in_words
from arena_kit.environment.records import MatchRecord
from arena_kit.environment.spec import EnvironmentSpec, Limits
from arena_kit.errors import PlatformFault
from arena_kit.machine.sockets import POLLIN, POLLOUT, Poll
from arena_kit.referee.faults import PlayerFault, first_line, sentence
from arena_kit.referee.link import PlayerLink, PlayerLost
from arena_kit.referee.match import Match
from arena_kit.referee.wire import ACTION, Answer, Encoder, Question
from arena_kit.sandbox.base import Container

POLL_SECONDS = 1.0


@dataclass(frozen=True, slots=True)
class DifferentMove:
    """The first move that differs. ply: its place among all actions, from 1; text: the position before it.

    played: the recorded action, None where the recorded player forfeited. chosen: the action of the player here; None
    if it failed, and then `error` says how.
    """

    ply: int
    seat: int
    text: str
    played: int | None
    chosen: int | None
    error: str = ""


@dataclass(frozen=True, slots=True)
class Shadowed:
    """The result. moves: how many moves of the player were compared and are the same."""

    moves: int
    difference: DifferentMove | None
    log: str


def shadow_match(
    spec: EnvironmentSpec,
    launch: Callable[[], Container],
    record: MatchRecord,
    *,
    player: int,
    limits: Limits,
    clock: Callable[[], float],
) -> Shadowed:
    """Ask a player for every move of one side of a record, up to the first that differs.

    player: 0 or 1, the side of the record that it plays. Raises PlatformFault and SandboxError, also if the record does
    not fit the rules.
    """
    encoder = Encoder(spec.observation, spec.action_count)
    link = PlayerLink(player, spec, encoder, launch, limits=limits, parallel_matches=1, clock=clock)
    with contextlib.closing(link):
        moves, difference = _Shadow(spec, encoder, link, record, clock).play()
    return Shadowed(moves, difference, link.log)


class _Shadow:
    def __init__(
        self,
        spec: EnvironmentSpec,
        encoder: Encoder,
        link: PlayerLink,
        record: MatchRecord,
        clock: Callable[[], float],
    ) -> None:
        self._spec, self._link, self._record, self._clock = spec, link, record, clock
        # The bank is the match's, and the time of each move is limited by the link alone.
        self._match = Match(spec, encoder, number=record.number, seed=record.seed, seats=record.seats, bank=0.0)
        self._environment = spec.make()

    def play(self) -> tuple[int, DifferentMove | None]:
        """Return how many moves are the same, and the first that differs."""
        try:
            self._link.open()
        except PlayerLost as loss:
            return 0, self._failed(0, 0, None, sentence(loss.fault, loss.detail))
        questions, position, same = self._match.start(), self._open(), 0
        while questions and not self._match.is_over:
            played = self._record.actions[position : position + len(questions)]
            if len(played) < len(questions) and self._record.faulty_player != self._link.index:
                break
            for place, question in enumerate(questions):
                if question.player != self._link.index:
                    continue
                seat = self._record.seats.index(question.player)
                action = played[place] if place < len(played) else None
                difference = self._compare(question, position + place + 1, seat, action)
                if difference is not None:
                    return same, difference
                same += 1
            if len(played) < len(questions):
                break
            position += len(questions)
            questions = self._step(questions, played)
        return same, None

    def _open(self) -> int:
        """Play the opening, without asking a player; return how many actions it has. Raises PlatformFault."""
        record = self._record
        opening = opening_of(self._spec, record.seed)
        # A match forfeited before it began, because its player was lost, has no opening.
        if (record.actions or record.opening_count) and opening != record.actions[: record.opening_count]:
            recorded, drawn = in_words(record.actions[: record.opening_count]) or "none", in_words(opening) or "none"
            raise _does_not_fit(f"its opening is {recorded}, not {drawn}, which its seed gives.")
        begin(self._environment, record.seed, opening)
        return len(opening)

    def _compare(self, question: Question, ply: int, seat: int, played: int | None) -> DifferentMove | None:
        if played is not None and played not in question.valid:
            raise _does_not_fit(f"{played} is not a valid action at move {ply}.")
        answer = self._ask(question)
        if isinstance(answer, str):
            return self._failed(ply, seat, played, answer)
        if answer.kind is not ACTION:
            self._link.keep_trace(self._record.number, answer.text)
            return self._failed(ply, seat, played, sentence(PlayerFault.RAISED, first_line(answer.text)))
        if answer.action == played:
            return None
        return DifferentMove(ply, seat, self._environment.text(), played, int(answer.action))

    def _failed(self, ply: int, seat: int, played: int | None, error: str) -> DifferentMove:
        return DifferentMove(ply, seat, self._environment.text() if ply else "", played, None, error)

    def _ask(self, question: Question) -> Answer | str:
        """Return the answer to one question, or how the player failed, as a sentence."""
        link = self._link
        link.waiting.append(question)
        link.flush()
        poll = Poll()
        while True:
            deadline = link.deadline
            left = POLL_SECONDS if deadline is None else max(0.0, min(POLL_SECONDS, deadline - self._clock()))
            poll.register(link.fileno(), POLLIN | (POLLOUT if link.wants_to_write else 0))
            events = poll.poll(left * 1000)
            if events and events[0][1] & POLLOUT:
                link.flush()
            if events and events[0][1] & ~POLLOUT:
                _, answers = link.receive()
                if answers:
                    return answers[0][1]
                if link.broken is not None:
                    return sentence(link.broken.fault, link.broken.detail)
            if link.deadline is not None and self._clock() > link.deadline:
                link.raise_if_paused()
                return sentence(PlayerFault.TIMED_OUT)

    def _step(self, questions: list[Question], played: tuple[int, ...]) -> list[Question]:
        """Play the recorded actions; return the next questions. Raises PlatformFault."""
        chosen = {self._record.seats.index(one.player): action for one, action in zip(questions, played, strict=True)}
        following: list[Question] = []
        try:
            for question, action in zip(questions, played, strict=True):
                following = self._match.choose(question.player, action)
            self._environment.step(chosen)
        except (ValueError, LookupError) as error:
            raise _does_not_fit(str(error)) from None
        return following


def _does_not_fit(why: str) -> PlatformFault:
    return PlatformFault(f"The record does not fit the rules of this arena-kit: {why}", code="record_does_not_fit")
