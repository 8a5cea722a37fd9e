"""Starting points for the plan of a tournament: organisers choose one and change what they like."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from arena_kit.ranking.formats import setting_field
from core.models import Audience, Eligibility, Environment

HOUR = timedelta(hours=1)


@dataclass(frozen=True, slots=True)
class Preset:
    """A starting point. values: the fields of the form, from the next full hour. is_scored: for one seat."""

    name: str
    title: str
    about: str
    values: Callable[[datetime], Mapping[str, Any]]
    is_scored: bool = False


def _window(begins: datetime, registration: timedelta) -> dict[str, Any]:
    ends = begins + registration
    return {
        "registration_opens_at": begins,
        "registration_closes_at": ends,
        "freezes_at": ends,
        "starts_at": ends + HOUR,
    }


def _now(begins: datetime) -> dict[str, Any]:
    return {"name": "Round robin", "format": "round-robin"}


def _cup(begins: datetime) -> dict[str, Any]:
    return {"name": "Cup", "format": "double-elimination", **_window(begins, timedelta(days=7))}


def _swiss(begins: datetime) -> dict[str, Any]:
    return {"name": "Swiss tournament", "format": "swiss", **_window(begins, timedelta(days=1))}


def _groups(begins: datetime) -> dict[str, Any]:
    return {
        "name": "Championship",
        "format": "groups-knock-out",
        setting_field("groups"): 4,
        setting_field("advance"): 2,
        **_window(begins, timedelta(days=14)),
    }


def _class(begins: datetime) -> dict[str, Any]:
    return {
        "name": "Class tournament",
        "format": "round-robin",
        "is_rated": False,
        "results": Audience.HIDDEN,
        "eligibility": Eligibility.INVITED,
        **_window(begins, timedelta(days=7)),
    }


def _score(begins: datetime) -> dict[str, Any]:
    return {"name": "Final phase", "format": "score", **_window(begins, timedelta(days=7))}


PRESETS = (
    Preset("now", "All agents, now", "A round robin of all agents. You begin it with a button.", _now),
    Preset("swiss", "Swiss, tomorrow", "A day of registration, then a Swiss tournament.", _swiss),
    Preset("cup", "Cup, in a week", "A week of registration, then double elimination.", _cup),
    Preset(
        "championship", "Championship, in two weeks", "Two weeks of registration, then groups and a knock-out.", _groups
    ),
    Preset("class", "Class", "Invited people only, unrated; you release the results.", _class),
    Preset("score", "By score, in a week", "A week of registration, then each agent plays a task alone.", _score, True),
)


def preset_values(name: str, now: datetime, environment: Environment | None = None) -> dict[str, Any]:
    """Return the fields of a preset, or of the first one that fits the environment."""
    fitting = [one for one in PRESETS if environment is None or one.is_scored == environment.is_scored]
    preset = next((one for one in fitting if one.name == name), fitting[0])
    begins = now.replace(minute=0, second=0, microsecond=0) + HOUR
    return {"is_rated": True, "results": Audience.PUBLIC, "eligibility": Eligibility.EVERYBODY, **preset.values(begins)}
