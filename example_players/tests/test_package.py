"""What the packer writes."""

from __future__ import annotations

import io
import zipfile
from pathlib import Path

import pytest

from core.archive import check_python_compiles, inspect_archive
from example_players.package import UnknownPlayer, main, make_archive, names


@pytest.mark.parametrize("name", names())
def test_the_arena_accepts_every_example_archive(name: str) -> None:
    file = io.BytesIO(make_archive(name))

    assert inspect_archive(file).entry_point == "player.py"
    check_python_compiles(file)


def test_the_players_that_the_demo_shows_are_there() -> None:
    assert set(names()) == {"dummy", "random", "minimax", "deep_search"}


def test_two_runs_write_the_same_bytes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for run in ("first", "second"):
        assert main(["--output", str(tmp_path / run)]) == 0

    written = {path.name: path.read_bytes() for path in (tmp_path / "first").iterdir()}
    assert written == {path.name: path.read_bytes() for path in (tmp_path / "second").iterdir()}
    assert set(written) == {f"{name}.zip" for name in names()}
    assert str(tmp_path / "first" / "dummy.zip") in capsys.readouterr().out


def test_only_the_named_players_are_written(tmp_path: Path) -> None:
    main(["dummy", "--output", str(tmp_path)])

    assert [path.name for path in tmp_path.iterdir()] == ["dummy.zip"]


def test_caches_and_hidden_files_stay_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "mine"
    for name in ("player.py", "weights/table.json", "__pycache__/player.pyc", ".git/config", ".env"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("x = 1\n")
    monkeypatch.setattr("example_players.package.FOLDER", tmp_path)

    with zipfile.ZipFile(io.BytesIO(make_archive("mine"))) as archive:
        assert archive.namelist() == ["player.py", "weights/table.json"]
        assert {entry.date_time for entry in archive.infolist()} == {(1980, 1, 1, 0, 0, 0)}


@pytest.mark.parametrize("name", ["nobody", "../core", "tests", ""])
def test_an_unknown_player_is_refused_with_the_names_there_are(name: str) -> None:
    with pytest.raises(UnknownPlayer, match="There are: deep_search, dummy"):
        make_archive(name)


def test_the_command_line_names_a_player_that_it_does_not_know(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as stopped:
        main(["dummy", "nobody", "--output", str(tmp_path)])

    assert stopped.value.code == 2
    assert "There is no example player 'nobody'" in capsys.readouterr().err
    assert not list(tmp_path.iterdir())
