"""The command `arena rollout`, from its arguments to recordings, replays and verdicts."""

from __future__ import annotations

import gzip
import json
import re
from pathlib import Path
from typing import Any

import pytest

from arena_kit.cli.rollout import main
from arena_kit.image.engine import connect
from arena_kit.rollout.worlds.world import WORLD_LABEL
from arena_kit.tests.rollout.browsers import packed
from arena_kit.tests.rollout.fake_model import calls, fake_model
from tests.machine import BROWSER_IMAGE


def run(capsys: pytest.CaptureFixture[str], *arguments: object) -> tuple[int, dict[str, Any]]:
    status = main([str(each) for each in arguments])
    printed = capsys.readouterr().out
    return status, json.loads(printed) if printed else {}


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--package", "nowhere"], "is no folder of a package"),
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
    """The double follows a script; that it solves the task is no ability of a model."""
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


def nothing_is_left() -> None:
    client = connect()
    try:
        ours = [each["Names"] for each in client.api.containers(all=True, filters={"label": "arena.command-line"})]
        tags = [tag for image in client.api.images() for tag in image["RepoTags"] or ()]
        assert [name for name in ours if WORLD_LABEL in name] == []
        assert [tag for tag in tags if tag.startswith("rl-arena-home-")] == []
    finally:
        client.close()
