"""The event loop of a duel: it asks the players, plays their actions, and decides who is at fault for a failure."""

from __future__ import annotations

import select
from collections import deque
from collections.abc import Callable, Sequence

from arena_kit.environment.records import MatchRecord
from arena_kit.environment.spec import EnvironmentSpec, Limits
from arena_kit.errors import PlatformFault
from arena_kit.referee.ahead import matches_begin_ahead, steps_play_ahead
from arena_kit.referee.deciding import Decided, Decision
from arena_kit.referee.faults import PlayerFault, first_line
from arena_kit.referee.link import PlayerLink, PlayerLost
from arena_kit.referee.match import Match, pair_seed
from arena_kit.referee.notes import Notes
from arena_kit.referee.processor_time import Processor
from arena_kit.referee.stalls import Stalls
from arena_kit.referee.wire import ACTION, END, ERROR, Answer, Encoder, Question
from arena_kit.sandbox.base import Container
from arena_kit.sandbox.ending import Ending

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
    ) -> None:
        self.records: dict[int, MatchRecord] = {}
        self.notes = Notes()
        self.playing_seconds = 0.0
        self._encoder = Encoder(spec.observation, spec.action_count)
        self.links = tuple(
            PlayerLink(
                player,
                spec,
                self._encoder,
                lambda player=player: launch(player),  # type: ignore[misc]
                limits=limits,
                parallel_matches=parallel_matches,
                clock=clock,
            )
            for player in range(2)
        )
        self._processor = Processor((self.links[0], self.links[1]), one_core=one_core, clock=clock)
        self._spec, self._seed, self._limits = spec, seed, limits
        self.count = match_count
        """Number of matches that count; it drops when the duel is decided early."""
        self._clock, self._on_progress = clock, on_progress
        self._decision = None if decided is None else Decision(decided, clock)
        self._active: dict[int, Match] = {}
        self._next = 1
        self._coming: deque[Match] = deque()
        """The matches from `_next` on that have been made already."""
        self._out_of_play: list[PlayerFault | None] = [None, None]
        """By player: why it forfeits all remaining matches; None while it plays."""
        self._why_out = ["", ""]
        """By player: the detail of that fault."""
        self._unexplained: list[tuple[list[Match], PlayerLost] | None] = [None, None]
        """By player: the matches that were open at its last loss, while it is unknown which of them caused it."""
        self._thinking = [0.0, 0.0]
        self._reported, self._reported_at = 0, clock()
        self._stalls = Stalls()

    def play(self) -> None:
        """Play until every match that counts has a record. Raises PlatformFault and SandboxError."""
        for link in self.links:
            self._open(link, None)
        for link in self.links:
            link.forgive_pause()
        begun = self._clock()
        poll = select.poll()
        while len(self.records) < self.count:
            self._fill()
            self._ask_whether_decided()
            self._report()
            if len(self.records) >= self.count:
                break
            for link in self.links:
                if link.flush(ends_only=False) and self._processor.asked(link.index):
                    self._forgive_pause()
            self._wait(poll)
            if len(self.records) < self.count and self._out_of_play == [None, None]:
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
        begun, since = [], self._clock()
        while self._next <= self.count and len(self._active) < self._room():
            match = self._next_match()
            lost = [player for player in (0, 1) if self._out_of_play[player] is not None]
            if lost:
                # When neither can play, the first to move forfeits, so each forfeits one match of a pair.
                player = lost[0] if len(lost) == 1 else match.seats[0]
                match.forfeit(player, self._out_of_play[player] or PlayerFault.DID_NOT_START, self._why_out[player])
                self._keep(match)
                continue
            self._active[match.number] = match
            begun.append(match)
        for match in begun:
            self._send(match.start())
        self._forgive_if_long(since)

    def _room(self) -> int:
        return min(link.parallel_matches for link in self.links)

    def _next_match(self) -> Match:
        """Return the next match. An environment server begins as many with one question as are played at once."""
        if not self._coming:
            ahead = self._room() if self._spec.is_outside else 1
            self._coming.extend(map(self._new_match, range(self._next, min(self._next + ahead, self.count + 1))))
            if self._spec.is_outside:
                matches_begin_ahead(
                    [match.beginning() for match in self._coming], [match.number for match in self._coming]
                )
        self._next += 1
        return self._coming.popleft()

    def _new_match(self, number: int) -> Match:
        pair, swapped = divmod(number - 1, 2)
        return Match(
            self._spec,
            self._encoder,
            number=number,
            seed=pair_seed(self._seed, pair),
            seats=(1, 0) if swapped else (0, 1),
            bank=self._limits.bank_seconds,
        )

    def _keep(self, match: Match) -> None:
        assert match.record is not None
        self.records[match.number] = match.record
        self._active.pop(match.number, None)
        match.forget()

    def _ask_whether_decided(self) -> None:
        """End the duel with the pair that decides it."""
        if self._decision is None:
            return
        if not self._decision.is_due(self.records, is_over=len(self.records) == self.count):
            return
        pairs = self._decision.deciding_pairs()
        self._forgive_pause()
        if pairs is not None:
            self.count = 2 * pairs
            self._abandon()

    def _abandon(self) -> None:
        """Drop the running matches beyond the last that counts, without waiting for answers or sending END."""
        for match in [match for match in self._active.values() if match.number > self.count]:
            match.is_over = True
            match.forget()
            del self._active[match.number]
        for link in self.links:
            link.waiting = [request for request in link.waiting if request.kind is END or not request.match.is_over]

    def _forfeit(self, match: Match, player: int, fault: PlayerFault, detail: str = "") -> None:
        match.forfeit(player, fault, detail)
        self._send(match.ends())
        self._keep(match)

    def _blame(self, match: Match, player: int, fault: PlayerFault, detail: str = "") -> None:
        """Let a player forfeit for an answer, once all who move in the same step have answered."""
        if match.blame(player, fault, detail):
            self._forfeit(match, player, fault, detail)

    def _send(self, requests: list[Question]) -> None:
        for request in requests:
            if self._out_of_play[request.player] is None:
                self.links[request.player].waiting.append(request)

    def _report(self) -> None:
        """Call `on_progress` after every result, and otherwise every POLL_SECONDS, because it may stop the duel."""
        begun = self._clock()
        done = min(len(self.records), self.count)
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

    def _wait(self, poll: select.poll) -> None:
        """Wait for answers until the next deadline; act on those that arrive and on those that are late."""
        open_links = [link for link in self.links if link.is_open]
        by_descriptor = {}
        for link in open_links:
            by_descriptor[link.fileno()] = link
            poll.register(link.fileno(), select.POLLIN | (select.POLLOUT if link.wants_to_write else 0))
        deadlines = [link.deadline for link in open_links if link.deadline is not None]
        now = self._clock()
        seconds = max(0.0, min([POLL_SECONDS, *(deadline - now for deadline in deadlines)]))
        try:
            events = poll.poll(seconds * 1000)
        finally:
            for descriptor in by_descriptor:
                poll.unregister(descriptor)
        if self._stalls.was_held_up(seconds):
            # This process was stopped or had no core, which is not the players' time.
            self._forgive_pause()
        ready = [by_descriptor[descriptor] for descriptor, event in events if event & ~select.POLLOUT]
        self._receive(ready)
        for link in ready:
            if link.broken is not None:
                self._lose(link, link.broken)
            elif link.cleared():
                self._give_up_search(link)
        for link in open_links:
            deadline = link.deadline
            if link.is_open and deadline is not None and self._clock() > deadline:
                # The player is excused for the time in which its rival held the processor.
                link.excused_seconds = self._processor.excused(link.index)
                if link.deadline is not None and self._clock() > link.deadline:
                    link.raise_if_paused()
                    self._lose(link, PlayerLost(PlayerFault.TIMED_OUT))

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
        if self._spec.is_outside:
            self._step_ahead([(link.index, *both) for link, answers, _, _ in batches for both in answers])
        for link, answers, charged, cpu in batches:
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
        self._thinking[player] += seconds
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
                self._blame(match, player, PlayerFault.TIMED_OUT)
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

    # --- Losing a player ----------------------------------------------------------------------------------

    def _lose(self, link: PlayerLink, loss: PlayerLost) -> None:
        """Forfeit the match that lost the container; the others go on in a new container where they stopped."""
        player = link.index
        fault = loss.fault
        begun = self._clock() - link.waited_seconds
        if fault is PlayerFault.DIED and link.ending() is Ending.OUT_OF_MEMORY:
            fault = PlayerFault.OUT_OF_MEMORY
        self.notes.add(f"Player {player + 1}: {fault.value} with {len(link.outstanding)} open questions. {loss.detail}")
        suspects = [request for request in link.outstanding if not request.match.is_over]
        self._unexplained[player] = None
        link.close()
        if len(link.outstanding) == 1 and suspects:
            self._forfeit(suspects[0].match, player, fault, loss.detail)
        # When the cause is unclear, the open questions are asked again one at a time to find it.
        if len(link.outstanding) > 1 and suspects:
            # If the loss does not happen again, the first of these matches forfeits; none if an END may be the cause.
            payers = [request.match for request in suspects] if len(suspects) == len(link.outstanding) else []
            self._unexplained[player] = (payers, PlayerLost(fault, loss.detail))
        else:
            suspects = []
            self._count_restart(link)
        if self._out_of_play[player] is None:
            self._open(link, suspects)
        self._processor.forgiven()
        self.links[1 - player].forgive_pause()
        # The time that this took counts as the player's.
        self._thinking[player] += self._clock() - begun

    def _give_up_search(self, link: PlayerLink) -> None:
        """Forfeit one of the suspected matches when the loss did not happen again, or dying at random would be free."""
        unexplained, self._unexplained[link.index] = self._unexplained[link.index], None
        if unexplained is not None:
            matches, loss = unexplained
            match = next((match for match in matches if not match.is_over), None)
            if match is not None:
                self._forfeit(match, link.index, loss.fault, loss.detail)
        self._count_restart(link)

    def _count_restart(self, link: PlayerLink) -> None:
        link.restarts += 1
        if link.restarts > self._limits.max_restarts:
            self._take_out(link.index, PlayerFault.TOO_MANY_RESTARTS)

    def _open(self, link: PlayerLink, suspects: list[Question] | None) -> None:
        """Start a container, and repeat the running matches there. suspects: open at the last loss; None at first."""
        player = link.index
        try:
            link.open()
            self._processor.started(player)
        except PlayerLost as loss:
            self.notes.add(f"Player {player + 1} could not be started: {loss.fault.value}. {loss.detail}")
            self._take_out(player, loss.fault, loss.detail)
            return
        if suspects is None:
            return
        link.suspect(suspects)
        for match in self._active.values():
            for request in match.history[player]:
                link.waiting.append(request)

    def _take_out(self, player: int, fault: PlayerFault, detail: str = "") -> None:
        """Let a player forfeit all remaining matches."""
        self.links[player].close()
        self._out_of_play[player], self._why_out[player] = fault, detail
        for match in list(self._active.values()):
            self._forfeit(match, player, fault, detail)

    def _check_time(self, elapsed: float) -> None:
        """End a duel that takes too long. elapsed: seconds since the first question."""
        if elapsed > self._limits.duel_seconds:
            self._run_out_of_time(elapsed)

    def _run_out_of_time(self, elapsed: float) -> None:
        for link in self.links:
            self._thinking[link.index] += link.waited_seconds
        if sum(self._thinking) < elapsed / 2:
            raise PlatformFault("The duel took too long for a reason other than its players.", code="duel_too_slow")
        slower = 0 if self._thinking[0] >= self._thinking[1] else 1
        self.notes.add(f"The time of the duel is used up; player {slower + 1} thought longer and forfeits the rest.")
        self._take_out(slower, PlayerFault.DUEL_TIME)

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
