"""The machine layer, on this machine and as far as it stands for others."""

from __future__ import annotations

import os
import socket
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from arena_kit.machine import files, processes
from arena_kit.machine.sockets import POLLIN, POLLOUT, SocketPoll
from arena_kit.tests.arenas import until

ROOT = Path(__file__).parents[3]
LOCKED = "import sys; from arena_kit.machine import files; f = open(sys.argv[1], 'a'); print(files.lock(f.fileno()))"


def printed(program: str, *words: str) -> str:
    command = [sys.executable, "-c", program, *words]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout


def test_a_lock_keeps_other_processes_out_until_it_is_closed(tmp_path: Path) -> None:
    path = tmp_path / "lock"

    def other() -> str:
        return subprocess.run(
            [sys.executable, "-c", LOCKED, str(path)], capture_output=True, text=True, check=True
        ).stdout

    with path.open("w") as file:
        assert files.lock(file.fileno())
        assert other() == "False\n"
    assert other() == "True\n"


def test_a_limit_that_another_machine_refuses_is_left_out_and_never_on_linux(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(kind: int, limits: tuple[int, int]) -> None:
        raise ValueError("current limit exceeds maximum limit")

    monkeypatch.setattr("resource.setrlimit", refuse)
    with pytest.raises(ValueError, match="current limit"):
        processes.limit("AS", 1 << 30)
    monkeypatch.setattr("arena_kit.machine.processes.LINUX", False)
    processes.limit("AS", 1 << 30)
    processes.limit("NO_SUCH_LIMIT", 1)


def test_a_limit_holds_and_may_be_set_again_where_it_is_not_for_good() -> None:
    program = (
        "import resource; from arena_kit.machine.processes import limit\n"
        "limit('NOFILE', 100, for_good=False); limit('NOFILE', 200, for_good=False)\n"
        "limit('CORE', 0); limit('CORE', 1 << 20)\n"
        "print(resource.getrlimit(resource.RLIMIT_NOFILE)[0], resource.getrlimit(resource.RLIMIT_CORE))"
    )
    assert printed(program) == "200 (0, 0)\n"


def test_the_poll_of_windows_waits_for_sockets_as_that_of_linux_does() -> None:
    one, two = socket.socketpair()
    with one, two:
        poll = SocketPoll()
        assert poll.poll(1) == []
        poll.register(one.fileno(), POLLIN)
        assert poll.poll(1) == []
        two.sendall(b"x")
        assert poll.poll(1000) == [(one.fileno(), POLLIN)]
        poll.modify(one.fileno(), POLLIN | POLLOUT)
        assert poll.poll(1000) == [(one.fileno(), POLLIN | POLLOUT)]
        poll.unregister(one.fileno())
        assert poll.poll(1) == []


def test_a_drive_without_modes_is_known_by_a_file_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert files.keeps_modes(tmp_path)
    status = os.fstat

    def as_on_cifs(descriptor: int) -> os.stat_result:
        found = status(descriptor)
        return os.stat_result((found.st_mode | 0o777, *found[1:]))

    monkeypatch.setattr("os.fstat", as_on_cifs)
    assert not files.keeps_modes(tmp_path)
    assert stat.S_IMODE(tmp_path.stat().st_mode)
    assert files.keeps_modes(tmp_path / "missing")


def test_the_tree_of_a_process_is_ended_with_it() -> None:
    program = "import subprocess, sys; print(subprocess.Popen(['sleep', '600']).pid, flush=True); sys.stdin.read()"
    command, pipe = [sys.executable, "-c", program], subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True, **processes.apart()) as tree:
        assert tree.stdout is not None
        child = int(tree.stdout.readline())
        assert not processes.has_ended(tree)
        processes.tree_end(tree)
        tree.wait(60)
        assert processes.has_ended(tree)
    assert until(lambda: not Path(f"/proc/{child}").exists())


@pytest.mark.skipif(processes.WINDOWS, reason="Windows copies no process")
def test_a_copy_of_a_process_is_read_judged_and_ended() -> None:
    program = """
import subprocess, sys, time
from arena_kit.machine.processes import run_copy
def told():
    sys.stdout.write(" ".join(sys.argv[1:]) + "x" * 100_000)
    return 4
def endless():
    print("begun", flush=True)
    time.sleep(600)
done = run_copy(told, ["a", "b"], 60)
print(done.returncode, len(done.stdout), done.stdout[:4])
print(run_copy(lambda: 1 // 0, [], 60))
try:
    run_copy(endless, [], 0.5)
except subprocess.TimeoutExpired as late:
    print(late.output)
"""
    said = printed(program).splitlines()
    assert said[0] == "4 100003 b'a bx'"
    assert "returncode=1, stdout=b''" in said[1]
    assert said[2] in ("b'begun\\n'", "b''")
