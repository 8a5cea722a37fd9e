"""What every test stands on: its own folders, plain storages, and a clear word when something it needs is missing."""

from __future__ import annotations

import gc
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path

import hypothesis
import pytest
from django.conf import settings
from django.core.cache import cache as django_cache
from django.db import connections
from django.test import override_settings

# A busy machine is no failure: nothing here is judged by the clock.
hypothesis.settings.register_profile("arena", deadline=None, suppress_health_check=[hypothesis.HealthCheck.too_slow])
hypothesis.settings.load_profile("arena")

REQUIRED = frozenset(word for word in os.environ.get("ARENA_REQUIRE", "").replace(" ", "").split(",") if word)
"""Kinds of helpers whose absence is a failure instead of a skipped test; `all` forbids every skip.

`-KIND` leaves the tests out that need it: for a machine whose engine is not ours to change.
"""
MIDNIGHT_SECONDS = 30.0
"""No test begins later in a day."""
LEFT_OUT = frozenset(word[1:] for word in REQUIRED if word.startswith("-"))


@cache
def missing_docker() -> str:
    """Why tests with containers cannot run; empty when they can."""
    from docker.errors import DockerException, ImageNotFound

    from arena_kit.image.engine import NoEngine, connect

    try:
        client = connect(60)
        try:
            client.ping()
            client.images.get(settings.PLAYER_BASE_IMAGE)
        finally:
            client.close()
    except ImageNotFound:
        return f"the base image {settings.PLAYER_BASE_IMAGE} is missing: run arena_kit/image/base/make-base-image.sh"
    except (NoEngine, DockerException, OSError) as error:
        return str(error)
    return ""


@cache
def missing_gvisor() -> str:
    """Why tests under gVisor cannot run; empty when they can."""
    if reason := missing_docker():
        return reason
    from arena_kit.image.engine import connect

    client = connect(60)
    try:
        missing = "the engine has no runtime runsc: see docs/operator/configure.md"
        return "" if "runsc" in client.info()["Runtimes"] else missing
    finally:
        client.close()


def remove_images(prefix: str) -> None:
    """Remove what the tests of this run have built on the engine."""
    from docker.errors import ImageNotFound

    from arena_kit.image.engine import connect

    client = connect()
    try:
        # Not `images.list`, which asks for each again while other runs remove theirs.
        tags = [tag for image in client.api.images() for tag in image["RepoTags"] or ()]
        for tag in tags:
            if tag.startswith((f"{prefix}:", f"{prefix}-")):
                with suppress(ImageNotFound):
                    client.images.remove(tag, force=True)
    finally:
        client.close()


@cache
def missing_postgres() -> str:
    engine = settings.DATABASES["default"]["ENGINE"]
    return "" if engine.endswith("postgresql") else "the database under test is not PostgreSQL"


@cache
def missing_redis() -> str:
    if os.environ.get("ARENA_TEST_REDIS_URL") or shutil.which("redis-server"):
        return ""
    return "redis-server is not installed and ARENA_TEST_REDIS_URL is not set"


@cache
def chromium() -> str:
    """Path of a Chromium, empty when there is none."""
    names = (os.environ.get("ARENA_CHROMIUM", ""), "chromium", "chromium-browser", "google-chrome")
    return next((path for name in names if name and (path := shutil.which(name))), "")


@cache
def missing_browser() -> str:
    return "" if chromium() else "Chromium is not installed"


@cache
def missing_network() -> str:
    command = [sys.executable, "-m", "pip", "--no-input", "index", "versions", "idna", "--retries", "0"]
    # Where it has to be there, one refusal is not the end.
    for _ in range(3 if REQUIRED & {"network", "all"} else 1):
        try:
            answer = subprocess.run(command, capture_output=True, timeout=60, check=False)
        except subprocess.TimeoutExpired:
            continue
        if answer.returncode == 0:
            return ""
    return "no package index can be reached"


@cache
def missing_nginx() -> str:
    return "" if shutil.which("nginx") else "nginx is not installed"


MISSING: dict[str, Callable[[], str]] = {
    "docker": missing_docker,
    "gvisor": missing_gvisor,
    "postgres": missing_postgres,
    "redis": missing_redis,
    "nginx": missing_nginx,
    "browser": missing_browser,
    "network": missing_network,
}


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--database-only", action="store_true", help="Only what can differ by the database, players in processes."
    )


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what ARENA_REQUIRE says, and what does not touch the database when the suite runs on another one."""
    database_only = config.getoption("--database-only")
    kept: list[pytest.Item] = []
    left_out: list[pytest.Item] = []
    for item in items:
        wanted = not any(item.get_closest_marker(kind) for kind in LEFT_OUT)
        (kept if wanted and (not database_only or _uses_database(item)) else left_out).append(item)
    if left_out:
        config.hook.pytest_deselected(items=left_out)
        items[:] = kept


def _uses_database(item: pytest.Item) -> bool:
    if item.get_closest_marker("postgres"):
        return True
    # The same work is done with players in processes; on the engine it differs by the engine.
    if any(item.get_closest_marker(kind) for kind in ("docker", "browser")):
        return False
    fixtures = set(getattr(item, "fixturenames", ()))
    return item.get_closest_marker("django_db") is not None or bool(fixtures & {"db", "transactional_db"})


def pytest_collection_finish() -> None:
    """What all tests are made of is never garbage: looking through it again and again takes a tenth of their time."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000, 20, 20)


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Skip, or fail where ARENA_REQUIRE says so, a test whose helpers are missing."""
    for kind, missing in MISSING.items():
        if item.get_closest_marker(kind) is None or not (reason := missing()):
            continue
        if kind in REQUIRED or "all" in REQUIRED:
            pytest.fail(f"{kind} is required here: {reason}", pytrace=False)
        pytest.skip(f"{kind}: {reason}")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """With ARENA_REQUIRE=all a test that skips itself fails: continuous integration must run everything."""
    report = yield
    if report.skipped and "all" in REQUIRED and not hasattr(report, "wasxfail"):
        report.outcome = "failed"
        report.longrepr = f"skipped, but everything is required here: {report.longrepr}"
    return report


@pytest.fixture(scope="session", autouse=True)
def arena_settings(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Nothing of a test reaches the data of this folder; nothing waits for a manifest of static files."""
    # Sockets have short paths: pytest's own temporary folders may be too deep for them.
    channels = Path(tempfile.mkdtemp(prefix="arena-"))
    # Players may run as a user of their own, who has to reach the sockets.
    channels.chmod(0o711)
    images = f"rl-arena-test-{os.getpid()}"
    # Of programs that tests start: by default their folder in memory would outlast them.
    os.environ["METRICS_DIR"] = str(tmp_path_factory.mktemp("metrics"))
    static = "django.contrib.staticfiles.storage.StaticFilesStorage"
    with override_settings(
        MEDIA_ROOT=tmp_path_factory.mktemp("files"),
        CHANNEL_DIR=channels,
        PLAYER_IMAGE_PREFIX=images,
        STORAGES={**settings.STORAGES, "staticfiles": {"BACKEND": static}},
        WHITENOISE_AUTOREFRESH=True,
        CACHES={"default": {"BACKEND": "django.core.cache.backends.locmem.LocMemCache"}},
        # Tests upload more in a second than a person in a day.
        QUOTAS=dict.fromkeys(settings.QUOTAS, 0),
        QUOTAS_ANONYMOUS=dict.fromkeys(settings.QUOTAS_ANONYMOUS, 0),
        PASSWORD_HASHERS=["django.contrib.auth.hashers.MD5PasswordHasher"],
    ):
        yield
    shutil.rmtree(channels, ignore_errors=True)
    # Asked only when a test has asked: otherwise no image was made.
    if missing_docker.cache_info().currsize and not missing_docker():
        remove_images(images)


@pytest.fixture(autouse=True)
def nothing_is_cached() -> None:
    """Rows of two tests may have the same ids: no test is given an answer about another's."""
    django_cache.clear()


@pytest.fixture(autouse=True)
def no_worker_is_in_trouble(monkeypatch: pytest.MonkeyPatch) -> None:
    """A worker that has met a dead engine takes no job until it answers: on a machine without one, none for good."""
    monkeypatch.setattr("core.jobs.worker._trouble", None)


@pytest.fixture(autouse=True)
def no_test_begins_shortly_before_midnight() -> None:
    """Quotas are counted by days, in UTC."""
    to_midnight = 86400 - time.time() % 86400
    if to_midnight < MIDNIGHT_SECONDS:
        time.sleep(to_midnight)


@pytest.fixture(autouse=True)
def checks_have_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine that is busy with tests is not ill."""
    monkeypatch.setattr("core.operations.health.PATIENCE_SECONDS", 60.0)


@pytest.fixture(autouse=True)
def what_only_grows_can_be_emptied(request: pytest.FixtureRequest) -> Iterator[None]:
    """Where a test's rows are deleted after it, what only grows must let them go; `flush` protects it again."""
    marker = request.node.get_closest_marker("django_db")
    by_marker = marker is not None and bool(marker.kwargs.get("transaction"))
    if not by_marker and not {"transactional_db", "live_server"}.intersection(request.fixturenames):
        yield
        return
    request.getfixturevalue("transactional_db")
    yield
    from core.append_only import unprotect
    from core.models import AuditEntry, LedgerEntry, LedgerVoid

    if any(model.objects.exists() for model in (AuditEntry, LedgerEntry, LedgerVoid)):
        unprotect(connections["default"])


@pytest.fixture(autouse=True)
def no_player_is_left() -> Iterator[None]:
    """Containers that this process has kept warm end with the test that made it keep them."""
    yield
    bench = sys.modules.get("duel_runner.workplace")
    if bench is not None:
        bench.leave_bench()


@pytest.fixture(scope="session")
def django_db_modify_db_settings(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Give each run its own SQLite file, so that two runs in one folder do not meet."""
    default = connections["default"].settings_dict
    if default["ENGINE"].endswith("sqlite3"):
        default["TEST"]["NAME"] = str(tmp_path_factory.mktemp("database") / "test.sqlite3")


@pytest.fixture(scope="session")
def redis_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Address of a Redis server for tests marked `redis`; a private one is started when none is named."""
    given = os.environ.get("ARENA_TEST_REDIS_URL")
    if given:
        yield given
        return
    folder = Path(tempfile.mkdtemp(prefix="arena-redis-"))
    try:
        with redis_server(folder / "redis.sock"):
            yield f"unix://{folder / 'redis.sock'}?db=0"
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def redis_server(socket: Path) -> Iterator[subprocess.Popen[str]]:
    """A private Redis without network that keeps nothing, ended afterwards."""
    command = ["redis-server", "--port", "0", "--unixsocket", str(socket), "--save", "", "--dir", str(socket.parent)]
    server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert server.stdout is not None
    for line in server.stdout:
        if "ready to accept connections" in line.lower():
            break
    try:
        yield server
    finally:
        server.terminate()
        server.communicate(timeout=10)


@pytest.fixture(scope="session")
def chromium_path() -> str:
    """Path of the Chromium that tests marked `browser` use. What they expect may take its time on a busy machine."""
    from playwright.sync_api import expect

    expect.set_options(timeout=30_000)
    return chromium()
