"""The application of the demo: the shipped shop, a script that works at its tasks, and an agent for its board."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from django.conf import settings
from django.core.files.uploadedfile import SimpleUploadedFile

from arena_kit.content import content_folder
from arena_kit.errors import PlatformFault
from arena_kit.examples import make_archive
from arena_kit.rollout.worlds.host import base_images
from arena_kit.zips import zip_bytes
from core.jobs.states import OPEN
from core.links import absolute, page
from core.models import Agent, Batch, BatchPurpose, Environment, JobState, Package, RolloutAgent, RolloutOutcome, User
from core.rollouts.batches import AgentChoice, Options, batch_create
from core.rollouts.packages import package_upload
from core.submissions.services import agent_create

SHOP, CLERK = "shop", "shop_clerk"
SERVICES = ("python", "postgres")
"""The base images of the shop's services."""


def images_missing() -> str:
    """Return a sentence that names an image without which there are no rollouts here; empty if there are all."""
    names = [*(f"{settings.APP_BASE_IMAGES}-{name}" for name in SERVICES), settings.BROWSER_IMAGE]
    for name in names:
        try:
            base_images({name: name})
        except PlatformFault as fault:
            return f"the image {name} is not here" if fault.code == "image_missing" else str(fault).rstrip(".")
    return ""


class ApplicationDemo:
    """Goes on with the application a little at a time; the rows hold how far it is, so a restart goes on as well."""

    def __init__(self, organiser: User, owner: User, say: Callable[[str], None]) -> None:
        self._organiser, self._owner, self._say = organiser, owner, say
        self._told: set[str] = set()

    def follow(self) -> None:
        """Do what can be done now: upload the package, then let the script work, then tell what became of it."""
        package = Package.objects.filter(environment__slug=SHOP).select_related("environment").order_by("-pk").first()
        if package is None:
            package_upload(owner=self._organiser, archive=shop_zip())
            self._say_once("Application: the shop is uploaded; its images are made now, which takes some minutes.")
            return
        environment = package.environment
        build = package.builds.order_by("-pk").first()
        if build is None or build.state != JobState.SUCCEEDED:
            if build is not None and build.state == JobState.FAILED:
                self._say_once(f"Application: the shop could not be built: {build.error}")
            return
        batch = Batch.objects.filter(environment=environment, owner=self._owner, purpose=BatchPurpose.ASKED).first()
        if batch is None:
            batch = self._begin(environment)
            self._say_once(
                f"Application: a script works at the tasks of the shop: {absolute(page('batch', batch.public_id))}"
            )
        if not batch.rollouts.filter(state__in=OPEN).exists():
            solved = batch.rollouts.filter(outcome=RolloutOutcome.SOLVED).count()
            self._say_once(
                f"Application: the script has solved {solved} of {batch.rollouts.count()} tasks: "
                f"{absolute(page('environment', environment.slug))}"
            )

    def _begin(self, environment: Environment) -> Batch:
        """Let the oracles work at all tasks once, and upload an agent that works at them for the board."""
        tasks = [task for task in environment.tasks.filter(is_current=True).select_related("file") if task.has_oracle]
        options = Options(note="Each task's own script, in the demo.")
        choice = AgentChoice(RolloutAgent.SCRIPTED, vision=True)
        batch = batch_create(owner=self._owner, environment=environment, tasks=tasks, agent=choice, options=options)
        if not Agent.objects.filter(environment=environment, owner=self._owner).exists():
            archive = SimpleUploadedFile("player.zip", make_archive(CLERK), content_type="application/zip")
            name = CLERK.replace("_", "-")
            agent_create(owner=self._owner, environment=environment, name=name, is_public=True, archive=archive)
        return batch

    def _say_once(self, sentence: str) -> None:
        if sentence not in self._told:
            self._told.add(sentence)
            self._say(sentence)


def shop_zip() -> SimpleUploadedFile:
    """Return the shipped shop as an organiser would upload it."""
    folder = content_folder("environments") / "applications" / SHOP
    files = sorted(path for path in folder.rglob("*") if path.is_file() and "__pycache__" not in path.parts)
    packed = zip_bytes((_inside(path, folder), path.read_bytes()) for path in files)
    return SimpleUploadedFile("shop.zip", packed, content_type="application/zip")


def _inside(path: Path, folder: Path) -> str:
    return path.relative_to(folder).as_posix()
