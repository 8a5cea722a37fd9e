from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress

import pytest
from django.conf import settings

from core.jobs.forks import Fork
from core.jobs.stopping import ask_to_stop, is_stopping, stop_apart
from core.operations.cluster import cluster_choose

DEADLINE_SECONDS = 300


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
    os.write(1, f"{text}\n".encode())


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
        assert child.stdout.read() in ("sleeps\n", "")
        assert child.wait(DEADLINE_SECONDS) == -signal.SIGTERM
        assert signal.getsignal(signal.SIGTERM) is not signal.SIG_DFL
        other = fork(sleep)
        assert other.stdout.readline() == "sleeps\n"
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

    assert fork(look).stdout.read() == "0\n"


def test_one_cluster_is_not_stopped_with_another(fork: Callable[[Callable[[], None]], Fork]) -> None:
    def stop() -> None:
        stop_apart()
        ask_to_stop()
        say(is_stopping())

    assert fork(stop).stdout.read() == "True\n"
    assert not is_stopping()


@pytest.mark.parametrize("queue", [*settings.QUEUES, *settings.EXTRA_QUEUES])
def test_a_fork_becomes_the_cluster_of_its_queue_as_a_program_does(
    fork: Callable[[Callable[[], None]], Fork], queue: str
) -> None:
    from django_q.conf import Conf

    def choose() -> None:
        cluster_choose(queue)
        say((Conf.CLUSTER_NAME, Conf.PREFIX, Conf.WORKERS, Conf.RECYCLE, Conf.QUEUE_LIMIT, Conf.TIMEOUT))

    plan = {**settings.Q_CLUSTER, **settings.Q_CLUSTER["ALT_CLUSTERS"][queue]}
    expected = (queue, plan["name"], *(plan[name] for name in ("workers", "recycle", "queue_limit", "timeout")))
    assert fork(choose).stdout.read() == f"{expected}\n"
    assert queue != Conf.CLUSTER_NAME
