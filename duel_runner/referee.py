"""Plays matches and duels, decides them, and knows whose fault it is when something goes wrong. No Django here."""

from __future__ import annotations

import hashlib
import select
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from duel_runner.faults import PlatformFault, PlayerFault
from duel_runner.match import Match, Request
from duel_runner.player import PlayerLink, PlayerLost
from duel_runner.protocol import Answer, Encoder, Kind
from duel_runner.sandbox.base import Container, Ending
from environments.records import DuelRecord, MatchRecord, Outcome
from environments.spec import EnvironmentSpec, Limits

__all__ = ["PlatformFault", "PlayedDuel", "Player", "pair_seed", "run_duel", "run_match"]

LOG_LINES = 200
POLL_SECONDS = 1.0


class Player(Protocol):
    """The player contract, as archives implement it in `player.py`."""

    def start(self, state: np.ndarray[Any, Any], valid_actions: np.ndarray[Any, Any]) -> int: ...
    def step(self, state: np.ndarray[Any, Any], valid_actions: np.ndarray[Any, Any], prev_reward: float) -> int: ...
    def end(self, state: np.ndarray[Any, Any], prev_reward: float) -> None: ...


@dataclass(frozen=True, slots=True)
class PlayedDuel:
    """What a duel leaves: its record, the referee's log, and what each player printed."""

    record: DuelRecord
    log: str
    player_logs: tuple[str, str]


def pair_seed(seed: int, pair: int) -> int:
    """Seed of both matches of a pair: the first four bytes of BLAKE2b over "seed/pair", as an unsigned integer."""
    return int.from_bytes(hashlib.blake2b(f"{seed}/{pair}".encode(), digest_size=4).digest(), "little")


def run_match(spec: EnvironmentSpec, players: Sequence[Player], seed: int, *, number: int = 1) -> MatchRecord:
    """Play one match between players in this process, without isolation; players[seat] sits in that seat.

    Exceptions of players are not caught: this is for trusted code, tests and the baseline of benchmarks.
    """
    environment = spec.make()
    environment.reset(seed)
    pending, scores, started = [0.0] * spec.seats, [0.0] * spec.seats, [False] * spec.seats
    actions: list[int] = []
    moves = [0] * spec.seats
    dtype, shape = spec.observation.dtype, spec.observation.shape
    while seats := environment.to_move:
        chosen = {}
        for seat in seats:
            seen = environment.observe(seat)
            state = np.array(seen.observation, dtype=dtype).reshape(shape)
            valid = np.array(seen.valid_actions, dtype="int64")
            player = players[seat]
            action = player.step(state, valid, pending[seat]) if started[seat] else player.start(state, valid)
            started[seat], pending[seat], chosen[seat] = True, 0.0, int(action)
            moves[seat] += 1
        rewards = environment.step(chosen)
        actions += chosen.values()
        for seat, reward in enumerate(rewards):
            pending[seat] += reward
            scores[seat] += reward
    for seat, player in enumerate(players):
        player.end(np.array(environment.observe(seat).observation, dtype=dtype).reshape(shape), pending[seat])
    winner = Outcome.PLAYER_1 if scores[0] > scores[1] else Outcome.PLAYER_2
    return MatchRecord(
        number=number,
        seed=seed,
        seats=tuple(range(spec.seats)),
        actions=tuple(actions),
        outcome=Outcome.DRAW if scores[0] == scores[1] else winner,
        scores=tuple(scores),
        move_counts=tuple(moves),
    )


def run_duel(
    spec: EnvironmentSpec,
    launch: Callable[[int], Container],
    *,
    names: tuple[str, str],
    seed: int,
    match_count: int,
    parallel_matches: int,
    limits: Limits,
    clock: Callable[[], float],
    on_progress: Callable[[int], None] = lambda matches_done: None,
) -> PlayedDuel:
    """Play `match_count` matches between two players, up to `parallel_matches` at once.

    Matches 2k-1 and 2k share a seed with seats swapped; player_1 has seat 0 in odd ones. launch(player) starts a
    container for player 0 or 1 and is called again after a death, at most `limits.max_restarts` times. The record
    does not depend on `parallel_matches` as far as players are deterministic. Raises PlatformFault or SandboxError
    when the platform fails: then nothing counts.
    """
    duel = _Duel(spec, launch, seed, match_count, parallel_matches, limits, clock, on_progress)
    try:
        duel.play()
    finally:
        for link in duel.links:
            link.close()
    records = tuple(duel.records[number] for number in range(1, match_count + 1))
    record = DuelRecord(spec.id, seed, names, records)
    return PlayedDuel(record, "\n".join(duel.log), (duel.links[0].log, duel.links[1].log))


class _Duel:
    """The event loop over both players' wires."""

    def __init__(
        self,
        spec: EnvironmentSpec,
        launch: Callable[[int], Container],
        seed: int,
        match_count: int,
        parallel_matches: int,
        limits: Limits,
        clock: Callable[[], float],
        on_progress: Callable[[int], None],
    ) -> None:
        self.records: dict[int, MatchRecord] = {}
        self.log: list[str] = []
        self.links = tuple(
            PlayerLink(
                player,
                spec,
                lambda player=player: launch(player),  # type: ignore[misc]
                limits=limits,
                parallel_matches=parallel_matches,
                clock=clock,
            )
            for player in range(2)
        )
        self._spec, self._seed, self._count, self._limits = spec, seed, match_count, limits
        self._clock, self._on_progress = clock, on_progress
        self._encoder = Encoder(spec.observation, spec.action_count)
        self._active: dict[int, Match] = {}
        self._next = 1
        self._out_of_play: list[PlayerFault | None] = [None, None]
        """By player: why it forfeits everything that is left."""
        self._thinking = [0.0, 0.0]
        self._reported = 0

    def play(self) -> None:
        begun = self._clock()
        for link in self.links:
            self._open(link, None)
        poll = select.poll()
        while len(self.records) < self._count:
            self._fill()
            self._report()
            if len(self.records) == self._count:
                break
            for link in self.links:
                link.flush()
            self._wait(poll)
            if self._clock() - begun > self._limits.duel_seconds:
                self._run_out_of_time(self._clock() - begun)
        self._report()
        self._say_goodbye(poll)

    # --- Starting and ending matches ----------------------------------------------------------------------

    def _fill(self) -> None:
        """Start matches while there is room; forfeit at once what a lost player cannot play."""
        room = min(link.parallel_matches for link in self.links)
        while self._next <= self._count and len(self._active) < room:
            number, self._next = self._next, self._next + 1
            match = self._new_match(number)
            lost = [player for player in (0, 1) if self._out_of_play[player] is not None]
            if lost:
                # When neither can play, the one to move first forfeits: over a pair that is one match each.
                player = lost[0] if len(lost) == 1 else match.seats[0]
                match.forfeit(player, self._out_of_play[player] or PlayerFault.DID_NOT_START)
                self._keep(match)
                continue
            self._active[number] = match
            self._send(match.start())

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

    def _forfeit(self, match: Match, player: int, fault: PlayerFault, detail: str = "") -> None:
        match.forfeit(player, fault, detail)
        self._keep(match)
        self._send(match.ends())

    def _send(self, requests: list[tuple[int, Request]]) -> None:
        for player, request in requests:
            if self._out_of_play[player] is None:
                self.links[player].send(request)

    def _report(self) -> None:
        if len(self.records) != self._reported:
            self._reported = len(self.records)
            self._on_progress(self._reported)

    # --- Events -------------------------------------------------------------------------------------------

    def _wait(self, poll: select.poll) -> None:
        """Wait for answers until the next deadline and act on what came, or did not come."""
        open_links = [link for link in self.links if link.is_open]
        by_descriptor = {}
        for link in open_links:
            by_descriptor[link.fileno()] = link
            poll.register(link.fileno(), select.POLLIN | (select.POLLOUT if link.wants_to_write else 0))
        deadlines = [link.deadline for link in open_links if link.deadline is not None]
        seconds = min([POLL_SECONDS, *(deadline - self._clock() for deadline in deadlines)])
        try:
            events = poll.poll(max(0.0, seconds) * 1000)
        finally:
            for descriptor in by_descriptor:
                poll.unregister(descriptor)
        for descriptor, event in events:
            link = by_descriptor[descriptor]
            if event & ~select.POLLOUT and link.is_open:
                for request, answer, thinking in link.receive():
                    self._answer(link, request, answer, thinking)
                if link.broken is not None:
                    self._lose(link, link.broken)
                elif link.cleared():
                    self._count_restart(link)
        for link in open_links:
            deadline = link.deadline
            if link.is_open and deadline is not None and self._clock() > deadline:
                self._lose(link, PlayerLost(PlayerFault.TIMED_OUT))

    def _answer(self, link: PlayerLink, request: Request, answer: Answer, seconds: float) -> None:
        player, match = link.index, request.match
        self._thinking[player] += seconds
        known, request.answered = request.answered, True
        if request.is_end:
            if answer.kind is Kind.ERROR:
                self._note(f"Match {match.number}: end() of player {player + 1} failed: {answer.text[:300]}")
            return
        if match.record is not None:
            return
        if answer.kind is Kind.ERROR:
            self._forfeit(match, player, PlayerFault.RAISED, answer.text)
            return
        if known:
            return
        match.charge(player, seconds, self._limits.move_seconds)
        if match.banks[player] < 0:
            self._forfeit(match, player, PlayerFault.TIMED_OUT)
            return
        try:
            requests = match.choose(player, answer.action)
        except ValueError as error:
            self._forfeit(match, player, PlayerFault.ILLEGAL_ACTION, str(error))
            return
        if match.record is not None:
            self._keep(match)
        self._send(requests)

    # --- Losing a player ----------------------------------------------------------------------------------

    def _lose(self, link: PlayerLink, loss: PlayerLost) -> None:
        """A container is lost: its match forfeits, the others go on in a fresh container where they stood."""
        player = link.index
        fault = loss.fault
        if fault is PlayerFault.DIED and link.ending() is Ending.OUT_OF_MEMORY:
            fault = PlayerFault.OUT_OF_MEMORY
        suspects = list(link.outstanding)
        self._note(f"Player {player + 1}: {fault.value} with {len(suspects)} open questions. {loss.detail}")
        link.close()
        blamed = suspects[0] if len(suspects) == 1 else None
        if blamed is not None and blamed.match.record is None:
            self._forfeit(blamed.match, player, fault, loss.detail)
        # A loss that cannot be blamed yet is found again, one question at a time, before it counts.
        if len(suspects) < 2:
            self._count_restart(link)
        if self._out_of_play[player] is None:
            self._open(link, suspects)
        self.links[1 - player].forgive_pause()

    def _count_restart(self, link: PlayerLink) -> None:
        link.restarts += 1
        if link.restarts > self._limits.max_restarts:
            link.close()
            self._take_out(link.index, PlayerFault.TOO_MANY_RESTARTS)

    def _open(self, link: PlayerLink, suspects: list[Request] | None) -> None:
        """Start a player and bring a fresh container to where its running matches stand."""
        player = link.index
        try:
            link.open()
        except PlayerLost as loss:
            self._note(f"Player {player + 1} could not be started: {loss.fault.value}. {loss.detail}")
            link.close()
            self._take_out(player, loss.fault)
            return
        if suspects is None:
            return
        if len(suspects) > 1:
            link.suspect([request for request in suspects if not request.is_end])
        for match in self._active.values():
            for request in match.history[player]:
                link.send(request)

    def _take_out(self, player: int, fault: PlayerFault) -> None:
        self._out_of_play[player] = fault
        for match in list(self._active.values()):
            self._forfeit(match, player, fault)

    def _run_out_of_time(self, elapsed: float) -> None:
        if sum(self._thinking) < elapsed / 2:
            raise PlatformFault("The duel took too long, and not because of its players.", code="duel_too_slow")
        slower = 0 if self._thinking[0] >= self._thinking[1] else 1
        self._note(f"The time of the duel is used up; player {slower + 1} thought longer and forfeits the rest.")
        self._take_out(slower, PlayerFault.DUEL_TIME)

    def _say_goodbye(self, poll: select.poll) -> None:
        """Let the last `end()` calls run, within the time of a move."""
        until = self._clock() + self._limits.move_seconds
        while self._clock() < until:
            busy = [link for link in self.links if link.is_open and (link.outstanding or link.waiting)]
            if not busy:
                return
            for link in busy:
                link.flush()
                if select.select([link], [], [], 0.05)[0]:
                    for request, answer, thinking in link.receive():
                        self._answer(link, request, answer, thinking)
                    if link.broken is not None:
                        link.close()

    def _note(self, line: str) -> None:
        if len(self.log) < LOG_LINES:
            self.log.append(" ".join(line.split())[:500])
        elif len(self.log) == LOG_LINES:
            self.log.append("More was not kept.")
