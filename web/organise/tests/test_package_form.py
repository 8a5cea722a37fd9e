"""Organisers add packages with the zip, and change who may have them."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import Permission
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from pytest_django.fixtures import Settings

from core.models import AuditEntry, Environment, JobState, Package
from core.tests import applications, factories
from core.tests.factories import Cast
from web.conftest import As

pytestmark = pytest.mark.django_db
ADD = "/organise/packages/add/"


@pytest.fixture(autouse=True)
def staff(settings: Settings) -> None:
    settings.ROLLOUTS = "staff"


@pytest.fixture
def olga(cast: Cast, visit: As) -> Client:
    return visit(cast.olga)


def errors(client: Client, archive: SimpleUploadedFile | None) -> str:
    """Send the form, which is refused; return what it says."""
    answer = client.post(ADD, {"archive": archive} if archive else {})
    assert answer.status_code == 422, answer.content
    assert not Package.objects.exists()
    (sentence,) = [str(one) for found in answer.context["form"].errors.values() for one in found]
    return sentence


def test_a_package_is_added_with_its_zip_and_is_built_next(olga: Client) -> None:
    page = olga.get("/organise/packages/").content.decode()
    assert f'href="{ADD}"' in page
    assert 'enctype="multipart/form-data"' in olga.get(ADD).content.decode()
    answer = olga.post(ADD, {"archive": applications.packed(), "is_public": "on", "note": "first"}, follow=True)
    assert answer.redirect_chain == [("/organise/packages/", 302)]
    assert "Desk package 1 is saved" in answer.content.decode()
    package = Package.objects.get()
    assert (package.is_public, package.note, package.uploaded_by.username) == (True, "first", "olga")
    assert package.environment == Environment.objects.get(slug="desk")
    assert package.builds.get().state == JobState.QUEUED
    assert package.environment.tasks.count() == len(applications.TASKS)
    entry = AuditEntry.objects.order_by("pk").last()
    assert entry is not None
    assert (entry.action, entry.operator, entry.object_id) == ("add", "olga", str(package.pk))


def test_the_same_zip_again_is_the_package_that_is_there(olga: Client) -> None:
    olga.post(ADD, {"archive": applications.packed()})
    answer = olga.post(ADD, {"archive": applications.packed()})
    assert "The arena had this zip already" in answer.content.decode()
    assert Package.objects.count() == 1


@pytest.mark.parametrize(
    ("archive", "said"),
    [
        (None, "This field is required."),
        (SimpleUploadedFile("package.zip", b"no zip"), "not a zip"),
        (applications.packed(slug="tic-tac-toe"), "is a game of this arena already"),
        (applications.packed(origins=["ftp://x"]), "origins"),
    ],
)
def test_a_zip_that_is_no_package_is_refused_at_its_field(
    olga: Client, environment: Environment, archive: SimpleUploadedFile | None, said: str
) -> None:
    assert said in errors(olga, archive)


def test_a_zip_above_the_limit_is_refused(olga: Client, settings: Settings) -> None:
    settings.MAX_UPLOAD_BYTES = 100
    assert "The file is larger than" in errors(olga, applications.packed())


def test_without_rollouts_there_is_no_package(olga: Client, settings: Settings) -> None:
    settings.ROLLOUTS = "false"
    assert errors(olga, applications.packed()) == "This arena runs no rollouts; ROLLOUTS turns them on."


def test_the_zip_of_a_package_stays(olga: Client) -> None:
    package = applications.package()
    address = f"/organise/packages/{package.pk}/"
    assert list(olga.get(address).context["form"].fields) == ["is_public", "note"]
    answer = olga.post(address, {"archive": applications.packed(name="Other"), "is_public": "on", "note": "now public"})
    assert answer.status_code == 302
    changed = Package.objects.get()
    assert (changed.is_public, changed.note, changed.archive_sha256) == (True, "now public", package.archive_sha256)


def test_only_organisers_with_the_right_add_packages(visit: As) -> None:
    otto = factories.user("otto", is_staff=True)
    otto.user_permissions.add(Permission.objects.get(codename="view_package"))
    client = visit(otto)
    assert ADD not in client.get("/organise/packages/").content.decode()
    assert client.post(ADD, {"archive": applications.packed()}).status_code == 403
    assert not Package.objects.exists()
