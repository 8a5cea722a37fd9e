"""The source of a version, read in the browser."""

from __future__ import annotations

import io
import zipfile

import pytest
from django.core.files.base import ContentFile
from pytest_django.asserts import assertContains, assertNotContains

from core.models import Submission
from core.tests import factories
from core.tests.factories import Cast
from web.tests.conftest import As

pytestmark = pytest.mark.django_db


@pytest.fixture
def version(cast: Cast) -> Submission:
    row = factories.ready(factories.agent(cast.alice, factories.environment(), "anna"))
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("player.py", "print('<script>')\n")
        archive.writestr("model/weights.bin", b"\0\1")
        archive.writestr("notes & plans.txt", "é" * 150_000)
    row.archive.save("any.zip", ContentFile(packed.getvalue()))
    return row


def test_the_owner_reads_each_file_and_the_player_first(version: Submission, cast: Cast, visit: As) -> None:
    address = f"/submissions/{version.pk}/source/"
    alice = visit(cast.alice)
    page = alice.get(address)
    assertContains(page, "print(&#x27;&lt;script&gt;&#x27;)")
    assertContains(page, 'href="?file=notes%20%26%20plans.txt"')
    assertContains(alice.get(address, {"file": "model/weights.bin"}), "not a text")
    long = alice.get(address, {"file": "notes & plans.txt"})
    assertContains(long, "The rest of this file is in the archive.")
    assert long.context["source"].text == "é" * 100_000
    assertContains(alice.get(address, {"file": "../secret"}), "no such file", status_code=404)
    assertContains(alice.get("/environments/tic-tac-toe/agents/anna/"), address)


def test_others_see_no_source_and_a_damaged_archive_has_a_sentence(version: Submission, cast: Cast, visit: As) -> None:
    address = f"/submissions/{version.pk}/source/"
    assert [visit(person).get(address).status_code for person in (None, cast.bob, cast.olga)] == [404, 404, 200]
    version.archive.save("any.zip", ContentFile(b"zip!"))
    damaged = visit(cast.alice).get(address)
    assertContains(damaged, "cannot be shown here", status_code=404)
    assertNotContains(damaged, "zip!", status_code=404)
    with zipfile.ZipFile(packed := io.BytesIO(), "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("player.py", "print(1)\n" * 1000)
    content = bytearray(packed.getvalue())
    content[40:44] = b"\xff" * 4
    version.archive.save("any.zip", ContentFile(bytes(content)))
    assertContains(visit(cast.alice).get(address), "cannot be shown here", status_code=404)
