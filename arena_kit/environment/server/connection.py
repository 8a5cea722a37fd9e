"""A running environment server, as the arena sees it: frames out, frames in, and what became of it."""

from __future__ import annotations

import itertools
import json
import os
import threading
import time
from typing import TYPE_CHECKING, Any

from arena_kit.environment.outside.limited import LATE, Limited, Timer
from arena_kit.environment.protocol import BrokenEnvironment
from arena_kit.environment.server.frames import MAX_FRAME_BYTES, PIECE_BYTES, ServerKind, SteppedMatch, unpack_states
from arena_kit.frames import BadFrame, Splitter, pack, pack_data, unpack_data

if TYPE_CHECKING:
    from arena_kit.environment.spec import EnvironmentSpec

PROGRAM = "arena_kit.environment.server.program"
ANSWER_SECONDS = 20.0
"""A server that takes longer to load, or to answer a frame, is killed. Time without a processor does not count."""
WAIT_SECONDS = 2.0
"""After this time of an answer it is looked at whether the server could run."""
DROPPED_AT_ONCE = 8
"""The server gets so many matches that have been dropped at once, or of fewer with the last match."""
UNUSED_SECONDS = 150.0
"""A server without matches that was not used for this time is given up: it is about to end by itself."""


class ServerConnection:
    """A running server. One frame is asked and answered at a time, by whichever thread comes first."""

    def __init__(self, spec: EnvironmentSpec) -> None:
        """Start the server and wait until it has loaded the environment. Raises BrokenEnvironment."""
        self.id, self.seats = spec.id, spec.seats
        self.observation_bytes = spec.observation.byte_count
        self.action_count = spec.action_count
        self.action_bytes = 0 if spec.action is None else spec.action.byte_count
        row_bytes = spec.seats * (self.observation_bytes + 4 * spec.action_count + 64)
        self.rows_at_once = max(1, MAX_FRAME_BYTES // 2 // row_bytes)
        """So many matches go into one frame, whose answer must not become too large."""
        self._lock = threading.Lock()
        self._numbers, self._living, self._dropped = itertools.count(1), set[int](), list[int]()
        self._used_at, self._owner = time.monotonic(), os.getpid()
        self._arrived = Splitter(MAX_FRAME_BYTES)
        self._because = ""
        try:
            self._process = Limited(PROGRAM, json.dumps(_argument(spec)))
        except OSError as error:
            raise BrokenEnvironment(f"{spec.id}: its server could not be started: {error.strerror}.") from None
        self._process.limit_waiting(WAIT_SECONDS)
        with self._lock:
            said = self._data(self._receive())
        if because := str(said.get("error", ""))[:1000]:
            self._end(because)
            raise BrokenEnvironment(f"{spec.id} cannot be loaded: {because}")

    @property
    def pid(self) -> int:
        """The process of the server."""
        return self._process.pid

    @property
    def is_in_use(self) -> bool:
        """Return whether it holds matches that have not been dropped."""
        return bool(self._living)

    def is_alive(self) -> bool:
        return not self._because and self._process.is_alive()

    def use(self) -> bool:
        """Return whether the server is there for a match or a question that comes now."""
        now, before = time.monotonic(), self._used_at
        self._used_at = now
        return self.is_alive() and (bool(self._living) or now - before < UNUSED_SECONDS)

    def new_match(self) -> int:
        """Return a number for a new match."""
        match = next(self._numbers)
        self._living.add(match)
        return match

    def drop(self, match: int) -> None:
        """Forget a match; the server gets many at once, and the last one at once.

        May be called at any time, also by the collection of garbage while this thread asks something.
        """
        self._living.discard(match)
        self._dropped.append(match)
        self._tell_last()

    def close(self) -> None:
        self._end("it was closed.")

    def states(self, kind: ServerKind, payload: bytes, count: int) -> list[SteppedMatch]:
        """Ask RESET or STEP; return the states of all rows. Raises BrokenEnvironment."""
        with self._lock:
            answer, data = self._ask(pack(kind, payload))
            try:
                if answer != ServerKind.STATES:
                    raise BadFrame(f"a frame of kind {answer} came")
                states = unpack_states(data, self.seats, self.observation_bytes, self.action_count)
                if len(states) != count:
                    raise BadFrame(f"{len(states)} rows came for {count}")
            except BadFrame as error:
                raise self._failed(f"its server broke the protocol: {error}.") from None
        self._tell_last()
        return states

    def data(self, kind: ServerKind, question: object) -> Any:
        """Ask for something that comes as JSON. Raises BrokenEnvironment."""
        with self._lock:
            said = self._data(self._ask(pack_data(kind, question)))
        self._tell_last()
        if "error" in said:
            raise BrokenEnvironment(f"{self.id}: {str(said['error'])[:1000]}")
        return said.get("data")

    def _data(self, frame: tuple[int, bytes]) -> dict[str, Any]:
        try:
            said = unpack_data(frame[1])
        except BadFrame as error:
            raise self._failed(f"its server broke the protocol: {error}.") from None
        if frame[0] != ServerKind.DATA or not isinstance(said, dict):
            raise self._failed("its server broke the protocol.")
        return said

    def _tell_last(self) -> None:
        """Tell the server that its last match has been dropped, so that it ends if it is not used for long."""
        # A thread that holds the lock now comes here itself afterwards. A fork has copies of its parent's matches.
        while not self._living and self._dropped and self._is_open() and self._lock.acquire(blocking=False):
            try:
                dropped, self._dropped = self._dropped, []
                self._process.wire.sendall(pack_data(ServerKind.DROP, dropped))
            except BaseException as error:
                self._end("its server was not told of an end.")
                if not isinstance(error, OSError):
                    raise
            finally:
                self._lock.release()

    def _is_open(self) -> bool:
        return not self._because and self._owner == os.getpid()

    def _ask(self, frame: bytes) -> tuple[int, bytes]:
        if self._because:
            raise BrokenEnvironment(f"{self.id}: {self._because}")
        if len(self._dropped) >= DROPPED_AT_ONCE:
            dropped, self._dropped = self._dropped, []
            frame = pack_data(ServerKind.DROP, dropped) + frame
        try:
            self._process.wire.sendall(frame)
            return self._receive()
        except OSError as error:
            raise self._lost(error) from None
        except BrokenEnvironment:
            raise
        except BaseException:
            # Its answer would be taken for that of the next question.
            self._end("a question to its server was interrupted.")
            raise

    def _receive(self) -> tuple[int, bytes]:
        arrived, timer = self._arrived, None
        arrived.feed(self._piece())
        try:
            while (frame := arrived.take()) is None:
                # An answer that comes in pieces has no more time than one that comes at once.
                timer = timer or Timer(self._process.pid)
                if timer.seconds() >= ANSWER_SECONDS:
                    raise self._lost(BlockingIOError())
                arrived.feed(self._piece())
            if not arrived.is_empty:
                raise BadFrame("it said more than it was asked")
        except BadFrame as error:
            raise self._failed(f"its server broke the protocol: {error}.") from None
        return frame

    def _piece(self) -> bytes:
        """Return what comes next from the server, at least one byte."""
        timer, piece = None, b""
        while not piece:
            try:
                piece = self._process.wire.recv(PIECE_BYTES)
            except LATE as error:
                # The clock is read only now, because most answers come at once.
                timer = timer or Timer(self._process.pid)
                if timer.seconds() >= ANSWER_SECONDS - WAIT_SECONDS:
                    raise self._lost(error) from None
                continue
            except OSError as error:
                raise self._lost(error) from None
            if not piece:
                raise self._lost(None)
        return piece

    def _lost(self, error: OSError | None) -> BrokenEnvironment:
        if isinstance(error, LATE):
            return self._failed(f"its server did not answer within {ANSWER_SECONDS:g} s.")
        self._process.kill()
        status = self._process.status or 0
        how = f"with the signal {-status}" if status < 0 else f"with the exit status {status}"
        return self._failed(f"its server has ended, {how}.")

    def _failed(self, because: str) -> BrokenEnvironment:
        self._end(because)
        return BrokenEnvironment(f"{self.id}: {because}")

    def _end(self, because: str) -> None:
        self._because = self._because or because
        self._process.kill()


def _argument(spec: EnvironmentSpec) -> dict[str, Any]:
    """Return what the server's program needs to know."""
    observation = spec.observation
    facts = (
        None
        if spec.classic is None
        else {
            "shape": list(observation.shape),
            "dtype": observation.dtype,
            "wire": observation.wire,
            "action_count": spec.action_count,
            "score": spec.forfeit_score,
            "uses_chance": spec.classic.uses_chance,
        }
    )
    return {"path": str(spec.file.absolute()), "text": spec.kept_text, "id": spec.rules_id, "facts": facts}
