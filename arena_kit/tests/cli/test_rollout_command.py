"""The command `arena rollout`, from its arguments to recordings, replays and verdicts."""

from __future__ import annotations

import gzip
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from arena_kit.cli.common import LABEL
from arena_kit.cli.rollout import main
from arena_kit.cli.rollout_home import PREFIX
from arena_kit.image.engine import connect
from arena_kit.tests.rollout.browsers import packed
from arena_kit.tests.rollout.fake_model import calls, fake_model
from tests.machine import BROWSER_IMAGE


@pytest.fixture(autouse=True)
def own_packages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep what is known of built packages apart from that of the person who runs the tests."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


def run(capsys: pytest.CaptureFixture[str], *arguments: object) -> tuple[int, dict[str, Any]]:
    status = main([str(each) for each in arguments])
    printed = capsys.readouterr().out
    return status, json.loads(printed) if printed else {}


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--package", "nowhere"], "is not the folder of a package"),
        (["--agent", "model"], "needs --model and --model-url"),
        (["--only", "none"], "There is no task none"),
    ],
)
def test_wrong_arguments_are_said(
    arguments: list[str], sentence: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    package = tmp_path / "package.zip"
    package.write_bytes(packed().getvalue())
    status = main([str(package), "--package", str(package), *arguments])
    assert (status, sentence in capsys.readouterr().err) == (2, True)


def test_tasks_with_mistakes_are_named_by_their_place_and_skipped(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    package, tasks = tmp_path / "package.zip", tmp_path / "mine.json"
    package.write_bytes(packed().getvalue())
    tasks.write_text(json.dumps([{"id": "good", "task": "Do it."}, {"id": "odd", "task": "x", "colour": 1}, 7]))
    assert main([str(tasks), "--package", str(package), "--only", "none"]) == 2
    said = capsys.readouterr().err.splitlines()
    assert said[0].endswith("Task 2 (odd) is skipped. $[1].colour: This key is not known here.")
    assert said[1].endswith("Task 3 is skipped. $[2]: A task must be an object in braces.")


@pytest.mark.docker
def test_an_agent_that_is_not_there_is_refused_before_anything_is_built(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    package = tmp_path / "package.zip"
    package.write_bytes(packed().getvalue())
    assert main([str(package), "--package", str(package), "--agent", "no-such-agent"]) == 2
    said = capsys.readouterr().err
    assert "no-such-agent is not a folder or a zip" in said
    assert "is built" not in said


@pytest.mark.docker
@pytest.mark.browser_image
@pytest.mark.app_images
@pytest.mark.slow
@pytest.mark.nightly
def test_a_rollout_at_home_is_kept_judged_again_and_replayed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    package, output = tmp_path / "package.zip", tmp_path / "kept"
    package.write_bytes(packed().getvalue())
    usual = [package, "--package", package, "--json", "--no-video", "--browser-image", BROWSER_IMAGE]
    assert run(capsys, *usual, "--accept")[1]["lines"] == ["milk holds."]
    status, found = run(capsys, *usual, "--output", output)
    assert (status, found["solved"], found["attempts"]) == (0, 1, 1)
    kept = output / "milk-1"
    assert run(capsys, *usual, "--judge", kept)[1]["verdict"]["outcome"] == "SOLVED"
    assert run(capsys, *usual, "--replay", kept) == (0, {"lines": ["The replay leaves the same state."],
                                                         "equal": True, "refused": False})  # fmt: skip
    (kept / "rollout.json").write_text((kept / "rollout.json").read_text().replace('"Buy milk"', '"Buy bread"'))
    assert run(capsys, *usual, "--judge", kept)[0] == 2
    status, found = run(capsys, *usual, "--agent", "null")
    assert (status, found["solved"], found["rollouts"][0]["code"]) == (0, 0, "check_failed")
    nothing_is_left()


@pytest.mark.docker
@pytest.mark.browser_image
@pytest.mark.app_images
@pytest.mark.slow
@pytest.mark.nightly
def test_the_agent_for_models_works_through_the_gateway_in_its_container(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The double follows a script; that it solves the task is not an ability of a model."""
    package, output = tmp_path / "package.zip", tmp_path / "kept"
    package.write_bytes(packed().getvalue())
    script = (calls("fill", ref="e0", text="x"), calls("goto", url="/"), calls("answer", value=3))
    with fake_model(*script) as double:
        status, found = run(
            capsys, package, "--package", package, "--json", "--no-video", "--agent", "model", "--model", "a-double",
            "--model-url", double.url, "--vision", "--price", "1", "2", "--output", output,
        )  # fmt: skip
    (rollout,) = found["rollouts"]
    assert (status, rollout["outcome"], rollout["steps"], rollout["tokens"]) == (0, "PARTIAL", 3, 360), rollout
    assert rollout["cost_micros"] == 3 * (100 + 20 * 2)
    assert "There is no element e0" in json.dumps(double.asked[1][2]["messages"])
    content = double.asked[0][2]["messages"][-1]["content"]
    assert re.search(r"Notes of Ada", content[0]["text"])
    assert content[1]["image_url"]["url"].startswith("data:image/png;base64,")
    logged = gzip.decompress((output / "milk-1" / "model.jsonl.gz").read_bytes()).decode()
    assert "base64" not in logged
    assert len(logged.splitlines()) == 3
    nothing_is_left()


PROBING = """
import json, os, socket

PLACES = {
    "world": ("127.0.0.1", 8000), "gateway": ("172.17.0.1", 80), "metadata": ("169.254.169.254", 80),
    "name": ("web", 8000), "out": ("example.org", 80),
}

def way(place):
    try:
        socket.create_connection(place, 2).close()
        return "open"
    except OSError:
        return "refused"

def abstract():
    with open("/proc/net/unix") as listed:
        return [line.split()[-1] for line in listed if line.split()[-1].startswith("@")]

class Player:
    def __init__(self, train_mode): pass
    def start(self, state, valid_actions):
        found = {name: way(place) for name, place in PLACES.items()}
        found["links"] = sorted(os.listdir("/sys/class/net"))
        found["abstract"] = abstract()
        found["engine"] = os.path.exists("/var/run/docker.sock")
        return {"action": "answer", "value": found}
    def end(self, state, prev_reward):
        return {"action": "answer", "value": 4}
"""


@pytest.mark.docker
@pytest.mark.browser_image
@pytest.mark.app_images
@pytest.mark.slow
@pytest.mark.nightly
def test_an_agents_container_has_no_way_out_nor_into_its_world(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    package, output, player = tmp_path / "package.zip", tmp_path / "kept", tmp_path / "player"
    package.write_bytes(packed().getvalue())
    player.mkdir()
    (player / "player.py").write_text(PROBING)
    run(
        capsys, package, "--package", package, "--json", "--no-video", "--browser-image", BROWSER_IMAGE,
        "--agent", player, "--output", output,
    )  # fmt: skip
    # What it answers after the end is not read.
    assert json.loads((output / "milk-1" / "rollout.json").read_text())["answer"] == {
        "world": "refused", "gateway": "refused", "metadata": "refused", "name": "refused", "out": "refused",
        "links": ["lo"], "abstract": [], "engine": False,
    }  # fmt: skip
    nothing_is_left()


def nothing_is_left() -> None:
    client = connect()
    try:
        ours = client.api.containers(all=True, filters={"label": f"{LABEL}={os.getpid()}"})
        tags = [tag for image in client.api.images() for tag in image["RepoTags"] or ()]
        assert ours == []
        assert len([tag for tag in tags if tag.startswith(f"{PREFIX}kept-pages:")]) == 1, "one build for all commands"
    finally:
        client.close()


@pytest.mark.docker
@pytest.mark.browser_image
@pytest.mark.app_images
@pytest.mark.slow
@pytest.mark.nightly
def test_what_a_killed_command_has_left_goes_with_the_next_one(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    package = tmp_path / "package.zip"
    package.write_bytes(packed().getvalue())
    usual = [package, "--package", package, "--no-video", "--agent", "null"]
    command = [sys.executable, "-m", "arena_kit", "rollout", *map(str, usual), "--attempts", "50"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        # It has ended an attempt, so that a world of another one is there or starts.
        next(line for line in process.stderr if "milk:" in line)
        process.kill()
    label = {"label": f"{LABEL}={process.pid}"}
    status, found = run(capsys, *usual, "--json")
    assert (status, found["attempts"]) == (0, 1)
    client = connect()
    try:
        assert client.api.containers(all=True, filters=label) == []
        tags = [tag for image in client.api.images() for tag in image["RepoTags"] or ()]
        assert [tag for tag in tags if tag.startswith(f"{PREFIX}{process.pid}-")] == []
    finally:
        client.close()
