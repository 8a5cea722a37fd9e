"""`python -m duel_runner script`, run as people run it."""

from __future__ import annotations

import signal
import zipfile
from pathlib import Path

import pytest
from django.conf import settings

from arena_kit.tests.cli.test_play import run, stop
from arena_kit.tests.playing import folders

GOOD = """
import json, sys
print("playing", sys.argv[1])
print(json.dumps({"score": 12.5, "metrics": {"length": 9}, "episodes": 3}))
"""
BASE = ("--environment", "CartPole-v1", "--sandbox", "process")


@pytest.mark.slow
def test_a_folder_a_zip_and_a_file_are_run_and_the_verdict_is_printed(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "good.zip", "w") as archive:
        archive.writestr("submission.py", GOOD)
        archive.writestr("main.py", "")
    (tmp_path / "train.py").write_text(GOOD)
    with folders({"submission.py": GOOD}) as (folder,):
        for script in (folder, tmp_path / "good.zip", tmp_path / "train.py"):
            done = run("script", script, *BASE, "--log", "-")
            assert done.stdout.startswith("playing CartPole-v1\n")
            assert done.stderr.endswith("Metrics: length 9.\nEpisodes: 3.\nScore: 12.5, self-reported.\n")


def test_the_main_file_of_a_folder_becomes_submission_py_and_the_folder_stays_as_it_is() -> None:
    with folders({"train.py": "import helper\n" + GOOD, "helper.py": ""}) as (folder,):
        assert "has no submission.py; --main-file names" in run("script", folder, *BASE, code=2).stderr
        assert "has no file no.py" in run("script", folder, *BASE, "--main-file", "no.py", code=2).stderr
        assert "Score: 12.5" in run("script", folder, *BASE, "--main-file", "train.py").stderr
        assert sorted(path.name for path in folder.iterdir()) == ["helper.py", "train.py"]


def test_a_main_file_never_takes_the_place_of_another_submission_py(tmp_path: Path) -> None:
    mine = tmp_path / "mine.py"
    mine.write_text(GOOD)
    with folders({"train.py": "1 / 0", "submission.py": GOOD}, {"train.py": "1 / 0"}) as (folder, linked):
        (linked / "submission.py").symlink_to(mine)
        assert "Score: 12.5" in run("script", folder, *BASE, "--main-file", "submission.py").stderr
        for script in (folder, linked):
            refused = run("script", script, *BASE, "--main-file", "train.py", code=2).stderr
            assert "train.py would be run as submission.py, but there is another submission.py." in refused
    assert mine.read_text() == GOOD


def test_output_of_a_script_cannot_move_the_cursor(tmp_path: Path) -> None:
    (tmp_path / "shows.py").write_text(GOOD + "print('\\x1b[2J\\x1b]0;owned\\x07seen')")
    done = run("script", tmp_path / "shows.py", *BASE, "--log", "-")
    assert "seen" in done.stdout
    assert not {"\x1b", "\x07"} & set(done.stdout + done.stderr)


@pytest.mark.slow
def test_a_script_without_a_score_is_told_why(tmp_path: Path) -> None:
    (tmp_path / "raises.py").write_text(GOOD + "1 / 0")
    (tmp_path / "sleeps.py").write_text("import time; time.sleep(60)")

    raised = run("script", tmp_path / "raises.py", *BASE, "--log", tmp_path / "log.txt", code=3).stderr
    slept = run("script", tmp_path / "sleeps.py", *BASE, "--seconds", "1", code=3).stderr

    assert "exit status 1, not 0" in raised
    assert "ZeroDivisionError" in raised
    assert raised.endswith("No score (script_failed).\n")
    assert "ZeroDivisionError" in (tmp_path / "log.txt").read_text()
    assert slept.startswith("The script had not ended after 1 s. It printed nothing.\n")


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("nothing/", *BASE), "There is no file or folder nothing/."),
        (("an-image", *BASE), "images need --sandbox docker"),
        (("README.md", *BASE), "README.md: "),
        (("docs/scripts.py", *BASE), "There is no file or folder docs/scripts.py"),
    ],
)
def test_bad_arguments_are_refused_with_a_sentence(arguments: tuple[str, ...], sentence: str) -> None:
    done = run("script", *arguments, code=2)

    assert sentence in done.stderr
    assert "Traceback" not in done.stderr


def test_values_that_make_no_sense_are_refused_with_a_sentence(tmp_path: Path) -> None:
    (tmp_path / "good.py").write_text(GOOD)
    script = ("script", tmp_path / "good.py", "--sandbox", "process")

    assert "id of an environment" in run(*script, "--environment", "a;id", code=2).stderr
    assert "seconds=-1" in run(*script, "--environment", "a", "--seconds=-1", code=2).stderr
    assert "does not exist" in run(*script, "--environment", "a", "--log", "no/such/log", code=2).stderr


@pytest.mark.slow
def test_a_stop_from_outside_leaves_no_script_behind() -> None:
    with folders({"submission.py": "while True: pass"}) as (folder,):
        stop(folder, "script", folder, *BASE, by=signal.SIGHUP)


@pytest.mark.docker
def test_a_container_gives_the_same_verdict(tmp_path: Path) -> None:
    (tmp_path / "good.py").write_text(GOOD)
    done = run("script", tmp_path / "good.py", *BASE[:2], "--base-image", settings.PLAYER_BASE_IMAGE, "--no-install")
    missing = run("script", "arena-no-such-image", "--environment", "CartPole-v1", code=2)

    assert done.stderr.endswith("Score: 12.5, self-reported.\n")
    assert "There is no file, folder or image arena-no-such-image." in missing.stderr
