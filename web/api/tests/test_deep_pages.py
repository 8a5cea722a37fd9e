"""Lists that are long: pages by the id of the row before, and numbers of rows that are counted from time to time."""

from __future__ import annotations

import pytest
from django.test import Client

from core import listing
from core.models import Alarm
from core.tests.factories import NOON
from web.api import listing as pages
from web.api.tests.conftest import Arena
from web.api.tests.test_native import get

pytestmark = pytest.mark.django_db


def test_a_program_that_follows_next_sees_every_row_once(
    client: Client, arena: Arena, monkeypatch: pytest.MonkeyPatch
) -> None:
    every = [row["id"] for row in get(client, "agents/")["results"]]
    assert len(every) > 3
    monkeypatch.setattr(pages, "MOST_SKIPPED", 1)
    seen, address = [], "agents/?page_size=1"
    while address:
        page = get(client, address)
        assert page["count"] == len(every)
        seen += [row["id"] for row in page["results"]]
        address = (page["next"] or "").partition("/api/v1/")[2]
    assert seen == every
    assert "after=" in get(client, "agents/?page_size=1&page=2")["next"]
    assert get(client, f"agents/?page_size=1&after={every[0]}")["previous"] is None


def test_a_page_with_too_many_rows_before_it_is_refused(
    client: Client, arena: Arena, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pages, "MOST_SKIPPED", 1)
    assert get(client, "agents/?page_size=1&page=3", 400) == {"page": [pages.TOO_DEEP]}
    assert get(client, "agents/?page_size=1&page=last", 400) == {"page": [pages.TOO_DEEP]}
    for wrong in ("x", "-1", "9" * 30, "0" * 5000, "1" * 19 + "9" * 5000):
        assert "after" in get(client, f"agents/?after={wrong}", 400)
    # Its rows are in the order of their names.
    assert "after" in get(client, "environments/?after=1", 400)


def test_rows_that_came_or_went_since_the_count_are_on_the_pages_all_the_same(
    client: Client, arena: Arena, monkeypatch: pytest.MonkeyPatch
) -> None:
    every = [row["id"] for row in get(client, "agents/")["results"]]
    monkeypatch.setattr("core.listing.row_count", lambda rows: 1)
    first = get(client, "agents/?page_size=1")
    assert first["next"] is not None
    last = get(client, f"agents/?page_size=1&page={len(every)}")
    assert ([row["id"] for row in last["results"]], last["next"], last["count"]) == (every[-1:], None, len(every))
    monkeypatch.setattr("core.listing.row_count", lambda rows: 1_000)
    assert get(client, f"agents/?page_size=1&page={len(every)}")["next"] is None
    get(client, f"agents/?page_size=1&page={len(every) + 1}", 404)
    monkeypatch.setattr(pages, "MOST_SKIPPED", len(every) - 2)
    assert get(client, f"agents/?page_size=1&page={len(every) - 1}")["next"].endswith(f"after={every[-2]}&page_size=1")


def test_a_long_list_is_counted_once_a_minute(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(listing, "COUNTED_AT_ONCE", 2)
    Alarm.objects.bulk_create(Alarm(key=f"alarm-{n}", message="Look.", raised_at=NOON) for n in range(4))
    assert listing.row_count(Alarm.objects.filter(key__in=("alarm-0", "alarm-1"))) == 2
    assert listing.row_count(Alarm.objects.all()) == 4
    Alarm.objects.create(key="alarm-4", message="Look.", raised_at=NOON)
    assert listing.row_count(Alarm.objects.order_by("key")) == 4, "a number of a moment ago"
    Alarm.objects.exclude(key="alarm-0").delete()
    assert listing.row_count(Alarm.objects.all()) == 1
