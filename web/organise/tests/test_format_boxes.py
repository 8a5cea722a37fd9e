"""The settings of a format on forms of organisers."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from core.models import AuditEntry, Environment, Tournament, TournamentSchedule
from core.tests import factories

pytestmark = pytest.mark.django_db


def sent(page: Any) -> dict[str, Any]:
    """What a browser sends of a form as it was shown."""
    shown = {
        field.html_name: f"{field.value():%Y-%m-%dT%H:%M}" if isinstance(field.value(), datetime) else field.value()
        for field in page.context["form"]
    }
    return {"save": "1"} | {name: value for name, value in shown.items() if value is not None and value is not False}


@pytest.mark.parametrize("kind", [Tournament, TournamentSchedule])
def test_stored_settings_are_in_their_boxes_and_are_saved_back_as_they_were(
    organiser: Client, environment: Environment, kind: type[Tournament | TournamentSchedule]
) -> None:
    # With one that is as by default, and one that is off.
    stored = {"pairs": 20, "legs": 1, "stops_early": False, "third_place": True, "extensions": 0}
    make = factories.planned if kind is Tournament else factories.schedule
    row = make(environment, format="groups-knock-out", settings=stored)
    name = "organise_replan" if kind is Tournament else "organise_change_tournamentschedule"
    address = reverse(f"web:{name}", args=[row.pk])
    form = sent(organiser.get(address))
    boxes = {name: value for name, value in form.items() if name.startswith("settings.")}
    assert boxes == {"settings.pairs": 20, "settings.legs": 1, "settings.third_place": True, "settings.extensions": 0}

    assert organiser.post(address, form).status_code == 302
    row.refresh_from_db()
    assert row.settings == stored
    # A time loses its seconds, as in every form.
    assert {name for name in AuditEntry.objects.latest("pk").changes if not name.endswith("_at")} == set()

    del form["settings.third_place"]
    assert organiser.post(address, form | {"settings.extensions": "", "settings.legs": "2"}).status_code == 302
    row.refresh_from_db()
    assert row.settings == {"pairs": 20, "legs": 2, "stops_early": False, "third_place": False}
    assert AuditEntry.objects.latest("pk").changes["settings.legs"] == [1, 2]


def test_what_is_wrong_with_settings_is_said_at_their_boxes_all_at_once(
    organiser: Client, environment: Environment
) -> None:
    form = {"environment": environment.pk, "name": "cup", "results": "PUBLIC", "eligibility": "EVERYBODY"}

    def errors(**boxes: object) -> dict[str, list[str]]:
        data = {"settings." + name if name != "format" else name: value for name, value in boxes.items()}
        page = organiser.post(reverse("web:organise_plan"), form | data)
        found: dict[str, list[str]] = page.context["form"].errors
        return found

    # As without scripts: boxes of other formats are there, too.
    no_such = ["“Swiss” has no such setting: leave it empty."]
    assert errors(format="swiss", rounds="101", pairs="2.5", extensions="0", third_place="on", legs="") == {
        "settings.rounds": ["Enter a whole number from 1 to 100."],
        "settings.pairs": ["Enter a whole number from 1 to 1000."],
        "settings.extensions": no_such,
        "settings.third_place": no_such,
    }
    assert errors(format="groups-knock-out", groups="2", advance="1", third_place="on") == {
        "settings.third_place": ["A match for third place needs 4 participants in the knock-out, not 2; leave it out."]
    }
    assert not Tournament.objects.exists()
