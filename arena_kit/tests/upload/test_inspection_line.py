"""Who waits for an inspection gets it in turn, and a busy arena does not hold up another one."""

from __future__ import annotations

import contextlib
import fcntl
import io
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from arena_kit.upload import inspection
from arena_kit.upload.inspection import Obstacle, _lock_process, _names

LONG = 300.0


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr(inspection, "PROCESSES", 1)
    return inspection._locks()


@pytest.fixture
def running(folder: Path) -> Iterator[contextlib.ExitStack]:
    """The only process of the arena `one`."""
    with contextlib.ExitStack() as held:
        assert hold("one", held, 0.0)
        yield held


def hold(arena: str, held: contextlib.ExitStack, seconds: float, place_seconds: float | None = None) -> bool:
    now = time.monotonic()
    place_until = now + (seconds if place_seconds is None else place_seconds)
    return _lock_process(inspection._locks(), arena, held, place_until=place_until, until=now + seconds)


def is_held(path: Path) -> bool:
    with path.open("wb") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
    return False


def test_another_arena_of_the_machine_is_not_held_up(folder: Path, running: contextlib.ExitStack) -> None:
    with contextlib.ExitStack() as held:
        assert not hold("one", held, 0.0)
        assert hold("another", held, 0.0)


def test_who_came_first_is_first(folder: Path, running: contextlib.ExitStack) -> None:
    places = _names("place", inspection.PLACES, "one")
    order: list[int] = []

    def wait(number: int) -> None:
        with contextlib.ExitStack() as held:
            assert hold("one", held, LONG)
            order.append(number)

    threads = []
    for number in range(inspection.PLACES):
        threads.append(threading.Thread(target=wait, args=(number,)))
        threads[-1].start()
        while not is_held(folder / places[number]):
            time.sleep(0.01)
    # The line is full.
    with contextlib.ExitStack() as held:
        assert not hold("one", held, LONG, place_seconds=0.0)
    running.close()
    for thread in threads:
        thread.join()
    assert order == [0, 1, 2, 3]
    assert not any(is_held(folder / name) for name in places)


@pytest.mark.parametrize(("waits", "prompt", "most"), [(False, 0.0, 1.0), (True, 0.5, 2.0)])
def test_a_request_for_a_verdict_has_more_time_and_priority_than_an_upload(
    folder: Path, monkeypatch: pytest.MonkeyPatch, waits: bool, prompt: float, most: float
) -> None:
    for name, seconds in (("MOST_SECONDS", 1.0), ("VERDICT_SECONDS", 2.0), ("PROMPT_SECONDS", 0.5)):
        monkeypatch.setattr(inspection, name, seconds)
    given: list[tuple[float, float]] = []

    def inspect(*_: object, prompt_seconds: float, most_seconds: float, **__: object) -> None:
        given.append((prompt_seconds, most_seconds))

    monkeypatch.setattr(inspection, "_inspect", inspect)
    found = inspection.findings_apart(io.BytesIO(), sender="ada", waits=waits)
    assert (found, given) == (Obstacle.UNFINISHED, [(prompt, most)])


@pytest.mark.parametrize(("prompt_seconds", "more"), [(0.0, inspection.NICENESS), (LONG, 0)])
def test_an_inspection_has_less_priority_once_its_prompt_time_is_over(prompt_seconds: float, more: int) -> None:
    # The process ends as soon as its priority is the expected one.
    program = f"import os, time\nwhile os.nice(0) < {os.nice(0) + more}: time.sleep(0.01)\nprint(os.nice(0))"
    with subprocess.Popen(
        [sys.executable, "-I", "-S", "-c", program], stdout=subprocess.PIPE, start_new_session=True
    ) as child:
        assert int(inspection._said(child, prompt_seconds, 2 * LONG)) == os.nice(0) + more
