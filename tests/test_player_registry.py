"""Images of submissions in a registry: pushed by builds, pulled by workers that play, removed with their versions."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import docker
import pytest
from django.conf import LazySettings
from django.conf import settings as django_settings
from django.db import transaction
from django.utils import timezone
from pytest_django.fixtures import Settings

from arena_kit.image.calls import engine as connect
from arena_kit.image.inventory import inventory
from arena_kit.image.registry import Registry
from arena_kit.tests.image.registries import RegistryServer, registry_server, small_base_image
from builder.tasks import images_remove_unused, images_restore
from core.jobs import worker
from core.jobs.control import job_cancel
from core.jobs.images import images_evict, registry_is_down
from core.models import (
    Build,
    CancelCode,
    Duel,
    Environment,
    JobState,
    Submission,
    Tournament,
    TournamentState,
    Validation,
)
from core.submissions.existing import submission_delete
from core.tests.working import run
from tests.samples import FIRST, LAST, deliver_messages, tic_tac_toe, upload
from tests.workplaces import leave_workplace

pytestmark = [
    pytest.mark.docker, pytest.mark.registry, pytest.mark.slow, pytest.mark.django_db(transaction=True),
]  # fmt: skip


PREFIXES = itertools.count(1)


@pytest.fixture(scope="module")
def client() -> Iterator[docker.DockerClient]:
    with connect() as made:
        yield made


@pytest.fixture(scope="module")
def base(client: docker.DockerClient, arena_settings: None) -> str:
    """A base image whose first push is quick."""
    name = f"{django_settings.PLAYER_IMAGE_PREFIX}-base:small"
    small_base_image(client, django_settings.PLAYER_BASE_IMAGE, name)
    return name


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RegistryServer]:
    with registry_server(tmp_path_factory.mktemp("registry")) as made:
        yield made


@pytest.fixture(autouse=True)
def site(settings: Settings, server: RegistryServer, base: str) -> Iterator[None]:
    settings.SANDBOX = "docker"
    # Other tests of this process leave images on the engine.
    settings.PLAYER_IMAGE_PREFIX = f"{settings.PLAYER_IMAGE_PREFIX}-{next(PREFIXES)}"
    settings.PLAYER_BASE_IMAGES, settings.PLAYER_BASE_IMAGE = {(3, 11): base}, base
    use(settings, server)
    yield
    leave_workplace()
    worker._trouble = None
    if server.process.poll() is not None:
        server.start()


def use(settings: LazySettings | Settings, server: RegistryServer) -> None:
    settings.PLAYER_REGISTRY = server.registry.repository
    settings.PLAYER_REGISTRY_USER, settings.PLAYER_REGISTRY_PASSWORD = server.registry.user, server.registry.password


@pytest.fixture
def environment() -> Environment:
    return tic_tac_toe()


def names(client: docker.DockerClient) -> set[str]:
    """The names of all submissions' images on the engine, also those of the registry."""
    mine = (f"{django_settings.PLAYER_IMAGE_PREFIX}:", django_settings.PLAYER_REGISTRY)
    return {
        name
        for image in client.api.images()
        for name in (*(image["RepoTags"] or ()), *(image["RepoDigests"] or ()))
        if name.startswith(mine)
    }


def lose(client: docker.DockerClient, *submissions: Submission) -> None:
    """Take the images from this host, as if it were another one."""
    leave_workplace()
    for submission in submissions:
        client.images.remove(Submission.objects.get(pk=submission.pk).image, force=True)


def built(submission: Submission) -> Submission:
    run(Build.objects.get(submission=submission))
    submission.refresh_from_db()
    return submission


def test_what_one_host_builds_another_pulls_and_plays(
    client: docker.DockerClient, server: RegistryServer, environment: Environment
) -> None:
    first, last = (built(upload(environment, name, source)) for name, source in (("first", FIRST), ("last", LAST)))
    assert server.registry.has(client, first.registry_digest)
    assert names(client) == {first.image, last.image}
    assert f"Pushed as {first.registry_digest}" in Build.objects.get(submission=first).log
    lose(client, first, last)
    assert names(client) == set()

    deliver_messages()

    assert Tournament.objects.get().state == TournamentState.FINISHED
    duel = Duel.objects.get()
    assert (duel.state, duel.player_1_digest, duel.player_2_digest) == (
        JobState.SUCCEEDED, duel.player_1.image_digest, duel.player_2.image_digest,
    )  # fmt: skip
    # Each was pulled once, by its validation.
    logs = [validation.log for validation in Validation.objects.all()]
    assert ["is pulled from the registry" in log for log in logs] == [True, True]
    assert "is pulled" not in duel.log
    assert names(client) == {first.image, last.image}

    # The same host forgets what was not used for long, and nothing else.
    _host_forgets_and_pulls_again(client, first, last)
    _deleted_versions_leave_the_registry(client, server, first, last)


def _host_forgets_and_pulls_again(client: docker.DockerClient, first: Submission, last: Submission) -> None:
    leave_workplace()
    settings = django_settings
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("arena_kit.image.cache.SPARED_SECONDS", -60.0)
        patch.setattr(settings, "IMAGE_CACHE_BYTES", 0)
        Submission.objects.filter(pk=last.pk).update(registry_digest="")
        assert images_evict() == 1
        assert names(client) == {last.image}
        # A version that the registry does not have yet is pushed by the next look, and the other is not lost.
        images_remove_unused()
        images_restore()
    again = Submission.objects.get(pk=last.pk)
    assert again.registry_digest != ""
    assert again.registry_digest == last.registry_digest
    assert not Build.objects.exclude(state=JobState.SUCCEEDED).exists()


def _deleted_versions_leave_the_registry(
    client: docker.DockerClient, server: RegistryServer, first: Submission, last: Submission
) -> None:
    with transaction.atomic():
        submission_delete(submission=Submission.objects.get(pk=first.pk))
    images_remove_unused()
    assert not server.registry.has(client, first.registry_digest)
    assert server.registry.has(client, last.registry_digest)
    # What neither the host nor the registry has is lost, and is built again because it plays.
    server.registry.check(client)
    lose(client, last)
    Submission.objects.filter(pk=last.pk).update(registry_digest=first.registry_digest)
    images_restore()
    assert Build.objects.filter(submission=last, state=JobState.QUEUED).exists()


def test_while_the_registry_is_away_builds_and_duels_wait_and_none_is_lost(
    client: docker.DockerClient, server: RegistryServer, environment: Environment
) -> None:
    submission = upload(environment, "first", FIRST)
    build = Build.objects.get()
    server.kill()

    run(build)

    build.refresh_from_db()
    submission.refresh_from_db()
    assert (build.state, build.error_code) == (JobState.QUEUED, "registry_unavailable")
    assert (submission.image, submission.registry_digest) == ("", "")
    assert registry_is_down()
    # This worker takes no further job, so that the outage uses up no attempts.
    assert not worker.is_well()

    server.start()
    assert not registry_is_down()
    assert worker.is_well()
    Build.objects.update(not_before=None)
    built(submission)
    assert submission.registry_digest != ""

    lose(client, submission)
    server.kill()
    validation = Validation.objects.get()
    run(validation)
    validation.refresh_from_db()
    assert (validation.state, validation.error_code) == (JobState.QUEUED, "registry_unavailable")
    server.start()
    Validation.objects.update(not_before=None)
    run(validation)
    validation.refresh_from_db()
    assert validation.state == JobState.SUCCEEDED


@pytest.mark.nightly
def test_an_empty_registry_in_the_place_of_a_lost_one_is_filled_again(
    client: docker.DockerClient, server: RegistryServer, environment: Environment, settings: Settings
) -> None:
    """The runbook *The registry of images is away*."""
    kept, gone, idle = (built(upload(environment, name, FIRST + f"# {name}")) for name in ("kept", "gone", "idle"))
    job_cancel(job=Validation.objects.get(submission=idle), code=CancelCode.BY_ORGANISER, reason="The test.")
    lose(client, gone, idle)
    server.lose_all()
    assert not server.registry.has(client, kept.registry_digest)
    validation = Validation.objects.get(submission=gone)
    run(validation)
    validation.refresh_from_db()
    assert (validation.state, validation.error_code) == (JobState.QUEUED, "image_missing")

    images_remove_unused()
    # What the host of builds has is pushed. What has to play and is nowhere is built again, and nothing else is.
    kept.refresh_from_db()
    assert server.registry.has(client, kept.registry_digest)
    assert Build.objects.filter(state=JobState.QUEUED).get().submission == gone
    idle.refresh_from_db()
    assert (idle.image != "", idle.image_removed_at) == (True, None)
    # The next look finds nothing to do.
    images_remove_unused()
    assert Build.objects.filter(state=JobState.QUEUED).count() == 1
    run(Build.objects.get(state=JobState.QUEUED))
    gone.refresh_from_db()
    assert server.registry.has(client, gone.registry_digest)

    # Without any other host the arena goes on without a registry.
    server.kill()
    settings.PLAYER_REGISTRY = ""
    assert worker.is_well()
    Validation.objects.update(not_before=None)
    deliver_messages()
    valid = Validation.objects.filter(state=JobState.SUCCEEDED)
    assert set(valid.values_list("submission", flat=True)) == {kept.pk, gone.pk}


def test_a_host_with_another_base_image_builds_nothing_until_it_has_the_one_that_is_named(
    client: docker.DockerClient, server: RegistryServer, environment: Environment, settings: Settings, base: str
) -> None:
    pinned = Registry(f"{server.registry.host}/arena/base", server.registry.user, server.registry.password)
    digest = pinned.push(client, base)
    name = f"{pinned.repository}@{digest}"
    upload(environment, "first", FIRST)
    build = Build.objects.get()
    # Neither this host nor the registry has it.
    settings.PLAYER_BASE_IMAGES = {(3, 11): f"{pinned.repository}@sha256:{'0' * 64}"}

    run(build)
    build.refresh_from_db()
    assert (build.state, build.error_code) == (JobState.QUEUED, "base_image_missing")
    assert "no other image takes its place" in build.error
    assert not worker.is_well()

    settings.PLAYER_BASE_IMAGES = {(3, 11): name}
    assert worker.is_well()
    Build.objects.update(not_before=None)
    run(build)
    build.refresh_from_db()
    interpreter = inventory(client, build.base_digest, "rl-arena-test").interpreter
    assert (build.state, build.base_image) == (JobState.SUCCEEDED, f"{name} (Python {interpreter})")
    assert build.base_digest == client.images.get(base).id
    client.images.remove(name)


def test_a_refused_password_and_an_image_that_is_nowhere_are_faults_of_the_arena(
    client: docker.DockerClient, server: RegistryServer, environment: Environment, settings: Settings
) -> None:
    submission = built(upload(environment, "first", FIRST))
    lose(client, submission)
    settings.PLAYER_REGISTRY_PASSWORD = "wrong horse"
    validation = Validation.objects.get()

    run(validation)
    validation.refresh_from_db()
    assert (validation.state, validation.error_code) == (JobState.QUEUED, "registry_refused")
    assert "wrong horse" not in validation.error

    use(settings, server)
    Submission.objects.update(registry_digest=f"sha256:{'0' * 64}")
    Validation.objects.update(not_before=timezone.now())
    run(validation)
    validation.refresh_from_db()
    assert (validation.state, validation.error_code) == (JobState.QUEUED, "image_missing")
