"""Runs a player in its container: loads it, keeps one `Player` object per running match, answers the referee.

Standard library only; NumPy arrays for players when NumPy is there. Process 1 is the supervisor: it keeps the
player's output bounded and away from the wire, and ends when the player does. See docs/protocol.md.
"""

from __future__ import annotations

import argparse
import contextlib
import ctypes
import importlib
import importlib.util
import json
import math
import os
import resource
import selectors
import signal
import socket
import struct
import sys
import time
import traceback
from array import array
from collections.abc import Callable
from typing import Any

numpy: Any = None
"""Of the player's process alone: it may be a package of the submission."""

HELLO, START, STEP, END = 1, 2, 3, 4
READY, ACTION, DONE, ERROR, INVALID = 129, 130, 131, 132, 133
TYPECODES = {1: "b", 2: "B", 3: "h", 4: "i", 5: "q", 6: "f", 7: "d"}
ERROR_CHARACTERS = 2000
FLUSH_SECONDS = 0.001
PR_SET_DUMPABLE, PR_SET_PDEATHSIG, PR_SET_CHILD_SUBREAPER = 4, 1, 36


class BadAction(Exception):
    """The player returned something that is no action."""


# --- Supervisor -------------------------------------------------------------------------------------------


def prctl(option: int, value: int) -> None:
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(option, value, 0, 0, 0)


def supervise(options: argparse.Namespace) -> None:
    """Fork the player, drain what it prints within the limit, kill what it leaves, exit with its status."""
    null = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1, 2):
        os.dup2(null, descriptor)
    prctl(PR_SET_DUMPABLE, 0)
    prctl(PR_SET_CHILD_SUBREAPER, 1)
    log = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    log.connect(os.path.join(options.channel, "log.sock"))
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reader)
        log.close()
        os.dup2(writer, 1)
        os.dup2(writer, 2)
        os.close(writer)
        prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        # The player may look at itself under /proc (libraries do), but never at its supervisor.
        prctl(PR_SET_DUMPABLE, 1)
        limit_resources(options.data_limit)
        os._exit(serve(options))
    os.close(writer)
    status = drain(reader, log, child, options.log_limit)
    kill_the_rest()
    os._exit(os.waitstatus_to_exitcode(status) & 0xFF)


def limit_resources(data_bytes: int) -> None:
    """Limits for sandboxes whose engine sets none of its own."""
    limits = [(resource.RLIMIT_CORE, 0), (resource.RLIMIT_NOFILE, 256), (resource.RLIMIT_FSIZE, 32 << 20)]
    if data_bytes:
        limits.append((resource.RLIMIT_DATA, data_bytes))
    for kind, value in limits:
        hard = resource.getrlimit(kind)[1]
        if hard != resource.RLIM_INFINITY:
            value = min(value, hard)
        resource.setrlimit(kind, (value, value))


def drain(reader: int, log: socket.socket, child: int, limit: int) -> int:
    """Forward the first and the last bytes of the player's output; return its wait status."""
    head_left, tail, cut = limit // 2, bytearray(), 0
    tail_limit = limit - limit // 2
    os.set_blocking(reader, False)
    selector = selectors.DefaultSelector()
    selector.register(reader, selectors.EVENT_READ)
    log.settimeout(5)
    status = None
    while True:
        data = b""
        if selector.select(timeout=0.1):
            with contextlib.suppress(BlockingIOError):
                data = os.read(reader, 65536)
                if not data:
                    break
        if data:
            send(log, data[:head_left])
            tail += data[head_left:]
            head_left -= min(head_left, len(data))
            if len(tail) > tail_limit:
                cut += len(tail) - tail_limit
                del tail[: len(tail) - tail_limit]
        if status is None:
            pid, code = os.waitpid(child, os.WNOHANG)
            if pid:
                status = code
        elif not data:
            break
    if cut:
        send(log, b"\n[%d bytes cut]\n" % cut)
    send(log, bytes(tail))
    if status is None:
        status = os.waitpid(child, 0)[1]
    return status


def send(log: socket.socket, data: bytes) -> None:
    with contextlib.suppress(OSError):
        log.sendall(data)


def kill_the_rest() -> None:
    """Kill and reap every descendant: they were re-parented to this process."""
    for _ in range(1000):
        if os.getpid() == 1:
            with contextlib.suppress(OSError):
                os.kill(-1, signal.SIGKILL)
        for pid in children():
            with contextlib.suppress(OSError):
                os.kill(pid, signal.SIGKILL)
        try:
            os.waitpid(-1, 0)
        except ChildProcessError:
            return


def children() -> list[int]:
    with contextlib.suppress(OSError), open(f"/proc/self/task/{os.getpid()}/children") as file:
        return [int(pid) for pid in file.read().split()]
    return []


# --- Loading ----------------------------------------------------------------------------------------------


def add_packages(folder: str) -> None:
    """Let the submission's packages win over those of the image, but never over the standard library.

    A plain entry, no site folder: what `.pth` files say is not done.
    """
    if folder:
        sites = (i for i, path in enumerate(sys.path) if path.endswith(("site-packages", "dist-packages")))
        sys.path.insert(next(sites, len(sys.path)), folder)


def import_numpy() -> None:
    with contextlib.suppress(ImportError):
        globals()["numpy"] = importlib.import_module("numpy")


def load_player(folder: str) -> tuple[str, Callable[[bool], Any]]:
    """Return (name of the form, class with the player contract)."""
    os.chdir(folder)
    sys.path.insert(0, folder)
    for name in ("player", "agent", "main"):
        path = os.path.join(folder, name + ".py")
        if os.path.isfile(path):
            # By its path: a folder of the same name must not win.
            spec: Any = importlib.util.spec_from_file_location(name, path)
            sys.modules[name] = module = importlib.util.module_from_spec(spec)
            spec.loader.exec_module(module)
            return name, adapt(name, module)
    raise RuntimeError("The archive has no player.py, agent.py or main.py at its root.")


def adapt(name: str, module: Any) -> Callable[[bool], Any]:
    if hasattr(module, "Player"):
        make: Callable[[bool], Any] = module.Player
        return make
    maker = getattr(module, "create_agent", None) or getattr(module, "Agent", None)
    if maker is not None:
        return lambda _: Adapted(maker())
    if any(hasattr(module, method) for method in Adapted.METHODS):
        return lambda _: Adapted(module)
    raise RuntimeError(f"{name}.py has neither a class Player nor a class Agent.")


class Adapted:
    """Gives an agent with `act`, `get_action` or `predict` the player contract."""

    METHODS = ("act", "get_action", "predict")

    def __init__(self, agent: Any) -> None:
        for method in self.METHODS:
            if callable(getattr(agent, method, None)):
                self._choose = getattr(agent, method)
                self._is_predict = method == "predict"
                break
        else:
            raise RuntimeError("The agent has none of the methods act, get_action, predict.")
        self._agent = agent
        self._with_valid_actions = takes_two(self._choose) and not self._is_predict

    def start(self, state: Any, valid_actions: Any) -> Any:
        if callable(reset := getattr(self._agent, "reset", None)):
            reset()
        return self.step(state, valid_actions, 0.0)

    def step(self, state: Any, valid_actions: Any, prev_reward: float) -> Any:
        action = self._choose(state, valid_actions) if self._with_valid_actions else self._choose(state)
        if self._is_predict and isinstance(action, tuple):
            action = action[0]
        if numpy is not None and isinstance(action, numpy.ndarray) and action.size == 1:
            action = action.reshape(-1)[0]
        return action

    def end(self, state: Any, prev_reward: float) -> None:
        pass


def takes_two(function: Callable[..., Any]) -> bool:
    import inspect

    try:
        parameters = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):
        return False
    required = [p for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    return len(required) >= 2 and required[1].name in ("valid_actions", "legal_actions", "action_mask", "valid")


# --- Serving ----------------------------------------------------------------------------------------------


def serve(options: argparse.Namespace) -> int:
    """Connect the wire, load the player, answer until the referee hangs up. Returns the exit status."""
    wire = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        add_packages(options.packages)
        import_numpy()
        form, make = load_player(options.player)
        first = make(False)
        limit = getattr(first, "max_parallel_matches", None) or getattr(make, "max_parallel_matches", None)
        wire.connect(os.path.join(options.channel, "wire.sock"))
        Server(wire, form, make, first, limit).run()
    except (BrokenPipeError, ConnectionResetError):
        return 0
    except BaseException as error:
        traceback.print_exc()
        return error.code if isinstance(error, SystemExit) and isinstance(error.code, int) else 1
    finally:
        with contextlib.suppress(Exception):
            sys.stdout.flush()
            sys.stderr.flush()
    return 0


class Server:
    """Answers requests in their order, batching answers that are ready within a millisecond."""

    def __init__(self, wire: socket.socket, form: str, make: Callable[[bool], Any], first: Any, limit: object) -> None:
        self.wire, self.form, self.make = wire, form, make
        self.limit = limit if isinstance(limit, int) and limit > 0 else sys.maxsize
        self.idle = [first]
        self.playing: dict[int, Any] = {}
        self.out, self.unsent_since = bytearray(), 0.0
        self.dtype = ""

    def run(self) -> None:
        buffer = bytearray()
        while data := self.wire.recv(1 << 18):
            buffer += data
            position = 0
            while len(buffer) - position >= 4:
                length = int.from_bytes(buffer[position : position + 4], "little")
                if len(buffer) - position - 4 < length:
                    break
                self.handle(bytes(buffer[position + 4 : position + 4 + length]))
                position += 4 + length
            del buffer[:position]
            self.flush()

    def handle(self, frame: bytes) -> None:
        kind = frame[0]
        if kind == HELLO:
            self.hello(json.loads(frame[1:]))
            return
        match, sequence = struct.unpack_from("<II", frame, 1)
        begun = time.monotonic()
        try:
            answer = self.play(kind, match, frame)
        except BadAction as error:
            self.put_text(INVALID, match, sequence, str(error))
            return
        except Exception as error:
            sentence = f"{type(error).__name__}: {error}"[:300]
            self.put_text(ERROR, match, sequence, sentence + "\n" + traceback.format_exc(limit=-8))
            return
        if kind == END:
            self.put(struct.pack("<IBII", 9, DONE, match, sequence))
        else:
            self.put(struct.pack("<IBIIq", 17, ACTION, match, sequence, answer))
        if time.monotonic() - begun > FLUSH_SECONDS / 5:
            # A slow player's answers go out one by one, so that no match is charged for another's move.
            self.flush()

    def hello(self, hello: dict[str, Any]) -> None:
        self.dtype = hello["observation"]["dtype"]
        parallel = min(hello["parallel_matches"], self.limit)
        ready = {"protocol": 1, "parallel_matches": parallel, "form": self.form, "numpy": numpy is not None}
        payload = json.dumps(ready).encode()
        self.put(struct.pack("<IB", 1 + len(payload), READY) + payload)

    def play(self, kind: int, match: int, frame: bytes) -> int:
        if kind == START:
            state, position = self.read_array(frame, 9, self.dtype)
            valid, _ = self.read_array(frame, position, "int64")
            player = self.idle.pop() if self.idle else self.make(False)
            self.playing[match] = player
            return action_of(player.start(state, valid))
        (reward,) = struct.unpack_from("<d", frame, 9)
        state, position = self.read_array(frame, 17, self.dtype)
        if kind == STEP:
            valid, _ = self.read_array(frame, position, "int64")
            return action_of(self.playing[match].step(state, valid, reward))
        player = self.playing.pop(match, None)
        if player is not None:
            player.end(state, reward)
            self.idle.append(player)
        return 0

    @staticmethod
    def read_array(frame: bytes, position: int, dtype: str) -> tuple[Any, int]:
        """A fresh, writable array of the given type (a list without NumPy) and the position behind it."""
        code, dimensions = frame[position], frame[position + 1]
        shape = struct.unpack_from(f"<{dimensions}I", frame, position + 2)
        values = array(TYPECODES[code])
        start = position + 2 + 4 * dimensions
        count = math.prod(shape)
        end = start + count * values.itemsize
        if numpy is not None:
            flat = numpy.frombuffer(frame, TYPECODES[code], count, start)
            return flat.astype(dtype).reshape(shape), end
        values.frombytes(frame[start:end])
        return values.tolist(), end

    def put_text(self, kind: int, match: int, sequence: int, text: str) -> None:
        payload = text[:ERROR_CHARACTERS].encode("utf-8", "replace")
        self.put(struct.pack("<IBII", 9 + len(payload), kind, match, sequence) + payload)

    def put(self, data: bytes) -> None:
        if not self.out:
            self.unsent_since = time.monotonic()
        self.out += data
        if time.monotonic() - self.unsent_since > FLUSH_SECONDS:
            self.flush()

    def flush(self) -> None:
        if self.out:
            self.wire.sendall(self.out)
            self.out.clear()


def action_of(value: object) -> int:
    """The action as a plain integer. Booleans, floats and texts are no actions."""
    if type(value) is int or (numpy is not None and isinstance(value, numpy.integer)):
        action = int(value)
        if -(1 << 63) <= action < 1 << 63:
            return action
        raise BadAction("The action is not a 64-bit integer.")
    raise BadAction(f"The action must be an integer, not {type(value).__name__}.")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--channel", required=True)
    parser.add_argument("--player", required=True)
    parser.add_argument("--packages", default="", help="Folder of the packages that the submission asked for.")
    parser.add_argument("--log-limit", type=int, default=65536)
    parser.add_argument("--data-limit", type=int, default=0, help="Bytes of memory per process, 0 for no limit.")
    supervise(parser.parse_args())


if __name__ == "__main__":
    main()
else:
    # Looked at from outside, there is no player to wait for.
    import_numpy()
