"""One cluster, registry and referee's image for all tests of this folder, and an arena that plays there."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import docker
import pytest
from django.conf import settings as django_settings

from arena_kit.image.calls import engine as connect
from arena_kit.image.registry import Registry
from arena_kit.sandbox.kubernetes.cluster import ApiCluster
from arena_kit.sandbox.kubernetes.driver import Driver
from arena_kit.sandbox.kubernetes.manifest import Site
from arena_kit.tests.image.registries import RegistryServer, registry_server, small_base_image
from core.models import Build, Environment, Job, Submission
from core.tests.working import run
from duel_runner.lots.process import Driving
from duel_runner.lots.rows import LotRows
from duel_runner.lots.site import site
from duel_runner.tests.on_a_cluster import play_on_a_cluster
from duel_runner.workplace import leave_workplace
from tests.kubernetes.cluster import NAMESPACE, RealCluster
from tests.kubernetes.images import referee_image
from tests.samples import upload

PATIENCE_SECONDS = 400.0


@pytest.fixture(scope="session")
def client() -> Iterator[docker.DockerClient]:
    with connect() as made:
        yield made


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RegistryServer]:
    with registry_server(tmp_path_factory.mktemp("registry")) as made:
        yield made


@pytest.fixture(scope="session")
def base(client: docker.DockerClient, arena_settings: None) -> str:
    name = f"{django_settings.PLAYER_IMAGE_PREFIX}-base:small"
    small_base_image(client, django_settings.PLAYER_BASE_IMAGE, name)
    return name


@pytest.fixture(scope="session")
def referee(client: docker.DockerClient, server: RegistryServer, base: str) -> str:
    players = server.registry
    own = Registry(f"{players.host}/arena/site", players.user, players.password)
    name = f"{django_settings.PLAYER_IMAGE_PREFIX}-site:1"
    return referee_image(client, django_settings.PLAYER_BASE_IMAGE, base, own, name)


@pytest.fixture(scope="session")
def cluster(server: RegistryServer) -> Iterator[RealCluster]:
    made = RealCluster()
    try:
        made.up()
        made.set_up(server.registry)
        yield made
    finally:
        made.close()


@pytest.fixture(autouse=True)
def nothing_is_left_over(cluster: RealCluster) -> Iterator[None]:
    """Every test leaves the players' namespace as empty as it was."""
    yield
    deadline = time.monotonic() + PATIENCE_SECONDS
    while cluster.listed("jobs") or cluster.listed("pods"):
        assert time.monotonic() < deadline, cluster.kubectl("-n", NAMESPACE, "get", "jobs,pods")
        time.sleep(0.5)


@dataclass
class Arena:
    """The arena of a test, and what its drivers need."""

    site: Site
    kubeconfig: str
    jobs_max: int = 2
    drivers: list[Driver] = field(default_factory=list)

    def driver(self, wrapped: Callable[[ApiCluster], Any] = lambda api: api) -> Driver:
        """A new driver, as of a process that was just started."""
        api = ApiCluster(self.site, kubeconfig=self.kubeconfig)
        driver = Driver(LotRows("lots"), wrapped(api), self.site, self.jobs_max, time.monotonic)
        self.drivers.append(driver)
        return driver

    def driving(self) -> Driving:
        """The same with what its process adds: nothing is claimed before the cluster may be used."""
        api = ApiCluster(self.site, kubeconfig=self.kubeconfig)

        def version() -> str:
            api.check()
            return api.version()

        return Driving(self.driver(lambda _: api), version)

    def play(self, *jobs: Job, driver: Driver | None = None) -> None:
        """Tick until these jobs are over."""
        one = driver or self.driver()
        self.until(one, lambda: all(is_over(job) for job in jobs))
        one.tick()

    def until(self, driver: Driver, true: Callable[[], bool]) -> None:
        deadline = time.monotonic() + PATIENCE_SECONDS
        while not true():
            assert time.monotonic() < deadline
            driver.tick()
            time.sleep(0.5)


def is_over(job: Job) -> bool:
    job.refresh_from_db()
    return job.is_over


@pytest.fixture
def arena(
    settings: Any,
    monkeypatch: pytest.MonkeyPatch,
    cluster: RealCluster,
    referee: str,
    server: RegistryServer,
    base: str,
) -> Iterator[Arena]:
    play_on_a_cluster(settings, monkeypatch)
    settings.PLAYER_BASE_IMAGES, settings.PLAYER_BASE_IMAGE = {(3, 11): base}, base
    players = server.registry
    settings.PLAYER_REGISTRY, settings.PLAYER_REGISTRY_USER = players.repository, players.user
    settings.PLAYER_REGISTRY_PASSWORD = players.password
    settings.KUBERNETES_IMAGE, settings.KUBERNETES_PULL_SECRET = referee, "registry"
    settings.KUBERNETES_PRIORITY_CLASS = "arena-lot"
    settings.JOB_DELAY_SECONDS = 0
    made = Arena(site(), str(cluster.kubeconfig))
    yield made
    for driver in made.drivers:
        driver.stop()
    leave_workplace()


@pytest.fixture
def built(arena: Arena) -> Callable[[Environment, str, str], Submission]:
    """Upload an agent, build its image and push it to the registry."""

    def build(environment: Environment, name: str, source: str) -> Submission:
        submission = upload(environment, name, source)
        run(Build.objects.get(submission=submission))
        submission.refresh_from_db()
        assert submission.registry_digest
        return submission

    return build
