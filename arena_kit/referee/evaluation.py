"""The event loop of an evaluation: one player, many episodes at once; the referee steps the environments."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from arena_kit.environment.episodes import EpisodeRecord
from arena_kit.environment.protocol import IllegalAction
from arena_kit.environment.spec import EnvironmentSpec, Limits
from arena_kit.errors import PlatformFault
from arena_kit.machine.sockets import POLLIN, POLLOUT, Poll
from arena_kit.referee.bulk import steps_play_ahead
from arena_kit.referee.episode import Episode, Failure
from arena_kit.referee.faults import PlayerFault, first_line, sentence, time_allowed
from arena_kit.referee.link import PlayerLink, PlayerLost
from arena_kit.referee.stalls import Stalls
from arena_kit.referee.wire import ACTION, END, ERROR, Answer, Encoder, Question
from arena_kit.sandbox.base import Container
from arena_kit.sandbox.ending import Ending

POLL_SECONDS = 1.0


class Evaluation:
    """Plays one episode for every seed, up to `parallel` at once; `run_evaluation` describes the arguments.

    A fault in one episode fails the whole evaluation. If it ended only the episode, a fault could pay off where every
    step costs.
    """

    def __init__(
        self,
        spec: EnvironmentSpec,
        launch: Callable[[], Container],
        *,
        seeds: Sequence[int],
        order: Sequence[int],
        parallel: int,
        limits: Limits,
        clock: Callable[[], float],
        on_episode: Callable[[EpisodeRecord], None],
        still_wanted: Callable[[], None],
        trial_until: float | None = None,
    ) -> None:
        self.records: list[EpisodeRecord] = []
        self.failure: Failure | None = None
        self.playing_seconds = 0.0
        self._encoder = Encoder(spec.observation, spec.action_count)
        self.link = PlayerLink(0, spec, self._encoder, launch, limits=limits, parallel_matches=parallel, clock=clock)
        self._spec, self._seeds, self._order, self._limits, self._clock = spec, seeds, order, limits, clock
        self._on_episode, self._still_wanted = on_episode, still_wanted
        self._trial_until = trial_until
        self._is_enough = False
        """Whether a trial ends now although episodes are left."""
        self._next = 0
        self._thinking = 0.0

    def play(self) -> None:
        """Play until every episode has a record, or the player has failed. Raises PlatformFault and SandboxError."""
        link = self.link
        try:
            link.open()
        except PlayerLost as loss:
            self._fail(loss.fault, None, loss.detail)
            return
        # A trial plays its first episode alone: a slow player that plays all of them at once might end none in time.
        self._open_slots(1 if self._trial_until is not None else link.parallel_matches)
        link.forgive_pause()
        self._cpu = link.cpu_seconds()
        begun = looked = self._clock()
        self._stalls = Stalls()
        poll = Poll()
        poll.register(link.fileno(), POLLIN)
        while self.failure is None and len(self.records) < len(self._seeds) and not self._is_enough:
            link.flush(ends_only=False)
            self._wait(poll)
            now = self._clock()
            if now - looked > POLL_SECONDS:
                looked = now
                self._still_wanted()
                self._check_time(now - begun)
        self.playing_seconds = self._clock() - begun
        self.records.sort(key=lambda record: record.number)
        if self.failure is None:
            self._say_goodbye(poll)
        link.hang_up()

    def _open_slots(self, count: int) -> None:
        """Let `count` more episodes run at once, or as many as there are seeds left."""
        for _ in range(min(count, len(self._seeds) - self._next)):
            self._begin(Episode(self._spec, self._encoder, self._limits.bank_seconds))

    def _begin(self, episode: Episode) -> None:
        """Play the next seed, if one is left."""
        if self._next < len(self._order):
            place = self._order[self._next]
            self._next += 1
            self.link.waiting.append(episode.start(self._next, place + 1, self._seeds[place]))

    def _wait(self, poll: Poll) -> None:
        link = self.link
        deadline = link.deadline
        seconds = POLL_SECONDS if deadline is None else max(0.0, min(POLL_SECONDS, deadline - self._clock()))
        if link.wants_to_write:
            poll.modify(link.fileno(), POLLIN | POLLOUT)
        events = poll.poll(seconds * 1000)
        if self._stalls.was_stalled(seconds):
            # This process was stopped or had no core, which is not the player's time.
            link.forgive_pause()
        if link.wants_to_write:
            poll.modify(link.fileno(), POLLIN)
        if any(event & ~POLLOUT for _, event in events):
            self._receive()
        # This check also follows a read, because the bytes read may be only a part of an answer.
        deadline = link.deadline
        if self.failure is None and deadline is not None and self._clock() > deadline:
            link.raise_if_paused()
            self._fail(
                PlayerFault.TIMED_OUT,
                self._oldest(),
                time_allowed(self._limits.move_seconds, self._limits.bank_seconds),
            )

    def _receive(self) -> None:
        """Read the player's answers and act on each."""
        link = self.link
        seconds, answers = link.receive()
        if answers:
            cpu, self._cpu = self._cpu, link.cpu_seconds()
            used = 0.0 if cpu is None or self._cpu is None else (self._cpu - cpu) / len(answers)
            each = seconds / len(answers)
            if self._spec.runs_apart:
                asked = [(question.match, answer) for question, answer in answers if question.kind is not END]
                next_steps = [episode.next_step(answer) for episode, answer in asked]
                steps_play_ahead([step for step in next_steps if step is not None])
            for question, answer in answers:
                episode: Episode = question.match
                if question.kind is not END:
                    episode.book(each, used)
                self._answer(episode, question, answer, seconds)
                if self.failure is not None:
                    return
                seconds = 0.0
            # The time for stepping environments and reporting progress is not the player's.
            link.forgive_pause()
        if link.broken is not None:
            self._lose(link.broken)

    def _answer(self, episode: Episode, question: Question, answer: Answer, seconds: float) -> None:
        """seconds: the time to charge; 0 for all but the first of the answers that arrive together."""
        kind, _, _, action, text = answer
        self._thinking += seconds
        if question.kind is END:
            if kind is ERROR:
                self.link.keep_trace(question.number, text)
            return
        if kind is not ACTION:
            fault = PlayerFault.RAISED if kind is ERROR else PlayerFault.ILLEGAL_ACTION
            if kind is ERROR:
                self.link.keep_trace(question.number, text)
            self._fail(fault, episode.number, first_line(text))
            return
        if seconds:
            episode.charge(seconds, self._limits.move_seconds)
            if episode.banks[0] < 0:
                self._fail(
                    PlayerFault.TIMED_OUT,
                    episode.number,
                    time_allowed(self._limits.move_seconds, self._limits.bank_seconds, seconds),
                )
                return
        try:
            following = episode.step(action)
        except IllegalAction as error:
            self._fail(PlayerFault.ILLEGAL_ACTION, episode.number, str(error))
            return
        self.link.waiting.append(following)
        if following[1] is END:
            self._keep(episode)

    def _keep(self, episode: Episode) -> None:
        record = episode.record()
        self.records.append(record)
        self._on_episode(record)
        self._begin(episode)
        if self._trial_until is not None and len(self.records) == 1:
            self._open_slots(self.link.parallel_matches - 1)

    def _lose(self, loss: PlayerLost) -> None:
        fault = loss.fault
        if fault is PlayerFault.DIED and self.link.ending() is Ending.OUT_OF_MEMORY:
            fault = PlayerFault.OUT_OF_MEMORY
        self._fail(fault, self._oldest(), loss.detail)

    def _oldest(self) -> int | None:
        """Return the number of the only open episode; None when several are open and any may be at fault."""
        outstanding = self.link.outstanding
        if len(outstanding) != 1:
            return None
        episode: Episode = outstanding[0].match
        return episode.number

    def _check_time(self, elapsed: float) -> None:
        limit = self._limits.duel_seconds
        if self._trial_until is not None:
            limit = min(limit, elapsed + self._trial_until - self._clock())
        if elapsed <= limit or self.failure is not None:
            return
        if self._trial_until is not None and self.records:
            self._is_enough = True
            return
        if self._thinking + self.link.waited_seconds < elapsed / 2:
            raise PlatformFault("The evaluation took too long for a reason other than its player.", code="too_slow")
        self._fail(PlayerFault.EVALUATION_TIME, None)

    def _say_goodbye(self, poll: Poll) -> None:
        """Wait for the last `end()` calls, for at most the time of a move and never beyond a trial's end."""
        link, until = self.link, self._clock() + self._limits.move_seconds
        until = until if self._trial_until is None else min(until, self._trial_until)
        while (link.outstanding or link.waiting or link.wants_to_write) and self._clock() < until:
            link.flush()
            if poll.poll(50):
                for question, answer in link.receive()[1]:
                    if answer.kind is ERROR:
                        link.keep_trace(question.number, answer.text)
                if link.broken is not None:
                    return

    def _fail(self, fault: PlayerFault, episode: int | None, detail: str = "") -> None:
        where = "" if episode is None else f"Episode {episode}: "
        self.failure = Failure(fault, episode, where + sentence(fault, detail), sentence(fault))
