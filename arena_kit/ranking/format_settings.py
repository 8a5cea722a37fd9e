"""Formats of tournaments as forms and pages know them.

`arena_kit.ranking.formats` plays them and has the last word; a test keeps what stands here equal to it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from arena_kit.errors import Refused

Value = bool | int | None
MOST_PAIRS = 1000
MOST_PARTICIPANTS = 500


@dataclass(frozen=True, slots=True)
class Setting:
    """A setting of a format: true or false where its default is, else a whole number from `least` to `most`.

    meaning: a sentence. A default of None stands for what is worked out when it begins, as `worked_out` says.
    """

    name: str
    meaning: str
    default: Value
    least: int = 0
    most: int = 0
    worked_out: str = ""


@dataclass(frozen=True, slots=True)
class FormatCard:
    """A format by name, with what can be set. fewest: participants that it takes with these settings, complete."""

    slug: str
    name: str
    settings: tuple[Setting, ...]
    fewest: Callable[[Mapping[str, Value]], int]


PAIRS = Setting(
    "pairs",
    "Seat-swapped pairs of matches in a meeting.",
    None,
    1,
    MOST_PAIRS,
    "half of what the environment plays in a duel",
)
EXTENSIONS = (
    Setting("extension_pairs", "Pairs in each extension of a level knock-out meeting.", 5, 1, MOST_PAIRS),
    Setting("extensions", "Extensions of a level knock-out meeting at most.", 5, 0, 20),
)
STOPS_EARLY = Setting(
    "stops_early",
    "A duel ends as soon as a sequential test, by the bounds of the environment, has decided which of the two is "
    "stronger; one that it does not decide is played whole.",
    default=False,
)
LEGS = Setting("legs", "How often each meets each; in a second leg seats are swapped.", 1, 1, 2)
THIRD_PLACE = Setting("third_place", "The third place is played for.", default=False)


def _with_third_place(settings: Mapping[str, Value]) -> int:
    return 4 if settings["third_place"] else 2


def _of_groups(settings: Mapping[str, Value]) -> int:
    return int(settings["groups"] or 0) * (int(settings["advance"] or 0) + 1)


FORMATS = {
    card.slug: card
    for card in (
        FormatCard("round-robin", "Round robin", (PAIRS, STOPS_EARLY, LEGS), lambda _: 2),
        FormatCard(
            "swiss",
            "Swiss",
            (
                PAIRS,
                STOPS_EARLY,
                Setting("rounds", "How many rounds are played.", None, 1, 100, "log2 of the participants, rounded up"),
            ),
            lambda settings: int(settings["rounds"] or 1) + 1,
        ),
        FormatCard(
            "single-elimination",
            "Single elimination",
            (PAIRS, *EXTENSIONS, STOPS_EARLY, THIRD_PLACE),
            _with_third_place,
        ),
        FormatCard("double-elimination", "Double elimination", (PAIRS, *EXTENSIONS, STOPS_EARLY), lambda _: 3),
        FormatCard(
            "groups-knock-out",
            "Groups, then knock-out",
            (
                PAIRS,
                *EXTENSIONS,
                STOPS_EARLY,
                Setting("groups", "How many groups play before the knock-out.", 4, 2, 26),
                Setting("advance", "How many of each group go on to the knock-out.", 2, 1, 16),
                LEGS,
                THIRD_PLACE,
            ),
            _of_groups,
        ),
    )
}


def format_name(slug: str) -> str:
    """What a page calls a format."""
    return FORMATS[slug].name if slug in FORMATS else slug.replace("-", " ").capitalize()


def setting_field(name: str) -> str:
    """The field of a form that a setting has, and that a refusal of it names."""
    return f"settings.{name}"


def settings_checked(slug: str, given: Mapping[str, object]) -> dict[str, Value]:
    """What is given of a format's settings, as it is stored. Raises Refused, naming the field, for what cannot be."""
    values = _complete(slug, given)
    return {name: values[name] for name in given if values[name] is not None}


def fewest_participants(slug: str, settings: Mapping[str, object]) -> int:
    """How many have to take part at least. Raises Refused as `settings_checked`."""
    values = _complete(slug, settings)
    return FORMATS[slug].fewest(values)


def _complete(slug: str, given: Mapping[str, object]) -> dict[str, Value]:
    """All settings, those that are not given by default."""
    if slug not in FORMATS:
        raise Refused(f"There is no format {slug!r}; take one of {', '.join(FORMATS)}.", field="format")
    card = FORMATS[slug]
    known = {setting.name: setting for setting in card.settings}
    values: dict[str, Value] = {setting.name: setting.default for setting in card.settings}
    for name, value in given.items():
        if name not in known:
            raise Refused(f"{card.name} has no setting {name!r}; it has {', '.join(known)}.", field=setting_field(name))
        values[name] = _checked(known[name], value)
    if values.get("third_place") and "groups" in values and _go_on(values) < 4:
        raise Refused(
            f"A match for the third place needs 4 who go on from the groups, not {_go_on(values)}; leave it out.",
            field=setting_field("third_place"),
        )
    return values


def _checked(setting: Setting, value: object) -> Value:
    # A boolean is an integer to Python, but nobody means it so.
    if isinstance(setting.default, bool):
        if isinstance(value, bool):
            return value
        raise Refused(f"{setting.name} is {value!r}; make it true or false.", field=setting_field(setting.name))
    if value is None and setting.default is None:
        return None
    if isinstance(value, int) and not isinstance(value, bool) and setting.least <= value <= setting.most:
        return value
    raise Refused(
        f"{setting.name} is {value!r}; make it a whole number from {setting.least} to {setting.most}.",
        field=setting_field(setting.name),
    )


def _go_on(values: Mapping[str, Value]) -> int:
    return int(values["groups"] or 0) * int(values["advance"] or 0)
