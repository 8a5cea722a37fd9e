"""The benchmark of the runner, with so few matches that only its working is seen."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from django.conf import settings

from benchmarks.runner import main

ROOT = Path(__file__).resolve().parents[2]
FEW = ["--rounds", "1", "--matches", "8", "--http-matches", "2"]
WAYS = {"http", "http_keep_alive", "arena_one_at_a_time", "arena", "arena_128", "bare"}


@pytest.mark.slow
@pytest.mark.parametrize("sandbox", ["process", pytest.param("docker", marks=pytest.mark.docker)])
def test_it_prints_a_table_and_writes_its_figures(
    sandbox: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    image = ["--base-image", settings.PLAYER_BASE_IMAGE]
    assert main([*FEW, "--sandbox", sandbox, *image, "--json", str(tmp_path / "figures.json")]) == 0

    report = json.loads((tmp_path / "figures.json").read_text())
    assert set(report["matches_per_second"]) == WAYS
    assert all(value > 0 for value in report["matches_per_second"].values())
    assert report["speedup_http"] > 1
    assert report["fraction_of_bare"] > 0
    table = capsys.readouterr().out
    assert "one HTTP POST per move" in table
    assert str(report["speedup_http"]) in table


def test_it_says_what_to_do_without_an_engine(tmp_path: Path) -> None:
    # In a process of its own: the engine's library leaves a socket open when nobody answers.
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.runner", *FEW],
        cwd=ROOT,
        env={**os.environ, "DOCKER_HOST": f"unix://{tmp_path}/none.sock"},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 1
    assert "--sandbox process" in done.stderr
    assert "Traceback" not in done.stderr


def test_help_explains_it(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as end:
        main(["--help"])
    assert end.value.code == 0
    assert "How many matches a second" in capsys.readouterr().out
