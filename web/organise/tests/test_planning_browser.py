"""The form by which tournaments are planned, in a real browser with its scripts."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest
from django.contrib.auth.models import Permission
from playwright.sync_api import Page, expect

from core.models import Tournament
from core.tests import factories
from web.tests.tabs import session, used

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.browser]


@pytest.fixture
def cup(transactional_db: None) -> Tournament:
    return factories.planned(factories.environment(), format="swiss", settings={"rounds": 5})


@pytest.fixture
def rights() -> list[str]:
    """All that an organiser may do; none named: everything."""
    return []


@pytest.fixture
def page(cup: Tournament, rights: list[str], tab: Page) -> Iterator[Page]:
    olga = factories.user("olga", is_staff=True, is_superuser=not rights)
    olga.user_permissions.set(Permission.objects.filter(codename__in=rights))
    with used(tab, session(olga)) as page:
        yield page


def test_a_new_plan_begins_in_the_zone_of_its_reader(page: Page, cup: Tournament) -> None:
    page.goto("/organise/tournaments/plan/?preset=cup")
    expect(page.get_by_label("Time zone")).to_have_value("UTC")
    begins = page.get_by_label("Begins")
    in_utc = datetime.fromisoformat(begins.input_value())
    # What a browser in Berlin says of itself.
    page.add_init_script(
        "Intl.DateTimeFormat.prototype.resolvedOptions = () => ({ timeZone: 'Europe/Berlin' });"
        "Date.prototype.getTimezoneOffset = () => -120;"
    )
    page.reload()
    expect(page.get_by_label("Time zone")).to_have_value("Europe/Berlin")
    # The plan is from the next full hour, which may have begun between the two.
    assert datetime.fromisoformat(begins.input_value()) - in_utc in (timedelta(hours=2), timedelta(hours=3))


def test_times_are_those_of_the_tournament_and_the_preview_follows(page: Page, cup: Tournament) -> None:
    starts_at = datetime(2030, 7, 1, 8, 0, tzinfo=UTC)
    Tournament.objects.filter(pk=cup.pk).update(starts_at=starts_at, time_zone="Europe/Berlin")
    page.goto(f"/organise/tournaments/{cup.pk}/")
    expect(page.get_by_label("Time zone")).to_have_value("Europe/Berlin")
    begins = page.get_by_label("Begins")
    expect(begins).to_have_value("2030-07-01T10:00")
    expect(page.get_by_label("Legs")).to_be_hidden()
    # The preview follows every change.
    page.get_by_label("Rounds").fill("101")
    page.get_by_label("Rounds").blur()
    expect(page.locator("#preview")).to_contain_text("Enter a whole number from 1 to 100.")
    page.get_by_label("Rounds").fill("4")
    begins.fill("2030-07-01T11:30")
    page.get_by_role("button", name="Save the changes").click()
    expect(page.get_by_text("is changed.")).to_be_visible()
    cup.refresh_from_db()
    assert cup.starts_at == datetime(2030, 7, 1, 9, 30, tzinfo=UTC)
    # How long it is until then stands behind the time.
    expect(page.locator(".next-step .left")).to_contain_text("in ")


def test_a_plan_that_is_sent_by_two_clicks_is_one_tournament(page: Page, cup: Tournament) -> None:
    page.goto("/organise/tournaments/plan/")
    page.get_by_label("Name", exact=True).fill("Twice")
    # As quick people click: the first request is on its way.
    button = page.get_by_role("button", name="Plan the tournament")
    button.evaluate("(button) => { button.click(); setTimeout(() => button.click(), 100); }")
    expect(page.get_by_text("is planned.")).to_be_visible()
    assert Tournament.objects.filter(name="Twice").count() == 1


def test_only_what_the_chosen_format_has_is_shown_and_sent(page: Page, cup: Tournament) -> None:
    page.goto(f"/organise/tournaments/{cup.pk}/")
    rounds, legs = page.get_by_label("Rounds", exact=True), page.get_by_label("Legs", exact=True)
    expect(rounds).to_have_value("5")
    expect(legs).to_be_hidden()
    page.get_by_label("Format", exact=True).select_option("Round robin")
    expect(rounds).to_be_hidden()
    legs.fill("2")
    page.get_by_role("button", name="Save the changes").click()
    expect(page.get_by_text("is changed.")).to_be_visible()
    page.goto(f"/organise/tournaments/{cup.pk}/")
    expect(legs).to_have_value("2")
    page.get_by_label("Format", exact=True).select_option("Swiss")
    expect(rounds).to_have_value("")


def test_an_environment_with_one_seat_offers_its_own_format_and_what_that_has(page: Page, cup: Tournament) -> None:
    task = factories.task()
    page.goto("/organise/tournaments/plan/")
    environment, format_ = page.get_by_label("Environment"), page.get_by_label("Format", exact=True)
    expect(format_).to_have_value("round-robin")
    page.get_by_label("Openings").uncheck()
    page.get_by_label("Decided by").select_option("DRAWN")
    environment.select_option(task.name)
    expect(format_).to_have_value("score")
    expect(format_.locator("option:enabled")).to_have_text(["By score"])
    for label in ("Openings", "Decided by", "Seed", "Rated", "Pairs"):
        expect(page.get_by_label(label, exact=True)).to_be_hidden()
    expect(page.get_by_role("group", name="Seeds")).to_be_hidden()
    page.get_by_label("Episodes").fill("7")
    page.get_by_label("Name", exact=True).fill("Final")
    page.get_by_role("button", name="Plan the tournament").click()
    expect(page.get_by_text("is planned.")).to_be_visible()
    row = Tournament.objects.get(name="Final")
    assert (row.format, row.settings, row.seeded_by, row.has_openings) == ("score", {"episodes": 7}, "RATING", True)

    page.goto("/organise/tournaments/plan/")
    environment.select_option(task.name)
    environment.select_option(cup.environment.name)
    expect(format_).to_have_value("round-robin")
    expect(page.get_by_label("Openings")).to_be_visible()
    expect(page.get_by_label("Episodes")).to_be_hidden()
