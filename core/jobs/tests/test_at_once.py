"""A worker process that does several jobs at once: those that people wait for."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest

from core.jobs import loop

HANGS_SECONDS = 30.0


def test_a_job_that_takes_long_holds_up_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    done, both = list[str](), threading.Barrier(2, timeout=HANGS_SECONDS)
    claims: Iterator[str | None] = iter(["slow", "quick", None])

    def work_on(_: str, claim: str) -> None:
        # Neither goes on before the other has begun.
        both.wait()
        done.append(claim)

    monkeypatch.setattr(loop, "at_once", lambda _: 2)
    monkeypatch.setattr(loop, "_claim", lambda _: next(claims))
    monkeypatch.setattr(loop, "work_on", work_on)
    monkeypatch.setattr(loop, "wait", lambda _, is_busy: is_busy)
    rounds = iter([False, False, False, True])
    monkeypatch.setattr(loop, "is_stopping", lambda: next(rounds))

    loop.serve_at_once("sitting")

    assert sorted(done) == ["quick", "slow"]


def test_a_job_that_fails_frees_its_place(monkeypatch: pytest.MonkeyPatch) -> None:
    done = list[str]()
    claims = iter(["failing", "next"])

    def work_on(_: str, claim: str) -> None:
        done.append(claim)
        raise LookupError("The arena's own code failed.")

    monkeypatch.setattr(loop, "at_once", lambda _: 1)
    monkeypatch.setattr(loop, "_claim", lambda _: next(claims))
    monkeypatch.setattr(loop, "work_on", work_on)
    rounds = iter([False, False, True])
    monkeypatch.setattr(loop, "is_stopping", lambda: next(rounds))

    loop.serve_at_once("sitting")

    assert done == ["failing", "next"]
