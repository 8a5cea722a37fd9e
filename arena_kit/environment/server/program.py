"""The environment server: `python -m arena_kit.environment.server.program WIRE PARENT ARGUMENT`.

It holds the code of one folder and plays many matches of it. It answers one frame after another; what the code prints
goes nowhere. What the code raises is an answer; when it ends the process, the arena's end of the wire sees it.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import sys
from collections.abc import Callable, Sequence
from math import isfinite
from pathlib import Path
from typing import Any

from arena_kit.environment.info import read_info, read_text
from arena_kit.environment.loading import load
from arena_kit.environment.openings import opening_of, play_opening
from arena_kit.environment.outside.limited import confine, wire_of
from arena_kit.environment.outside.sentences import sentence_of
from arena_kit.environment.outside.trial import facts_of
from arena_kit.environment.protocol import BrokenEnvironment, Environment, IllegalAction, MatchOver, Observation
from arena_kit.environment.raw_bytes import packer
from arena_kit.environment.server.frames import (
    MAX_FRAME_BYTES,
    PIECE_BYTES,
    RowStatus,
    ServerKind,
    SteppedMatch,
    pack_states,
    unpack_resets,
    unpack_steps,
)
from arena_kit.environment.solver import MatchSolverHere, NotSolved, positions_of
from arena_kit.environment.spec import EnvironmentSpec
from arena_kit.frames import Splitter, pack, pack_data, unpack_data
from arena_kit.machine.sockets import POLLIN, Poll

KEPT = 1000
"""Tuples of valid actions that a server remembers as checked."""
PLAYED = int(RowStatus.PLAYED)
new_tuple = tuple.__new__
IDLE_SECONDS = 300.0
"""A server without matches ends after this time without a question."""


class MatchServer:
    """The matches of one environment."""

    def __init__(self, spec: EnvironmentSpec) -> None:
        self._spec = spec
        self._matches: dict[int, Environment] = {}
        self._action_bytes = 0 if spec.action is None else spec.action.byte_count
        self._as_bytes = packer(spec.observation)
        self._nothing = (0.0,) * spec.seats
        self._solved: tuple[Any, MatchSolverHere] | None = None
        """The match that is being solved, as it was asked for."""
        self._movers: dict[tuple[int, ...], tuple[int, ...]] = {}
        """Seats that move, and valid actions, as the environment has named them, to whole numbers: checked."""
        self._valid: dict[tuple[int, ...], tuple[int, ...]] = {}
        self._actions: dict[int, Callable[[bytes], bytes | None]] = {
            ServerKind.RESET: self._reset,
            ServerKind.STEP: self._step,
            ServerKind.OBSERVE: self._observe,
            ServerKind.FRAME: self._frame,
            ServerKind.DRAW: self._draw,
            ServerKind.DROP: self._drop,
            ServerKind.OPENING: self._opening,
            ServerKind.SOLVE: self._solve,
        }

    @property
    def is_idle(self) -> bool:
        return not self._matches

    def answer(self, kind: int, payload: bytes) -> bytes | None:
        """Return the frame that answers a frame; None where none does."""
        return self._actions[kind](payload)

    def _reset(self, payload: bytes) -> bytes:
        states = []
        for row in unpack_resets(payload):
            try:
                states.append(self._begin(*row))
            except (Exception, SystemExit) as error:
                states.append(self._failure(error))
        return self._states(states)

    def _step(self, payload: bytes) -> bytes:
        rows = unpack_steps(payload, self._action_bytes)
        states = []
        for match, actions in rows:
            try:
                states.append(self._play(match, actions))
            except (Exception, SystemExit) as error:
                states.append(self._failure(error))
        return self._states(states)

    def _states(self, states: list[SteppedMatch]) -> bytes:
        return pack(ServerKind.STATES, pack_states(states, self._spec.seats))

    def _begin(self, match: int, seed: int, opening: tuple[int, ...]) -> SteppedMatch:
        environment = self._matches.get(match)
        if environment is None:
            environment = self._matches[match] = self._spec.make_here()
        environment.reset(seed)
        steps = [self._rewards(rewards) for rewards in play_opening(environment, opening)]
        return self._state(environment, tuple(map(sum, zip(*steps, strict=True))))

    def _play(self, match: int, actions: dict[int, Any]) -> SteppedMatch:
        environment = self._matches[match]
        rewards = environment.step(actions)
        # Most steps give no rewards, which need no check.
        if type(rewards) is not tuple or rewards != self._nothing:
            rewards = self._rewards(rewards)
        return self._state(environment, rewards)

    def _rewards(self, said: Sequence[float]) -> tuple[float, ...]:
        rewards, seats = tuple(map(float, said)), self._spec.seats
        if len(rewards) != seats:
            raise BrokenEnvironment(f"step returned {len(rewards)} rewards for {seats} seats.")
        if any(rewards) and not all(map(isfinite, rewards)):
            raise BrokenEnvironment(f"the rewards {rewards} are not finite.")
        return rewards

    def _state(self, environment: Environment, rewards: tuple[float, ...]) -> SteppedMatch:
        """Return what has become of a match. Raises BrokenEnvironment for what a player would pay for otherwise."""
        said = environment.to_move
        to_move = self._movers.get(said) if type(said) is tuple else None
        if to_move is None:
            to_move = self._new_movers(said)
        truncated = bool(environment.truncated)
        if not to_move:
            seen = {seat: self._seen(environment, seat) for seat in range(self._spec.seats)}
        elif len(to_move) == 1 and not self._action_bytes:
            seen = {to_move[0]: self._choice(environment, to_move[0])}
        elif self._action_bytes:
            seen = {seat: self._seen(environment, seat) for seat in to_move}
        else:
            seen = {seat: self._choice(environment, seat) for seat in to_move}
        return new_tuple(SteppedMatch, (PLAYED, rewards, truncated, to_move, seen, ""))

    def _new_movers(self, said: Sequence[int]) -> tuple[int, ...]:
        seats, to_move = self._spec.seats, tuple(map(int, said))
        if to_move and (min(to_move) < 0 or max(to_move) >= seats or len(set(to_move)) < len(to_move)):
            raise BrokenEnvironment(f"the seats {to_move} move, but there are {seats} seats.")
        return _keep(self._movers, said, to_move)

    def _choice(self, environment: Environment, seat: int) -> Observation:
        """Return what a seat sees that moves, and what it may play. Raises BrokenEnvironment."""
        values, said = environment.observe(seat)
        valid = self._valid.get(said) if type(said) is tuple else None
        if valid is None:
            valid = tuple(map(int, said))
            if not valid or min(valid) < 0 or max(valid) >= self._spec.action_count:
                self._complain(valid)
            _keep(self._valid, said, valid)
        return new_tuple(Observation, (self._as_bytes(values), valid))

    def _complain(self, valid: Sequence[int]) -> None:
        if not valid:
            raise BrokenEnvironment("the match goes on, but there is no valid action.")
        count = self._spec.action_count
        wrong = next(action for action in valid if not 0 <= action < count)
        raise BrokenEnvironment(f"the action {wrong} is valid, but action_count is {count}.")

    def _seen(self, environment: Environment, seat: int) -> Observation:
        values, valid = environment.observe(seat)
        return Observation(self._as_bytes(values), tuple(map(int, valid)))

    def _failure(self, error: BaseException) -> SteppedMatch:
        if isinstance(error, IllegalAction):
            return SteppedMatch(RowStatus.ILLEGAL, message=str(error))
        if isinstance(error, MatchOver):
            return SteppedMatch(RowStatus.OVER, message=str(error))
        return SteppedMatch(RowStatus.BROKEN, message=self._sentence(error))

    def _sentence(self, error: BaseException) -> str:
        return sentence_of(error, self._spec.folder.resolve())

    def _observe(self, payload: bytes) -> bytes:
        def seen() -> Any:
            match, seat = unpack_data(payload)
            one = self._seen(self._matches[match], seat)
            assert isinstance(one.observation, bytes)
            return [one.observation.hex(), list(one.valid_actions)]

        return self._data(seen)

    def _frame(self, payload: bytes) -> bytes:
        def shown() -> Any:
            environment = self._matches[unpack_data(payload)]
            return [environment.frame(), str(environment.text())]

        return self._data(shown)

    def _draw(self, payload: bytes) -> bytes:
        def drawn() -> Any:
            what, frame = unpack_data(payload)
            if what == "picture":
                return str(self._spec.render_here(frame))
            if what == "words":
                # Late: few environments draw HTML or have words for moves.
                from arena_kit.environment.words import words_here

                return words_here(self._spec, frame["frame"], frame["action"])
            # Late: few environments draw HTML or have words for moves.
            from arena_kit.environment.adapters.classic.environment import head_of, html_of

            return head_of(self._spec) if what == "head" else html_of(self._spec, frame["state"])

        return self._data(drawn)

    def _opening(self, payload: bytes) -> bytes:
        # A solver is code of the folder, too.
        return self._data(lambda: opening_of(self._spec, unpack_data(payload)))

    def _solve(self, payload: bytes) -> bytes:
        def solution() -> Any:
            *match, ply = unpack_data(payload)
            if self._solved is None or self._solved[0] != match:
                seed, actions, nodes = match
                solver = load(self._spec.solver, self._spec.folder)(nodes)
                self._solved = (match, MatchSolverHere(solver, positions_of(self._spec.make_here(), seed, actions)))
            try:
                found = self._solved[1].at(ply)
            except NotSolved:
                return None
            return [found.value, found.plies, list(found.best)]

        return self._data(solution)

    def _data(self, found: Callable[[], Any]) -> bytes:
        """Return a frame of JSON: {"data": what was found} or {"error": a sentence}."""
        try:
            return pack_data(ServerKind.DATA, {"data": found()})
        except (Exception, SystemExit) as error:
            return pack_data(ServerKind.DATA, {"error": self._sentence(error)})

    def _drop(self, payload: bytes) -> None:
        for match in unpack_data(payload):
            self._matches.pop(match, None)


def _keep(
    checked: dict[tuple[int, ...], tuple[int, ...]], said: Sequence[int], found: tuple[int, ...]
) -> tuple[int, ...]:
    """Remember what was checked, where it is short and plain enough to be found again; return it."""
    if type(said) is tuple and said == found and all(type(one) is int for one in said):
        if len(checked) >= KEPT:
            checked.clear()
        checked[found] = found
    return found


def serve(server: MatchServer, wire: socket.socket) -> None:
    """Answer frames until the other end is closed, or nothing is asked for a long time."""
    process, arrived = os.getpid(), Splitter(MAX_FRAME_BYTES)
    poll = Poll()
    poll.register(wire.fileno(), POLLIN)
    while True:
        while (frame := arrived.take()) is None:
            if server.is_idle and not poll.poll(IDLE_SECONDS * 1000):
                return
            piece = wire.recv(PIECE_BYTES)
            if not piece:
                return
            arrived.feed(piece)
        answer = server.answer(*frame)
        if os.getpid() != process:
            os._exit(1)  # the code has forked, and this is the copy
        if answer is not None:
            if len(answer) > MAX_FRAME_BYTES:
                return
            wire.sendall(answer)


def main() -> None:
    """Load a folder, say whether that went well, and serve it."""
    wire = wire_of(sys.argv[1])
    confine(int(sys.argv[2]))
    argument, process = json.loads(sys.argv[3]), os.getpid()
    path = Path(argument["path"])
    # What it holds belongs to the arena: only the arena ends it.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        facts = argument["facts"]
        if text := argument["text"]:
            newest = read_text(text, argument["id"])
        else:
            newest = read_info(path, None if facts is None else facts_of(facts))
        # Earlier rules play no duels, but their records are replayed and checked.
        spec = next((one for one in (newest, *newest.earlier) if one.id == argument["id"]), newest)
        if spec.id != argument["id"]:
            raise ValueError(f"the folder now holds {spec.id}, not {argument['id']}; start the arena again")
        spec.make_here()
        said = {"error": ""}
    except BaseException as error:
        said = {"error": sentence_of(error, path.parent.resolve())}
    if os.getpid() == process:
        wire.sendall(pack_data(ServerKind.DATA, said))
        if not said["error"]:
            serve(MatchServer(spec), wire)
    os._exit(0)


if __name__ == "__main__":
    main()
