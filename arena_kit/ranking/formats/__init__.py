"""Formats of tournaments, by name; `contract` says what all of them have in common."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from arena_kit.ranking.formats.contract import MOST_PAIRS, MOST_PARTICIPANTS, Format, KnockOut, MeetingFormat
from arena_kit.ranking.formats.elimination import DoubleElimination, SingleElimination
from arena_kit.ranking.formats.groups import GroupsKnockOut
from arena_kit.ranking.formats.plan import (
    CountedDuel,
    CountedScore,
    Decision,
    DuelOrder,
    DuelState,
    History,
    Meeting,
    Outline,
    Plan,
    Row,
    Source,
    Stage,
    StageKind,
    Table,
)
from arena_kit.ranking.formats.round_robin import RoundRobin
from arena_kit.ranking.formats.score import ByScore
from arena_kit.ranking.formats.settings import Impossible, Setting, Value, setting_field, settings_of
from arena_kit.ranking.formats.swiss import Swiss

__all__ = [
    "FORMATS",
    "MOST_PAIRS",
    "MOST_PARTICIPANTS",
    "ByScore",
    "CountedDuel",
    "CountedScore",
    "Decision",
    "DoubleElimination",
    "DuelOrder",
    "DuelState",
    "Format",
    "GroupsKnockOut",
    "History",
    "Impossible",
    "KnockOut",
    "Meeting",
    "MeetingFormat",
    "Outline",
    "Plan",
    "RoundRobin",
    "Row",
    "Setting",
    "SingleElimination",
    "Source",
    "Stage",
    "StageKind",
    "Swiss",
    "Table",
    "Value",
    "format_fit",
    "format_make",
    "format_name",
    "format_settings",
    "format_usual",
    "setting_field",
    "settings_checked",
    "settings_of",
]

FORMATS: dict[str, type[Format]] = {
    kind.slug: kind for kind in (RoundRobin, Swiss, SingleElimination, DoubleElimination, GroupsKnockOut, ByScore)
}


def format_make(slug: str, given: Mapping[str, object]) -> Format:
    """A format from plain values, e.g. read from JSON; settings that are left out or None have their defaults.

    Raises Impossible, naming the form field, for a format or setting that does not exist and a value that cannot be.
    """
    if slug not in FORMATS:
        raise Impossible(f"There is no format {slug!r}; take one of {', '.join(FORMATS)}.", field="format")
    kind = FORMATS[slug]
    known = {setting.name: setting for setting in settings_of(kind)}
    for name, value in given.items():
        if name not in known:
            raise Impossible(
                f"{kind.name} has no setting {name!r}. Its settings are {', '.join(known)}.", field=setting_field(name)
            )
        known[name].check(value)
    stated: dict[str, Any] = {name: value for name, value in given.items() if value is not None}
    return kind(**stated)


def format_fit(slug: str, seats: int) -> None:
    """Raise Impossible, naming what to choose, where a format is not for environments with so many seats."""
    fitting = [f"“{kind.name}”" for kind in FORMATS.values() if kind.plays_alone == (seats == 1)]
    if slug in FORMATS and FORMATS[slug].plays_alone != (seats == 1):
        choose = fitting[0] if len(fitting) == 1 else f"one of {', '.join(fitting)}"
        many = "one seat, so its agents never meet" if seats == 1 else f"{seats} seats, so its agents meet"
        raise Impossible(f"The environment has {many}: choose {choose}.", field="format")


def format_usual(seats: int) -> str:
    """The format of a tournament for which none is named, in an environment with so many seats."""
    return next(slug for slug, kind in FORMATS.items() if kind.plays_alone == (seats == 1))


def format_settings(played: Format) -> dict[str, Value]:
    """All settings of a format as plain values, from which `format_make` makes it again."""
    return {setting.name: getattr(played, setting.name) for setting in settings_of(type(played))}


def settings_checked(slug: str, given: Mapping[str, object]) -> dict[str, Value]:
    """The settings that are given, as they are stored. Raises Impossible as `format_make`."""
    stored = format_settings(format_make(slug, given))
    return {name: stored[name] for name in given if given[name] is not None}


def format_name(slug: str) -> str:
    """Return the name of a format on pages."""
    if slug in FORMATS:
        return FORMATS[slug].name
    return "Chosen duels" if slug == "chosen" else slug.replace("-", " ").capitalize()
