"""Two organisers on one form: the second one sees what the first has saved before it is overwritten."""

from __future__ import annotations

import json
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from core.models import Environment, Seeding, Tournament
from core.tests import factories
from core.tests.factories import Cast
from web.conftest import As
from web.organise.tests.test_tournaments import filled

pytestmark = pytest.mark.django_db


def opened(client: Client, address: str) -> dict[str, Any]:
    """The hidden digest of the form as it is when an organiser opens it."""
    return {"seen": client.get(address).context["form"].seen}


def test_the_second_save_is_refused_once_with_both_versions_shown(
    environment: Environment, cast: Cast, visit: As
) -> None:
    row = factories.planned(environment, registration_opens_at=None, registration_closes_at=None, starts_at=None)
    address = reverse("web:organise_replan", args=[row.pk])
    one, other = visit(cast.olga), Client()
    other.force_login(cast.olga)
    seen = opened(other, address)
    first = filled(environment, save="1", seed=row.seed, max_participants="16", starts_at="2030-05-01T18:00")
    assert one.post(address, {**first, **opened(one, address)}).status_code == 302

    late = filled(environment, save="1", seed=row.seed, name="Renamed")
    answer = other.post(address, {**late, **seen})

    assert answer.status_code == 422
    form = answer.context["form"]
    assert {name: list(errors) for name, errors in form.errors.items()} == {
        "__all__": ["Another organiser has changed this meanwhile. Look at the marked fields, then save again."],
        "name": ["Meanwhile changed to: Cup."],
        "max_participants": ["Meanwhile changed to: 16."],
        "starts_at": ["Meanwhile changed to: 1 May 2030, 18:00."],
    }
    row.refresh_from_db()
    assert (row.name, row.max_participants) == ("Cup", 16)
    # What it wrote is still in the form, and saving it again is a decision.
    assert form["name"].value() == "Renamed"
    assert other.post(address, {**late, "seen": form.seen}).status_code == 302
    row.refresh_from_db()
    assert (row.name, row.max_participants, row.starts_at) == ("Renamed", None, None)


def test_seeds_by_hand_of_another_organiser_are_not_overwritten(
    environment: Environment, cast: Cast, visit: As
) -> None:
    row = factories.planned(environment, seeded_by=Seeding.BY_HAND)
    for owner, name in ((cast.alice, "ada"), (cast.bob, "bob")):
        row.registrations.create(agent=factories.ready(factories.agent(owner, environment, name)).agent)
    address = reverse("web:organise_replan", args=[row.pk])
    olga = visit(cast.olga)
    form = olga.get(address).context["form"]
    same = {field.html_name: field.value() for field in form if not isinstance(field.value(), list | bool | None)}
    sent = {**same, "seen": form.seen, "save": "1", "seeded_by": Seeding.BY_HAND, "starts_at": "", "freezes_at": ""}
    sent |= {"registration_opens_at": "2030-05-01T18:00", "registration_closes_at": ""}
    assert olga.post(address, {**sent, "seeds": "bob\r\nada"}).status_code == 302
    sent |= {"seen": json.dumps({**json.loads(form.seen), **_now(olga, address)})}
    answer = olga.post(address, {**sent, "seeds": "ada\r\nbob"})
    assert (answer.status_code, answer.context["form"].errors["seeds"]) == (422, ["Meanwhile changed to: bob\nada."])


def _now(client: Client, address: str) -> dict[str, str]:
    """The digests of today, but that of the seeds."""
    found: dict[str, str] = json.loads(client.get(address).context["form"].seen)
    found.pop("seeds")
    return found


def test_changes_that_agree_are_saved(environment: Environment, cast: Cast, visit: As) -> None:
    row = factories.planned(environment, registration_opens_at=None, registration_closes_at=None, starts_at=None)
    address = reverse("web:organise_replan", args=[row.pk])
    olga = visit(cast.olga)
    seen = opened(olga, address)
    Tournament.objects.filter(pk=row.pk).update(name="Renamed")
    same = filled(environment, save="1", name="Renamed", max_participants="8")
    assert olga.post(address, {**same, **seen}).status_code == 302
    row.refresh_from_db()
    assert row.max_participants == 8


def test_a_digest_that_is_made_up_overwrites_nothing(environment: Environment, cast: Cast, visit: As) -> None:
    row = factories.planned(environment, registration_opens_at=None, registration_closes_at=None, starts_at=None)
    address = reverse("web:organise_replan", args=[row.pk])
    for made_up in ("[1]", "x", '{"name": []}'):
        assert visit(cast.olga).post(address, filled(environment, save="1", seen=made_up)).status_code == 422
