"""A container for many duels loads its player once, and no duel finds traces of another."""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Iterator
from dataclasses import replace

import pytest

from arena_kit.referee.wire import Kind
from arena_kit.sandbox.base import Container, Host, PlayerDidNotStart
from arena_kit.sandbox.ending import Ending
from arena_kit.tests.arenas import FIRST_VALID, Arena, greet, loader_of, until

START = "        return valid_actions[0]\n    def step"


IN_PROCESSES = pytest.mark.containers_nightly
"""A push shows this in local processes."""


def player(top: str = "", start: str = "pass") -> str:
    """Return the source of a player with code that runs when it is loaded, and code for its first match."""
    body = start.replace("\n", "\n        ")
    return f"{top}\n" + FIRST_VALID.replace(START, f"        {body}\n{START}")


@pytest.fixture
def warm(arena: Arena, namespaces: None) -> Arena:
    return arena


@contextlib.contextmanager
def started(arena: Arena, source: str) -> Iterator[Host]:
    host = arena.start(source)
    try:
        yield host
    finally:
        host.close()
        assert list(arena.channels.iterdir()) == []


def play(host: Host) -> str:
    """Play a duel of one move; return the player's output."""
    slot: Container = host.slot()
    slot.on_close = lambda _: None  # type: ignore[attr-defined]
    answers = greet(slot)
    slot.close()
    assert [answer.kind for answer in answers] == [Kind.ACTION]
    return slot.log()


@pytest.mark.containers_nightly
def test_a_player_is_loaded_once_and_made_anew_for_every_duel(warm: Arena) -> None:
    top = "import os\nprint('loaded by', os.getpid())"
    with started(warm, player(top, "print('played by', os.getpid())")) as host:
        assert host.why_cold == ""
        logs = []
        for _ in range(3):
            logs.append(play(host))
            assert host.reusable
    assert len({re.findall(r"loaded by (\d+)", log)[0] for log in logs}) == 1
    assert len({re.findall(r"played by (\d+)", log)[0] for log in logs}) == 3
    assert [log.count("made") for log in logs] == [1, 1, 1]


def test_a_duel_finds_nothing_of_an_earlier_one(warm: Arena) -> None:
    top = """
import os, pathlib, subprocess, tempfile
notes = []
folder = pathlib.Path(tempfile.gettempdir())
def called(pid):
    try:
        return open(f"/proc/{pid}/cmdline").read()
    except OSError:  # It has ended meanwhile.
        return ""
"""
    start = """
found = [p.name for p in folder.rglob("*")]
others = [p for p in os.listdir("/proc") if p.isdigit() and int(p) not in (1, os.getpid())]
asleep = [p for p in others if "sleep" in called(p)]
print("found", found, notes, asleep)
notes.append("a note")
(folder / "deep").mkdir()
(folder / "deep" / "note").write_text("a note")
(folder / "deep").chmod(0)
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        os.execvp("sleep", ["sleep", "600"])
    os._exit(0)
"""
    with started(warm, player(top, start.strip())) as host:
        for _ in range(2):
            assert "found [] [] []" in play(host)
        assert host.reusable


def test_a_container_started_in_the_background_is_moved_to_its_core_and_used_again(warm: Arena) -> None:
    core = max(os.sched_getaffinity(0))
    launch = replace(warm.prepare(player("import os", "print(os.sched_getaffinity(0))")), core=core, in_background=True)
    host = warm.sandbox.start(launch)
    try:
        for _ in range(2):
            assert f"{{{core}}}" in play(host)
            assert host.reusable
    finally:
        host.close()


COLD = {
    "thread": (
        "import threading, time; threading.Thread(target=time.sleep, args=(600,), daemon=True).start()", "2 threads",
    ),
    "shared memory": ("import mmap; shared = mmap.mmap(-1, 4096)", "shares memory"),
    "pipe": ("import os; pipe = os.pipe()", "holds pipe"),
    "socket": ("import socket; pair = socket.socketpair()", "holds socket"),
    "open file": (
        "import os, tempfile; note = open(os.path.join(tempfile.gettempdir(), 'note'), 'w')", "holds /",
    ),
    "signal handler": ("import signal; signal.signal(signal.SIGUSR1, lambda *_: None)", "handles signals"),
    "child": ("import subprocess; child = subprocess.Popen(['sleep', '600'])", "other processes"),
}  # fmt: skip
IN_BOTH = ("thread", "shared memory", "socket")
"""What is looked for in containers on every push, too; the supervisor that looks is the same."""


@pytest.mark.parametrize(
    ("top", "why"),
    [
        pytest.param(source, why, id=name, marks=() if name in IN_BOTH else IN_PROCESSES)
        for name, (source, why) in COLD.items()
    ],
)
def test_what_forks_would_share_or_lose_is_loaded_afresh_for_every_duel(warm: Arena, top: str, why: str) -> None:
    with started(warm, player(top)) as host:
        assert why in host.why_cold
        assert play(host)
        assert not host.reusable


@pytest.mark.parametrize(
    ("top", "is_same"),
    [
        ("import random", False),
        ("import random; random.seed(5)", True),
        ("import numpy", False),
        ("import numpy; numpy.random.seed(5)", True),
    ],
)
@pytest.mark.containers_nightly
def test_a_duel_has_random_numbers_of_its_own_unless_the_player_chose_a_seed(
    warm: Arena, top: str, is_same: bool
) -> None:
    name = "numpy.random" if "numpy" in top else "random"
    with started(warm, player(top, f"print('drawn', {name}.random())")) as host:
        drawn = {re.findall(r"drawn (\S+)", play(host))[0] for _ in range(2)}
    assert (len(drawn) == 1) is is_same


LOADER = "[int(p) for p in os.listdir('/proc') if p.isdigit() and int(p) not in (1, os.getpid())][0]"


def test_a_duel_can_neither_read_nor_write_the_memory_of_the_process_that_loaded(warm: Arena) -> None:
    start = f"""
for pid in (1, {LOADER}):
    for mode in ("rb", "r+b"):
        try:
            open(f"/proc/{{pid}}/mem", mode)
            print("opened", pid, mode)
        except PermissionError:
            print("refused", pid, mode)
"""
    with started(warm, player("import os", start.strip())) as host:
        log = play(host)
        assert host.reusable
    assert log.count("refused") == 4
    assert "opened" not in log


TOUCH = f"touch({LOADER}) if callable(touch) else os.kill({LOADER}, touch)"


@pytest.mark.parametrize(
    "touch",
    [
        pytest.param("signal.SIGKILL", id="killed"),
        pytest.param("signal.SIGSTOP", id="stopped", marks=IN_PROCESSES),
        pytest.param("signal.SIGUSR1", id="signalled", marks=IN_PROCESSES),
    ],
)
def test_a_container_whose_loader_was_touched_is_used_no_more(warm: Arena, touch: str) -> None:
    with started(warm, player("import os, signal", f"touch = {touch}\n{TOUCH}")) as host:
        assert play(host)
        assert not host.reusable


@pytest.mark.parametrize(
    "touch",
    [
        "lambda pid: resource.prlimit(pid, resource.RLIMIT_NOFILE, (200, 200))",
        pytest.param("lambda pid: os.setpriority(os.PRIO_PROCESS, pid, 7)", marks=IN_PROCESSES),
    ],
    ids=["limited", "slowed"],
)
def test_a_loader_is_limited_by_itself_alone_or_used_no_more(warm: Arena, touch: str) -> None:
    start = f"touch = {touch}\ntry:\n    {TOUCH}\nexcept OSError:\n    print('refused', flush=True)"
    with started(warm, player("import os, resource, signal", start)) as host:
        log = play(host)
        # In containers, the list of kernel calls refuses this, so the loader is unchanged.
        assert host.reusable == ("refused" in log)
        assert "refused" in log or warm.sandbox.name == "process"


def test_a_loader_that_shares_memory_with_its_forks_is_used_no_more(warm: Arena) -> None:
    top = """
import mmap, os
fork, shared = os.fork, []
def share():
    shared.append(mmap.mmap(-1, 4096))
    return fork()
os.fork = share
"""
    with started(warm, player(top)) as host:
        assert host.why_cold == ""
        assert play(host)
        assert not host.reusable


def test_a_loader_that_wakes_up_while_a_duel_is_played_is_used_no_more(warm: Arena) -> None:
    top = """
import os, time
waitpid = os.waitpid
def watch(*arguments):
    result = waitpid(*arguments)
    from player_server import descriptors
    receive = descriptors.receive
    def peek(orders, *sizes):
        orders.settimeout(0.05)
        while True:
            try:
                return receive(orders, *sizes)
            except TimeoutError:
                pass
    descriptors.receive = peek
    return result
os.waitpid = watch
"""
    with started(warm, player(top, "import time; time.sleep(0.5)")) as host:
        assert host.why_cold == ""
        assert play(host)
        assert not host.reusable


def test_a_player_that_waits_for_its_next_duel_is_stopped(warm: Arena) -> None:
    # It would have a player's full weight on a core on which other duels are played.
    with started(warm, player()) as host:
        for _ in range(2):
            assert loader_of(host)[1] == "T"
            play(host)
        assert host.reusable
        assert loader_of(host)[1] == "T"


def test_a_process_that_a_loader_has_slipped_in_beside_itself_is_loaded_afresh(warm: Arena) -> None:
    top = """
import ctypes, os, time
prctl = ctypes.CDLL
def seal(name):
    if os.fork() == 0:
        time.sleep(600)
    return prctl(name)
ctypes.CDLL = seal
"""
    with started(warm, player(top)) as host:
        assert "other processes" in host.why_cold
        assert play(host)


def test_a_loader_that_cannot_be_stopped_is_loaded_afresh(warm: Arena) -> None:
    # The parent of a vfork waits for its child, and only SIGKILL reaches it.
    top = """
import ctypes, os, time
from player_server import descriptors
receive, orders = descriptors.receive, []
def read(*arguments):
    orders.append(receive(*arguments))
    if len(orders) == 1:
        ctypes.CDLL(None).prctl(4, 0, 0, 0, 0)
        if ctypes.CDLL(None).vfork() == 0:
            os.write(3, b"sealed\\n")
            time.sleep(600)
    return orders[-1]
descriptors.receive = read
"""
    with started(warm, player(top)) as host:
        assert host.why_cold == "it has started other processes"


@pytest.mark.containers_nightly
def test_a_player_that_dies_in_a_duel_leaves_a_container_for_the_next(warm: Arena) -> None:
    with started(warm, player("import os", "print('bye', flush=True); os._exit(3)")) as host:
        for _ in range(2):
            slot = host.slot()
            slot.on_close = lambda _: None
            assert greet(slot) == []
            assert until(lambda: slot.ending() is Ending.EXITED)  # noqa: B023  # asked at once
            slot.close()
            assert "bye" in slot.log()
            assert host.reusable


@pytest.mark.containers_nightly
def test_a_player_that_cannot_be_made_says_so_for_every_duel(warm: Arena) -> None:
    source = "class Player:\n    def __init__(self, train_mode):\n        1 / 0\n"
    with started(warm, source) as host:
        for _ in range(2):
            with pytest.raises(PlayerDidNotStart) as caught:
                host.slot()
            assert "ZeroDivisionError" in caught.value.log
            assert host.reusable
