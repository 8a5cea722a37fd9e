"""The referee's connection to one player: its questions and answers, its clock and its containers."""

from __future__ import annotations

import contextlib
import socket
from collections import deque
from collections.abc import Callable

from arena_kit.environment.spec import EnvironmentSpec, Limits
from arena_kit.machine.sockets import POLLIN, Poll
from arena_kit.referee.faults import PlayerFault
from arena_kit.referee.stalls import Stalls
from arena_kit.referee.wire import (
    ACTION,
    DONE,
    END,
    Answer,
    Decoder,
    Encoder,
    Kind,
    ProtocolViolation,
    Question,
    hello,
)
from arena_kit.sandbox.base import Container, PlayerDidNotStart
from arena_kit.sandbox.ending import Ending

ANSWERS_TO_MOVES = (ACTION, Kind.INVALID, Kind.ERROR)
ANSWERS_TO_ENDS = (DONE, Kind.ERROR)
TRACES_KEPT = 10
HANDSHAKE_SECONDS = 5.0
"""The least time for the handshake, which a busy host may delay."""
NOT_STARTED = {Ending.OUT_OF_MEMORY: PlayerFault.OUT_OF_MEMORY, Ending.RUNNING: PlayerFault.START_TIMED_OUT}
"""The fault of a player that could not be started, by how its container ended; RUNNING means that it hangs."""
LOG_JOINT = "\n[the player was started again]\n"


class PlayerLost(Exception):
    """The connection to the player is lost, because the player died, hung, or broke the protocol."""

    def __init__(self, fault: PlayerFault, detail: str = "") -> None:
        super().__init__(detail)
        self.fault, self.detail = fault, detail


class PlayerLink:
    """Sends questions to a player without waiting for each answer, and times the answers.

    A move's time runs from when its question was written, or the previous answer was read if that is later, until its
    answer is read. So one slow match is not charged to another, and the player's clock is not trusted. The server
    answers in order. After a loss that several matches may have caused, questions are sent one at a time until the
    match is found.
    """

    def __init__(
        self,
        index: int,
        spec: EnvironmentSpec,
        encoder: Encoder,
        launch: Callable[[], Container],
        *,
        limits: Limits,
        parallel_matches: int,
        clock: Callable[[], float],
    ) -> None:
        self.index = index
        """0 for player_1, 1 for player_2."""
        self._spec, self._launch, self._limits, self._clock = spec, launch, limits, clock
        self._encoder, self._asked_parallel = encoder, parallel_matches
        self._container: Container | None = None
        self._wire: socket.socket | None = None
        self._decoder = Decoder(spec.action)
        self._out = bytearray()
        self._logs: list[str] = []
        self._traces: list[str] = []
        self._busy_since = 0.0
        """The time at which the clock of the oldest open question began to run."""
        self.excused_seconds = 0.0
        """The part of the time since then that is not charged."""
        self.outstanding: deque[Question] = deque()
        self.waiting: list[Question] = []
        """Questions that `flush` will write."""
        self.suspects: set[int] = set()
        """Ids of the questions that were open at a loss; while any is left, questions are sent one at a time."""
        self._was_suspecting = False
        self.broken: PlayerLost | None = None
        self.parallel_matches = parallel_matches
        self.restarts = 0

    # --- Life ---------------------------------------------------------------------------------------------

    def open(self) -> None:
        """Start the player and do the handshake. Raises PlayerLost for the player's fault, and SandboxError."""
        try:
            self._container = self._launch()
        except PlayerDidNotStart as error:
            self._logs.append(error.log)
            raise PlayerLost(NOT_STARTED.get(error.ending, PlayerFault.DID_NOT_START), str(error)) from None
        self._wire = self._container.wire
        self._decoder, self._out, self.broken = Decoder(self._spec.action), bytearray(), None
        self.outstanding.clear()
        self.waiting.clear()
        self.suspects.clear()
        self._was_suspecting = False
        try:
            self._shake_hands(self._wire)
        except PlayerLost:
            # These raise SandboxError when the container was killed or paused from outside.
            self._container.ending()
            self._container.raise_if_paused()
            raise
        self._wire.setblocking(False)
        self._busy_since = self._clock()

    def hang_up(self) -> None:
        """Close the wire, which makes a healthy player end."""
        if self._wire is not None:
            self._wire.close()
            self._wire = None

    def close(self) -> None:
        """Kill the player and keep its log."""
        if self._container is None:
            return
        container, self._container, self._wire = self._container, None, None
        # Closing the wire first lets a healthy player end by itself with a complete log.
        container.wire.close()
        container.close()
        self._logs.append(container.log())

    def raise_if_paused(self) -> None:
        """Raise SandboxError when the player was paused from outside."""
        if self._container is not None:
            self._container.raise_if_paused()

    def ending(self) -> Ending:
        return Ending.RUNNING if self._container is None else self._container.ending()

    def cpu_seconds(self) -> float | None:
        return None if self._container is None else self._container.cpu_seconds()

    def throttle(self) -> None:
        if self._container is not None:
            self._container.throttle()

    @property
    def is_open(self) -> bool:
        return self._wire is not None

    def fileno(self) -> int:
        assert self._wire is not None
        return self._wire.fileno()

    def can_read(self, seconds: float = 0.05) -> bool:
        """Wait for an answer for at most `seconds`; return whether there is one."""
        poll = Poll()
        poll.register(self.fileno(), POLLIN)
        return bool(poll.poll(seconds * 1000))

    def keep_trace(self, match: int, text: str) -> None:
        """Keep the server's report of an error, for the player's own log."""
        if len(self._traces) < TRACES_KEPT:
            self._traces.append(f"[match {match}] {text.strip()}")

    @property
    def log(self) -> str:
        """The output of the player in all its containers, within the limit for one."""
        text = "\n".join([LOG_JOINT.join(self._logs).strip(), *self._traces]).strip()
        limit = self._limits.log_limit_bytes
        return text if len(text) <= limit else text[:limit] + "\n[cut]"

    def _shake_hands(self, wire: socket.socket) -> None:
        patience = max(HANDSHAKE_SECONDS, self._limits.move_seconds)
        deadline = self._clock() + patience
        wire.settimeout(patience)
        try:
            wire.sendall(
                hello(
                    environment=self._spec.rules_id,
                    observation=self._spec.observation,
                    action_count=self._spec.action_count,
                    action=self._spec.action,
                    parallel_matches=self._asked_parallel,
                    play={
                        "move_seconds": self._limits.move_seconds,
                        "bank_seconds": self._limits.bank_seconds,
                        "duel_seconds": self._limits.duel_seconds,
                        "max_steps": self._spec.max_steps,
                        "seats": self._spec.seats,
                    },
                )
            )
            while True:
                # The whole handshake has one deadline, so that an answer byte by byte does not prolong it.
                if (left := deadline - self._clock()) <= 0:
                    raise TimeoutError
                wire.settimeout(left)
                stalls = Stalls()
                try:
                    data = wire.recv(65536)
                except TimeoutError:
                    if not stalls.was_stalled(left):
                        raise
                    deadline = self._clock() + patience
                    continue
                if not data:
                    raise PlayerLost(PlayerFault.DID_NOT_START, "It ended during the handshake.")
                for answer in self._decoder.feed(data):
                    if not isinstance(answer, dict):
                        raise PlayerLost(PlayerFault.UNEXPECTED_ANSWER, "It sent an answer before the first question.")
                    parallel = answer.get("parallel_matches")
                    if type(parallel) is not int or not 1 <= parallel <= self._asked_parallel:
                        raise PlayerLost(PlayerFault.BAD_ACTION, "READY has an impossible number of matches.")
                    self.parallel_matches = parallel
                    return
        except TimeoutError:
            raise PlayerLost(PlayerFault.DID_NOT_START, "It did not answer the handshake in time.") from None
        except ProtocolViolation as error:
            raise PlayerLost(PlayerFault(error.code), str(error)) from None
        except OSError:
            raise PlayerLost(PlayerFault.DID_NOT_START, "It closed the wire during the handshake.") from None

    # --- Questions and answers -----------------------------------------------------------------------------

    def flush(self, *, ends_only: bool = True) -> bool:
        """Write the waiting questions in one frame, without ever waiting for the player.

        Return whether the player's clock began to run, because it had no open question before.

        ends_only: whether to write even if only ENDs wait. Each write wakes the player up, so while the duel goes on,
        ENDs wait for the next move.
        """
        if self._wire is None:
            return False
        begins = False
        is_due = ends_only or any(request.kind is not END for request in self.waiting)
        if self.waiting and is_due and not (self.suspects and self.outstanding):
            now = self._clock()
            batch = self.waiting[:1] if self.suspects else self.waiting
            self.waiting = self.waiting[len(batch) :]
            if not self.outstanding:
                self._busy_since, self.excused_seconds, begins = now, 0.0, True
            self._out += self._encoder.questions(batch)
            self.outstanding.extend(batch)
        if self._out:
            # A lost connection is noticed in `receive`, after the player's last answers.
            with contextlib.suppress(OSError):
                del self._out[: self._wire.send(self._out)]
        return begins

    @property
    def owes_end(self) -> bool:
        """Return whether an END waits to be sent or answered."""
        return any(request.kind is END for request in (*self.outstanding, *self.waiting))

    @property
    def wants_to_write(self) -> bool:
        return bool(self._out)

    def receive(self) -> tuple[float, list[tuple[Question, Answer]]]:
        """Read what has arrived; return the seconds that the first answer took, and pairs of questions and answers.

        The other answers came with the first. Sets `broken` when the connection cannot go on.
        """
        assert self._wire is not None
        try:
            data = self._wire.recv(1 << 18)
        except BlockingIOError:
            return 0.0, []
        except OSError:
            data = b""
        if not data:
            self.broken = PlayerLost(PlayerFault.DIED)
            return 0.0, []
        now = self._clock()
        seconds, answers = now - self._busy_since, []
        outstanding, suspects = self.outstanding, self.suspects
        try:
            for answer in self._decoder.feed(data):
                if not outstanding or isinstance(answer, dict):
                    raise ProtocolViolation("No question is open.", code=PlayerFault.UNEXPECTED_ANSWER)
                request = outstanding[0]
                kind, match, sequence, _, _ = answer
                if match != request.number or sequence != request.sequence:
                    raise ProtocolViolation(
                        "It does not belong to the oldest open question.", code=PlayerFault.UNEXPECTED_ANSWER
                    )
                if kind not in (ANSWERS_TO_ENDS if request.kind is END else ANSWERS_TO_MOVES):
                    raise ProtocolViolation("It is of the wrong kind.", code=PlayerFault.UNEXPECTED_ANSWER)
                outstanding.popleft()
                if suspects:
                    suspects.discard(id(request))
                # Answers are kept one by one, because those before a violation count.
                answers.append((request, answer))
        except ProtocolViolation as error:
            self.broken = PlayerLost(PlayerFault(error.code), str(error))
        if answers:
            self._busy_since, self.excused_seconds = now, 0.0
        return seconds, answers

    def suspect(self, requests: list[Question]) -> None:
        """Send one question at a time from now on, until these have been answered."""
        self.suspects = {id(request) for request in requests}
        self._was_suspecting = bool(self.suspects)

    def cleared(self) -> bool:
        """Return whether the last suspect has just been answered, so that the loss did not happen again."""
        was, self._was_suspecting = self._was_suspecting, bool(self.suspects)
        return was and not self.suspects

    # --- Clock --------------------------------------------------------------------------------------------

    @property
    def deadline(self) -> float | None:
        """The time at which the answer to the oldest open question is late; None when no question is open."""
        if not self.outstanding:
            return None
        request = self.outstanding[0]
        # An END is not a move and has no bank.
        bank = 0.0 if request.kind is END else max(0.0, request.match.banks[self.index])
        return self._busy_since + self.excused_seconds + self._limits.move_seconds + bank

    @property
    def waited_seconds(self) -> float:
        """Seconds for which the oldest open question has been waiting; 0 when no question is open."""
        if not self.outstanding:
            return 0.0
        return self._clock() - self._busy_since

    def forgive_pause(self) -> None:
        """Restart the clock, because the time until now was not the player's."""
        self._busy_since, self.excused_seconds = self._clock(), 0.0
