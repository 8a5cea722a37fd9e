"""Formats of tournaments, by name; see `contract` for what all of them are."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping

from arena_kit.ranking.formats.contract import (
    DuelOrder,
    DuelRecord,
    DuelState,
    Format,
    History,
    Impossible,
    Meeting,
    Plan,
    Row,
    Stage,
    Table,
)
from arena_kit.ranking.formats.elimination import DoubleElimination, SingleElimination
from arena_kit.ranking.formats.groups import GroupsKnockOut
from arena_kit.ranking.formats.round_robin import RoundRobin
from arena_kit.ranking.formats.swiss import Swiss
from arena_kit.ranking.meetings import Decision, Source, StageKind

__all__ = [
    "FORMATS",
    "Decision",
    "DoubleElimination",
    "DuelOrder",
    "DuelRecord",
    "DuelState",
    "Format",
    "GroupsKnockOut",
    "History",
    "Impossible",
    "Meeting",
    "Plan",
    "RoundRobin",
    "Row",
    "SingleElimination",
    "Source",
    "Stage",
    "StageKind",
    "Swiss",
    "Table",
    "format_make",
    "format_settings",
    "settings_of",
]

FORMATS: dict[str, type[Format]] = {
    kind.slug: kind for kind in (RoundRobin, Swiss, SingleElimination, DoubleElimination, GroupsKnockOut)
}

EXTENSIONS = ("extension_pairs", "extensions")
"""Fields of all formats, of use in a knock-out alone."""


def format_make(slug: str, settings: Mapping[str, object]) -> Format:
    """A format by its slug and settings as plain values, e.g. read from JSON; those left out have their defaults.

    Raises Impossible for what is not known, of another type, or cannot be.
    """
    if slug not in FORMATS:
        raise Impossible(f"There is no format {slug!r}; take one of {', '.join(FORMATS)}.")
    kind = FORMATS[slug]
    # Also those that do nothing there: tournaments of earlier versions have written them down.
    defaults = {field.name: field.default for field in dataclasses.fields(kind)}
    for name, value in settings.items():
        if name not in defaults:
            raise Impossible(f"{kind.name} has no setting {name!r}; it has {', '.join(settings_of(kind))}.")
        default = defaults[name]
        # A boolean is an integer to Python, but nobody means it so.
        wanted = bool if isinstance(default, bool) else int
        if type(value) is not wanted and not (value is None and default is None):
            raise Impossible(f"{name} is {value!r}; make it {'true or false' if wanted is bool else 'a whole number'}.")
    return kind(**settings)  # type: ignore[arg-type]  # checked just above


def format_settings(played: Format) -> dict[str, object]:
    """The settings of a format as plain values, so that `format_make` makes it again."""
    return {name: getattr(played, name) for name in settings_of(type(played))}


def settings_of(kind: type[Format]) -> dict[str, object]:
    """What can be set of a format, with the defaults: its fields, but for those that do nothing in it."""
    idle = () if kind.has_extensions else EXTENSIONS
    return {field.name: field.default for field in dataclasses.fields(kind) if field.name not in idle}
