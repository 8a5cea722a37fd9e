from __future__ import annotations

import multiprocessing
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from core.jobs.forks import Fork, end_with_parent
from core.jobs.stopping import ask_to_stop, is_stopping

DEADLINE_SECONDS = 300
SAID = "said: "


@pytest.fixture
def fork() -> Iterator[Callable[[Callable[[], None]], Fork]]:
    made: list[Fork] = []

    def make(work: Callable[[], None]) -> Fork:
        made.append(Fork(work))
        return made[-1]

    yield make
    for child in made:
        with suppress(ProcessLookupError):
            os.kill(child.pid, signal.SIGKILL)
        child.wait(DEADLINE_SECONDS)
        child.stdout.close()


def say(text: object) -> None:
    os.write(1, f"{SAID}{text}\n".encode())


def heard(child: Fork) -> str:
    """Return what a child says next, "" at its end; what libraries write, as gRPC does about forks, is passed over."""
    while line := child.stdout.readline():
        if line.startswith(SAID):
            return line.removeprefix(SAID).rstrip("\n")
    return ""


def sleep() -> None:
    say("sleeps")
    time.sleep(DEADLINE_SECONDS)


@pytest.mark.parametrize(
    ("work", "code", "said"),
    [(lambda: say("done"), 0, "done"), (lambda: sys.exit(3), 3, ""), (lambda: 1 / 0, 1, "")],
    ids=["returns", "exits", "fails"],
)
def test_what_it_prints_and_how_it_ends_is_known(
    fork: Callable[[Callable[[], None]], Fork], work: Callable[[], None], code: int, said: str
) -> None:
    child = fork(work)
    assert said in child.stdout.read()
    assert child.wait(DEADLINE_SECONDS) == child.returncode == child.poll() == code


def test_it_leads_a_group_of_its_own_and_a_request_to_end_ends_it(fork: Callable[[Callable[[], None]], Fork]) -> None:
    before = signal.signal(signal.SIGTERM, lambda *_: None)
    try:
        child = fork(sleep)
        child.terminate()
        assert heard(child) in ("sleeps", "")
        assert child.wait(DEADLINE_SECONDS) == -signal.SIGTERM
        assert signal.getsignal(signal.SIGTERM) is not signal.SIG_DFL
        other = fork(sleep)
        assert heard(other) == "sleeps"
        assert os.getpgid(other.pid) == other.pid
        assert other.poll() is None
        with pytest.raises(subprocess.TimeoutExpired):
            other.wait(0)
    finally:
        signal.signal(signal.SIGTERM, before)


def test_the_output_of_one_is_open_to_no_other(fork: Callable[[Callable[[], None]], Fork]) -> None:
    """A pipe with a reader that never reads would fill up, and stop all who write to it."""
    first = fork(sleep)
    pipe = os.fstat(first.stdout.fileno()).st_ino

    def look() -> None:
        opened = []
        for descriptor in range(3, 1000):
            with suppress(OSError):
                opened.append(os.fstat(descriptor).st_ino)
        say(opened.count(pipe))

    assert heard(fork(look)) == "0"


def test_one_fork_is_not_stopped_with_another(fork: Callable[[Callable[[], None]], Fork]) -> None:
    def stop() -> None:
        ask_to_stop()
        say(is_stopping())

    assert heard(fork(stop)) == "True"
    assert not is_stopping()


def test_a_fork_ends_with_its_parent(fork: Callable[[Callable[[], None]], Fork]) -> None:
    def be_a_parent() -> None:
        inner = Fork(lambda: time.sleep(600))
        say(inner.pid)
        time.sleep(600)

    parent = fork(be_a_parent)
    inner = int(heard(parent))
    os.kill(parent.pid, signal.SIGKILL)
    deadline = time.monotonic() + 30
    while Path(f"/proc/{inner}/stat").exists() and Path(f"/proc/{inner}/stat").read_text().split()[2] != "Z":
        assert time.monotonic() < deadline
        time.sleep(0.05)


def test_a_fork_ends_whose_parent_has_ended_before_it_was_watched() -> None:
    def begin(parent: int) -> None:
        # As a fork does it first.
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        end_with_parent(parent)
        time.sleep(DEADLINE_SECONDS)

    other = subprocess.Popen([sys.executable, "-c", "pass"])
    other.wait(DEADLINE_SECONDS)
    child = multiprocessing.get_context("fork").Process(target=begin, args=(other.pid,))
    child.start()
    child.join(DEADLINE_SECONDS)
    assert child.exitcode == -signal.SIGTERM
