"""The ground of every test: its own folders, plain storages, and a clear word when something it needs is missing."""

from __future__ import annotations

import gc
import os
import re
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import hypothesis
import pytest
import time_machine
from django.conf import settings
from django.core.cache import caches
from django.test import TransactionTestCase, override_settings
from hypothesis.internal.conjecture import providers
from pytest_django import DjangoDbBlocker

from tests.databases import AsMigrated, own_database, worker_name
from tests.inspected import inspect_once
from tests.leftovers import remove_leftovers
from tests.machine import chromium as path_of_chromium
from tests.machine import missing_docker, redis_server, remove_images
from tests.programs import BROWSER_ARGUMENTS

if TYPE_CHECKING:
    from playwright.sync_api import Browser

_open_browsers: list[Browser] = []
_until_no_browser = ExitStack()
IN_MEMORY = "django.core.cache.backends.locmem.LocMemCache"
pytest_plugins = ["tests.beginning", "tests.selection", "tests.worlds"]
# A busy machine is not a failure: nothing here is judged by the clock.
hypothesis.settings.register_profile("arena", deadline=None, suppress_health_check=[hypothesis.HealthCheck.too_slow])
hypothesis.settings.register_profile("push", hypothesis.settings.get_profile("arena"), max_examples=30)


def pytest_configure(config: pytest.Config) -> None:
    """Remove what killed runs have left; try each property with a hundred examples at night, with thirty on a push."""
    if not hasattr(config, "workerinput"):
        # The process that hands out the tests migrates the database, and looks for garbage for a third of that time.
        gc.set_threshold(50_000, 20, 20)
        remove_leftovers(Path(tempfile.gettempdir()), now=time.time())
    hypothesis.settings.load_profile("arena" if config.getoption("--nightly") else "push")
    if not config.getoption("--nightly"):
        # Each process would look for them in hundreds of modules, a fifteenth of the time that collecting takes.
        providers._get_local_constants = lambda: providers._local_constants


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_setupnodes(config: pytest.Config, specs: list[Any]) -> None:
    """Give each process of a run a Redis database and files of metrics of its own, before it imports anything."""
    folder = tempfile.mkdtemp(prefix="arena-metrics-")
    config.add_cleanup(lambda: shutil.rmtree(folder, ignore_errors=True))
    for number, spec in enumerate(specs):
        spec.env["METRICS_DIR"] = f"{folder}/{number}"
        # Some tests empty their Redis database.
        if named := re.fullmatch(r"(.*(?:[?&]db=|://[^/]+/))(\d+)", os.environ.get("ARENA_TEST_REDIS_URL", "")):
            spec.env["ARENA_TEST_REDIS_URL"] = f"{named[1]}{int(named[2]) + number}"


def pytest_collectstart() -> None:
    """Look for no garbage while tests are collected: what is made then is used to the end."""
    gc.disable()


def pytest_collection_finish() -> None:
    """Exclude the collected tests from garbage collection: looking through it again and again takes a tenth of their
    time."""
    gc.collect()
    gc.freeze()
    gc.enable()
    gc.set_threshold(20_000, 20, 20)


@pytest.fixture(scope="session", autouse=True)
def row_locks_are_in_order() -> None:
    """Fail any test in which a transaction locks rows against the order of core.jobs.locks (PostgreSQL only)."""
    from core.jobs.locks import lock_order_assert  # once Django is set up

    lock_order_assert()


@pytest.fixture(scope="session", autouse=True)
def arena_settings(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Nothing of a test reaches the data of this folder; nothing waits for a manifest of static files."""
    # Sockets have short paths: pytest's own temporary folders may be too deep for them.
    channels = Path(tempfile.mkdtemp(prefix="arena-"))
    # Players may run as a user of their own, who has to reach the sockets.
    channels.chmod(0o711)
    images = f"rl-arena-test-{os.getpid()}"
    # Programs that tests start would outlast them in their default folder in memory.
    os.environ["METRICS_DIR"] = str(tmp_path_factory.mktemp("metrics"))
    static = "django.contrib.staticfiles.storage.StaticFilesStorage"
    with override_settings(
        MEDIA_ROOT=tmp_path_factory.mktemp("files"),
        CHANNEL_DIR=channels,
        PLAYER_IMAGE_PREFIX=images,
        STORAGES={**settings.STORAGES, "staticfiles": {"BACKEND": static}},
        WHITENOISE_AUTOREFRESH=True,
        # In one place, so that a test clears both at once.
        CACHES={name: {"BACKEND": IN_MEMORY, "LOCATION": "tests"} for name in ("default", "answers")},
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


@pytest.fixture(scope="session", autouse=True)
def tests_have_time() -> Iterator[None]:
    """Inspect each archive once, and let a busy machine take its time: it is not ill."""
    with pytest.MonkeyPatch.context() as patch:
        # Hundreds of tests upload the same few archives, and inspecting one starts two processes.
        patch.setattr("core.submissions.uploads.inspect_apart", inspect_once)
        # A machine whose processors are all busy with tests would leave archives to the build.
        patch.setattr("arena_kit.upload.inspection.PATIENCE_SECONDS", 60.0)
        patch.setattr("arena_kit.upload.inspection.MOST_SECONDS", 120.0)
        patch.setattr("core.operations.health.PATIENCE_SECONDS", 60.0)
        yield


@pytest.fixture(autouse=True)
def as_if_just_started(request: pytest.FixtureRequest) -> Iterator[None]:
    """Let no test meet what another has left in memory. One fixture, as each costs all tests a second together.

    Tests see what they have changed at once: pages are kept for strangers only in a browser, and for those that ask.
    """
    # Rows of two tests may have the same ids: no test is given an answer about another's.
    for name in settings.CACHES:
        caches[name].clear()
    from web.site import kept  # late: settings are not ready before

    kept.is_on = not {"live_server", "kept_answers"}.isdisjoint(request.fixturenames)
    # A worker that has met a dead engine takes no job until it answers: on a machine without one, none for good.
    if (worker := sys.modules.get("core.jobs.worker")) is not None:
        vars(worker)["_trouble"] = None
    yield
    # Containers that this process has kept warm end with the test that made it keep them.
    if "duel_runner.workplace" in sys.modules:
        from tests.workplaces import leave_workplace  # late: most tests never load the runner

        leave_workplace()


@pytest.fixture
def kept_answers() -> None:
    """Answer strangers from what is kept, as the site does."""


@pytest.fixture
def midday() -> Iterator[None]:
    """Let this test happen at noon in UTC: quotas are counted by days, and no day ends during it."""
    noon = datetime.now(UTC).replace(hour=12, minute=0, second=0, microsecond=0)
    with time_machine.travel(noon):
        yield


@pytest.fixture(scope="session")
def django_db_setup(
    django_test_environment: None, tmp_path_factory: pytest.TempPathFactory, django_db_blocker: DjangoDbBlocker
) -> Iterator[None]:
    """Give each process a copy of the migrated database, and have tests that commit leave it as it was.

    In the place of pytest-django's, which would let every process look through all migrations again.
    """
    own = tmp_path_factory.getbasetemp()
    worker = worker_name()
    with ExitStack() as stack, pytest.MonkeyPatch.context() as patch:
        with django_db_blocker.unblock():
            stack.enter_context(own_database(own if worker == "main" else own.parent, worker))
            migrated = AsMigrated()
        patch.setattr(TransactionTestCase, "_fixture_teardown", lambda _: migrated.restore())
        yield
        with django_db_blocker.unblock():
            stack.close()


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


@pytest.fixture(scope="session")
def chromium_path() -> str:
    """Path of the Chromium that tests marked `browser` use. What they expect may take its time on a busy machine."""
    from playwright.sync_api import expect

    expect.set_options(timeout=30_000)
    return path_of_chromium()


@pytest.fixture(scope="module")
def chromium(chromium_path: str) -> Browser:
    """One Chromium for all tests of a module, each with a context of its own: nothing of one is seen by another.

    It stays open for the next module if that needs one. Playwright's loop then counts as running between the tests,
    too. Django would refuse to make their rows.
    """
    from playwright.sync_api import sync_playwright

    if not _open_browsers:
        _until_no_browser.enter_context(pytest.MonkeyPatch.context()).setenv("DJANGO_ALLOW_ASYNC_UNSAFE", "true")
        playwright = _until_no_browser.enter_context(sync_playwright())
        browser = playwright.chromium.launch(executable_path=chromium_path, args=BROWSER_ARGUMENTS)
        _until_no_browser.callback(browser.close)
        _until_no_browser.callback(_open_browsers.clear)
        _open_browsers.append(browser)
    return _open_browsers[0]


@pytest.hookimpl(trylast=True)
def pytest_runtest_teardown(nextitem: pytest.Item | None) -> None:
    """Close the browser before a test that needs none."""
    if nextitem is None or "chromium" not in getattr(nextitem, "fixturenames", ()):
        _until_no_browser.close()
