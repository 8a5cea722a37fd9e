"""One cluster, registry and referee's image for all tests of this folder, and an arena that plays there."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import docker
import pytest
from django.conf import settings as django_settings
from pytest_django.fixtures import Settings

from arena_kit.cluster.client import ApiCluster
from arena_kit.cluster.lots.driver import Driver
from arena_kit.cluster.manifest import Tenant
from arena_kit.image.calls import engine as connect
from arena_kit.image.registry import Registry
from arena_kit.tests.image.registries import RegistryServer, registry_server, small_base_image
from core.jobs.control import job_cancel_if_open
from core.jobs.lifecycle import jobs_end_delay
from core.jobs.tenants import lots_tenant
from core.models import Build, CancelCode, Duel, Environment, Job, Submission
from core.tests.working import run
from duel_runner.lots.process import Driving
from duel_runner.lots.rows import LotRows
from duel_runner.tests.on_a_cluster import play_on_a_cluster
from tests.kubernetes.cluster import NAMESPACE, WORLDS, RealCluster
from tests.kubernetes.images import referee_image
from tests.kubernetes.tournaments import Figures, figures
from tests.machine import BROWSER_IMAGE
from tests.samples import upload
from tests.workplaces import leave_workplace

LOADED = "rl-arena-browser:cluster"
PATIENCE_SECONDS, LEFT_SECONDS = 900.0, 300.0
FIGURES = pytest.StashKey[list[Figures]]()


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Print what the tournaments with faults have come to."""
    if found := config.stash.get(FIGURES, None):
        terminalreporter.section("tournaments on the cluster")
        for one in found:
            terminalreporter.write_line(str(one))


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


@pytest.fixture(scope="session")
def browser(client: docker.DockerClient, cluster: RealCluster) -> Iterator[str]:
    """The image of browsers on every node, by its name: pushing and pulling it would take minutes."""
    client.images.get(BROWSER_IMAGE).tag(*LOADED.split(":"))
    cluster.load(LOADED)
    yield LOADED
    client.images.remove(LOADED)


@pytest.fixture(autouse=True)
def nothing_is_left_over(cluster: RealCluster) -> Iterator[None]:
    """Every test leaves both namespaces as empty as they were."""
    yield
    deadline = time.monotonic() + LEFT_SECONDS
    for namespace in (NAMESPACE, WORLDS):
        while cluster.listed("jobs", namespace) or cluster.listed("pods", namespace):
            assert time.monotonic() < deadline, cluster.kubectl("-n", namespace, "get", "jobs,pods")
            time.sleep(0.5)


@dataclass
class Arena:
    """The arena of a test, and what its drivers need."""

    tenant: Tenant
    kubeconfig: str
    jobs_max: int = 2
    drivers: list[Driver] = field(default_factory=list)

    def driver(self, wrapped: Callable[[ApiCluster], Any] = lambda api: api, *, lot_size: int = 2) -> Driver:
        """A new driver, as of a process that was just started."""
        api = ApiCluster(self.tenant, kubeconfig=self.kubeconfig)
        driver = Driver(LotRows("lots", lot_size=lot_size), wrapped(api), self.tenant, self.jobs_max, time.monotonic)
        self.drivers.append(driver)
        return driver

    def driving(self) -> Driving:
        """The same with what its process adds: nothing is claimed before the cluster may be used."""
        api = ApiCluster(self.tenant, kubeconfig=self.kubeconfig)

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
            assert time.monotonic() < deadline, [
                (str(held.job.name), held.waits_for) for held in driver.claimed.values()
            ]
            driver.tick()
            jobs_end_delay()
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
    settings.KUBERNETES_IMAGE = referee
    own = {"pull_secret": "registry", "priority_class": "arena-lot"}
    settings.KUBERNETES_OPTIONS = {**settings.KUBERNETES_OPTIONS, **own}
    settings.JOB_DELAY_SECONDS = 0
    made = Arena(lots_tenant(), str(cluster.kubeconfig))
    yield made
    for driver in made.drivers:
        driver.stop()
    leave_workplace()


@pytest.fixture
def built(arena: Arena) -> Callable[[Environment, str, str], Submission]:
    """Upload an agent, build its image and push it to the registry. Nothing else of it waits then."""

    def build(environment: Environment, name: str, source: str) -> Submission:
        submission = upload(environment, name, source)
        run(Build.objects.get(submission=submission))
        for validation in submission.validations.all():
            job_cancel_if_open(job=validation, code=CancelCode.BY_OWNER, reason="This test has no use for it.")
        submission.refresh_from_db()
        assert submission.registry_digest
        return submission

    return build


@pytest.fixture
def judged(
    arena: Arena, cluster: RealCluster, settings: Settings, request: pytest.FixtureRequest
) -> Callable[[str, Sequence[Duel]], Figures]:
    """Count what a tournament that is over has come to, and refuse anything lost, doubled or left over."""

    def judge(what: str, duels: Sequence[Duel]) -> Figures:
        deadline = time.monotonic() + LEFT_SECONDS
        while (left := len(cluster.listed("jobs"))) and time.monotonic() < deadline:
            time.sleep(0.5)
        found = figures(what, duels, jobs_left_over=left, settings=settings)
        request.config.stash.setdefault(FIGURES, []).append(found)
        assert found.is_well(), str(found)
        return found

    return judge
