"""What the tests with real worlds share: the shipped shop as a zip, work until none is left, and what stays behind."""

from __future__ import annotations

import io
import json
import zipfile
from pathlib import Path

import docker
from django.core.files.uploadedfile import SimpleUploadedFile

from core.jobs.worker import Performed, step
from core.models import Package
from core.rollouts.batches import batch_cancel
from core.rollouts.packages import package_upload
from core.tests import applications
from rollout_runner import building
from rollout_runner.host import folder, player_label, prefix

SHOP = Path(__file__).parents[2] / "environments" / "applications" / "shop"


def shop(*keys: str) -> SimpleUploadedFile:
    """The shipped shop with some of its tasks, as a zip."""
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w", zipfile.ZIP_DEFLATED) as archive:
        for path in sorted(SHOP.rglob("*")):
            name = path.relative_to(SHOP).as_posix()
            if path.is_file() and "__pycache__" not in path.parts and name != "tasks.json":
                archive.write(path, name)
        found = json.loads((SHOP / "tasks.json").read_text())
        listed = [task for task in found["tasks"] if task["id"] in keys]
        archive.writestr("tasks.json", json.dumps({**found, "tasks": listed}))
    return SimpleUploadedFile("shop.zip", data.getvalue())


def shop_built(*tasks: str, queue: str = "rollout") -> Package:
    """A package of the shop with these tasks, which are not tried. queue: that builds it."""
    package, _ = package_upload(owner=applications.organiser(), archive=shop("none-of-them"))
    assert step(queue) is Performed.DONE, package.builds.get().error
    found = {task["id"]: task for task in json.loads((SHOP / "tasks.json").read_text())["tasks"]}
    defaults = json.loads((SHOP / "tasks.json").read_text()).get("defaults", {})
    if tasks:
        applications.uploaded(
            applications.organiser(), package.environment, *({**defaults, **found[key]} for key in tasks)
        )
        for trials in package.batches.all():
            batch_cancel(batch=trials)
    return package


def worked(queue: str = "rollout") -> int:
    """Do job after job of a queue until none is left; return how many were done."""
    count = 0
    while step(queue) is Performed.DONE:
        count += 1
    return count


def images_forget(*further: str) -> None:
    """Remove the images of packages that were built here, and those whose names begin otherwise."""
    building._built.clear()
    client = docker.from_env()
    try:
        for image in client.images.list():
            for tag in image.tags:
                if tag.startswith((f"{prefix()}-", *further)):
                    client.images.remove(tag, force=True)
    finally:
        client.close()


def containers() -> set[str]:
    """The ids of all containers of worlds and players here, in any state."""
    client = docker.from_env()
    try:
        ours = (folder("worlds") / "name").read_text() if (folder("worlds") / "name").exists() else "none"
        labels = (f"arena.worlds={ours}", player_label())
        found = [client.containers.list(all=True, filters={"label": label}) for label in labels]
        return {str(each.id) for each in (*found[0], *found[1])}
    finally:
        client.close()
