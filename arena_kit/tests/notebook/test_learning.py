"""The example that learns, run as the page of training prints it, where its packages are installed."""

from __future__ import annotations

import re
from typing import Any

import pytest

from arena_kit.content import LIBRARY

PAGE = LIBRARY.parent / "docs" / "participant" / "training.md"


@pytest.mark.nightly
@pytest.mark.filterwarnings("ignore")  # those of the packages
def test_the_example_learns_to_beat_random_play() -> None:
    pytest.importorskip("sb3_contrib", reason="sb3-contrib and PyTorch are no part of the lock")
    blocks = re.findall(r"^```python\n(.*?)^```$", PAGE.read_text(), re.MULTILINE | re.DOTALL)
    (example,) = [block for block in blocks if "MaskablePPO" in block]
    names: dict[str, Any] = {"__name__": "example"}
    exec(example, names)
    assert names["result"].score.low > 0.5
