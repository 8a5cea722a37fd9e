"""Organisers upload the folder of an environment, read its verdict, and a superuser puts it live."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.contrib.auth.models import Permission
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from pytest_django.fixtures import Settings

from arena_kit.environment.outside.report import GOOD, LOOK, Report, ShownState, VerdictLine
from arena_kit.tests.environment.edited import nim, zipped
from arena_kit.tests.environment.outside import outside
from core.environments.trials import trial_end
from core.models import AuditEntry, Course, Environment, EnvironmentTrial, JobState, SeenBy
from core.tests import applications, factories
from core.tests.factories import Cast
from web.conftest import As

pytestmark = pytest.mark.django_db
ADD, LIST = "/organise/folders/add/", "/organise/jobs/environmenttrial/"
REPORT = Report(
    (VerdictLine("Files", GOOD, "info.yml describes nim-v1."), VerdictLine("Pictures", LOOK, "No style knows <b>.")),
    (ShownState("10 stones <left>.", "<svg><script>alert(1)</script></svg>"),),
)


@pytest.fixture(autouse=True)
def own(settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The organisers' folder of environments, which is empty."""
    settings.ENVIRONMENTS_DIR = folder = tmp_path / "own"
    with outside(folder, monkeypatch, tmp_path / "trials"):
        yield folder


@pytest.fixture
def root(cast: Cast, visit: As) -> Client:
    return visit(factories.user("root", is_staff=True, is_superuser=True))


def sent(client: Client, folder: Path) -> EnvironmentTrial:
    """Upload a folder by the form."""
    answer = client.post(ADD, {"archive": SimpleUploadedFile("nim.zip", zipped(folder))})
    trial = EnvironmentTrial.objects.latest("pk")
    assert (answer.status_code, answer.headers.get("Location")) == (302, f"{LIST}{trial.pk}/")
    return trial


def test_a_superuser_uploads_reads_the_verdict_and_puts_it_live(root: Client, tmp_path: Path) -> None:
    assert f'href="{LIST}"' in root.get("/organise/environments/").content.decode()
    assert f'href="{ADD}"' in root.get(LIST).content.decode()
    assert "to whom a superuser gave the right" in root.get(ADD).content.decode()
    trial = sent(root, nim(tmp_path))
    address, action = f"{LIST}{trial.pk}/", f"/organise/do/environmenttrial/{trial.pk}/put_live/"
    waiting = root.get(address).content.decode()
    assert "Trial board" not in waiting
    assert action not in waiting
    trial_end(trial=applications.running(trial), report=REPORT, log="")
    page = root.get(address).content.decode()
    assert "No style knows &lt;b&gt;." in page
    assert "10 stones &lt;left&gt;." in page
    # Only as an image, in which no script runs.
    assert "<script>alert" not in page
    assert 'src="data:image/svg+xml;base64,' in page
    assert "class Nim" in page
    assert "nim-v1 is new: 4 files." in root.get(action).content.decode()
    root.post(action, {"next": address})
    assert "This folder is live." in root.get(address).content.decode()
    assert root.get("/environments/nim/").status_code == 200
    entry = AuditEntry.objects.order_by("pk").last()
    assert entry is not None
    assert (entry.action, entry.operator) == ("put_live", "root")


def test_a_new_game_of_a_course_is_never_public_and_its_limits_follow_if_wished(
    root: Client, visit: As, cast: Cast, tmp_path: Path
) -> None:
    league = Course.objects.create(slug="nim-night", name="Nim night", seen_by=SeenBy.MEMBERS)
    trial = sent(root, nim(tmp_path / "1"))
    action = f"/organise/do/environmenttrial/{trial.pk}/put_live/"
    trial_end(trial=applications.running(trial), report=REPORT, log="")
    assert "info.yml replace" not in root.get(action).text
    assert root.post(action, {"course": "x"}).status_code == 422
    root.post(action, {"course": league.pk})
    assert Environment.objects.get(slug="nim").course == league
    assert {one.get("/environments/nim/").status_code for one in (Client(), visit(cast.alice))} == {404}
    trial = sent(root, nim(tmp_path / "2", info=("matches_per_duel: 100", "matches_per_duel: 40")))
    action = f"/organise/do/environmenttrial/{trial.pk}/put_live/"
    trial_end(trial=applications.running(trial), report=REPORT, log="")
    assert "Course of a new environment" not in root.get(action).text
    for sent_with, matches in (({}, 100), ({"with_limits": "on"}, 40)):
        root.post(action, sent_with)
        found = Environment.objects.get(slug="nim")
        assert (found.course, found.matches_per_duel) == (league, matches)


def test_example_agents_of_a_folder_are_offered_where_the_game_is_seen(
    root: Client, visit: As, cast: Cast, tmp_path: Path
) -> None:
    league = Course.objects.create(slug="nim-night", name="Nim night", seen_by=SeenBy.MEMBERS)
    league.members.create(user=cast.alice)
    folder = nim(tmp_path)
    for name in ("greedy", "no player"):
        (folder / "players" / name / "rules").mkdir(parents=True)
        (folder / "players" / name / "rules" / "ply.py").write_text("PLY = 1\n")
    (folder / "players" / "greedy" / "player.py").write_text("class Player: ...\n")
    trial = sent(root, folder)
    trial_end(trial=applications.running(trial), report=REPORT, log="")
    root.post(f"/organise/do/environmenttrial/{trial.pk}/put_live/", {"course": league.pk})
    alice, address = visit(cast.alice), "/environments/nim/players/greedy.zip"
    page = alice.get("/environments/nim/write/").text
    assert address in page
    assert "no%20player" not in page
    answer = alice.get(address)
    with zipfile.ZipFile(io.BytesIO(answer.content)) as archive:
        assert archive.namelist() == ["player.py", "rules/ply.py"]
    assert answer.headers["Content-Disposition"] == 'attachment; filename="greedy.zip"'
    assert alice.get("/environments/nim/players/other.zip").status_code == 404
    assert visit(cast.bob).get(address).status_code == 404


def test_a_refused_zip_is_explained_on_the_form(root: Client) -> None:
    answer = root.post(ADD, {"archive": SimpleUploadedFile("nim.zip", b"no zip")})
    assert answer.status_code == 422
    assert "This is not a zip file" in answer.content.decode()
    assert not EnvironmentTrial.objects.exists()


def test_an_organiser_with_the_right_uploads_but_does_not_put_live(cast: Cast, visit: As, tmp_path: Path) -> None:
    tutor = factories.user("tutor", is_staff=True)
    client = visit(tutor)
    assert client.get(ADD).status_code == 403
    assert client.get(LIST).status_code == 403
    tutor.user_permissions.add(Permission.objects.get(codename="add_environmenttrial"))
    assert ">Upload</button>" in client.get(ADD).content.decode()
    trial = sent(client, nim(tmp_path))
    # The own verdict, not the list of all.
    assert client.get(f"{LIST}{trial.pk}/").status_code == 200
    other = EnvironmentTrial.objects.create(slug="mim", version=1, uploaded_by=cast.olga, archive="other.zip")
    assert {client.get(address).status_code for address in (LIST, f"{LIST}{other.pk}/", f"{LIST}99/")} == {403}
    trial_end(trial=applications.running(trial), report=REPORT, log="")
    action = f"/organise/do/environmenttrial/{trial.pk}/put_live/"
    assert action not in client.get(f"{LIST}{trial.pk}/").content.decode()
    assert client.post(action).status_code == 403
    trial.refresh_from_db()
    assert (trial.state, trial.live_at) == (JobState.SUCCEEDED, None)


def test_strangers_and_members_see_nothing_of_uploads(root: Client, cast: Cast, visit: As, tmp_path: Path) -> None:
    trial = sent(root, nim(tmp_path))
    for client in (Client(), visit(cast.alice)):
        assert client.get(f"{LIST}{trial.pk}/").status_code in (302, 403)
        found = client.get("/api/v1/jobs/environmenttrial/")
        assert found.status_code in (401, 403, 404) or found.json()["count"] == 0


def test_programs_upload_and_read_the_verdict(root: Client, cast: Cast, visit: As, tmp_path: Path) -> None:
    address = "/api/v1/environment-folders/"
    assert visit(cast.alice).post(
        address, {"archive": SimpleUploadedFile("nim.zip", zipped(nim(tmp_path)))}
    ).status_code in (400, 403)
    answer = root.post(address, {"archive": SimpleUploadedFile("nim.zip", zipped(nim(tmp_path / "2")))})
    assert answer.status_code == 201, answer.content
    made = answer.json()
    assert (made["slug"], made["version"], made["state"], made["live_at"]) == ("nim", 1, "QUEUED", None)
    assert root.get(f"{address}{made['id']}/").json()["lines"] == []
    trial_end(trial=applications.running(EnvironmentTrial.objects.get()), report=REPORT, log="")
    assert root.get(f"{address}{made['id']}/").json()["lines"][1] == {
        "about": "Pictures", "mark": "look", "sentence": "No style knows <b>.",
    }  # fmt: skip
    for client in (Client(), visit(cast.alice)):
        assert client.get(address).json()["count"] == 0
        assert client.get(f"{address}{made['id']}/").status_code == 404
