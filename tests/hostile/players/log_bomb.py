"""Prints 40 MB on both streams, with bytes that no database or terminal likes."""

from __future__ import annotations

import os

from tests.hostile import probe
from tests.hostile.probe import say

NOISE = b"<script>alert(1)</script>\x00\x1b[2J\xff\xfe\xed\xa0\x80\xe2\x80\xae" * 1500


class Player(probe.Player):
    def attack(self) -> None:
        say("flooding")
        for _ in range(500):
            os.write(1, NOISE)
            os.write(2, NOISE)
        say("\nflooded")
