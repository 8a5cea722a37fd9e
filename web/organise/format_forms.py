"""The settings of tournament formats as form fields.

A form has a field for every setting of every format, and a script shows those of the chosen format. Without the script
all fields are visible and name their formats. A value for a setting of another format is refused, never dropped.
"""

from __future__ import annotations

from typing import Any

from django import forms
from django.utils.html import format_html, format_html_join

from arena_kit.ranking.formats import FORMATS, Setting, setting_field, settings_checked, settings_of
from core.errors import Refused
from web.organise.forms import PartedForm
from web.site.forms import refuse

# A setting has the same meaning in all formats that have it.
SETTINGS: dict[str, Setting] = {setting.name: setting for kind in FORMATS.values() for setting in settings_of(kind)}


def box(setting: Setting) -> forms.Field:
    """Return the field of a setting: a checkbox, or an optional whole number."""
    kinds = [kind for kind in FORMATS.values() if setting in settings_of(kind)]
    label = setting.name.replace("_", " ").capitalize()
    meaning = setting.meaning
    field: forms.Field
    if isinstance(setting.default, bool):
        field = forms.BooleanField(required=False, label=label)
    else:
        bounds = f"from {setting.least} to {setting.most}"
        left_empty = setting.worked_out or setting.default
        meaning = f"{meaning} A whole number {bounds}. Default: {left_empty}."
        field = forms.IntegerField(
            required=False,
            label=label,
            min_value=setting.least,
            max_value=setting.most,
            error_messages=dict.fromkeys(("invalid", "min_value", "max_value"), f"Enter a whole number {bounds}."),
        )
    names = format_html_join(", ", "“{}”", ((kind.name,) for kind in kinds))
    field.help_text = (
        format_html("{} <span data-is-for>For {}.</span>", meaning, names) if len(kinds) < len(FORMATS) else meaning
    )
    field.widget.attrs["data-formats"] = " ".join(kind.slug for kind in kinds)
    return field


OF_MEETINGS = ("seed", "has_openings", "is_rated", "seeded_by", "seeds")
"""The fields of a tournament that say how its agents meet."""
BOXES = {setting_field(name): box(setting) for name, setting in SETTINGS.items()}


class FormatForm(PartedForm):
    """A form of a row with a format, which collects and checks the settings of that format."""

    format = forms.ChoiceField(choices=[(kind.slug, kind.name) for kind in FORMATS.values()])

    class Media:
        js = (forms.Script("core/planning.js", defer=True),)

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        alone, meeting = ([slug for slug, kind in FORMATS.items() if kind.plays_alone is one] for one in (True, False))
        self.fields["format"].widget.attrs["data-alone"] = " ".join(alone)
        for name in OF_MEETINGS:
            if name in self.fields:
                self.fields[name].widget.attrs["data-formats"] = " ".join(meeting)
        for name, value in self.instance.settings.items():
            self.initial.setdefault(setting_field(name), value)

    def clean(self) -> dict[str, Any]:
        data = super().clean() or self.cleaned_data
        if "format" not in data:
            return data
        kind, given = FORMATS[data["format"]], {}
        own = settings_of(kind)
        for name, setting in SETTINGS.items():
            value = data.get(setting_field(name))
            is_given = value is not None and value is not False
            if setting in own:
                # An unticked checkbox counts as left out, unless the row already stores a value.
                if is_given or (value is False and name in self.instance.settings):
                    given[name] = value
            elif is_given:
                self.add_error(setting_field(name), f"“{kind.name}” has no such setting: leave it empty.")
        try:
            self.instance.settings = data["settings"] = settings_checked(kind.slug, given)
        except Refused as refusal:
            self.refuse(refusal)
        return data

    def refuse(self, refusal: Refused) -> None:
        """Show a refusal at the field it concerns."""
        refuse(self, refusal)


FormatForm.declared_fields.update(BOXES)
