"""Streams as listeners hear them, and what a step of `benchmarks.streams` says of them."""

from __future__ import annotations

import contextlib
import os
import socket
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from benchmarks import capacity, streams
from benchmarks.load.listeners import Heard, listeners
from benchmarks.load.usage import Usage
from web.watching.stream import MOST_STREAMS

HEAD = b"HTTP/1.1 200 OK\r\n\r\n"
BEFORE, AFTER = Usage(100.0, {"events": 1.0, "database": 1.0}, 10.0, 0.0, 0), Usage(
    110.0, {"events": 3.0, "database": 1.5}, 16.0, 0.0, 0
)  # fmt: skip
TOLD = {number: 100.0 + number for number in range(1, 10)}
SOON = [(number, at + 0.5) for number, at in TOLD.items()]


def answer(server: socket.socket, pieces: list[bytes]) -> None:
    """Answer each connection with the next piece and leave it open; close those with an empty one."""
    with contextlib.ExitStack() as kept:
        for piece in pieces:
            connection = kept.enter_context(server.accept()[0])
            connection.recv(4096)
            connection.sendall(piece)
            if not piece:
                connection.close()
        # The end of the test.
        kept.enter_context(server.accept()[0])


@pytest.fixture
def serve() -> Iterator[object]:
    """Start a server that answers so many connections, and return its port."""
    with contextlib.ExitStack() as stack:

        def begin(pieces: list[bytes]) -> int:
            server = stack.enter_context(socket.create_server(("127.0.0.1", 0)))
            thread = threading.Thread(target=answer, args=(server, pieces))
            thread.start()
            stack.callback(thread.join)
            stack.callback(lambda: socket.create_connection(server.getsockname()).close())
            port: int = server.getsockname()[1]
            return port

        yield begin


def test_listeners_count_what_is_told_and_which_streams_are_refused_or_break_off(serve: object) -> None:
    told = b'event: progress\ndata: {"progress": "RUNNING 7"}\n\n'
    assert callable(serve)
    port = serve([HEAD + told, b"HTTP/1.1 503 Service Unavailable\r\n\r\n", b"", HEAD])
    with listeners(port, "/events/duels/1", processes=1) as crowd:
        assert crowd.open(4) == 2
        heard = crowd.listen(0.0)
    assert (len(heard.times), heard.broken) == (2, 2)


def judged(*, broken: int = 0, times: list[tuple[int, float]] | None = None) -> dict[str, object]:
    heard = Heard([SOON if times is None else times], broken, 1.0)
    return streams.step(50, broken, heard, TOLD, BEFORE, AFTER)


def test_a_step_is_carried_if_every_stream_is_told_in_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 1})
    row = judged()
    assert (row["is_carried"], row["p50_ms"], row["p95_ms"]) == (True, 500, 500)
    # Told too late to be heard: 9, of which nothing is asked.
    assert row["told"] == 8
    assert row["cpu_share"] == {"events": 0.1, "database": 0.025, "listeners": 0.05, "other": 0.125}


def test_a_stream_that_skips_what_is_out_of_date_has_been_told() -> None:
    assert judged(times=[one for one in SOON if one[0] % 2])["is_carried"]


@pytest.mark.parametrize(
    "times",
    [
        [(number, at + 2.5) for number, at in TOLD.items()],
        SOON[:2],
        [],
    ],
    ids=["late", "stopped", "silent"],
)
def test_late_and_silent_streams_are_not_carried(times: list[tuple[int, float]]) -> None:
    row = judged(times=times)
    assert not row["is_carried"]
    assert "comes too late" in streams.limit(row, 50, 50)


def test_refused_streams_end_the_measure_and_are_named() -> None:
    report = streams.summary([judged(), {**judged(broken=3), "streams": 100}], 100, 100)
    assert report["streams"] == 50
    assert report["limit"].startswith("Of 100 streams 3 were refused or broke off; the process took")


def test_a_maximum_is_not_told_as_a_limit_of_the_machine() -> None:
    whole, files = streams.limit(judged(), streams.MOST, streams.MOST), streams.limit(judged(), 50, streams.MOST)
    assert whole.startswith("All 2,000 were carried, which is all that the process takes;")
    assert "the limit of open files allows no more" in files
    layer = capacity.stream_layer(streams.summary([judged()], 50, 50))
    assert (layer["layer"], layer["figure"]) == ("live watchers by streams", 50)


def test_the_process_of_live_events_is_started_and_limited_as_in_production() -> None:
    compose = yaml.safe_load((Path(__file__).parents[2] / "docker-compose.yml").read_text())
    command = compose["services"]["events"]["command"]
    assert ["gunicorn", *streams.EVENTS] == [word for word in command if not word.startswith("--bind=")]
    assert streams.MOST == MOST_STREAMS
