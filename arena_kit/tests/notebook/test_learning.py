"""The example that learns, run where its packages are installed."""

from __future__ import annotations

import runpy
from typing import Any

import pytest

from arena_kit.content import content_folder


@pytest.mark.nightly
@pytest.mark.filterwarnings("ignore")  # those of the packages
def test_the_example_learns_to_beat_random_play() -> None:
    pytest.importorskip("sb3_contrib", reason="sb3-contrib and PyTorch are no part of the lock")
    names: dict[str, Any] = runpy.run_path(str(content_folder("example_players") / "maskable_ppo.py"))
    assert names["result"].score.low > 0.5
