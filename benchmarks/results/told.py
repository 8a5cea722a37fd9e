"""What the measurements of results share: outcomes, the messages that are sent, and whether a table is right."""

from __future__ import annotations

from arena_kit.environment.records import Outcome

OUTCOMES = (Outcome.PLAYER_1, Outcome.PLAYER_2, Outcome.PLAYER_1, Outcome.DRAW)
