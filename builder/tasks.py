"""Background work of the builder, by the id of its row."""

from __future__ import annotations

import logging

from django.conf import settings

from builder.errors import BuilderUnavailable, BuildFailed
from builder.packages import Network
from builder.recipe import DockerRecipe, FolderRecipe, Recipe
from core.models import Build, JobFault, Submission
from core.services.jobs import job_fail
from core.services.phases import build_succeed
from core.worker import PlatformFault, Pulse, perform

logger = logging.getLogger(__name__)


def build_run(job_id: int) -> None:
    """Make the image of a submission and send it on to validation."""
    perform(Build, job_id, _build)


def images_remove_unused(_: int = 0) -> None:
    """Remove the images of deleted submissions."""
    for submission in Submission.objects.filter(deleted_at__isnull=False).exclude(image=""):
        try:
            recipe().remove(submission.image)
        except BuilderUnavailable as error:
            logger.warning("The image of %s is still there: %s", submission, error)
            return
        submission.image = ""
        submission.save(update_fields=["image"])


def recipe() -> Recipe:
    """The recipe that fits the sandbox of the settings."""
    if settings.SANDBOX == "process":
        return FolderRecipe(folder=settings.DATA_DIR / "players")
    return DockerRecipe(
        base_image=settings.PLAYER_BASE_IMAGE,
        prefix=settings.PLAYER_IMAGE_PREFIX,
        network=Network(environment=settings.PIP_ENVIRONMENT, certificates=settings.PIP_CERTIFICATES),
    )


def _build(build: Build, pulse: Pulse) -> None:
    submission = build.submission
    labels = {"arena.submission": str(submission.pk), "arena.build": str(build.pk)}
    try:
        with submission.archive.open("rb") as archive:
            result = recipe().build(
                archive, name=f"s{submission.pk}-b{build.pk}-a{build.attempt}", labels=labels, log=pulse.log
            )
    except BuildFailed as failure:
        pulse.log(f"Failed: {failure}")
        job_fail(job=build, fault=JobFault.PLAYER, code=failure.code, error=str(failure), log=pulse.text)
    except BuilderUnavailable as trouble:
        raise PlatformFault(str(trouble), code=trouble.code) from trouble
    except FileNotFoundError:
        raise PlatformFault("The uploaded archive is missing from the store.", code="archive_missing") from None
    else:
        build_succeed(
            build=build, image=result.image, digest=result.digest, warnings=list(result.warnings), log=pulse.text
        )
