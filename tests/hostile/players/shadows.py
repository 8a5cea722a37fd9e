"""Lies beside modules of the same names as the standard library's, and sees who has loaded them."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from tests.hostile import probe
from tests.hostile.probe import tried

HERE = str(Path(__file__).parent)


class Player(probe.Player):
    def attack(self) -> None:
        tried("modules loaded from here", lambda: sorted(
            name for name, module in sys.modules.items()
            if str(getattr(module, "__file__", "") or "").startswith(HERE) and not name.startswith(("tests", "player"))
        ))  # fmt: skip
        tried("first process", lambda: "SHADOWED" in os.environ)
