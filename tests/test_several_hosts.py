"""A tournament on two engines that share no disk: what one has built, the other pulls from the registry and plays."""

from __future__ import annotations

import itertools
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import docker
import pytest
from django.conf import settings as django_settings
from pytest_django.fixtures import Settings

from arena_kit.tests.image.registries import RegistryServer, registry_server
from core.models import Duel, JobState, LedgerEntry, Submission, Tournament, TournamentState, Validation
from core.tests.working import run, work_once
from tests.relay import relayed
from tests.samples import FIRST, LAST, MIDDLE, SECOND, tic_tac_toe, upload
from tests.season.services import EmptyEngine
from tests.workplaces import leave_workplace

pytestmark = [
    pytest.mark.docker, pytest.mark.registry, pytest.mark.nightly, pytest.mark.slow,
    pytest.mark.django_db(transaction=True),
]  # fmt: skip


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RegistryServer]:
    with registry_server(tmp_path_factory.mktemp("registry")) as made:
        yield made


@pytest.fixture(scope="module")
def other_host(server: RegistryServer) -> Iterator[EmptyEngine]:
    # Sockets have short paths.
    with tempfile.TemporaryDirectory(prefix="arena-host-") as folder:
        made = EmptyEngine(Path(folder), django_settings.PLAYER_BASE_IMAGE)
        try:
            with relayed(server.port, pid=made.pid, folder=Path(folder)):
                yield made
        finally:
            made.end()


def test_two_engines_without_a_shared_disk_play_one_tournament(
    server: RegistryServer, other_host: EmptyEngine, settings: Settings
) -> None:
    settings.SANDBOX = "docker"
    settings.PLAYER_REGISTRY = server.registry.repository
    settings.PLAYER_REGISTRY_USER, settings.PLAYER_REGISTRY_PASSWORD = server.registry.user, server.registry.password
    environment = tic_tac_toe()
    for name, source in (("first", FIRST), ("second", SECOND), ("middle", MIDDLE), ("last", LAST)):
        run(upload(environment, name, source).builds.get())
    played: Counter[tuple[str, str]] = Counter()

    hosts = itertools.cycle(["", other_host.host])
    is_over = False
    while not is_over:
        before = _succeeded()
        host = next(hosts)
        with pytest.MonkeyPatch.context() as patch:
            if host:
                patch.setenv("DOCKER_HOST", host)
            is_over = not work_once()
            leave_workplace()
        played.update((host, kind) for kind in (_succeeded() - before).elements())

    assert Tournament.objects.get().state == TournamentState.FINISHED
    # Each duel counted once, at the first attempt, with the images that were built.
    assert set(Duel.objects.values_list("state", "attempt")) == {(JobState.SUCCEEDED, 1)}
    assert Duel.objects.count() == 6
    assert LedgerEntry.objects.values("duel").distinct().count() == 6
    for duel in Duel.objects.all():
        digests = (duel.player_1.image_digest, duel.player_2.image_digest)
        assert (duel.player_1_digest, duel.player_2_digest) == digests
    assert set(Validation.objects.values_list("state", "attempt")) == {(JobState.SUCCEEDED, 1)}
    assert all(played[host, "duel"] for host in ("", other_host.host)), played
    client = docker.DockerClient(other_host.host, timeout=60)
    try:
        names = {tag for image in client.api.images() for tag in image["RepoTags"] or ()}
    finally:
        client.close()
    # The other host pulled what it played, and no base image.
    assert names
    assert names <= set(Submission.objects.values_list("image", flat=True))


def _succeeded() -> Counter[str]:
    return Counter(
        {model.KIND: model._default_manager.filter(state=JobState.SUCCEEDED).count() for model in (Duel, Validation)}
    )
