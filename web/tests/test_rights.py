"""What staff may see and do with each right, and that without one they are as other members."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import Permission
from django.test import Client

from core.models import AuditEntry, Submission, Tournament, User
from core.tests import factories
from core.tests.factories import Cast

pytestmark = pytest.mark.django_db


@pytest.fixture
def helper() -> User:
    return factories.user("helper", is_staff=True)


@pytest.fixture
def version(cast: Cast) -> Submission:
    environment = factories.environment()
    return factories.ready(factories.agent(cast.alice, environment, "anna"))


def logged_in(person: User) -> Client:
    """A session of a person, with the rights that they have at the moment."""
    client = Client()
    client.force_login(person)
    return client


def granted(person: User, codename: str) -> Client:
    person.user_permissions.add(Permission.objects.get(codename=codename))
    return logged_in(person)


def test_staff_read_private_source_and_build_logs_with_the_right_to_view_versions(
    helper: User, version: Submission
) -> None:
    build = version.builds.get()
    stranger = factories.user("other")
    addresses = (f"/submissions/{version.pk}/logs/build/", f"/api/v1/jobs/build/{build.pk}/log/")
    without = [logged_in(helper).get(address).status_code for address in addresses]
    assert without == [logged_in(stranger).get(address).status_code for address in addresses]
    assert set(without) <= {403, 404}
    assert logged_in(helper).get(f"/submissions/{version.pk}/source/").status_code == 404
    client = granted(helper, "view_submission")
    assert [client.get(address).status_code for address in addresses] == [200, 200]


def test_staff_delete_versions_with_the_right_to_change_them(helper: User, version: Submission) -> None:
    address = f"/api/v1/submissions/{version.public_id}/"
    assert logged_in(helper).delete(address).status_code == 403
    version.refresh_from_db()
    assert version.deleted_at is None
    assert granted(helper, "change_submission").delete(address).status_code == 204
    assert AuditEntry.objects.get(action="delete_archives").operator == "helper"


def test_staff_let_agents_rest_with_the_right_to_change_them(helper: User, version: Submission) -> None:
    address, page = f"/api/v1/agents/{version.agent.pk}/rest/", "/environments/tic-tac-toe/agents/anna/"
    assert logged_in(helper).put(address).status_code == 403
    assert "Hide and take out of play" not in logged_in(helper).get(page).content.decode()
    assert granted(helper, "change_agent").put(address).status_code == 200
    assert AuditEntry.objects.get(action="let_rest").operator == "helper"


def test_staff_see_results_that_are_held_back_with_the_right_to_view_tournaments(
    cast: Cast, helper: User, version: Submission
) -> None:
    rival = factories.ready(factories.agent(cast.bob, version.agent.environment, "berta"))
    tournament = factories.tournament([version, rival])
    Tournament.objects.update(results="HIDDEN")
    address = f"/api/v1/tournaments/{tournament.pk}/participants/"
    assert logged_in(helper).get(address).status_code == 403
    assert logged_in(helper).get("/api/v1/duels/").json()["count"] == 0
    client = granted(helper, "view_tournament")
    assert client.get(address).status_code == 200
    assert client.get("/api/v1/duels/").json()["count"] == 1


def test_no_right_works_after_an_account_has_lost_its_place_among_the_staff(helper: User, version: Submission) -> None:
    granted(helper, "change_submission")
    User.objects.filter(pk=helper.pk).update(is_staff=False)
    address = f"/api/v1/submissions/{version.public_id}/"
    assert logged_in(User.objects.get(pk=helper.pk)).delete(address).status_code == 403
