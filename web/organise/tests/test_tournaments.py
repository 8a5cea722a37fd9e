"""Organisers plan tournaments on the site: from presets, with a preview, in their own zone, told all errors at once."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse
from pytest_django.asserts import assertContains, assertNotContains
from pytest_django.fixtures import Settings

from core.models import AuditEntry, Duel, Environment, JobState, Notice, NoticeKind, Tournament, TournamentState
from core.notices.alarms import alarm_raise
from core.tests import factories
from core.tests.factories import Cast
from core.tournaments.seeding import seeded
from web.conftest import As
from web.organise.presets import PRESETS, Preset, preset_values
from web.organise.tournament_forms import TournamentForm
from web.tests.arena import Stage

pytestmark = pytest.mark.django_db
PLAN = "/organise/tournaments/plan/"


def filled(environment: Environment, **fields: Any) -> dict[str, Any]:
    given = {"environment": environment.pk, "name": "Cup", "format": "round-robin", "is_rated": "on",
             "has_openings": "on", "eligibility": "EVERYBODY", "results": "PUBLIC"}  # fmt: skip
    return given | fields


def test_a_tournament_is_planned_and_changed(environment: Environment, cast: Cast, visit: As) -> None:
    olga = visit(cast.olga)
    answer = olga.post(
        PLAN, filled(environment, save="1", eligibility="INVITED", invited=f"bob\n{cast.alice.email.upper()}")
    )
    row = Tournament.objects.get(name="Cup")
    assert answer.headers["Location"] == reverse("web:edition", args=[environment.slug, row.edition])
    assert (row.state, row.created_by) == (TournamentState.PLANNED, cast.olga)
    assert set(row.invited.all()) == {cast.alice, cast.bob}
    told = Notice.objects.filter(kind=NoticeKind.TOURNAMENT_INVITED)
    assert {notice.user for notice in told} == {cast.alice, cast.bob}
    assert all(notice.mail_next_at for notice in told)
    assert AuditEntry.objects.filter(action="add", object_id=str(row.pk), channel="SITE").exists()

    address = reverse("web:organise_replan", args=[row.pk])
    assert "bob" in olga.get(address).content.decode()
    olga.post(address, filled(environment, save="1", name="Spring cup"))
    row.refresh_from_db()
    assert row.name == "Spring cup"
    assert AuditEntry.objects.filter(action="change", object_id=str(row.pk)).exists()


def test_an_organiser_leaves_openings_out_and_the_page_says_so(environment: Environment, cast: Cast, visit: As) -> None:
    olga = visit(cast.olga)
    assert olga.get(PLAN).context["form"].initial.get("has_openings", True)
    for name, ticked in (("With", "on"), ("Without", "")):
        olga.post(PLAN, filled(environment, save="1", name=name, has_openings=ticked))
    for row in Tournament.objects.filter(is_automatic=False):
        assert row.has_openings == (row.name == "With")
        text = visit(None).get(reverse("web:edition", args=[environment.slug, row.edition])).content.decode()
        assert ("<dt>Openings</dt><dd>none</dd>" in text) == (row.name == "Without")


def test_seeds_are_given_by_hand_once_agents_are_registered(environment: Environment, cast: Cast, visit: As) -> None:
    olga = visit(cast.olga)
    olga.post(PLAN, filled(environment, save="1", seeded_by="BY_HAND", registration_opens_at="2020-01-01T10:00"))
    cup = Tournament.objects.get(name="Cup")
    for name in ("one", "two", "three"):
        player = factories.ready(factories.agent(cast.alice, environment, name=name))
        cup.registrations.create(agent=player.agent)
    address = reverse("web:organise_replan", args=[cup.pk])
    again = filled(environment, save="1", seeded_by="BY_HAND", registration_opens_at="2020-01-01T10:00")
    assert olga.post(address, again | {"seeds": "three\nzoe"}).status_code == 422
    assert olga.post(address, again | {"seeds": "Three\r\n\r\none"}).status_code == 302
    assert [row.agent.name for row in seeded(cup)] == ["three", "one", "two"]
    assert "three\none</textarea>" in olga.get(address).content.decode()
    entry = AuditEntry.objects.filter(action="change", object_id=str(cup.pk)).latest("pk")
    assert "seeds" in entry.changes
    page = visit(None).get(reverse("web:edition", args=[environment.slug, cup.edition])).content.decode()
    assert "by its organisers" in page


def test_a_tournament_that_has_begun_keeps_its_plan(stage: Stage, cast: Cast, visit: As) -> None:
    address = reverse("web:organise_replan", args=[stage.tournament.pk])
    before = Tournament.objects.filter(pk=stage.tournament.pk).values().get()
    visit(cast.olga).post(address, filled(stage.environment, save="1", name="Other"), follow=True)
    assert Tournament.objects.filter(pk=stage.tournament.pk).values().get() == before | {"name": "Other"}


def test_all_errors_are_said_at_once(environment: Environment, cast: Cast, visit: As) -> None:
    wrong = filled(
        environment,
        save="1",
        name="",
        max_participants="1",
        registration_opens_at="2030-01-02T10:00",
        registration_closes_at="2030-01-01T10:00",
        starts_at="2020-01-01T10:00",
        eligibility="INVITED",
        invited="nobody-here",
        **{"settings.legs": "9"},
    )
    answer = visit(cast.olga).post(PLAN, wrong)
    assert answer.status_code == 422
    errors = answer.context["form"].errors
    assert {"name", "registration_closes_at", "starts_at", "invited", "settings.legs", "max_participants"} <= set(
        errors
    )
    assert not Tournament.objects.filter(is_automatic=False).exists()


def test_times_are_read_and_shown_in_the_zone_that_the_organiser_chooses(
    environment: Environment, cast: Cast, visit: As, settings: Settings
) -> None:
    olga = visit(cast.olga)
    olga.post(PLAN, filled(environment, save="1", starts_at="2030-07-01T10:00", time_zone="Europe/Berlin"))
    cup = Tournament.objects.get(name="Cup")
    assert cup.starts_at == datetime(2030, 7, 1, 8, 0, tzinfo=UTC)
    form = olga.get(f"/organise/tournaments/{cup.pk}/").content.decode()
    assert 'value="2030-07-01T10:00"' in form
    for reader in (olga, visit(cast.bob), Client()):
        assertContains(
            reader.get(f"/environments/tic-tac-toe/editions/{cup.edition}/"), "1 Jul 2030, 10:00 Europe/Berlin"
        )
    assert Client().get(f"/api/v1/tournaments/{cup.pk}/").json()["time_zone"] == "Europe/Berlin"
    wrong = olga.post(PLAN, filled(environment, save="1", name="Two", time_zone="Moon/Base"))
    assert list(wrong.context["form"].errors) == ["time_zone"]
    # Without one, times are those of the site.
    settings.SITE_ZONE = "Asia/Tokyo"
    olga.post(PLAN, filled(environment, save="1", name="Two", starts_at="2030-07-01T10:00"))
    assert Tournament.objects.get(name="Two").starts_at == datetime(2030, 7, 1, 1, 0, tzinfo=UTC)


@pytest.mark.parametrize("hour", [0, 1])
def test_a_time_that_the_clocks_repeat_stays_unless_it_is_changed(
    environment: Environment, cast: Cast, visit: As, hour: int
) -> None:
    olga = visit(cast.olga)
    olga.post(PLAN, filled(environment, save="1", starts_at="2030-10-27T10:00", time_zone="Europe/Berlin"))
    cup = Tournament.objects.get(name="Cup")
    cup.starts_at = datetime(2030, 10, 27, hour, 30, tzinfo=UTC)
    cup.save()
    sent = filled(environment, save="1", name="Bowl", starts_at="2030-10-27T02:30", time_zone="Europe/Berlin")
    assert olga.post(f"/organise/tournaments/{cup.pk}/", sent).status_code == 302
    cup.refresh_from_db()
    assert (cup.name, cup.starts_at) == ("Bowl", datetime(2030, 10, 27, hour, 30, tzinfo=UTC))
    for time in ("2030-10-27T02:45", "2030-03-31T02:30"):
        answer = olga.post(f"/organise/tournaments/{cup.pk}/", {**sent, "starts_at": time})
        assertContains(answer, "In Europe/Berlin clocks change then: choose a time before or after.", status_code=422)


def test_the_preview_counts_duels_and_time_and_saves_nothing(stage: Stage, cast: Cast, visit: As) -> None:
    # htmx sends the clicked button with a preview that is due at the same moment.
    given = filled(stage.environment, save="1", **{"settings.pairs": "5", "settings.legs": "2"})
    answer = visit(cast.olga).post(PLAN, given, headers={"HX-Target": "preview"})
    preview = answer.context["preview"]
    assert (preview.participants, preview.duel_count, preview.match_count, preview.all_matches) == (3, 6, 10, 60)
    assert preview.seconds is not None
    text = answer.content.decode()
    assert "<html" not in text
    assert "Matches in all</dt><dd>60" in text
    assert not Tournament.objects.filter(name="Cup").exists()
    del given["save"]
    few = visit(cast.olga).post(PLAN, {**given, "format": "groups-knock-out", "settings.legs": "1"})
    assert "needs 12 participants, and 3 agents could take part now" in few.content.decode()
    assert not Tournament.objects.filter(name="Cup").exists()


@pytest.mark.parametrize("preset", PRESETS)
def test_a_preset_is_a_good_plan(preset: Preset, cast: Cast) -> None:
    environment = factories.task() if preset.is_scored else factories.environment()
    values = preset_values(preset.name, datetime.now(UTC))
    invited = "bob" if values["eligibility"] == "INVITED" else ""
    form = TournamentForm({**values, "environment": environment.pk, "invited": invited})
    assert form.errors == {}


def test_the_list_shows_what_can_be_done(environment: Environment, cast: Cast, visit: As) -> None:
    row = factories.planned(environment)
    page = visit(cast.olga).get("/organise/tournaments/").content.decode()
    assert reverse("web:organise_action", args=["tournament", row.pk, "begin_now"]) in page
    assert reverse("web:organise_replan", args=[row.pk]) in page


def test_the_overview_says_what_rings_and_what_fails(stage: Stage, cast: Cast, visit: As) -> None:
    alarm_raise(key="queue-duel-stands-still", message="The queue duel has waiting work but no worker.")
    broken = factories.duel(stage.tournament, stage.anna, stage.clara, number=99, state=JobState.FAILED)
    Duel.objects.filter(pk=broken.pk).update(fault="PLATFORM", error="The engine is gone.", ended_at=datetime.now(UTC))
    page = visit(cast.olga).get("/organise/").content.decode()
    assert "has waiting work but no worker" in page
    assert "/docs/operator/troubleshooting/" in page
    assert "The engine is gone." in page
    assert "Organise" not in visit(cast.bob).get("/").content.decode()


def test_refusals_name_times_as_they_were_typed(environment: Environment, cast: Cast, visit: As) -> None:
    typed = {
        "save": "1",
        "time_zone": "Europe/Berlin",
        "freezes_at": "2030-07-02T12:00",
        "starts_at": "2030-07-01T10:42",
    }
    errors = visit(cast.olga).post(PLAN, filled(environment, **typed)).context["form"].errors
    assert "1 Jul 2030, 10:42 Europe/Berlin" in str(errors)
    # On the last Sunday of March clocks go from two to three, and in October from three to two.
    for gap in ("2030-03-31T02:30", "2030-10-27T02:30"):
        answer = visit(cast.olga).post(PLAN, filled(environment, **typed | {"starts_at": gap}))
        assert list(answer.context["form"].errors["starts_at"]) == [
            "In Europe/Berlin clocks change then: choose a time before or after."
        ]


def test_a_tournament_has_a_text_that_may_change_until_the_end(
    environment: Environment, cast: Cast, visit: As, client: Client
) -> None:
    olga = visit(cast.olga)
    text = "## Prizes\n\nThe winner gets *the cup*. <script>alert(1)</script>"
    olga.post(PLAN, filled(environment, save="1", about=text))
    row = Tournament.objects.get(name="Cup")
    page = reverse("web:edition", args=[environment.slug, row.edition])
    assertContains(client.get(page), "<em>the cup</em>", html=True)
    assertNotContains(client.get(page), "<script>alert")
    assert client.get(f"/api/v1/tournaments/{row.pk}/").json()["about"] == text
    Tournament.objects.filter(pk=row.pk).update(
        state=TournamentState.RUNNING, started_at=datetime(2026, 3, 1, tzinfo=UTC)
    )
    change = reverse("web:organise_replan", args=[row.pk])
    assert olga.post(change, {"name": "Cup", "about": "It has begun.", "results": "PUBLIC"}).status_code == 302
    assertContains(client.get(page), "It has begun.")
