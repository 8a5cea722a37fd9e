"""Cups that began before ties at the cut were played out go on by their old rule."""

from __future__ import annotations

from importlib import import_module

import pytest
from django.apps import apps

from arena_kit.ranking.formats.groups import GroupsKnockOut
from core.editions.progress import plan_of, tournament_step
from core.editions.tests.planned import begun, planned, play_on
from core.editions.tests.samples import LATER, players
from core.models import JobState, Tournament
from core.tests import factories
from core.tournaments.rules import format_of

pytestmark = pytest.mark.django_db
GROUPS = {"groups": 2, "advance": 1, "pairs": 1}
migration = import_module("core.migrations.0019_cuts_of_begun_cups_by_seed")


def test_only_begun_cups_with_groups_keep_seeds_at_the_cut() -> None:
    field = players(factories.environment(), 6)
    old = begun(field, "groups-knock-out", **GROUPS)
    play_on(old, until=4)
    # As the release before stored it.
    settings = {name: value for name, value in old.settings.items() if name != "cut_by_seed"}
    Tournament.objects.filter(pk=old.pk).update(settings=settings)
    swiss, waiting = begun(field, "swiss"), planned(field, "groups-knock-out", **GROUPS)
    migration.keep(apps, None)
    rows = (old, swiss, waiting)
    for row in rows:
        row.refresh_from_db()
    assert [row.settings.get("cut_by_seed") for row in rows] == [True, None, None]
    made = format_of(old)
    assert isinstance(made, GroupsKnockOut)
    assert made.cut_by_seed
    # The bracket that was drawn stays as it is.
    before = set(old.duels.values_list("pk", "state"))
    tournament_step(old, now=LATER)
    assert (set(old.duels.values_list("pk", "state")), plan_of(old).round) == (before, 4)
    assert old.duels.filter(state=JobState.QUEUED).exists()
    migration.forget(apps, None)
    assert [Tournament.objects.get(pk=row.pk).settings for row in rows] == [settings, swiss.settings, waiting.settings]
