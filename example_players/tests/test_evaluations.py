"""The packed examples in processes of their own, evaluated by the arena's referee over the wire."""

from __future__ import annotations

import io
import os
import shutil
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from arena_kit.environment.registry import get_spec
from arena_kit.examples import make_archive
from arena_kit.referee.play import run_evaluation
from arena_kit.sandbox.base import Launch
from arena_kit.sandbox.process import ProcessSandbox
from arena_kit.upload.archive import unpack_archive


@pytest.fixture
def root() -> Iterator[Path]:
    """Make a folder for sockets, with a short path, that other users can enter, because players run as another user."""
    folder = Path(tempfile.mkdtemp(prefix="arena-"))
    folder.chmod(0o755)
    yield folder
    shutil.rmtree(folder)


@pytest.mark.parametrize(
    ("name", "environment", "least"),
    [
        pytest.param("cem", "cart-pole", 475, marks=pytest.mark.nightly),
        ("q_learning", "frozen-lake-deterministic", 1),
        ("random", "cart-pole", 8),
        ("random", "pendulum", -2000),
    ],
)
@pytest.mark.slow
def test_the_referee_counts_what_an_example_reaches(
    name: str, environment: str, least: float, root: Path, tmp_path: Path
) -> None:
    unpack_archive(io.BytesIO(make_archive(name, environment, train=True, store=tmp_path)), root / "player")
    (root / "player").chmod(0o755)
    spec, sandbox = get_spec(environment), ProcessSandbox(root / "c")
    launch = Launch(f"folder:{root / 'player'}", f"arena-example-{os.getpid()}-{name}", spec.limits, {})

    played = run_evaluation(
        spec,
        lambda: sandbox.launch(launch),
        name=name,
        seeds=range(20),
        parallel_episodes=8,
        limits=spec.limits,
        clock=time.monotonic,
    )

    assert played.failure is None, played.player_log
    scores = [episode.score for episode in played.record.episodes]
    assert len(scores) == 20
    assert sum(scores) / 20 >= least
