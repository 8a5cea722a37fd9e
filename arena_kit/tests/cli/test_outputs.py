"""Where an output cannot be written, commands say so before they play, and nothing that was played is lost."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from arena_kit.cli.common import BadArgument
from arena_kit.cli.main import main
from arena_kit.cli.output import content_write, output_check, output_open
from arena_kit.tests.playing import GOOD, folders

HERE = ("--sandbox", "process")


@pytest.fixture(autouse=True)
def handler() -> Iterator[None]:
    kept = signal.getsignal(signal.SIGTERM)
    yield
    signal.signal(signal.SIGTERM, kept)


@pytest.mark.parametrize(
    "words",
    [
        ("play", "ONE", "ONE", "--environment", "tic-tac-toe", "--output", "/proc/x.json"),
        ("play", "ONE", "ONE", "--environment", "tic-tac-toe", "--output", "/tmp"),
        ("play", "ONE", "ONE", "--environment", "tic-tac-toe", "--logs", "/proc/x"),
        ("play", "ONE", "ONE", "--environment", "tic-tac-toe", "--logs", "/dev/null"),
        ("evaluate", "ONE", "--environment", "FrozenLake-v1", "--records", "/proc/x.zip"),
        ("evaluate", "ONE", "--environment", "FrozenLake-v1", "--log", "/proc/x.log"),
        ("script", "ONE", "--environment", "CartPole-v1", "--log", "/proc/x.log"),
    ],
    ids=" ".join,
)
def test_an_output_that_cannot_be_written_is_told_before_anything_is_played(
    words: tuple[str, ...], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for verb in ("play", "evaluate", "script"):
        monkeypatch.setattr(f"arena_kit.cli.{verb}.chosen_sandbox", None)
    with folders(GOOD) as (one,):
        assert main([str(one) if word == "ONE" else word for word in words] + [*HERE]) == 2
    said = capsys.readouterr().err
    assert said.startswith("arena: ")
    assert "cannot be written" in said or "cannot be made" in said or "is a folder" in said


def test_a_device_is_written_to_and_stays(tmp_path: Path) -> None:
    output_check(Path("/dev/null"))
    content_write(Path("/dev/null"), lambda: b"x")
    assert Path("/dev/null").is_char_device()
    with output_open(tmp_path / "new") as file:
        file.write(b"x")
    assert [path.name for path in tmp_path.iterdir()] == ["new"]
    with pytest.raises(BadArgument, match="does not exist"):
        output_check(tmp_path / "no" / "new")
