"""An organiser shows a picture on the pages of a tournament, and who may not see the tournament does not see it."""

from __future__ import annotations

import os
import re
from io import BytesIO
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from django.core.files.base import ContentFile
from django.core.files.storage import default_storage
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.utils import timezone
from PIL import Image
from pytest_django import DjangoCaptureOnCommitCallbacks
from pytest_django.fixtures import Settings

from core.errors import Refused
from core.files.pictures import picture_cleaned
from core.links import absolute
from core.models import AuditEntry, Course, Environment, Member, Role, SeenBy, Tournament
from core.operations.retention import retention_run
from core.people.tokens import token_create
from core.tests import factories
from core.tests.factories import Cast
from core.tournaments.pictures import picture_set
from core.tournaments.planning import tournament_copy
from web.conftest import As
from web.tests import played
from web.tournaments.pictures import picture_size

pytestmark = pytest.mark.django_db


def file_of(colour: str = "red", size: tuple[int, int] = (60, 30)) -> SimpleUploadedFile:
    out = BytesIO()
    Image.new("RGB", size, colour).save(out, "PNG")
    return SimpleUploadedFile("c:/evil.html", out.getvalue(), "text/html")


@pytest.fixture(autouse=True)
def _own_files(settings: Settings, tmp_path: Path) -> None:
    settings.MEDIA_ROOT = tmp_path


@pytest.fixture
def cup(environment: Environment) -> Tournament:
    return factories.planned(environment)


def acts(name: str, cup: Tournament) -> str:
    return f"/organise/do/tournament/{cup.pk}/{name}/"


def page_of(cup: Tournament, part: str = "") -> str:
    return f"/environments/{cup.environment.slug}/editions/{cup.edition}/{part}"


def shown(client: Client, cup: Tournament, part: str = "") -> str:
    """Return the address of the picture on a page of a tournament; empty without one."""
    found = re.search(r'<img class="tournament-picture" src="([^"]+)"', client.get(page_of(cup, part)).content.decode())
    return found[1] if found else ""


def status(client: Client, address: str) -> int:
    answer: Any = client.get(address)
    assert answer.status_code != 200 or b"".join(answer)
    return int(answer.status_code)


def stored() -> list[str]:
    return default_storage.listdir("tournament-pictures")[1]


def test_an_organiser_shows_another_picture_and_removes_it(
    cup: Tournament, cast: Cast, visit: As, django_capture_on_commit_callbacks: DjangoCaptureOnCommitCallbacks
) -> None:
    olga, stranger = visit(cast.olga), Client()
    question = olga.get(acts("picture", cup)).content.decode()
    assert 'enctype="multipart/form-data"' in question
    assert "(optional)" not in question
    # Words and a picture are required, and any other file is refused at its field.
    wrong = [
        {},
        {"picture": file_of()},
        {"alt": "A cup."},
        {"picture": SimpleUploadedFile("a.png", b"<svg>"), "alt": "A"},
    ]
    answers: list[Any] = [olga.post(acts("picture", cup), sent) for sent in wrong]
    assert [answer.status_code for answer in answers] == [422] * 4
    assert "This is no PNG, JPEG or WebP." in answers[-1].content.decode()
    assert stored() == []

    back = {"next": page_of(cup)}
    done: Any = olga.post(acts("picture", cup), {"picture": file_of(), "alt": 'A "cup".', **back})
    assert done.url == page_of(cup)
    first = shown(stranger, cup)
    assert shown(stranger, cup, "screen/") == first
    page = stranger.get(page_of(cup)).content.decode()
    # The page leaves room for it before it has come.
    assert f'<img class="tournament-picture" src="{first}" alt="A &quot;cup&quot;."\n  width="60" height="30">' in page
    assert f'<meta property="og:image" content="{absolute(first)}">' in page
    answer: Any = stranger.get(first)
    assert (answer["Content-Type"], answer["Cache-Control"]) == ("image/webp", "private, max-age=31536000, immutable")
    assert answer["Cross-Origin-Resource-Policy"] == "cross-origin"
    assert Image.open(BytesIO(b"".join(answer))).size == (60, 30)
    # The words alone, then another picture: the address is new, and the file of the first is gone.
    assert "(optional)" in (question := olga.get(acts("picture", cup)).content.decode())
    assert "A &quot;cup&quot;." in question
    with django_capture_on_commit_callbacks(execute=True):
        olga.post(acts("picture", cup), {"alt": "Silver."})
    assert (shown(stranger, cup), len(stored())) == (first, 1)
    with django_capture_on_commit_callbacks(execute=True):
        olga.post(acts("picture", cup), {"picture": file_of("blue"), "alt": "Gold."})
    second = shown(stranger, cup)
    assert (second != first, len(stored()), status(stranger, first)) == (True, 1, 404)
    with django_capture_on_commit_callbacks(execute=True):
        olga.post(acts("remove_picture", cup))
    assert (shown(stranger, cup), stored(), status(stranger, second)) == ("", [], 404)
    assert "og:image" not in stranger.get(page_of(cup)).content.decode()
    done = AuditEntry.objects.filter(object_id=str(cup.pk)).order_by("pk").values_list("action", flat=True)
    assert list(done) == ["picture", "picture", "picture", "remove_picture"]


def test_other_words_leave_the_picture_that_another_organiser_has_chosen_by_then(
    cup: Tournament, cast: Cast, visit: As, django_capture_on_commit_callbacks: DjangoCaptureOnCommitCallbacks
) -> None:
    with django_capture_on_commit_callbacks(execute=True):
        visit(cast.olga).post(acts("picture", cup), {"picture": file_of(), "alt": "Bronze."})
        cup.refresh_from_db()
        visit(cast.olga).post(acts("picture", cup), {"picture": file_of("blue"), "alt": "Silver."})
    with django_capture_on_commit_callbacks(execute=True):
        picture_set(tournament=cup, picture=b"", alt="Gold.")
    assert status(Client(), shown(Client(), cup)) == 200
    assert (cup.picture_alt, len(stored())) == ("Gold.", 1)
    # Nor do they come back without one.
    before = Tournament.objects.get(pk=cup.pk)
    visit(cast.olga).post(acts("remove_picture", cup))
    with pytest.raises(Refused, match="no picture to describe"):
        picture_set(tournament=before, picture=b"", alt="Gold.")


def test_a_program_sends_a_picture_as_the_page_does(cup: Tournament, cast: Cast) -> None:
    def program(who: Any) -> Client:
        _, token = token_create(owner=who, name="test", now=timezone.now(), days=1)
        return Client(headers={"Authorization": f"Bearer {token}"})

    address = f"/api/v1/tournaments/{cup.pk}/acts/"
    olga = program(cast.olga)
    assert olga.post(f"{address}picture/", {"alt": "A cup."}).json() == {"picture": ["This field is required."]}
    assert (
        olga.post(f"{address}picture/", {"alt": "A", "picture": SimpleUploadedFile("a", b"GIF89a")}).status_code == 400
    )
    assert program(cast.bob).post(f"{address}picture/", {"alt": "A", "picture": file_of()}).status_code == 403
    done = olga.post(f"{address}picture/", {"alt": "A cup.", "picture": file_of()})
    assert (done.status_code, done.json()) == (200, {"detail": "Tic-tac-toe: cup has a picture."})
    told = Client().get(f"/api/v1/tournaments/{cup.pk}/").json()
    assert (told["picture"], told["picture_alt"]) == (shown(Client(), cup), "A cup.")
    assert olga.post(f"{address}remove_picture/", content_type="application/json").status_code == 200
    assert Client().get(f"/api/v1/tournaments/{cup.pk}/").json()["picture"] == ""


def test_teachers_choose_it_and_only_members_see_it(
    cup: Tournament, cast: Cast, visit: As, django_capture_on_commit_callbacks: DjangoCaptureOnCommitCallbacks
) -> None:
    course = Course.objects.create(slug="robots", name="Robots", seen_by=SeenBy.MEMBERS)
    for user, role in ((cast.alice, Role.TEACHER), (cast.bob, Role.STUDENT)):
        Member.objects.create(course=course, user=user, role=role)
    Tournament.objects.update(course=course)
    assert visit(cast.bob).post(acts("picture", cup), {"picture": file_of(), "alt": "A cup."}).status_code == 403
    assert visit(cast.alice).post(acts("picture", cup), {"picture": file_of(), "alt": "A cup."}).status_code == 302
    address = shown(visit(cast.bob), cup)
    assert [status(visit(one), address) for one in (cast.bob, cast.charlie, None)] == [200, 404, 404]
    # A copy has the picture in a file of its own.
    cup.refresh_from_db()
    copy = tournament_copy(tournament=cup, by=cast.alice, now=timezone.now())
    with django_capture_on_commit_callbacks(execute=True):
        visit(cast.alice).post(acts("remove_picture", cup))
    assert status(visit(cast.bob), shown(visit(cast.bob), copy)) == 200
    assert len(stored()) == 1


def test_an_edition_of_the_arena_itself_has_none(cast: Cast, visit: As, environment: Environment) -> None:
    edition = played.edition([], environment)
    olga = visit(cast.olga)
    olga.post(acts("picture", edition), {"picture": file_of(), "alt": "A cup."})
    assert "Only tournaments of organisers have a picture." in olga.get("/organise/").content.decode()
    assert stored() == []


@pytest.mark.parametrize("model", [Tournament, Environment])
def test_pages_of_other_sites_do_not_load_the_picture_of_a_course(
    cup: Tournament, cast: Cast, visit: As, model: type[Tournament | Environment]
) -> None:
    visit(cast.olga).post(acts("picture", cup), {"picture": file_of(), "alt": "A cup."})
    address = shown(Client(), cup)
    model._default_manager.update(course=Course.objects.create(slug="robots", name="Robots"))
    assert status(Client(), address) == 404
    answer: Any = visit(cast.olga).get(address)
    assert b"".join(answer)
    assert answer["Cross-Origin-Resource-Policy"] == "same-origin"


def test_a_picture_from_before_names_had_sizes_is_shown(cup: Tournament) -> None:
    name = default_storage.save(f"tournament-pictures/{uuid4()}.webp", ContentFile(b"RIFF"))
    Tournament.objects.filter(pk=cup.pk).update(picture=name, picture_alt="A cup.")
    assert status(Client(), shown(Client(), cup)) == 200
    assert 'alt="A cup.">' in Client().get(page_of(cup)).text


def test_a_high_picture_has_its_size_on_the_page(cup: Tournament) -> None:
    cup.picture = f"tournament-pictures/{uuid4()}-1600x600.webp"
    assert picture_size(cup) == (853, 320)


def test_pictures_that_no_tournament_has_are_deleted_after_a_month(cup: Tournament, tmp_path: Path) -> None:
    for colour in ("red", "blue"):
        picture_set(tournament=cup, picture=picture_cleaned(BytesIO(file_of(colour).read()), 1000), alt="A cup.")
    (tmp_path / "tournament-pictures" / "fresh.webp").write_bytes(b"RIFF")
    kept = Path(str(cup.picture.name)).name
    for name in {*stored()} - {"fresh.webp"}:
        os.utime(tmp_path / "tournament-pictures" / name, (0, 0))
    assert len(stored()) == 3
    retention_run()
    assert {*stored()} == {kept, "fresh.webp"}
