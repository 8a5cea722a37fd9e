"""The event loop of a duel: it queries the players, plays their actions, and decides who is at fault for a failure."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from arena_kit.environment.spec import EnvironmentSpec, Limits
from arena_kit.machine.sockets import POLLIN, POLLOUT, Poll
from arena_kit.referee.bulk import steps_play_ahead
from arena_kit.referee.deciding import Decided, EarlyEnd
from arena_kit.referee.faults import PlayerFault, first_line, time_allowed
from arena_kit.referee.link import PlayerLink, PlayerLost
from arena_kit.referee.lost_players import Losses
from arena_kit.referee.match import Match
from arena_kit.referee.matches import DuelMatches
from arena_kit.referee.notes import Notes
from arena_kit.referee.processor_time import Processor
from arena_kit.referee.stalls import Stalls
from arena_kit.referee.thinking import Thinking
from arena_kit.referee.wire import ACTION, END, ERROR, Answer, Encoder, Question
from arena_kit.sandbox.base import Container

POLL_SECONDS = 1.0
LONG_PAUSE_SECONDS = 0.05
"""When `on_progress` or the environment takes longer than this, the players are not charged for that time."""


class Duel:
    """Plays a duel over both players' wires; `run_duel` describes the arguments."""

    def __init__(
        self,
        spec: EnvironmentSpec,
        launch: Callable[[int], Container],
        *,
        seed: int,
        match_count: int,
        parallel_matches: int,
        limits: Limits,
        one_core: bool,
        clock: Callable[[], float],
        on_progress: Callable[[int], None],
        decided: Decided | None = None,
        opening: tuple[int, ...] | None = None,
    ) -> None:
        self.notes = Notes()
        self.playing_seconds = 0.0
        encoder = Encoder(spec.observation, spec.action_count)
        self.matches = DuelMatches(
            spec, encoder, seed=seed, count=match_count, bank_seconds=limits.bank_seconds, opening=opening
        )
        first, second = (
            PlayerLink(
                player,
                spec,
                encoder,
                partial(launch, player),
                limits=limits,
                parallel_matches=parallel_matches,
                clock=clock,
            )
            for player in range(2)
        )
        self.links = (first, second)
        self._processor = Processor(self.links, one_core=one_core, clock=clock)
        self._thinking = Thinking()
        self._losses = Losses(
            self.links,
            self.matches,
            self._processor,
            self._thinking,
            self.notes,
            forfeit=self._forfeit,
            is_wanted=self._is_wanted,
            max_restarts=limits.max_restarts,
            clock=clock,
        )
        self._spec, self._limits = spec, limits
        self._clock, self._on_progress = clock, on_progress
        self._decision = None if decided is None else EarlyEnd(decided, clock)
        self._reported, self._reported_at = 0, clock()
        self._stalls = Stalls()

    def play(self) -> None:
        """Play until every match that counts has a record. Raises PlatformFault and SandboxError."""
        for link in self.links:
            self._losses.start(link)
        for link in self.links:
            link.forgive_pause()
        begun = self._clock()
        poll = Poll()
        while not self.matches.are_over():
            self._fill()
            self._ask_whether_decided()
            self._report()
            if self.matches.are_over():
                break
            for link in self.links:
                if link.flush(ends_only=False) and self._processor.asked(link.index):
                    self._forgive_pause()
            self._wait(poll)
            if not self.matches.are_over() and self._losses.all_play:
                self._check_time(self._clock() - begun)
        self._ask_whether_decided()
        self.playing_seconds = self._clock() - begun
        self._report()
        self._say_goodbye(self._clock() + self._limits.move_seconds)
        # Both players end at the same time, before the caller waits for either.
        for link in self.links:
            link.hang_up()

    # --- Starting and ending matches ----------------------------------------------------------------------

    def _fill(self) -> None:
        """Start matches while there is room; forfeit at once those that a lost player cannot play."""
        begun, since, room = [], self._clock(), self._room()
        while (match := self.matches.begin(room)) is not None:
            player = self._losses.absent(match)
            if player is None:
                begun.append(match)
                continue
            fault = self._losses.out_of_play[player] or PlayerFault.DID_NOT_START
            match.forfeit(player, fault, self._losses.why_out[player])
            self._keep(match)
        for match in begun:
            self._send(match.start())
        self._forgive_if_long(since)

    def _room(self) -> int:
        return min(link.parallel_matches for link in self.links)

    def _keep(self, match: Match) -> None:
        self.matches.keep(match)

    def _ask_whether_decided(self) -> None:
        """End the duel with the pair that decides it."""
        if self._decision is None:
            return
        if not self._decision.is_due(self.matches.records, is_over=self.matches.are_over()):
            return
        pairs = self._decision.deciding_pairs()
        self._forgive_pause()
        if pairs is not None:
            self._end_at(2 * pairs)

    def _end_at(self, count: int) -> None:
        """End with match `count`; drop what runs beyond it, without waiting for answers or sending END."""
        self.matches.end_at(count)
        for link in self.links:
            link.waiting = [request for request in link.waiting if request.kind is END or not request.match.is_over]

    def _is_wanted(self) -> bool:
        """Return whether players still have to be started."""
        return True

    def _forfeit(self, match: Match, player: int, fault: PlayerFault, detail: str = "") -> None:
        match.forfeit(player, fault, detail)
        self._send(match.ends())
        self._keep(match)

    def _blame(self, match: Match, player: int, fault: PlayerFault, detail: str = "") -> None:
        """Let a player forfeit for an answer, once all who move in the same step have answered."""
        if match.blame(player, fault, detail):
            self._forfeit(match, player, fault, detail)

    def _send(self, requests: list[Question]) -> None:
        out_of_play = self._losses.out_of_play
        for request in requests:
            if out_of_play[request.player] is None:
                self.links[request.player].waiting.append(request)

    def _report(self) -> None:
        """Call `on_progress` after every result, and otherwise every POLL_SECONDS, because it may stop the duel."""
        begun = self._clock()
        done = self.matches.done_count
        if done == self._reported and begun - self._reported_at < POLL_SECONDS:
            return
        self._reported, self._reported_at = done, begun
        self._on_progress(self._reported)
        self._forgive_if_long(begun)

    def _forgive_if_long(self, since: float) -> None:
        """Restart the players' clocks if the referee was busy for long since then, as it is with a slow environment."""
        if self._clock() - since > LONG_PAUSE_SECONDS:
            self._forgive_pause()

    def _forgive_pause(self) -> None:
        self._processor.forgiven()
        for link in self.links:
            link.forgive_pause()

    # --- Events -------------------------------------------------------------------------------------------

    def _wait(self, poll: Poll) -> None:
        """Wait for answers until the next deadline; act on those that arrive and on those that are late."""
        open_links = [link for link in self.links if link.is_open]
        by_descriptor = {}
        for link in open_links:
            by_descriptor[link.fileno()] = link
            poll.register(link.fileno(), POLLIN | (POLLOUT if link.wants_to_write else 0))
        deadlines = [link.deadline for link in open_links if link.deadline is not None]
        now = self._clock()
        seconds = max(0.0, min([POLL_SECONDS, *(deadline - now for deadline in deadlines)]))
        try:
            events = poll.poll(seconds * 1000)
        finally:
            for descriptor in by_descriptor:
                poll.unregister(descriptor)
        if self._stalls.was_stalled(seconds):
            # This process was stopped or had no core, which is not the players' time.
            self._forgive_pause()
        ready = [by_descriptor[descriptor] for descriptor, event in events if event & ~POLLOUT]
        self._receive(ready)
        for link in ready:
            if link.broken is not None:
                self._losses.lose(link, link.broken)
            elif link.cleared():
                self._losses.give_up_search(link)
        for link in open_links:
            deadline = link.deadline
            if link.is_open and deadline is not None and self._clock() > deadline:
                # The player is excused for the time in which its rival held the processor.
                link.excused_seconds = self._processor.excused(link.index)
                if link.deadline is not None and self._clock() > link.deadline:
                    link.raise_if_paused()
                    self._losses.lose(
                        link,
                        PlayerLost(
                            PlayerFault.TIMED_OUT, time_allowed(self._limits.move_seconds, self._limits.bank_seconds)
                        ),
                    )

    def _receive(self, links: Sequence[PlayerLink]) -> None:
        """Read what these players have answered, and act on each answer."""
        batches = []
        for link in links:
            seconds, answers = link.receive()
            if answers:
                is_idle = all(request.kind is END for request in link.outstanding)
                charged, cpu = self._processor.answered(link.index, seconds, is_idle=is_idle)
                batches.append((link, answers, charged, cpu / len(answers)))
        since = self._clock()
        if self._spec.runs_apart:
            self._step_ahead([(link.index, *both) for link, answers, _, _ in batches for both in answers])
        for link, answers, charged, cpu in batches:
            # The player server holds back the answers of quick moves alone, and sends them with the first slow one, so
            # the record notes at the last answer what all of them took.
            request, answer = answers[-1]
            if answer.kind is ACTION:
                request.match.took(link.index, answer.sequence, charged)
            for request, answer in answers:
                request.match.cpu_seconds[link.index] += cpu
                self._answer(link, request, answer, charged)
                charged = 0.0
        self._forgive_if_long(since)

    def _step_ahead(self, answers: Sequence[tuple[int, Question, Answer]]) -> None:
        """Let the environment server play the steps that these answers, each after its player, lead to."""
        coming = [
            (step, request.match.number)
            for player, request, answer in answers
            if answer.kind is ACTION and (step := request.match.next_step(player, answer.action, answer.sequence))
        ]
        steps_play_ahead([step for step, _ in coming], [number for _, number in coming])

    def _answer(self, link: PlayerLink, request: Question, answer: Answer, seconds: float) -> None:
        player, match = link.index, request.match
        kind, _, sequence, action, text = answer
        self._thinking.seconds[player] += seconds
        if request.kind is END:
            if kind is ERROR:
                self.notes.add(f"Match {match.number}: end() of player {player + 1} failed: {first_line(text)}")
            return
        if match.is_over or match.is_blamed(player):
            return
        if kind is not ACTION:
            self._refuse(link, match, answer)
            return
        if sequence < match.move_counts[player]:
            return
        if seconds:
            match.charge(player, seconds, self._limits.move_seconds)
            if match.banks[player] < 0:
                self._blame(
                    match,
                    player,
                    PlayerFault.TIMED_OUT,
                    time_allowed(self._limits.move_seconds, self._limits.bank_seconds, seconds),
                )
                return
        try:
            requests = match.choose(player, action)
        except ValueError as error:
            self._blame(match, player, PlayerFault.ILLEGAL_ACTION, str(error))
            return
        self._send(requests)
        if requests and requests[0].kind is END:
            self._keep(match)

    def _refuse(self, link: PlayerLink, match: Match, answer: Answer) -> None:
        if answer.kind is ERROR:
            # The first line is public like every result. The trace shows source code, so it goes to the player's log.
            link.keep_trace(match.number, answer.text)
            self._blame(match, link.index, PlayerFault.RAISED, first_line(answer.text))
        else:
            self._blame(match, link.index, PlayerFault.ILLEGAL_ACTION, first_line(answer.text))

    # --- The end ------------------------------------------------------------------------------------------

    def _check_time(self, elapsed: float) -> None:
        """End a duel that takes too long. elapsed: seconds since the first question."""
        if elapsed > self._limits.duel_seconds:
            self._run_out_of_time(elapsed)

    def _run_out_of_time(self, elapsed: float) -> None:
        slower = self._thinking.slower(elapsed, [link.waited_seconds for link in self.links])
        self.notes.add(f"The time of the duel is used up; player {slower + 1} thought longer and forfeits the rest.")
        over, count = self.matches.done_in_order_count, self.matches.count
        detail = f"A duel may take {self._limits.duel_seconds:g} s; {over} of {count} matches were over."
        self._losses.take_out(slower, PlayerFault.DUEL_TIME, detail)

    def _say_goodbye(self, until: float) -> None:
        """Wait for the last `end()` calls. until: the time at which to stop, by the clock."""
        while self._clock() < until:
            busy = [link for link in self.links if link.is_open and link.owes_end]
            if not busy:
                return
            for link in busy:
                link.flush()
                if link.can_read():
                    self._receive([link])
                    if link.broken is not None:
                        link.close()
