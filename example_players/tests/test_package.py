"""The archives that the packer writes."""

from __future__ import annotations

import io
import zipfile
from dataclasses import replace
from pathlib import Path

import pytest

from arena_kit.environment.registry import all_specs, get_spec
from arena_kit.environment.spec import GymnasiumSource
from arena_kit.examples import (
    BOXES,
    EXAMPLES,
    GAMES,
    TrainingFailed,
    UnknownPlayer,
    main,
    make_archive,
    names,
    write_archives,
)
from arena_kit.upload.archive import inspect_archive
from arena_kit.upload.compiling import check_python_compiles


@pytest.mark.parametrize("name", names())
def test_the_arena_accepts_every_example_archive(name: str) -> None:
    file = io.BytesIO(make_archive(name))

    assert inspect_archive(file).entry_point == "player.py"
    check_python_compiles(file)


def test_the_players_that_the_demo_shows_are_there() -> None:
    for game in GAMES:
        assert set(names(game)) == {"dummy", "random", "minimax", "deep_search"}
    assert {"random", "cem", "reinforce", "dqn"} <= set(names("CartPole-v1"))
    assert {"random", "q_learning"} <= set(names("FrozenLake-v1"))


def test_only_players_that_fit_are_offered() -> None:
    assert names("LunarLander-v3") == ("dummy", "lunar_lander", "random")
    assert names("Blackjack-v1") == ("dummy", "random")
    assert {names(box) for box in BOXES} == {("random",)}
    assert set(EXAMPLES) <= set(names())


def test_no_example_is_offered_for_arrays_that_none_knows(monkeypatch: pytest.MonkeyPatch) -> None:
    own = replace(get_spec("pendulum"), slug="my-car", gymnasium=GymnasiumSource("MountainCarContinuous-v0"))
    monkeypatch.setattr("arena_kit.examples.get_spec", lambda name: own)
    assert names("my-car") == ()


def test_the_arenas_own_names_of_environments_are_known() -> None:
    assert names("cart-pole") == names("CartPole-v1")
    assert names("frozen-lake-deterministic") == names("frozen-lake-v1") == names("FrozenLake-v1")
    assert names("Taxi-v3") == names("taxi") == names("Taxi-v4")
    assert "q_learning" in names("taxi")
    for spec in all_specs():
        assert names(spec.slug)
        assert ("dummy" in names(spec.slug)) == (spec.action is None)


def test_two_runs_write_the_same_bytes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for run in ("first", "second"):
        assert main(["--environment", "quarto", "--output", str(tmp_path / run)]) == 0

    written = {path.name: path.read_bytes() for path in (tmp_path / "first").iterdir()}
    assert written == {path.name: path.read_bytes() for path in (tmp_path / "second").iterdir()}
    assert set(written) == {f"{name}.zip" for name in names("quarto")}
    assert str(tmp_path / "first" / "dummy.zip") in capsys.readouterr().out


def test_only_the_named_players_are_written(tmp_path: Path) -> None:
    main(["dummy", "--output", str(tmp_path)])

    assert [path.name for path in tmp_path.iterdir()] == ["dummy.zip"]


def test_caches_and_hidden_files_stay_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "mine"
    for name in ("player.py", "weights/table.json", "__pycache__/player.pyc", ".git/config", ".env"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("x = 1\n")
    monkeypatch.setattr("arena_kit.examples.FOLDER", tmp_path)

    with zipfile.ZipFile(io.BytesIO(make_archive("mine"))) as archive:
        assert archive.namelist() == ["player.py", "weights/table.json"]
        assert {entry.date_time for entry in archive.infolist()} == {(1980, 1, 1, 0, 0, 0)}


@pytest.mark.parametrize("name", ["unknown", "../core", "tests", ""])
def test_an_unknown_player_is_refused_with_the_names_there_are(name: str) -> None:
    with pytest.raises(UnknownPlayer, match="The players are: cem, deep_search, dqn, dummy"):
        make_archive(name)


def test_the_command_line_names_a_player_that_it_does_not_know(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as stopped:
        main(["dummy", "unknown", "--output", str(tmp_path)])

    assert stopped.value.code == 2
    assert "There is no example player 'unknown'" in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


LEARNER = """
import sys
from pathlib import Path
print("learning in", sys.argv[1], sys.argv[3])
Path("runs.txt").open("a").write(sys.argv[1] + sys.argv[3])
if sys.argv[1] == "Broken-v0":
    sys.exit(3)
Path(sys.argv[sys.argv.index("--output") + 1]).write_text(f"learned in {sys.argv[1]} {sys.argv[3]}")
"""


@pytest.fixture
def learner(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Make the folder of an example that learns at once and notes its runs, under the name `q_learning`."""
    folder = tmp_path / "players" / "q_learning"
    folder.mkdir(parents=True)
    (folder / "player.py").write_text("class Player: ...\n")
    (folder / "train.py").write_text(LEARNER)
    monkeypatch.setattr("arena_kit.examples.FOLDER", folder.parent)
    return folder


def inside(archive: bytes) -> dict[str, str]:
    with zipfile.ZipFile(io.BytesIO(archive)) as unpacked:
        return {name: unpacked.read(name).decode() for name in unpacked.namelist()}


def test_each_environment_has_weights_of_its_own_that_are_learned_once(learner: Path, tmp_path: Path) -> None:
    def pack(environment: str = "", **arguments: bool) -> str:
        return inside(make_archive("q_learning", environment, arguments, train=True, store=tmp_path / "store"))[
            "q_table.npy"
        ]

    for _ in range(2):
        assert pack() == pack("FrozenLake-v1") == "learned in FrozenLake-v1 {}"
        assert pack("frozen-lake-deterministic") == pack("FrozenLake-v1", is_slippery=False)
        assert pack("frozen-lake-deterministic") == 'learned in FrozenLake-v1 {"is_slippery": false}'
        assert pack("taxi") == "learned in Taxi-v4 {}"

    assert (learner / "runs.txt").read_text() == 'FrozenLake-v1{}FrozenLake-v1{"is_slippery": false}Taxi-v4{}'


def test_a_change_of_the_training_is_learned_anew(learner: Path, tmp_path: Path) -> None:
    for code in (LEARNER, LEARNER, LEARNER + "# changed"):
        (learner / "train.py").write_text(code)
        make_archive("q_learning", train=True, store=tmp_path / "store")

    assert (learner / "runs.txt").read_text() == "FrozenLake-v1{}" * 2


def test_nothing_is_learned_unless_asked_and_weights_of_unknown_origin_stay_out(learner: Path, tmp_path: Path) -> None:
    (learner / "q_table.npy").write_text("learned by hand")

    assert set(inside(make_archive("q_learning", store=tmp_path / "store"))) == {"player.py", "train.py"}

    assert not (learner / "runs.txt").exists()
    make_archive("q_learning", train=True, store=tmp_path / "store")
    assert inside(make_archive("q_learning", store=tmp_path / "store"))["q_table.npy"] == "learned in FrozenLake-v1 {}"


@pytest.mark.parametrize("environment", ["x" * 300, "é" * 200, "../../etc", "a\0b"])
def test_an_archive_can_be_asked_for_by_any_name_of_an_environment(environment: str, tmp_path: Path) -> None:
    (tmp_path / "store").mkdir()
    assert make_archive("q_learning", environment, store=tmp_path / "store") == make_archive(
        "q_learning", store=tmp_path / "store"
    )


def test_a_training_that_fails_leaves_nothing_and_names_its_command(
    learner: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(TrainingFailed, match=r"status 3 .* python train.py Broken-v0"):
        write_archives(tmp_path / "out", ["q_learning"], "Broken-v0", store=tmp_path / "store")

    assert not [path for path in (tmp_path / "store").rglob("*") if path.is_file()]
    assert not (tmp_path / "out").exists()
    with pytest.raises(SystemExit):
        main(["q_learning", "--environment", "Broken-v0", "--store", str(tmp_path / "store")])
    assert "The output above says why" in capsys.readouterr().err


def test_the_command_line_trains_for_the_environment_that_it_is_told(learner: Path, tmp_path: Path) -> None:
    words = ["q_learning", "--environment", "FrozenLake-v1", "--arguments", '{"is_slippery": false}']

    main([*words, "--store", str(tmp_path / "store"), "--output", str(tmp_path)])

    learned = inside((tmp_path / "q_learning.zip").read_bytes())["q_table.npy"]
    assert learned == 'learned in FrozenLake-v1 {"is_slippery": false}'
