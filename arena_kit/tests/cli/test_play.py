"""`python -m duel_runner`, run as people run it."""

from __future__ import annotations

import contextlib
import io
import json
import os
import signal
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings

from arena_kit.cli.ending import INTERRUPTED
from arena_kit.cli.main import main
from arena_kit.cli.needed import PREFIX
from arena_kit.environment.registry import get_spec
from arena_kit.image.calls import base_image_id, engine
from arena_kit.image.foreign import image_taken
from arena_kit.referee.recheck.duels import recheck_record
from arena_kit.sandbox.choice import containers_trouble
from arena_kit.tests.arenas import until
from arena_kit.tests.playing import GOOD, folders, play, player
from arena_kit.tests.sandbox.test_sandbox_contract import running
from arena_kit.upload.archive import ArchiveReport
from arena_kit.upload.requirements import RequirementsRefused, read_requirements

ROOT = Path(__file__).resolve().parents[3]
WITHOUT_DJANGO = """
import runpy, sys
class Refuse:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ("django", "django_q", "rest_framework"):
            raise ImportError(f"{name} must not be imported by the command line")
sys.meta_path.insert(0, Refuse())
sys.argv = ["duel_runner", *sys.argv[1:]]
runpy.run_module("duel_runner", run_name="__main__", alter_sys=True)
"""


@dataclass(frozen=True)
class Done:
    """What a command that has ended printed."""

    stdout: str
    stderr: str


def run(*arguments: str | Path, code: int = 0) -> Done:
    """Run the command line in this process, which saves a start of Python."""
    containers_trouble.cache_clear()
    streams = [io.TextIOWrapper(io.BytesIO(), "utf-8", write_through=True) for _ in range(2)]
    handlers = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGHUP)}
    try:
        with (
            contextlib.chdir(ROOT),
            contextlib.redirect_stdout(streams[0]),
            contextlib.redirect_stderr(streams[1]),
        ):
            words = [str(argument) for argument in arguments]
            status: object = main(words if words[0] in ("evaluate", "script") else ["play", *words])
    except SystemExit as end:
        status = end.code
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)
    output, error = (stream.buffer.getvalue().decode() for stream in streams)
    assert status == code, error
    return Done(output, error)


def run_apart(*arguments: str | Path) -> Done:
    """Run the command line in a process of its own, where Django cannot be imported."""
    command = [sys.executable, "-c", WITHOUT_DJANGO, *map(str, arguments)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    return Done(done.stdout, done.stderr)


def stop(folder: Path, *arguments: str | Path, by: signal.Signals = signal.SIGTERM) -> None:
    """Stop the command line from outside while it runs what is in the folder; nothing of that may be left."""
    command = [sys.executable, "-m", "duel_runner", *map(str, arguments)]
    # A short path: sockets are in it.
    with tempfile.TemporaryDirectory(prefix="arena-") as temporary:
        Path(temporary).chmod(0o711)
        variables = {**os.environ, "TMPDIR": temporary}
        # Who runs the tests in the background may ignore signals, which is inherited.
        command = ["env", f"--default-signal={by.name.removeprefix('SIG')}", *command]
        process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=variables)
        word = f"--player {folder}"
        assert until(lambda: running(word) != [])
        assert list(Path(temporary).glob("arena-cli-*")) != []
        process.send_signal(by)
        process.communicate(timeout=30)
        assert process.returncode == (INTERRUPTED if by is signal.SIGINT else 128 + by)
        assert running(word) == []
        assert list(Path(temporary).glob("arena-cli-*")) == []


def document(path: Path) -> dict[str, Any]:
    content: dict[str, Any] = json.loads(path.read_text())
    return content


BASE = ("--environment", "tic-tac-toe", "--sandbox", "process", "--matches", "4", "--seed", "7")


@pytest.mark.slow
def test_folders_play_a_duel_and_leave_a_classic_document(tmp_path: Path) -> None:
    with folders(GOOD, player(step="return valid_actions[-1]")) as (one, two):
        done = run_apart(one, two, *BASE, "--output", tmp_path / "result.json")
    result = document(tmp_path / "result.json")
    assert list(result) == [
        "result", "error_msg", "num_matches", "player_1_errors", "player_2_errors", "other_errors", "player_1_wins",
        "player_2_wins", "draws", "player_1_score", "player_2_score", "distinct_matches", "check", "matches",
    ]  # fmt: skip
    assert (result["num_matches"], result["other_errors"], len(result["matches"])) == (4, 0, 4)
    assert [match["first_player"] for match in result["matches"]] == ["PLAYER_1", "PLAYER_2"] * 2
    assert len(result["matches"][0]["states"]) > 5
    assert "4 matches in" in done.stderr
    assert done.stdout == ""


@pytest.mark.slow
def test_same_seed_gives_the_same_bytes_however_many_matches_run_at_once(tmp_path: Path) -> None:
    with folders(GOOD, player(step="if state.sum() == 3: raise ValueError('three')")) as (one, two):
        for name, parallel in (("a", "1"), ("b", "4")):
            run(one, two, *BASE, "--parallel", parallel, "--output", tmp_path / name, "--quiet")
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_zips_are_checked_and_played(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "good.zip", "w") as archive:
        archive.writestr("player.py", GOOD)
    done = run(tmp_path / "good.zip", tmp_path / "good.zip", *BASE, "--output", "-", "--quiet")
    assert json.loads(done.stdout)["result"] == "DRAW"
    assert done.stderr == ""


def test_faults_of_players_are_results_and_shown(tmp_path: Path) -> None:
    with folders(player(start="raise ValueError('no idea')"), GOOD) as (one, two):
        done = run(one, two, *BASE, "--output", tmp_path / "r.json", "--logs", tmp_path / "logs")
    result = document(tmp_path / "r.json")
    assert (result["result"], result["player_1_errors"], result["player_2_wins"]) == ("PLAYER_2_WIN", 4, 0)
    assert result["matches"][0]["result"] == "PLAYER_1_ERROR"
    assert result["matches"][0]["error_msg"] == "The player raised an exception: ValueError: no idea"
    assert "ValueError: no idea" in done.stderr
    assert sorted(path.name for path in (tmp_path / "logs").iterdir()) == [
        "player_1.log", "player_2.log", "referee.log",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("nothing/", "nothing/", *BASE), "There is no file or folder nothing/."),
        (("an-image", "an-image", *BASE), "images need --sandbox docker"),
        (("docs", "docs", *BASE), "The folder docs has no player.py, agent.py or main.py."),
        (("README.md", "README.md", *BASE), "README.md: "),
        (("docs", "docs", "--environment", "chess"), "There is no environment 'chess'"),
        (("docs", "docs", "--environment", "quarto", "--matches", "0"), "must be a whole number of 1 or more"),
        (("docs", "docs", *BASE, "--output", "no/such/folder/r.json"), "does not exist"),
    ],
)
def test_bad_arguments_are_refused_with_a_sentence(arguments: tuple[str, ...], sentence: str) -> None:
    done = run(*arguments, code=2)
    assert sentence in done.stderr
    assert "Traceback" not in done.stderr


def test_a_failing_platform_writes_a_document_with_the_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/none.sock")
    with folders(GOOD, GOOD) as (one, two):
        done = run(one, two, "--environment", "quarto", "--sandbox", "docker", "--output", tmp_path / "r.json", code=1)
    result = document(tmp_path / "r.json")
    assert (result["result"], result["num_matches"], result["matches"]) == ("ERROR", 0, [])
    assert "engine" in result["error_msg"]
    assert "engine_unavailable" in done.stderr


@pytest.mark.parametrize("by", [signal.SIGTERM, signal.SIGINT])
@pytest.mark.slow
def test_a_stop_from_outside_leaves_no_player_and_no_folder_behind(tmp_path: Path, by: signal.Signals) -> None:
    with folders(player(start="while True: pass"), GOOD) as (one, two):
        stop(one, one, two, *BASE, "--logs", tmp_path / "logs", by=by)


@pytest.mark.docker
def test_containers_give_the_same_document_as_local_processes(tmp_path: Path) -> None:
    with folders(GOOD, player(step="return valid_actions[-1]")) as (one, two):
        run(one, two, *BASE, "--output", tmp_path / "process.json", "--quiet")
        docker = [*BASE, "--sandbox", "docker", "--base-image", settings.PLAYER_BASE_IMAGE]
        run(one, two, *docker, "--output", tmp_path / "docker.json", "--quiet")
    process, docker_made = (json.loads((tmp_path / f"{name}.json").read_text()) for name in ("process", "docker"))
    assert (process["check"].pop("sandbox"), docker_made["check"].pop("sandbox")) == ("process", "docker")
    assert process == docker_made


def test_without_openings_a_match_begins_at_the_start_position_and_its_record_verifies(tmp_path: Path) -> None:
    with folders(GOOD) as (good,):
        run(good, good, *BASE, "--no-openings", "--output", tmp_path / "bare.json", "--quiet")
        run(good, good, *BASE, "--output", tmp_path / "opened.json", "--quiet")
    bare, opened = (document(tmp_path / f"{name}.json")["check"] for name in ("bare", "opened"))
    assert [match.get("opening_count", 0) for match in bare["records"]] == [0] * 4
    assert all(match["opening_count"] for match in opened["records"])
    assert (bare["environment"], opened["environment"]) == ("tic-tac-toe-v2-bare", "tic-tac-toe-v2")
    record = play(GOOD, environment=bare["environment"]).record
    assert recheck_record(get_spec(record.environment), record) == []
    said = recheck_record(get_spec("tic-tac-toe"), replace(record, environment="tic-tac-toe-v2"))
    assert "its opening is none, not " in str(said[0])


@pytest.mark.docker
def test_an_image_with_its_code_in_app_plays(tmp_path: Path) -> None:
    agent = "class Agent:\n    def act(self, observation, valid_actions):\n        return valid_actions[0]\n"
    layer = io.BytesIO()
    with tarfile.open(fileobj=layer, mode="w") as tar:
        entry = tarfile.TarInfo("app/agent.py")
        entry.size = len(agent)
        tar.addfile(entry, io.BytesIO(agent.encode()))
    name, made = f"{settings.PLAYER_IMAGE_PREFIX}-app:v1.0", []
    with engine() as client:
        try:
            base = base_image_id(client, settings.PLAYER_BASE_IMAGE)
            container = client.api.create_container(base, command=["none"])["Id"]
            try:
                client.api.put_archive(container, "/", layer.getvalue())
                made.append(str(client.api.commit(container, name.partition(":")[0], "v1.0")["Id"]))
            finally:
                client.api.remove_container(container, force=True)
            made.append(image_taken(client, name, prefix=PREFIX))
            assert image_taken(client, name, prefix=PREFIX) == made[1] != made[0]
            done = run(name, name, *BASE, "--sandbox", "docker", "--json")
            assert json.loads(done.stdout)["errors"] == [0, 0]
        finally:
            for image in reversed(made):
                client.images.remove(image, force=True)


@pytest.mark.docker
def test_an_image_that_is_not_there_is_said_so() -> None:
    done = run("arena-no-such-image", "arena-no-such-image", "--environment", "quarto", code=2)
    assert done.stderr == "arena: There is no file, folder or image arena-no-such-image.\n"


def test_without_an_engine_a_word_that_names_nothing_is_a_wrong_argument(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/none.sock")
    with folders(GOOD) as (good,):
        done = run(good, "missing", "--environment", "quarto", "--sandbox", "docker", code=2)
        assert "There is no file or folder missing, and an image of that name cannot be looked for: " in done.stderr
        run(good, good, "--environment", "quarto", "--sandbox", "docker", code=1)


def test_without_an_engine_players_run_as_local_processes_and_one_line_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/none.sock")
    with folders(GOOD) as (good,):
        done = run(good, good, "--environment", "quarto", "--matches", "2", "--json")
    assert "Players run as local processes, because containers do not work here (No Docker" in done.stderr
    assert json.loads(done.stdout)["sandbox"] == "process"


@pytest.mark.docker
def test_where_containers_work_players_run_in_them() -> None:
    with folders(GOOD) as (good,):
        image = ["--base-image", settings.PLAYER_BASE_IMAGE]
        done = run(good, good, "--environment", "quarto", "--matches", "2", *image, "--json")
    assert json.loads(done.stdout)["sandbox"] == "docker"


def test_two_players_that_never_start_have_played_nothing_and_their_logs_say_why() -> None:
    with folders("raise RuntimeError('no weights')", "import nothing_at_all") as (one, two):
        done = run(one, two, *BASE, "--quiet", "--json", code=3)
    assert json.loads(done.stdout)["code"] == "neither_player_started"
    assert "Neither player started" in done.stderr
    assert "| RuntimeError: no weights" in done.stderr
    assert "No module named 'nothing_at_all'" in done.stderr


def test_a_missing_docker_library_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "arena_kit.sandbox.docker", raising=False)
    monkeypatch.setitem(sys.modules, "docker", None)
    with folders(GOOD) as (good,):
        done = run(good, good, "--environment", "quarto", "--sandbox", "docker", code=2)
    assert done.stderr.partition(":")[0] == "arena"
    assert "install arena-kit[docker], as the page /kit/" in done.stderr


# --- What a player requires -------------------------------------------------------------------------------


@pytest.mark.slow
def test_what_is_missing_is_named_before_anything_starts() -> None:
    wanting = {"player.py": GOOD, "requirements.txt": "no-such-package\nnumpy<0.1\n"}
    with folders(wanting, {"player.py": GOOD, "requirements.txt": "numpy\n"}) as (missing, met):
        done = run(met, missing, *BASE, "--no-install", code=2)
        assert f"arena: {missing} requires no-such-package, numpy<0.1 (it has version " in done.stderr
        assert "this Python does not have that. Leave out --no-install" in done.stderr
        run(met, met, *BASE, "--no-install")


@pytest.mark.parametrize(
    ("file", "text", "said"),
    [
        ("requirements.txt", "-e .", "requirements.txt, line 1"),
        ("environment.yml", "dependencies: 1", "environment.yml"),
    ],
)
def test_requirements_are_refused_in_the_words_of_the_site(file: str, text: str, said: str) -> None:
    with pytest.raises(RequirementsRefused) as refusal:
        read_requirements(ArchiveReport("player.py", ("player.py", file), 0), lambda _: text)
    assert said in str(refusal.value)
    with folders({"player.py": GOOD, file: text}) as (refused,):
        assert f"{refused}: {refusal.value}" in run(refused, refused, *BASE, code=2).stderr


@pytest.mark.docker
def test_an_image_is_asked_what_it_has() -> None:
    with folders({"player.py": GOOD, "requirements.txt": "no-such-package\nnumpy\n"}) as (wanting,):
        done = run(wanting, wanting, "--environment", "tic-tac-toe", "--no-install", code=2)
    assert "requires no-such-package, and the image rl-arena-base does not have that." in done.stderr


def test_a_failure_to_start_ends_with_what_the_player_printed_last() -> None:
    with folders("print('loading')\nimport a_missing_module\n", GOOD) as (failing, good):
        done = run(failing, good, *BASE)
    assert "player_failed_to_start" in done.stderr
    assert "  | ModuleNotFoundError: No module named 'a_missing_module'" in done.stderr


@pytest.mark.slow
def test_a_closed_pipe_ends_quietly() -> None:
    with folders(GOOD) as (good,):
        players = (str(good), str(good))
        command = [sys.executable, "-m", "duel_runner", *players, *BASE, "--quiet", "--output", "-"]
        process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        said = process.stderr.read()
        process.stderr.close()
        assert (process.wait(60), said) == (141, "")
