"""The arena's side of environment servers: environments whose code runs in another process.

A server is started when the first match of its environment begins, and serves all further ones of this process. It ends
when there has been no match for some minutes. When it dies or does not answer, its matches raise BrokenEnvironment, so
that no player is blamed, and the next match gets a new server.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import threading
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from arena_kit.environment.protocol import (
    Action,
    BrokenEnvironment,
    Frame,
    IllegalAction,
    MatchOver,
    Observation,
)
from arena_kit.environment.server.connection import ServerConnection
from arena_kit.environment.server.frames import (
    Drawing,
    RowStatus,
    ServerKind,
    SteppedMatch,
    pack_resets,
    pack_steps,
)
from arena_kit.text import plain_text

if TYPE_CHECKING:
    from arena_kit.environment.spec import EnvironmentSpec

What = TypeVar("What")
Beginning = tuple[int, tuple[int, ...]]
"""The seed of a match, and the actions of its opening."""


class RemoteEnvironment:
    """A match whose environment is in a server."""

    def __init__(self, server: ServerConnection) -> None:
        self._server, self._match = server, server.new_match()
        self._state = SteppedMatch(RowStatus.OVER)
        self._seen: Mapping[int, Observation] = {}
        self._ahead: tuple[Mapping[int, Action] | Beginning, SteppedMatch] | None = None
        """A reset or step that was computed in advance, and its result."""
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
            (state,) = self._server.states(ServerKind.RESET, pack_resets([(self._match, seed, opening)]), 1)
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
            (state,) = self._server.states(ServerKind.STEP, payload, 1)
        self._take(state)
        return state.rewards

    def frame(self) -> Frame:
        return self._show()[0]

    def text(self) -> str:
        return self._show()[1]

    def announce(self, what: Mapping[int, Action] | Beginning, state: SteppedMatch) -> None:
        """Keep what a step or a beginning has led to that was played ahead, for when it is asked for."""
        self._ahead = (what, state)

    @property
    def place(self) -> tuple[ServerConnection, int]:
        """The server and the number of this match there."""
        return self._server, self._match

    def _take(self, state: SteppedMatch) -> None:
        if state.status:
            if state.status == RowStatus.ILLEGAL:
                raise IllegalAction(state.message)
            if state.status == RowStatus.OVER:
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
        found = self._server.data(ServerKind.OBSERVE, [self._match, seat])
        try:
            observation, valid = bytes.fromhex(found[0]), tuple(map(int, found[1]))
            if len(observation) == self._server.observation_bytes:
                return Observation(observation, valid)
        except (TypeError, ValueError, LookupError):
            pass
        raise BrokenEnvironment(f"{self._server.id}: an observation does not fit.")

    def _show(self) -> tuple[Frame, str]:
        if self._shown is None:
            found = self._server.data(ServerKind.FRAME, self._match)
            if not (isinstance(found, list) and len(found) == 2 and isinstance(found[0], dict)):
                raise BrokenEnvironment(f"{self._server.id}: a frame is not a mapping of names to values.")
            self._shown = (found[0], str(found[1]))
        return self._shown


_servers: dict[tuple[int, str, str, int], ServerConnection] = {}
"""By process, folder, id, and when its code was announced: matches of mended code get a server of their own."""
_starting: defaultdict[tuple[int, str, str, int], threading.Lock] = defaultdict(threading.Lock)
"""By the same: held while its server starts, which may take a while."""


def connect(spec: EnvironmentSpec) -> RemoteEnvironment:
    """Return a new match of an environment from outside. Raises BrokenEnvironment."""
    return RemoteEnvironment(server_of(spec))


def draw(spec: EnvironmentSpec, what: Drawing, frame: Frame | None = None) -> str:
    """Return what an environment from outside draws of a frame: untrusted text. Raises BrokenEnvironment."""
    drawn = server_of(spec).data(ServerKind.DRAW, [what, frame])
    return plain_text(drawn) if isinstance(drawn, str) else ""


def draw_opening(spec: EnvironmentSpec, seed: int) -> tuple[int, ...]:
    """Return the opening of a match of an environment from outside. Raises BrokenEnvironment."""
    drawn = server_of(spec).data(ServerKind.OPENING, seed)
    actions = range(spec.action_count)
    if not isinstance(drawn, list) or not all(type(action) is int and action in actions for action in drawn):
        raise BrokenEnvironment(f"{spec.id}: an opening is not a list of actions.")
    return tuple(drawn)


def server_of(spec: EnvironmentSpec) -> ServerConnection:
    """Return the server of an environment, which is started if it does not run. Raises BrokenEnvironment."""
    key = (os.getpid(), str(spec.folder), spec.rules_id, spec.announced_at)
    with _starting[key]:
        server = _servers.get(key)
        if server is None or not server.use():
            if server is not None:
                server.close()
            server = _servers[key] = ServerConnection(spec)
            for old in [one for one in _servers if one[:3] == key[:3] and one != key]:
                if not _servers[old].is_in_use:
                    _servers.pop(old).close()
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
        states: Sequence[SteppedMatch] = server.states(ServerKind.STEP, payload, len(steps))
        for (environment, actions), state in zip(steps, states, strict=True):
            environment.announce(actions, state)


def begin_ahead(rows: Iterable[tuple[Any, Beginning]]) -> None:
    """Begin many matches with few frames for each server; `begin` of each then has its result at once.

    rows: environments, each with its seed and opening. Raises BrokenEnvironment.
    """
    for server, begun in _by_server(rows):
        payload = pack_resets([(one.place[1], *beginning) for one, beginning in begun])
        states = server.states(ServerKind.RESET, payload, len(begun))
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


atexit.register(close_servers)
