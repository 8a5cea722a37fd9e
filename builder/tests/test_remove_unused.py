"""Images and folders are removed once no row needs them, and not before."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import docker
import pytest
from django.conf import LazySettings
from django.conf import settings as django_settings
from django.utils import timezone

from arena_kit.image import leftovers
from arena_kit.image.calls import base_image_id
from arena_kit.image.calls import engine as connect
from arena_kit.image.docker_recipe import DockerRecipe
from arena_kit.image.errors import BuilderUnavailable
from arena_kit.image.labels import PREFIX_LABEL, REQUIREMENTS_LABEL
from arena_kit.image.layer import commit_layer, folder_layer
from arena_kit.image.leftovers import Needed
from arena_kit.image.packages import Network
from arena_kit.tests.image.archives import archive
from builder import tasks
from builder.tasks import images_remove_unused
from core.models import Build, JobState, Submission, TournamentState
from core.tests import factories

NOTHING = Needed(frozenset(), frozenset(), frozenset())


class Kept:
    """A recipe that records what it is asked to remove."""

    def __init__(self, *, stuck: frozenset[str] = frozenset()) -> None:
        self.removed: list[str] = []
        self.needed = NOTHING
        self._stuck = stuck

    def remove(self, image: str) -> None:
        if image in self._stuck:
            raise BuilderUnavailable("It is in use.", code="engine_refused")
        self.removed.append(image)

    def sweep(self, needed: Callable[[], Needed]) -> None:
        self.needed = needed()


def remove_unused(monkeypatch: pytest.MonkeyPatch, *stuck: str) -> Kept:
    made = Kept(stuck=frozenset(stuck))
    monkeypatch.setattr(tasks, "recipe", lambda: made)
    images_remove_unused()
    return made


def submissions(count: int, *, deleted: bool = True) -> list[Submission]:
    agent = factories.agent(factories.user("alice"), factories.environment())
    rows = [factories.ready(agent) for _ in range(count)]
    for number, row in enumerate(rows):
        row.image, row.deleted_at = f"image-{number}", timezone.now() if deleted else None
        row.save()
    return rows


def image_of(row: Submission) -> str:
    return Submission.objects.get(pk=row.pk).image


@pytest.mark.django_db
def test_a_deleted_version_keeps_its_image_until_its_duels_are_over(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = submissions(3)
    edition = factories.tournament(rows, state=TournamentState.RUNNING)
    queued, running = edition.duels.filter(state=JobState.QUEUED)
    factories._job(running, JobState.RUNNING, seconds=3)

    made = remove_unused(monkeypatch)
    assert made.removed == []
    assert made.needed.images == {"image-0", "image-1", "image-2"}
    assert made.needed.submissions == {str(row.pk) for row in rows}

    factories.moved(edition.duels.filter(pk=queued.pk), JobState.SUCCEEDED)
    assert {queued.player_1, queued.player_2} == {rows[0], rows[2]}
    assert remove_unused(monkeypatch).removed == ["image-0"]
    assert [image_of(row) for row in rows] == ["", "image-1", "image-2"]

    factories.moved(edition.duels.filter(pk=running.pk), JobState.FAILED)
    made = remove_unused(monkeypatch)
    assert made.removed == ["image-1", "image-2"]
    assert made.needed == replace(NOTHING, last_build=Build.objects.latest("pk").pk)


@pytest.mark.django_db
@pytest.mark.parametrize("state", [JobState.QUEUED, JobState.RUNNING])
def test_a_version_in_validation_keeps_its_image(state: JobState, monkeypatch: pytest.MonkeyPatch) -> None:
    (row,) = submissions(1)
    factories.validation(row, state)

    assert remove_unused(monkeypatch).removed == []


@pytest.mark.django_db
def test_one_image_that_cannot_be_removed_does_not_keep_the_next(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = submissions(3)

    assert remove_unused(monkeypatch, "image-1").removed == ["image-0", "image-2"]
    assert [image_of(row) for row in rows] == ["", "image-1", ""]


@pytest.mark.django_db
def test_what_rows_need_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    one, _ = submissions(2, deleted=False)
    build = factories.build(one, JobState.RUNNING)

    made = remove_unused(monkeypatch)

    assert made.removed == []
    images = frozenset({"image-0", "image-1"})
    assert made.needed == Needed(images, frozenset(), frozenset({str(build.pk)}), last_build=build.pk)


@pytest.mark.django_db
def test_an_engine_that_is_away_is_no_error(monkeypatch: pytest.MonkeyPatch, settings: LazySettings) -> None:
    settings.SANDBOX = "docker"
    monkeypatch.setenv("DOCKER_HOST", "tcp://127.0.0.1:1")
    rows = submissions(1)

    images_remove_unused()

    assert image_of(rows[0]) == "image-0"


@pytest.mark.django_db
def test_folders_that_no_row_names_are_removed(settings: LazySettings, tmp_path: Path) -> None:
    settings.SANDBOX, settings.DATA_DIR = "process", tmp_path
    images_remove_unused()
    (row,) = submissions(1, deleted=False)
    running = factories.build(row, JobState.RUNNING)
    players = tmp_path / "players"
    names = {
        "kept": "s1-b1-a1",
        "left": f"s{row.pk}-b{running.pk + 1}-a1",
        "running": f"s9-b{running.pk}-{uuid.uuid4().hex}",
    }
    for name in (*names.values(), "no-name-of-ours"):
        (players / name).mkdir(parents=True)
    Submission.objects.filter(pk=row.pk).update(image=f"folder:{players / names['kept']}")

    images_remove_unused()

    assert {path.name for path in players.iterdir()} == {names["kept"], names["running"], "no-name-of-ours"}


@pytest.fixture
def engine() -> Iterator[docker.DockerClient]:
    with connect() as client:
        yield client


@pytest.mark.docker
@pytest.mark.django_db
def test_images_on_a_real_engine(
    engine: docker.DockerClient, settings: LazySettings, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    settings.SANDBOX, settings.PLAYER_IMAGE_PREFIX = "docker", f"{settings.PLAYER_IMAGE_PREFIX}-leftovers"
    prefix = settings.PLAYER_IMAGE_PREFIX
    monkeypatch.setattr(leftovers, "REQUIREMENTS_SECONDS", -60)
    (row,) = submissions(1, deleted=False)
    parents = [_requirements(engine, f"{prefix}-requirements:{name}", prefix, tmp_path) for name in ("used", "unused")]
    for number, parent in enumerate(parents):
        made = DockerRecipe(base_images={(3, 11): parent}, prefix=prefix, network=Network())
        labels = {"arena.submission": str(row.pk), "arena.build": str(number)}
        made.build(archive(), name=f"v{number}", labels=labels, log=print)
    Submission.objects.filter(pk=row.pk).update(image=f"{prefix}:v0")

    images_remove_unused()

    tags = {tag for found in engine.api.images() for tag in found["RepoTags"] or () if tag.startswith(prefix)}
    assert tags == {f"{prefix}:v0", f"{prefix}-requirements:used"}


def _requirements(client: docker.DockerClient, name: str, prefix: str, folder: Path) -> str:
    """An image that looks like one with requirements."""
    (folder / "name.txt").write_text(name)
    base = base_image_id(client, django_settings.PLAYER_BASE_IMAGE)
    labels = {REQUIREMENTS_LABEL: name, PREFIX_LABEL: prefix}
    commit_layer(client, base, folder_layer(folder, "opt/requirements"), tag=name, labels=labels)
    return name
