"""The way of a lot's results out of its pod."""

from __future__ import annotations

import contextlib
import io
import json
import os
import subprocess
import sys
from pathlib import Path
from subprocess import PIPE, STDOUT

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arena_kit.environment.record_archive import ArtifactDamaged
from arena_kit.referee.lot import Lot
from arena_kit.referee.part import KILLED, LOT_FULL, Failed, PlayedPart, finished_parts, read_lot, read_part
from arena_kit.referee.play import PlayedDuel
from arena_kit.referee.sealed import KEPT_BYTES, MAX_BYTES, PIECE_BYTES, SMALL_BYTES, NotSealed, Reader, Writer
from arena_kit.sandbox.base import SandboxError
from arena_kit.tests.duels import first_valid, play

CLAIM = "0123abcd"
PARTS = {"duel-1": b"first" * 30_000, "duel-2": b"", "evaluation-3": bytes(range(256)) * 500}


def written() -> tuple[list[str], str]:
    log = io.StringIO()
    writer = Writer(log, CLAIM)
    for part, data in PARTS.items():
        writer.progress(part, 7)
        writer.part(part, data)
    return log.getvalue().splitlines(), writer.seal()


def read(lines: list[str]) -> Reader:
    reader = Reader()
    reader.read(lines)
    return reader


def test_results_arrive_as_they_were_written() -> None:
    lines, seal = written()
    reader = read(lines)
    reader.check(seal, CLAIM)
    assert reader.parts == PARTS
    assert reader.done == dict.fromkeys(PARTS, 7)
    assert len(seal) < 4096


def test_a_log_that_ends_early_keeps_its_complete_parts() -> None:
    lines, _ = written()
    end = next(n for n, line in enumerate(lines) if line.startswith("part duel-1"))
    assert read(lines[: end + 1]).parts == {"duel-1": PARTS["duel-1"]}


@given(st.data())
def test_no_changed_log_gives_another_result(data: st.DataObject) -> None:
    lines, seal = written()
    line = data.draw(st.integers(0, len(lines) - 1))
    place = data.draw(st.integers(0, len(lines[line]) - 1))
    changed = {
        "lose": [*lines[:line], *lines[line + 1 :]],
        "double": [*lines[: line + 1], *lines[line:]],
        "cut": [*lines[:line], lines[line][:place], *lines[line + 1 :]],
        "change": [*lines[:line], lines[line][:place] + "7" + lines[line][place + 1 :], *lines[line + 1 :]],
        "move": [*lines[:line], *lines[line + 1 :], lines[line]],
    }[data.draw(st.sampled_from(("lose", "double", "cut", "change", "move")))]
    with contextlib.suppress(NotSealed):
        reader = read(changed)
        reader.check(seal, CLAIM)
        assert reader.parts == PARTS


@pytest.mark.parametrize("word", ["data", "part"])
def test_a_lost_or_doubled_line_of_a_result_is_refused(word: str) -> None:
    lines, seal = written()
    line = next(n for n, line in enumerate(lines) if line.startswith(word))
    for changed in ([*lines[:line], *lines[line + 1 :]], [*lines[: line + 1], *lines[line:]]):
        with pytest.raises(NotSealed):
            read(changed).check(seal, CLAIM)


@given(st.text())
def test_any_text_is_read_or_refused(text: str) -> None:
    with contextlib.suppress(NotSealed):
        assert read(text.splitlines()).parts == {}


@pytest.mark.parametrize(
    "change",
    [{"claim": "other"}, {"sha256": "0" * 64}, {"pieces": 1}, {"bytes": 1}, {"parts": ["duel-1"]}, {"version": 2}],
    ids=lambda change: next(iter(change)),
)
def test_a_seal_of_something_else_is_refused(change: dict[str, object]) -> None:
    lines, seal = written()
    with pytest.raises(NotSealed):
        read(lines).check(json.dumps({**json.loads(seal), **change}), CLAIM)


@pytest.mark.parametrize("seal", ["", "{}", "[]", "null", "[" * 10_000])
def test_a_missing_seal_is_refused(seal: str) -> None:
    with pytest.raises(NotSealed):
        read(written()[0]).check(seal, CLAIM)


def test_results_that_a_log_cannot_carry_are_the_platforms_fault() -> None:
    log = io.StringIO()
    with pytest.raises(SandboxError) as caught:
        Writer(log, CLAIM).part("duel-1", bytes(MAX_BYTES + 1))
    assert caught.value.code == "result_too_large"
    assert log.getvalue() == ""
    assert PIECE_BYTES * 4 / 3 < 64 << 10


SPOILING = """
import os, sys, warnings
import arena_kit.referee.lot as lot
def play_lot(played, writer):
    print("an environment prints")
    warnings.warn("a library warns")
    writer.part("duel-1", b"x")
    os.system("echo a program prints")
    return bool({fails}) and 1 / 0
lot.play_lot = play_lot
sys.exit(lot.main())
"""


@pytest.mark.parametrize("fails", [False, True])
def test_what_anything_else_prints_is_not_among_the_results(fails: bool, tmp_path: Path) -> None:
    seal = tmp_path / "seal"
    variables = {**os.environ, "LOT": Lot(CLAIM, ()).to_json(), "SEAL": str(seal)}
    command = [sys.executable, "-c", SPOILING.format(fails=fails)]
    # As a container's log has them.
    ended = subprocess.run(command, env=variables, stdout=PIPE, stderr=STDOUT, text=True, check=False)
    lines = ended.stdout.splitlines()
    if fails:
        assert ended.returncode == 1
        assert lines[-1] == "ZeroDivisionError: division by zero"
    else:
        read(lines).check(seal.read_text(), CLAIM)
        assert read(lines).parts == {"duel-1": b"x"}


def test_a_lost_container_is_the_platforms_fault_only_if_it_was_killed_from_outside() -> None:
    """A player that can end its supervisor otherwise takes back no loss."""
    log = io.StringIO()
    writer = Writer(log, CLAIM)
    writer.part("duel-1", PlayedPart(play(first_valid, matches=2), lost=(1,)).to_bytes())
    lines, seal = log.getvalue().splitlines(), writer.seal()
    assert isinstance(read_lot(lines, seal, CLAIM, set())["duel-1"].result, PlayedDuel)
    assert read_lot(lines, seal, CLAIM, {1})["duel-1"].result == KILLED
    # Of a lot that goes on, neither is known yet.
    assert finished_parts(lines) == {}


def test_a_log_that_is_still_written_has_its_complete_parts() -> None:
    log = io.StringIO()
    writer = Writer(log, CLAIM)
    for part in ("duel-1", "duel-2"):
        writer.part(part, PlayedPart(play(first_valid, matches=2)).to_bytes())
    lines = log.getvalue().splitlines()
    assert list(finished_parts([*lines[:-1], lines[-1][:9]])) == ["duel-1"]
    assert finished_parts(lines[:1]) == {}


def test_results_that_fill_a_log_leave_room_to_say_so() -> None:
    writer = Writer(io.StringIO(), CLAIM)
    writer.part("duel-1", bytes(MAX_BYTES - KEPT_BYTES))
    with pytest.raises(SandboxError):
        writer.part("duel-2", bytes(SMALL_BYTES + 1))
    writer.part("duel-2", PlayedPart(LOT_FULL).to_bytes())


def test_a_failure_of_the_platform_is_a_result_of_its_part() -> None:
    part = PlayedPart(Failed("environment_failed", "It raised.", (3,)), lost=(1,))
    assert read_part(part.to_bytes()) == part


@given(st.binary(max_size=200))
def test_any_bytes_are_a_part_or_refused(data: bytes) -> None:
    with pytest.raises(ArtifactDamaged):
        read_part(data)
