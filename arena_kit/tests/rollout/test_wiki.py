"""The package of MediaWiki, which others have made: each task is tried with its oracle in the browser, and idly."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.conf import settings

from arena_kit.errors import PlatformFault
from arena_kit.rollout.agents.agent import ScriptedAgent
from arena_kit.rollout.attempt import task_accept
from arena_kit.rollout.browser.container import BrowserHost
from arena_kit.rollout.building.build import package_build, package_remove
from arena_kit.rollout.building.images import Bases
from arena_kit.rollout.loop import BrowserWork, RolloutHost
from arena_kit.rollout.recording.recorder import Recorder
from arena_kit.rollout.tasks.task import Task
from arena_kit.rollout.worlds.built import BuiltPackage
from arena_kit.rollout.worlds.host import DockerWorlds, base_images
from arena_kit.tests.rollout.test_shipped_packages import package, packed
from tests.machine import BROWSER_IMAGE

pytestmark = [pytest.mark.docker, pytest.mark.browser_image, pytest.mark.wiki_image, pytest.mark.nightly]
NAMES = {f"base:{name}": f"rl-arena-app-{name}" for name in ("python", "postgres", "mediawiki")}
MOST_TRIES = 3
Built = tuple[BuiltPackage, RolloutHost, Path]


@pytest.fixture(scope="module")
def wiki() -> Iterator[Built]:
    folder = Path(tempfile.mkdtemp(prefix="arena-"))
    worlds = DockerWorlds(folder / "worlds", memory_bytes=4 << 30, pause_image=base_images(NAMES)["base:python"])
    bases = Bases(NAMES, f"{settings.PLAYER_IMAGE_PREFIX}-app")
    built = package_build(packed("wiki"), package("wiki"), worlds=worlds, bases=bases, log=lambda _: None)
    place = BrowserHost(BROWSER_IMAGE, folder / "channel")
    yield built, RolloutHost(worlds, place, video=False, trace=False), folder
    package_remove(built, bases)
    shutil.rmtree(folder)


@pytest.mark.parametrize("task", package("wiki").tasks.tasks, ids=lambda task: task.key)
def test_the_oracle_of_each_task_passes_and_doing_nothing_fails(wiki: Built, task: Task) -> None:
    built, host, folder = wiki
    for tried in range(1, MOST_TRIES + 1):
        output = folder / f"{task.key}-{tried}"
        output.mkdir()
        recorder = Recorder(output)
        try:
            work = BrowserWork(host, ScriptedAgent(task.oracle), recorder)
            task_accept(host.worlds, built, task, work, extras=work.extras)
        except PlatformFault:
            # As everywhere, what a busy machine has spoilt is tried again.
            if tried == MOST_TRIES:
                raise
        else:
            return
        finally:
            recorder.close(video=False)
