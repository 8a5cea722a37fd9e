"""The dumps of all releases, and one of the present version, are restored and migrated by the present version."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest
from django.core.management import call_command
from django.db import connection
from django.test import Client

from core.models import Environment, Participant, Rating
from core.version import arena_version
from tests.backups import arena, run, start_anew
from tests.releases import FOLDER, dumps_of

pytestmark = [
    pytest.mark.django_db(transaction=True), pytest.mark.both_databases, pytest.mark.slow, pytest.mark.nightly,
]  # fmt: skip


def tables() -> list[tuple[object, ...]]:
    """What everybody sees of the results, which no upgrade may change."""
    places = Participant.objects.order_by("pk").values_list("pk", "rank", "points", "wins", "losses", "draws")
    ratings = Rating.objects.order_by("pk").values_list("submission", "value", "low", "high", "match_count")
    return [*places, *ratings]


def test_an_arena_of_every_release_goes_on_in_this_one(tmp_path: Path) -> None:
    arena()
    run("recompute")
    now = tmp_path / f"{arena_version()}-{connection.vendor}.tar"
    run("backup", now)
    if os.environ.get("ARENA_RELEASE_DUMP"):
        shutil.copyfile(now, FOLDER / now.name)
        (FOLDER / now.name).chmod(0o644)
    for dump in (*dumps_of(connection.vendor), now):
        start_anew()
        run("restore", dump, "--replace")
        call_command("migrate", check_unapplied=True, verbosity=0)
        before = tables()
        assert before, dump.name
        run("recompute")
        assert tables() == before, dump.name
        client = Client()
        pages = ["/", *(f"/environments/{row.slug}/" for row in Environment.objects.filter(is_active=True))]
        assert {path: client.get(path).status_code for path in pages} == dict.fromkeys(pages, 200), dump.name
