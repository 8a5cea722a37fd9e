"""Settings of formats: each is described once, where it is a field of its format."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from functools import partial
from typing import Any

from arena_kit.errors import Refused

Value = bool | int | None


class Impossible(Refused):
    """A format cannot be played with these settings or participants; the message has a remedy."""


@dataclass(frozen=True, slots=True)
class Setting:
    """A setting of a format: a boolean where its default is one, else a whole number from `least` to `most`.

    meaning: a sentence for forms. worked_out: what is taken when the setting is left out and the default does not say
    it, e.g. because it depends on the participants; then None stands for leaving it out.
    """

    name: str
    meaning: str
    default: Value
    least: int = 0
    most: int = 0
    worked_out: str = ""

    def check(self, value: object) -> None:
        """Raise Impossible, naming the form field, for a value that the setting cannot have."""
        is_flag = isinstance(self.default, bool)
        # A boolean is an integer to Python, but is not meant as a number here.
        if is_flag == isinstance(value, bool) and isinstance(value, int):
            if is_flag or self.least <= value <= self.most:
                return
        elif value is None and self.worked_out:
            return
        wanted = "true or false" if is_flag else f"a whole number from {self.least} to {self.most}"
        raise Impossible(f"{self.name} is {value!r}; make it {wanted}.", field=setting_field(self.name))


def setting(default: Value, meaning: str, least: int = 0, most: int = 0, worked_out: str = "") -> Any:
    """A field of a format that can be set; see `Setting`."""
    about = {"meaning": meaning, "least": least, "most": most, "worked_out": worked_out}
    return dataclasses.field(default=default, metadata=about)


legs_setting = partial(setting, 1, "How often each pair meets; seats are swapped in the second leg.", 1, 2)
third_place_setting = partial(
    setting, default=False, meaning="Whether the losers of the semi-finals play for third place."
)


def settings_of(kind: type[Any]) -> tuple[Setting, ...]:
    """The settings of a format, in the order of its fields."""
    fields: Any = dataclasses.fields(kind)
    return tuple(Setting(field.name, default=field.default, **field.metadata) for field in fields)


def setting_field(name: str) -> str:
    """The form field of a setting, which a refusal of its value names."""
    return f"settings.{name}"
