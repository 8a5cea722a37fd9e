"""The shipped packages: their tasks are provisioned, worked at through their pages, exported and judged."""

from __future__ import annotations

import io
import json
import shutil
import tempfile
import zipfile
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings

from arena_kit.rollout.attempt import Work, task_accept
from arena_kit.rollout.building.build import package_build, package_remove
from arena_kit.rollout.building.images import Bases
from arena_kit.rollout.packages.package import Package, package_read
from arena_kit.rollout.tasks.task import Difficulty, Task
from arena_kit.rollout.worlds.built import BuiltPackage
from arena_kit.rollout.worlds.host import DockerWorlds, base_images
from arena_kit.rollout.worlds.world import World
from arena_kit.tests.rollout import form_filler

FOLDER = Path(settings.BASE_DIR) / "environments" / "applications"
SHIPPED = ("reports", "shop")
NAMES = {f"base:{name}": f"rl-arena-app-{name}" for name in ("python", "postgres")}
FILLER = Path(form_filler.__file__).read_text()
SHORTEST, LONGEST = 1, 15
"""Steps of the oracles beside the answer."""


def packed(name: str) -> io.BytesIO:
    file, folder = io.BytesIO(), FOLDER / name
    with zipfile.ZipFile(file, "w") as archive:
        for path in sorted(folder.rglob("*")):
            if path.is_file() and "__pycache__" not in path.parts:
                archive.write(path, path.relative_to(folder).as_posix())
    return file


@cache
def package(name: str) -> Package:
    return package_read(packed(name))


def steps(task: Task) -> list[list[Any]]:
    return [[action.name, *action.arguments.values()] for action in task.oracle]


def scripted(world: World, task: Task) -> Work:
    """Carry out the oracle with the form filler, and report what it reports."""
    found = package(world.package.slug).manifest
    begin: list[list[Any]] = []
    if login := next((each for each in found.logins if each.name == task.login), None):
        begin = [["goto", login.url], *(["fill", *pair] for pair in login.fields.items()), ["click", login.submit]]
    arguments = json.dumps([found.home, begin + steps(task)])
    ran = world.run("web", ["python3", "-c", FILLER, arguments], seconds=60)
    assert ran.status == 0, ran.output
    last = task.oracle[-1]
    names = tuple(action.name for action in task.oracle)
    return Work(last.arguments.get("value"), last.arguments.get("status", "SUCCESS"), actions=names)


@pytest.fixture(scope="module")
def places() -> Iterator[Callable[[str], tuple[DockerWorlds, BuiltPackage]]]:
    """Worlds and a package, which is built when it is asked for first."""
    folder = Path(tempfile.mkdtemp(prefix="arena-"))
    worlds = DockerWorlds(folder / "worlds", memory_bytes=2 << 30, pause_image=base_images(NAMES)["base:python"])
    bases = Bases(NAMES, f"{settings.PLAYER_IMAGE_PREFIX}-app")
    built: dict[str, BuiltPackage] = {}

    def place(name: str) -> tuple[DockerWorlds, BuiltPackage]:
        if name not in built:
            built[name] = package_build(packed(name), package(name), worlds=worlds, bases=bases, log=lambda _: None)
        return worlds, built[name]

    yield place
    for each in built.values():
        package_remove(each, bases)
    shutil.rmtree(folder)


@pytest.mark.parametrize("name", SHIPPED)
def test_a_package_has_tasks_of_every_kind(name: str) -> None:
    tasks = package(name).tasks.tasks
    assert len(tasks) >= 15
    assert all(task.is_judged and task.oracle and task.difficulty for task in tasks)
    assert {task.difficulty for task in tasks} == set(Difficulty)
    assert {tag for task in tasks for tag in task.tags} == {"read", "change", "impossible"}
    lengths = [len(task.oracle) - 1 for task in tasks]
    assert min(lengths) <= SHORTEST
    assert max(lengths) >= LONGEST - 2
    assert max(lengths) < min(task.limits.steps for task in tasks)


def test_the_package_of_mediawiki_has_tasks_of_every_kind() -> None:
    tasks = package("wiki").tasks.tasks
    assert len(tasks) >= 8
    assert all(task.is_judged and task.oracle and task.login for task in tasks)
    assert {task.difficulty for task in tasks} == set(Difficulty)
    assert {tag for task in tasks for tag in task.tags} == {"read", "change", "impossible"}


def accepted() -> Iterator[Any]:
    """All tasks of all packages."""
    for name in SHIPPED:
        for task in package(name).tasks.tasks:
            yield pytest.param(name, task, id=f"{name}-{task.key}")


@pytest.mark.docker
@pytest.mark.nightly
@pytest.mark.app_images
@pytest.mark.parametrize(("name", "task"), list(accepted()))
def test_the_oracle_of_each_task_passes_and_doing_nothing_fails(
    places: Callable[[str], tuple[DockerWorlds, BuiltPackage]], name: str, task: Task
) -> None:
    task_accept(*places(name), task, scripted)
