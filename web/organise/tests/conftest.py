"""The cast of the organisers' tests of core."""

from core.conftest import environment, organiser, people, players

__all__ = ["environment", "organiser", "people", "players"]
