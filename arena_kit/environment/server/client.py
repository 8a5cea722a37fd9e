"""The arena's side of environment servers: environments whose code runs in another process.

A server is started when the first match of its environment begins, and serves all further ones of this process. When it
dies or does not answer, its matches raise BrokenEnvironment, so that no player is blamed, and the next match gets a new
server.
"""

from __future__ import annotations

import atexit
import contextlib
import itertools
import json
import os
import threading
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from arena_kit.environment.outside.limited import Limited, Timer
from arena_kit.environment.protocol import (
    Action,
    BrokenEnvironment,
    Frame,
    IllegalAction,
    MatchOver,
    Observation,
)
from arena_kit.environment.server.frames import (
    HEAD,
    MAX_FRAME_BYTES,
    BadFrame,
    Drawing,
    Kind,
    State,
    Status,
    pack,
    pack_data,
    pack_resets,
    pack_steps,
    unpack_data,
    unpack_states,
)
from arena_kit.text import plain_text

if TYPE_CHECKING:
    from arena_kit.environment.spec import EnvironmentSpec

What = TypeVar("What")
Beginning = tuple[int, tuple[int, ...]]
"""The seed of a match, and the actions of its opening."""
PROGRAM = "arena_kit.environment.server.program"
ANSWER_SECONDS = 20.0
"""A server that takes longer to load, or to answer a frame, is killed. Time without a processor does not count."""
WAIT_SECONDS = 2.0
"""After this time of an answer it is looked at whether the server could run."""


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
        self._numbers, self._dropped = itertools.count(1), list[int]()
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

    def is_alive(self) -> bool:
        return not self._because and self._process.is_alive()

    def new_match(self) -> int:
        """Return a number for a new match."""
        return next(self._numbers)

    def drop(self, match: int) -> None:
        """Forget a match; the server is told with the next frame."""
        self._dropped.append(match)

    def close(self) -> None:
        self._end("it was closed.")

    def states(self, kind: Kind, payload: bytes, count: int) -> list[State]:
        """Ask RESET or STEP; return the states of all rows. Raises BrokenEnvironment."""
        with self._lock:
            answer, data = self._ask(pack(kind, payload))
            try:
                if answer != Kind.STATES:
                    raise BadFrame(f"a frame of kind {answer} came")
                states = unpack_states(data, self.seats, self.observation_bytes, self.action_count)
                if len(states) != count:
                    raise BadFrame(f"{len(states)} rows came for {count}")
            except BadFrame as error:
                raise self._failed(f"its server broke the protocol: {error}.") from None
            return states

    def data(self, kind: Kind, question: object) -> Any:
        """Ask for something that comes as JSON. Raises BrokenEnvironment."""
        with self._lock:
            said = self._data(self._ask(pack_data(kind, question)))
        if "error" in said:
            raise BrokenEnvironment(f"{self.id}: {str(said['error'])[:1000]}")
        return said.get("data")

    def _data(self, frame: tuple[int, bytes]) -> dict[str, Any]:
        try:
            said = unpack_data(frame[1])
        except BadFrame as error:
            raise self._failed(f"its server broke the protocol: {error}.") from None
        if frame[0] != Kind.DATA or not isinstance(said, dict):
            raise self._failed("its server broke the protocol.")
        return said

    def _ask(self, frame: bytes) -> tuple[int, bytes]:
        if self._because:
            raise BrokenEnvironment(f"{self.id}: {self._because}")
        if self._dropped:
            dropped, self._dropped = self._dropped, []
            frame = pack_data(Kind.DROP, dropped) + frame
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
        data: bytes | bytearray = self._piece()
        timer = None
        while len(data) < HEAD.size or len(data) < 4 + HEAD.unpack_from(data)[0]:
            if len(data) > MAX_FRAME_BYTES:
                raise self._failed("its server sent too much.")
            # An answer that comes in pieces has no more time than one that comes at once.
            timer = timer or Timer(self._process.pid)
            if timer.seconds() >= ANSWER_SECONDS:
                raise self._lost(BlockingIOError())
            # A bytearray, because a large answer comes in hundreds of pieces.
            data = data if isinstance(data, bytearray) else bytearray(data)
            data += self._piece()
        length, kind = HEAD.unpack_from(data)
        if len(data) != 4 + length:
            raise self._failed("its server broke the protocol: it said more than it was asked.")
        return kind, bytes(data[HEAD.size :])

    def _piece(self) -> bytes:
        """Return what comes next from the server, at least one byte."""
        timer, piece = None, b""
        while not piece:
            try:
                piece = self._process.wire.recv(1 << 20)
            except BlockingIOError as error:
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
        if isinstance(error, BlockingIOError):
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


class RemoteEnvironment:
    """A match whose environment is in a server."""

    def __init__(self, server: ServerConnection) -> None:
        self._server, self._match = server, server.new_match()
        self._state = State(Status.OVER)
        self._seen: Mapping[int, Observation] = {}
        self._ahead: tuple[Mapping[int, Action] | Beginning, State] | None = None
        """A step, or a beginning, that was played ahead, and what it has led to."""
        self._shown: tuple[Frame, str] | None = None

    def __del__(self) -> None:
        self._server.drop(self._match)

    def reset(self, seed: int) -> None:
        self.begin(seed, ())

    def begin(self, seed: int, opening: tuple[int, ...]) -> tuple[float, ...]:
        """Reset the match and play its opening with one question; return the sums of the rewards, `()` without one."""
        ahead, self._ahead = self._ahead, None
        if not -(1 << 63) <= seed < 1 << 63:
            raise ValueError(f"The seed {seed} does not fit.")
        if ahead is not None and ahead[0] == (seed, opening):
            state = ahead[1]
        else:
            (state,) = self._server.states(Kind.RESET, pack_resets([(self._match, seed, opening)]), 1)
        self._take(state)
        return state.rewards if opening else ()

    @property
    def to_move(self) -> tuple[int, ...]:
        return self._state.to_move

    @property
    def truncated(self) -> bool:
        return self._state.truncated

    def observe(self, seat: int) -> Observation:
        if seat not in self._seen:
            self._seen = {**self._seen, seat: self._ask_observation(seat)}
        return self._seen[seat]

    def step(self, actions: Mapping[int, Action]) -> tuple[float, ...]:
        ahead, self._ahead = self._ahead, None
        if ahead is not None:
            if ahead[0] != actions:
                raise BrokenEnvironment(f"{self._server.id}: other actions came than were announced.")
            state = ahead[1]
        else:
            self._refuse_misfits(actions)
            payload = pack_steps([(self._match, actions)], self._server.action_bytes)
            (state,) = self._server.states(Kind.STEP, payload, 1)
        self._take(state)
        return state.rewards

    def frame(self) -> Frame:
        return self._show()[0]

    def text(self) -> str:
        return self._show()[1]

    def announce(self, what: Mapping[int, Action] | Beginning, state: State) -> None:
        """Keep what a step or a beginning has led to that was played ahead, for when it is asked for."""
        self._ahead = (what, state)

    @property
    def place(self) -> tuple[ServerConnection, int]:
        """The server and the number of this match there."""
        return self._server, self._match

    def _take(self, state: State) -> None:
        if state.status:
            if state.status == Status.ILLEGAL:
                raise IllegalAction(state.message)
            if state.status == Status.OVER:
                raise MatchOver(state.message)
            raise BrokenEnvironment(f"{self._server.id}: {state.message}")
        self._state, self._seen, self._shown = state, state.seen, None

    def _refuse_misfits(self, actions: Mapping[int, Action]) -> None:
        """Raise IllegalAction for actions that no frame can hold."""
        size = self._server.action_bytes
        for seat, action in actions.items():
            fits = len(action) == size if isinstance(action, bytes) else not size and -(1 << 63) <= action < 1 << 63
            if not fits or not 0 <= seat < 256:
                raise IllegalAction(f"The action {action!r} of seat {seat} does not fit.")

    def _ask_observation(self, seat: int) -> Observation:
        found = self._server.data(Kind.OBSERVE, [self._match, seat])
        try:
            observation, valid = bytes.fromhex(found[0]), tuple(map(int, found[1]))
            if len(observation) == self._server.observation_bytes:
                return Observation(observation, valid)
        except (TypeError, ValueError, LookupError):
            pass
        raise BrokenEnvironment(f"{self._server.id}: an observation does not fit.")

    def _show(self) -> tuple[Frame, str]:
        if self._shown is None:
            found = self._server.data(Kind.FRAME, self._match)
            if not (isinstance(found, list) and len(found) == 2 and isinstance(found[0], dict)):
                raise BrokenEnvironment(f"{self._server.id}: a frame is not a mapping of names to values.")
            self._shown = (found[0], str(found[1]))
        return self._shown


_servers: dict[tuple[int, str, str], ServerConnection] = {}
"""By process, folder and id."""
_starting: defaultdict[tuple[int, str, str], threading.Lock] = defaultdict(threading.Lock)
"""By the same: held while its server starts, which may take a while."""


def connect(spec: EnvironmentSpec) -> RemoteEnvironment:
    """Return a new match of an environment from outside. Raises BrokenEnvironment."""
    return RemoteEnvironment(server_of(spec))


def draw(spec: EnvironmentSpec, what: Drawing, frame: Frame | None = None) -> str:
    """Return what an environment from outside draws of a frame: untrusted text. Raises BrokenEnvironment."""
    drawn = server_of(spec).data(Kind.DRAW, [what, frame])
    return plain_text(drawn) if isinstance(drawn, str) else ""


def draw_opening(spec: EnvironmentSpec, seed: int) -> tuple[int, ...]:
    """Return the opening of a match of an environment from outside. Raises BrokenEnvironment."""
    drawn = server_of(spec).data(Kind.OPENING, seed)
    if not isinstance(drawn, list) or not all(type(action) is int for action in drawn):
        raise BrokenEnvironment(f"{spec.id}: an opening is no list of actions.")
    return tuple(drawn)


def server_of(spec: EnvironmentSpec) -> ServerConnection:
    """Return the server of an environment, which is started if it does not run. Raises BrokenEnvironment."""
    key = (os.getpid(), str(spec.folder), spec.id)
    with _starting[key]:
        server = _servers.get(key)
        if server is None or not server.is_alive():
            if server is not None:
                server.close()
            server = _servers[key] = ServerConnection(spec)
        return server


def close_servers() -> None:
    """End the servers of this process."""
    for key in [key for key in _servers if key[0] == os.getpid()]:
        with contextlib.suppress(OSError):
            _servers.pop(key).close()


def step_ahead(rows: Iterable[tuple[Any, Mapping[int, Action]]]) -> None:
    """Play steps of many matches with few frames for each server; `step` of each then has its result at once.

    rows: environments and the actions that `step` will get next. Raises BrokenEnvironment.
    """
    for server, steps in _by_server(rows):
        payload = pack_steps([(one.place[1], actions) for one, actions in steps], server.action_bytes)
        states: Sequence[State] = server.states(Kind.STEP, payload, len(steps))
        for (environment, actions), state in zip(steps, states, strict=True):
            environment.announce(actions, state)


def begin_ahead(rows: Iterable[tuple[Any, Beginning]]) -> None:
    """Begin many matches with few frames for each server; `begin` of each then has its result at once.

    rows: environments, each with its seed and opening. Raises BrokenEnvironment.
    """
    for server, begun in _by_server(rows):
        payload = pack_resets([(one.place[1], *beginning) for one, beginning in begun])
        states = server.states(Kind.RESET, payload, len(begun))
        for (environment, beginning), state in zip(begun, states, strict=True):
            environment.announce(beginning, state)


def _by_server(
    rows: Iterable[tuple[Any, What]],
) -> Iterator[tuple[ServerConnection, Sequence[tuple[RemoteEnvironment, What]]]]:
    """Yield servers with rows that fit into one frame."""
    found: dict[ServerConnection, list[tuple[RemoteEnvironment, What]]] = {}
    for environment, what in rows:
        found.setdefault(environment.place[0], []).append((environment, what))
    for server, its_rows in found.items():
        for start in range(0, len(its_rows), server.rows_at_once):
            yield server, its_rows[start : start + server.rows_at_once]


def _argument(spec: EnvironmentSpec) -> dict[str, Any]:
    """Return what the server's program needs to know."""
    observation = spec.observation
    facts = None if spec.classic is None else {
        "shape": list(observation.shape), "dtype": observation.dtype, "wire": observation.wire,
        "action_count": spec.action_count, "score": spec.forfeit_score, "uses_chance": spec.classic.uses_chance,
    }  # fmt: skip
    return {"path": str(spec.folder.absolute() / "info.yml"), "id": spec.id, "facts": facts}


atexit.register(close_servers)
