"""The shipped package `shop`: its tasks are provisioned, worked at through its pages, exported and judged."""

from __future__ import annotations

import io
import shutil
import tempfile
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.conf import settings

from arena_kit.rollout.attempt import Work, task_accept
from arena_kit.rollout.building.build import package_build, package_remove
from arena_kit.rollout.building.images import Bases
from arena_kit.rollout.packages.package import package_read
from arena_kit.rollout.tasks.file import tasks_read
from arena_kit.rollout.tasks.task import Task
from arena_kit.rollout.worlds.built import BuiltPackage
from arena_kit.rollout.worlds.host import Worlds, base_images
from arena_kit.rollout.worlds.world import World

FOLDER = Path(settings.BASE_DIR) / "environments" / "applications" / "shop"
NAMES = {f"base:{name}": f"rl-arena-app-{name}" for name in ("python", "postgres")}
FORMS = {
    "send-11": ("/orders/11/send", "{}"),
    "refund-17": ("/orders/17/refund", "{'reason': 'damaged'}"),
    "restock-2": ("/products/2/stock", "{'stock': 12}"),
}
"""What the buttons that a task's oracle presses send; the browser that will press them is not there yet."""
SEND = """
import http.cookiejar, urllib.parse, urllib.request
browser = urllib.request.build_opener(urllib.request.HTTPCookieProcessor(http.cookiejar.CookieJar()))
for path, fields in (("/login", {{"name": "clerk", "password": "clerk"}}), ({path!r}, {fields})):
    browser.open("http://web:8000" + path, urllib.parse.urlencode(fields).encode()).read()
"""


def packed() -> io.BytesIO:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        for path in sorted(FOLDER.rglob("*")):
            if path.is_file() and "__pycache__" not in path.parts:
                archive.write(path, path.relative_to(FOLDER).as_posix())
    return file


def tasks() -> tuple[Task, ...]:
    return tasks_read((FOLDER / "tasks.json").read_bytes(), package_read(packed()).manifest.rules).tasks


def scripted(world: World, task: Task) -> Work:
    """Send the forms of the oracle, and report what it reports."""
    if task.key in FORMS:
        path, fields = FORMS[task.key]
        assert world.run("web", ["python", "-c", SEND.format(path=path, fields=fields)], seconds=30).status == 0
    last = task.oracle[-1]
    names = tuple(action.name for action in task.oracle)
    return Work(last.arguments.get("value"), last.arguments.get("status", "SUCCESS"), actions=names)


@pytest.fixture(scope="module")
def shop() -> Iterator[tuple[Worlds, BuiltPackage]]:
    folder = Path(tempfile.mkdtemp(prefix="arena-"))
    worlds = Worlds(folder / "worlds", memory_bytes=2 << 30, pause_image=base_images(NAMES)["base:python"])
    bases, file = Bases(NAMES, f"{settings.PLAYER_IMAGE_PREFIX}-app"), packed()
    built = package_build(file, package_read(file), worlds=worlds, bases=bases, log=lambda _: None)
    yield worlds, built
    package_remove(built, bases)
    shutil.rmtree(folder)


def test_the_package_holds_and_all_its_tasks_can_be_judged() -> None:
    package = package_read(packed())
    assert [service.name for service in package.services] == ["db", "web"]
    assert all(task.is_judged and task.oracle for task in package.tasks.tasks)
    assert set(FORMS) < {task.key for task in package.tasks.tasks}


@pytest.mark.docker
@pytest.mark.app_images
@pytest.mark.nightly
@pytest.mark.parametrize("task", tasks(), ids=lambda task: task.key)
def test_the_oracle_of_each_task_passes_and_doing_nothing_fails(shop: tuple[Worlds, BuiltPackage], task: Task) -> None:
    task_accept(*shop, task, scripted)
