"""How every command ends when it is interrupted, cannot write, or gets wrong arguments: with a sentence and a code."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from arena_kit.cli.ending import INTERRUPTED, PIPE_CLOSED, end
from arena_kit.cli.main import main


def raising(error: BaseException) -> int:
    raise error


def test_an_interruption_while_a_command_is_loaded(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("arena_kit.cli.main.import_module", lambda _: raising(KeyboardInterrupt()))
    assert main(["board", "connect-four"]) == INTERRUPTED
    assert capsys.readouterr().err == "arena: interrupted.\n"


def test_a_full_disk_is_a_sentence(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    with Path("/dev/full").open("w", encoding="utf-8") as full:
        monkeypatch.setattr(sys, "stdout", full)
        assert main(["--help"]) == 1
    assert capsys.readouterr().err == "arena: This machine could not do it (No space left on device).\n"


def test_trouble_of_the_machine_has_a_code(capsys: pytest.CaptureFixture[str]) -> None:
    assert end(lambda: raising(PermissionError(13, "Permission denied", "a\x1b[2Jb")), as_json=True) == 1
    said = capsys.readouterr()
    assert json.loads(said.out)["code"] == "machine_failed"
    assert "Permission denied: a" in said.err
    assert "\x1b" not in said.err + said.out


def test_a_reader_that_has_gone_is_no_failure(capsys: pytest.CaptureFixture[str]) -> None:
    assert end(lambda: raising(BrokenPipeError())) == PIPE_CLOSED
    assert capsys.readouterr().err == ""


def test_closed_streams_are_no_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdout", None)
    monkeypatch.setattr(sys, "stdin", None)
    assert main(["--help"]) == 0
    sys.stdout.close()
    sys.stdin.close()


@pytest.mark.parametrize("words", [["board"], ["play", "a", "b"], ["status", "--no-such-option", "x"]])
def test_wrong_arguments_are_json_too(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        main([*words, "--json"])
    assert caught.value.code == 2
    assert json.loads(capsys.readouterr().out)["code"] == "bad_arguments"


@pytest.mark.parametrize("limit", ["x", "0", "-1", "1.5", "9" * 5000])
def test_a_number_that_is_none_is_said_plainly(limit: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["board", "connect-four", "--limit", limit])
    assert "argument --limit: must be a whole number of 1 or more" in capsys.readouterr().err


def test_a_question_without_an_answer_saves_nothing(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("arena_kit.cli.login.Client.arena", lambda _: None)
    monkeypatch.setattr("builtins.input", lambda _: raising(EOFError()))
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(isatty=lambda: True))
    assert main(["login", "https://arena.example.org"]) == 2
    assert "The input ended" in capsys.readouterr().err


def test_a_file_of_records_and_a_folder_that_are_not_there(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["recheck", str(tmp_path / "none.zip"), "--json"]) == 2
    said = json.loads(capsys.readouterr().out)
    assert (said["code"], said["error"]) == (
        "cannot_check", f"{tmp_path / 'none.zip'} cannot be read: No such file or directory.",
    )  # fmt: skip
    assert main(["play", "a", "b", "--environment", "quarto", "--environments", str(tmp_path / "none")]) == 2
    assert "There is no folder" in capsys.readouterr().err
