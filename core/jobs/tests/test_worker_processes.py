from __future__ import annotations

import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from core.jobs.worker_processes import BACK_OFF_SECONDS, HEALTHY_SECONDS, WorkerProcesses, programs
from core.tests.clocks import Clock

# What a child does is told by its variables; its own child shows that whole groups are ended.
CHILD = """
import os, signal, subprocess, sys, time
role = os.environ["ROLE"]
if role == "stubborn":
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
helper = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
print("helper", helper.pid, flush=True)
if role == "dies":
    sys.exit(3)
time.sleep(600)
"""
DEADLINE_SECONDS = 300


class Lines:
    """What was written, by any thread."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def helpers(self) -> list[int]:
        return [int(line.split()[-1]) for line in self.lines if "helper" in line]

    def wait_for_helpers(self, count: int) -> None:
        wait_until(lambda: len(self.helpers()) >= count)


def wait_until(true: Callable[[], bool]) -> None:
    deadline = time.monotonic() + DEADLINE_SECONDS
    while not true():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def lives(pid: int) -> bool:
    try:
        with Path(f"/proc/{pid}/stat").open() as file:
            return file.read().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


@pytest.fixture
def lines() -> Lines:
    return Lines()


@pytest.fixture
def supervise(clock: Clock, lines: Lines) -> Iterator[Callable[..., WorkerProcesses]]:
    made: list[WorkerProcesses] = []

    def make(**roles: str) -> WorkerProcesses:
        variables = {name: {"ROLE": role} for name, role in roles.items()}
        supervisor = WorkerProcesses(
            programs([sys.executable, "-c", CHILD], variables), variables, clock=clock, write=lines.lines.append
        )
        made.append(supervisor)
        return supervisor

    yield make
    for supervisor in made:
        supervisor.end(grace_seconds=0)


def test_every_child_runs_and_its_lines_carry_its_name(supervise: Callable[..., WorkerProcesses], lines: Lines) -> None:
    supervise(build="works", duel="works").step()
    lines.wait_for_helpers(2)
    assert sorted(line.split()[0] for line in lines.lines) == ["[build]", "[duel]"]


def test_a_dead_child_starts_again_after_a_pause_that_grows(
    supervise: Callable[..., WorkerProcesses], lines: Lines, clock: Clock
) -> None:
    supervisor = supervise(duel="dies")
    supervisor.step()
    pauses = [*BACK_OFF_SECONDS, BACK_OFF_SECONDS[-1]]
    for number, pause in enumerate(pauses, start=1):
        sentence = f"duel ended with 3; it starts again in {pause:g} s."

        def told(number: int = number) -> bool:
            supervisor.step()
            return sum("ended with" in line for line in lines.lines) == number

        wait_until(told)
        assert [line for line in lines.lines if "ended with" in line][-1] == sentence
        # What the dead one left behind is gone.
        lines.wait_for_helpers(number)
        wait_until(lambda: not any(map(lives, lines.helpers())))
        clock.now += pause - 0.1
        supervisor.step()
        assert len(lines.helpers()) == number
        clock.now += 0.2
        supervisor.step()
        lines.wait_for_helpers(number + 1)


def test_a_child_that_lived_long_starts_again_at_once_as_at_first(
    supervise: Callable[..., WorkerProcesses], lines: Lines, clock: Clock
) -> None:
    supervisor = supervise(duel="works")
    for _ in range(2):
        supervisor.step()
        lines.wait_for_helpers(1)
        clock.now += HEALTHY_SECONDS
        (child,) = supervisor._children.values()
        assert child.process is not None
        os.kill(child.process.pid, signal.SIGKILL)
        child.process.wait()
        supervisor.step()
        assert lines.lines[-1] == f"duel ended with -9; it starts again in {BACK_OFF_SECONDS[0]:g} s."
        clock.now += BACK_OFF_SECONDS[0]
        lines.lines.clear()


def test_at_the_end_nothing_is_left(supervise: Callable[..., WorkerProcesses], lines: Lines) -> None:
    supervisor = supervise(duel="works", build="stubborn")
    supervisor.step()
    lines.wait_for_helpers(2)
    helpers = lines.helpers()
    assert all(map(lives, helpers))
    # The clock stands still, so the grace is a real wait here: short.
    supervisor.end(grace_seconds=0.2)
    wait_until(lambda: not any(map(lives, helpers)))
    assert [child.process for child in supervisor._children.values()] == [None, None]


def test_it_runs_until_it_is_asked_to_stop(supervise: Callable[..., WorkerProcesses], lines: Lines) -> None:
    supervisor = supervise(duel="works")
    runner = threading.Thread(target=supervisor.run, kwargs={"grace_seconds": 5})
    runner.start()
    lines.wait_for_helpers(1)
    supervisor.ask_to_stop()
    runner.join(DEADLINE_SECONDS)
    assert not runner.is_alive()
    wait_until(lambda: not any(map(lives, lines.helpers())))


def test_children_are_in_groups_of_their_own(supervise: Callable[..., WorkerProcesses], lines: Lines) -> None:
    supervise(duel="works").step()
    lines.wait_for_helpers(1)
    (helper,) = lines.helpers()
    assert os.getpgid(helper) not in (os.getpgid(0), helper)
