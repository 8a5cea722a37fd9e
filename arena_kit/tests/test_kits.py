"""Every starter kit in every environment that it fits: checked as an upload is, and played."""

from __future__ import annotations

import io
import json
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import arena_kit
from arena_kit.cli.main import main
from arena_kit.environment.registry import all_specs, get_spec
from arena_kit.environment.spec import EnvironmentSpec
from arena_kit.kits import KITS, BadName, UnknownKit, kit_files, kit_write, kit_zip, kits_for
from arena_kit.opponents import opponent_maker
from arena_kit.tests.environment.outside import classic, outside
from arena_kit.tests.environment.playing import installed
from arena_kit.tests.playing import folders, play
from arena_kit.upload.archive import inspect_archive
from arena_kit.upload.compiling import check_python_compiles
from arena_kit.upload.source_warnings import warnings_of

ROOT = Path(__file__).parents[2]
PAIRS = [(spec, kit.name) for spec in all_specs() for kit in kits_for(spec)]
FITTING = [pytest.param(spec, kit, id=f"{spec.slug}-{kit}") for spec, kit in PAIRS]
PLAYERS = [pytest.param(spec, kit, id=f"{spec.slug}-{kit}") for spec, kit in PAIRS if kit != "script"]
GAMES = [pytest.param(spec, kit, id=f"{spec.slug}-{kit}") for spec, kit in PAIRS if spec.seats > 1]
TABLES = [pytest.param(spec, id=spec.slug) for spec, kit in PAIRS if kit == "q-learning"]


@pytest.mark.parametrize(("spec", "kit"), FITTING)
def test_a_kit_passes_the_checks_of_an_upload(spec: EnvironmentSpec, kit: str) -> None:
    archive = io.BytesIO(kit_zip(spec, kit, "my_agent"))
    report = inspect_archive(archive)
    check_python_compiles(archive)
    assert report.entry_point == ("submission.py" if kit == "script" else "player.py")
    files = kit_files(spec, kit, "my_agent")
    sources = {name: content for name, content in files.items() if name.endswith(".py")}
    assert warnings_of(sources, has_requirements=False, python=(3, 11)) == []
    readme = files["README.md"].decode()
    assert f"arena check my_agent --environment {spec.slug}" in readme
    assert "arena submit my_agent" in readme
    assert not [name for name, content in files.items() if b"$environment" in content or b"$name" in content]


@pytest.mark.parametrize(("spec", "kit"), PLAYERS)
def test_a_kit_plays_at_once(spec: EnvironmentSpec, kit: str, tmp_path: Path) -> None:
    kit_write(tmp_path / "mine", installed(spec), kit)
    player = opponent_maker(spec, tmp_path / "mine")(3)
    environment = arena_kit.make(spec.slug, seat=0) if spec.seats > 1 else arena_kit.make(spec.slug)
    state, info = environment.reset(seed=1)
    valid = info["action_mask"].nonzero()[0] if "action_mask" in info else np.arange(0)
    action = player.start(state, valid)
    for _ in range(60):
        state, reward, terminated, truncated, info = environment.step(action)
        assert "forfeited" not in info
        if terminated or truncated:
            player.end(state, reward)
            break
        valid = info["action_mask"].nonzero()[0] if "action_mask" in info else np.arange(0)
        action = player.step(state, valid, reward)


def in_a_duel(slug: str, kit: str) -> None:
    files = {name: content.decode() for name, content in kit_files(get_spec(slug), kit, "mine").items()}
    duel = play(files, files, environment=slug, matches=2)
    assert duel.record.summary.errors == (0, 0), duel.record.matches[0].error


@pytest.mark.parametrize("kit", [kit.name for kit in kits_for(get_spec("tic-tac-toe"))])
@pytest.mark.slow
def test_a_kit_plays_a_duel_against_itself(kit: str) -> None:
    in_a_duel("tic-tac-toe", kit)


@pytest.mark.nightly
@pytest.mark.parametrize(("spec", "kit"), GAMES)
def test_a_kit_plays_a_duel_in_every_game(spec: EnvironmentSpec, kit: str) -> None:
    in_a_duel(spec.slug, kit)


def trained(folder: Path, *words: str, packages: str = "") -> str:
    command, path = [sys.executable, str(folder / "train.py"), *words], f"{ROOT}:{packages}"
    done = subprocess.run(command, cwd=ROOT, env={"PYTHONPATH": path}, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def mean_return(slug: str, folder: Path, episodes: int = 60) -> float:
    environment: Any = arena_kit.make(slug)
    make, total = opponent_maker(get_spec(slug), folder), 0.0
    for seed in range(episodes):
        player, (state, info) = make(seed), environment.reset(seed=seed, options={"seat": 0})
        action, is_over = player.start(state, info["action_mask"].nonzero()[0]), False
        while not is_over:
            state, reward, terminated, truncated, info = environment.step(action)
            total, is_over = total + reward, terminated or truncated
            if not is_over:
                action = player.step(state, info["action_mask"].nonzero()[0], reward)
    return total / episodes


@pytest.mark.slow
@pytest.mark.nightly
def test_q_learning_gets_better_at_tic_tac_toe(tmp_path: Path) -> None:
    kit_write(tmp_path / "mine", get_spec("tic-tac-toe"), "q-learning")
    before = mean_return("tic-tac-toe", tmp_path / "mine")
    said = trained(tmp_path / "mine", "--steps", "20000")
    assert "states are in table.json" in said
    assert mean_return("tic-tac-toe", tmp_path / "mine") > before + 0.2


@pytest.mark.nightly
@pytest.mark.parametrize("spec", TABLES)
def test_q_learning_learns_in_every_environment_that_it_fits(spec: EnvironmentSpec, tmp_path: Path) -> None:
    kit_write(tmp_path / "mine", spec, "q-learning")
    before = mean_return(spec.slug, tmp_path / "mine", 20)
    trained(tmp_path / "mine")
    assert mean_return(spec.slug, tmp_path / "mine", 200) > before


@pytest.mark.nightly
@pytest.mark.network
def test_the_network_of_torch_learns_cart_pole_and_plays_with_numpy(tmp_path: Path) -> None:
    packages = tmp_path / "packages"
    install = ["install", "--quiet", "--no-compile", "--only-binary", ":all:", "--target", str(packages)]
    subprocess.run([sys.executable, "-m", "pip", *install, "torch==2.13.0"], check=True)
    kit_write(tmp_path / "mine", get_spec("cart-pole"), "torch")
    trained(tmp_path / "mine", "--episodes", "400", packages=str(packages))
    assert mean_return("cart-pole", tmp_path / "mine", 20) > 60


@pytest.mark.skipif(find_spec("torch") is not None, reason="PyTorch is installed")
def test_training_without_torch_says_what_to_install(tmp_path: Path) -> None:
    kit_write(tmp_path / "mine", get_spec("pong"), "torch")
    command = [sys.executable, str(tmp_path / "mine/train.py")]
    done = subprocess.run(command, env={"PYTHONPATH": str(ROOT)}, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert done.stderr.strip() == "Training needs PyTorch: pip install -r train-requirements.txt"


def test_weights_are_played_with_numpy_alone(tmp_path: Path) -> None:
    kit_write(tmp_path / "mine", get_spec("cart-pole"), "torch")
    # A network of this shape, in the order in which train.py saves its parameters, that prefers action 1.
    shapes = [(64, 4), (64,), (64, 64), (64,), (2, 64), (2,)]
    parameters = [np.zeros(shape, np.float32) for shape in shapes]
    parameters[-1][1] = 1.0
    np.savez(tmp_path / "mine" / "weights.npz", *parameters)
    player = opponent_maker(get_spec("cart-pole"), tmp_path / "mine")(0)
    assert [player.start(np.ones(4), np.arange(2)), player.step(np.ones(4), np.arange(1), 1.0)] == [1, 0]


@pytest.mark.parametrize(
    ("slug", "kit", "sentence"),
    [
        ("connect-four", "q-learning", "does not fit Connect Four. The kits for Connect Four are: random, minimax, t"),
        ("pong", "minimax", "The kit minimax does not fit Pong. The kits for Pong are: random, torch."),
        ("pendulum", "torch", "The kits for Pendulum are: random, script."),
        ("pong", "nothing", "There is no kit 'nothing'"),
        ("pong", "../random", "There is no kit"),
    ],
)
def test_a_kit_that_does_not_fit_is_refused_with_those_that_do(slug: str, kit: str, sentence: str) -> None:
    with pytest.raises(UnknownKit, match=sentence):
        kit_files(get_spec(slug), kit, "mine")


@pytest.mark.parametrize("name", ["", "..", "a b", "-x", "a/b", "x" * 51, "ä"])
def test_a_name_that_cannot_be_one_is_refused(name: str) -> None:
    with pytest.raises(BadName, match="cannot be the name"):
        kit_files(get_spec("pong"), "random", name)


def test_every_environment_has_a_kit_and_every_kit_an_environment() -> None:
    assert all(kits_for(spec) for spec in all_specs())
    assert {kit.name for spec in all_specs() for kit in kits_for(spec)} == {kit.name for kit in KITS}


def test_the_command_makes_a_folder_and_says_what_comes_next(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["new", "mine/", "--environment", "tic-tac-toe", "--kit", "minimax"]) == 0
    assert {path.name for path in (tmp_path / "mine").iterdir()} == {"player.py", "README.md"}
    assert "arena check mine --environment tic-tac-toe" in capsys.readouterr().err


def test_the_command_says_what_it_made_as_json(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["new", "mine", "--environment", "tic-tac-toe", "--kit", "minimax", "--json"]) == 0
    made = json.loads(capsys.readouterr().out)
    assert (made["folder"], made["environment"], made["kit"]) == ("mine", get_spec("tic-tac-toe").id, "minimax")
    assert {*made["files"]} == {path.name for path in (tmp_path / "mine").iterdir()}
    assert made["next"][0] == "arena check mine --environment tic-tac-toe"
    assert main(["new", "mine", "--environment", "tic-tac-toe", "--json"]) == 2
    assert json.loads(capsys.readouterr().out)["code"] == "bad_arguments"


@pytest.mark.slow
def test_a_kit_for_an_organisers_environment_says_where_its_rules_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    classic(tmp_path / "own", "heap")
    monkeypatch.chdir(tmp_path)
    with outside(tmp_path / "own", monkeypatch):
        words = ["--environment", "heap", "--environments", "own", "--kit", "q-learning"]
        assert main(["new", "mine", *words]) == 0
        readme = (tmp_path / "mine" / "README.md").read_text()
        assert "```\narena check mine --environment heap --environments own\n" in readme
        assert "arena play mine mine --environment heap --environments own --matches 20" in readme
        assert 'ENVIRONMENTS = "own"\n' in (tmp_path / "mine" / "train.py").read_text()
        _, info = arena_kit.make("heap", "random", environments="own").reset(seed=1)
        assert info["action_mask"].tolist() == [1, 1]
        with pytest.raises(ValueError, match="There is no folder nowhere"):
            arena_kit.make("heap", environments="nowhere")
        # On the site the folder is not yet at the participant's home.
        fetched = kit_files(get_spec("heap"), "random", "mine")["README.md"].decode()
        assert "```\narena pull heap\narena check mine --environment heap --environments environments\n" in fetched


def test_an_existing_folder_is_never_changed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "player.py").write_text("my own work")
    (tmp_path / "file").write_text("my own work")
    for name in ("mine", "file"):
        assert main(["new", str(tmp_path / name), "--environment", "pong"]) == 2
        assert "exists already, and nothing in it was changed" in capsys.readouterr().err
    assert [path.name for path in (tmp_path / "mine").iterdir()] == ["player.py"]
    assert (tmp_path / "mine" / "player.py").read_text() == (tmp_path / "file").read_text() == "my own work"


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["mine", "--environment", "chess"], "There is no environment 'chess'"),
        (["mine", "--environment", "pong", "--kit", "minimax"], "does not fit Pong"),
        (["no/such/mine", "--environment", "pong"], "cannot be made: No such file or directory"),
        (["a b", "--environment", "pong"], "cannot be the name"),
    ],
)
def test_wrong_arguments_leave_nothing_behind(
    words: list[str],
    sentence: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["new", *words]) == 2
    assert sentence in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
def test_the_script_kit_runs_and_prints_a_score(tmp_path: Path) -> None:
    files = {name: content.decode() for name, content in kit_files(get_spec("cart-pole"), "script", "mine").items()}
    files["submission.py"] = files["submission.py"].replace("LEARNING_STEPS = 150_000", "LEARNING_STEPS = 3_000")
    with folders(files) as (folder,):
        command = [sys.executable, str(folder / "submission.py"), "CartPole-v1"]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert '"score": ' in done.stdout.splitlines()[-1]
