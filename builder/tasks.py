"""The builder's background tasks."""

from __future__ import annotations

import logging
import time
from typing import IO

from django.conf import settings
from django.db.models import Max, Q, QuerySet
from django.utils import timezone

from arena_kit.errors import PlatformFault
from arena_kit.image.docker_recipe import DockerRecipe
from arena_kit.image.errors import BuilderUnavailable, BuildFailed
from arena_kit.image.folder_recipe import FolderRecipe
from arena_kit.image.foreign import ForeignImages, build_from_image, reference_of
from arena_kit.image.labels import BUILD_LABEL, PREFIX_LABEL, SUBMISSION_LABEL
from arena_kit.image.leftovers import Needed
from arena_kit.image.packages import Network
from arena_kit.image.recipe import BuildResult, Recipe
from arena_kit.upload.image_reference import read_reference
from builder.scan import scan
from core.jobs.artifacts import sbom_stored
from core.jobs.images import player_registry
from core.jobs.lease import Lease
from core.jobs.lifecycle import job_fail
from core.jobs.log import log_stage
from core.jobs.states import OPEN
from core.models import Build, Duel, Evaluation, JobFault, JobState, Submission, SubmissionForm, Validation
from core.submissions.images import duels_delay_rebuilt, has_to_play, image_lost, images_check_end
from core.submissions.phases import build_succeed

logger = logging.getLogger(__name__)
PUSHED_AT_ONCE = 5
"""Images of earlier builds that one look pushes, so that new builds need not wait for long."""


def images_remove_unused(_: int = 0) -> None:
    """Remove the images of deleted submissions, and images that no row names any more.

    A submission with unfinished jobs keeps its image, so that its remaining duels are decided by play.
    """
    makes = recipe()
    deleted = Submission.objects.filter(deleted_at__isnull=False).exclude(image="").exclude(pk__in=_playing())
    for submission in deleted:
        try:
            makes.remove(submission.image)
        except BuilderUnavailable as error:
            logger.warning("The image of %s could not be removed: %s", submission, error)
        else:
            # Only if the row still has this image: a build may have replaced it. The sweep clears the registry.
            Submission.objects.filter(pk=submission.pk, image=submission.image).update(image="", registry_digest="")
    try:
        makes.sweep(_needed)
        images_push(makes)
    except BuilderUnavailable as error:
        logger.warning("Images could not be looked after: %s", error)


def images_push(makes: Recipe) -> None:
    """Push a few of the images that are here and not in the registry: from before there was one, or as it lost them.

    What has to play and is neither here nor in the registry is built again. Raises BuilderUnavailable.
    """
    if player_registry() is None:
        return
    named = Submission.objects.filter(deleted_at=None).exclude(image="").exclude(image_digest="")
    rows = list(named.order_by("-pk"))
    gone = makes.missing(dict.fromkeys((row.launched_image for row in rows), "")) if rows else set()
    here = [row for row in rows if row.launched_image not in gone]
    playing = set(named.filter(has_to_play(), pk__in=[row.pk for row in rows if row.launched_image in gone]))
    pushed = {row.image: row.registry_digest for row in (*here, *playing) if row.registry_digest}
    lost = makes.lost(pushed, most=PUSHED_AT_ONCE)
    for row in [row for row in here if not row.registry_digest or row.image in lost][:PUSHED_AT_ONCE]:
        digest = makes.push(row.image, still_wanted=lambda: None)
        # Only if the row still has this image: a build may have replaced it.
        named.filter(pk=row.pk, image=row.image).update(registry_digest=digest)
    again = [row for row in playing if row.image in lost and image_lost(submission=row, now=timezone.now())]
    if again:
        logger.warning("The registry has lost %d images that this host lacks; they are being rebuilt.", len(again))
        duels_delay_rebuilt()


def images_restore(_: int = 0) -> None:
    """After a restore, rebuild the submissions that have to play and have no image on this host."""
    # Older versions first: once the newest is being rebuilt, the version before it would count as the newest.
    named = list(Submission.objects.filter(deleted_at=None).exclude(image="").order_by("agent", "number"))
    try:
        missing = recipe().missing({one.launched_image: one.registry_digest for one in named})
    except BuilderUnavailable as error:
        logger.warning("It is not known yet which images are missing: %s", error)
        return
    lost = [submission for submission in named if submission.launched_image in missing]
    count = sum(image_lost(submission=submission, now=timezone.now()) for submission in lost)
    if lost:
        logger.warning("%d images are missing on this host; %d versions that play are being rebuilt.", len(lost), count)
    duels_delay_rebuilt()
    images_check_end()


def _playing() -> QuerySet[Submission, int]:
    """Return the keys of submissions with unfinished duels, validations or evaluations."""
    duels = Duel.objects.filter(state__in=OPEN).order_by()
    validations = Validation.objects.filter(state__in=OPEN).order_by()
    evaluations = Evaluation.every.filter(state__in=OPEN).order_by()
    return (
        Submission.objects.filter(
            Q(pk__in=duels.values("player_1"))
            | Q(pk__in=duels.values("player_2"))
            | Q(pk__in=validations.values("submission"))
            | Q(pk__in=evaluations.values("submission"))
        )
        .order_by()
        .values_list("pk", flat=True)
    )


def _needed() -> Needed:
    named = Submission.objects.filter(Q(deleted_at=None) | Q(pk__in=_playing())).exclude(image="")
    running = Build.objects.filter(state=JobState.RUNNING)
    # Builds first: one that ends between the two queries has stored its image in the submission.
    builds = frozenset(map(str, running.values_list("pk", flat=True)))
    return Needed(
        images=frozenset(named.values_list("image", flat=True)),
        submissions=frozenset(map(str, _playing())),
        builds=builds,
        last_build=Build.objects.aggregate(last=Max("pk"))["last"] or 0,
    )


def recipe(form: SubmissionForm = SubmissionForm.PLAYER) -> Recipe:
    """Return the recipe for the sandbox of the settings, and for a form of submissions."""
    if settings.SANDBOX == "process":
        return FolderRecipe(folder=settings.DATA_DIR / "players")
    return DockerRecipe(
        base_images=(form == SubmissionForm.SCRIPT and settings.SCRIPT_BASE_IMAGES) or settings.PLAYER_BASE_IMAGES,
        larger_images=settings.SCRIPT_BASE_IMAGES,
        prefix=settings.PLAYER_IMAGE_PREFIX,
        network=Network(settings.PIP_ENVIRONMENT, settings.PIP_CERTIFICATES, settings.BUILD_NETWORK),
        constraints=settings.PIP_CONSTRAINTS,
        registry=player_registry(),
    )


def build_image(build: Build, lease: Lease) -> None:
    """Build the image of a submission and queue its validation."""
    submission = build.submission

    def log(line: str) -> None:
        lease.raise_if_lost()
        lease.log(line)

    labels = {SUBMISSION_LABEL: str(submission.pk), BUILD_LABEL: str(build.pk)}
    log_stage("build")
    makes = recipe(SubmissionForm(submission.form))
    # A script makes its environment itself, so without requirements it gets the packages for that.
    defaults = tuple(settings.SCRIPT_REQUIREMENTS) if submission.form == SubmissionForm.SCRIPT else ()
    # Named after the claim, like artifacts: an attempt that is given back has the same number as the next one.
    assert build.claim_token is not None, "only a claimed build can be built"
    name = f"s{submission.pk}-b{build.pk}-{build.claim_token.hex}"
    try:
        with submission.archive.open("rb") as archive:
            if submission.form == SubmissionForm.IMAGE:
                result = _taken(build, archive, name=name, labels=labels, lease=lease)
            else:
                result = makes.build(archive, name=name, labels=labels, log=log, defaults=defaults)
        log_stage("scan")
        _scan(makes, result, lease)
        log_stage("push")
        registry_digest = _pushed(makes, result, lease)
    except BuildFailed as failure:
        lease.log(f"Failed: {failure}")
        job_fail(job=build, fault=JobFault.PLAYER, code=failure.code, error=str(failure), log=lease.text)
    except BuilderUnavailable as trouble:
        raise PlatformFault(str(trouble), code=trouble.code) from trouble
    except FileNotFoundError:
        raise PlatformFault("The uploaded archive is missing from the store.", code="archive_missing") from None
    else:
        with sbom_stored(build=build, document=result.sbom) as document:
            build_succeed(
                build=build,
                image=result.image,
                digest=result.digest,
                registry_digest=registry_digest,
                base_image=result.base_image,
                base_digest=result.base_digest,
                requirements_digest=result.requirements_digest,
                sbom=document,
                warnings=list(result.warnings),
                log=lease.text,
            )


def _taken(build: Build, archive: IO[bytes], *, name: str, labels: dict[str, str], lease: Lease) -> BuildResult:
    """Make the image of a submission that names a container image. Raises BuildFailed and BuilderUnavailable."""
    allowed = ForeignImages(settings.IMAGE_REGISTRIES, settings.IMAGE_MAX_BYTES)
    if not allowed.registries or settings.SANDBOX != "docker":
        raise BuildFailed("This arena takes no container images any more.", code="image_not_taken")
    reference = reference_of(archive, allowed)
    # A tag may mean another image tomorrow; this version is what it meant when it was first built.
    first = Build.objects.filter(submission=build.submission, state=JobState.SUCCEEDED).exclude(base_image="").first()
    return build_from_image(
        read_reference(first.base_image) if first is not None else reference,
        allowed=allowed,
        tag=f"{settings.PLAYER_IMAGE_PREFIX}:{name}",
        labels={**labels, PREFIX_LABEL: settings.PLAYER_IMAGE_PREFIX},
        log=lease.log,
        archive_sha256=build.submission.archive_sha256,
        still_wanted=lease.raise_if_lost,
    )


def _pushed(makes: Recipe, result: BuildResult, lease: Lease) -> str:
    """Push the image, if there is a registry, and return its digest there."""
    if player_registry() is None:
        return ""
    begun = time.monotonic()
    lease.log(f"Push to the registry {settings.PLAYER_REGISTRY}")
    digest = makes.push(result.image, still_wanted=lease.raise_if_lost)
    lease.log(f"Pushed as {digest} in {time.monotonic() - begun:.1f} s")
    return digest


def _scan(makes: Recipe, result: BuildResult, lease: Lease) -> None:
    """Run the operator's scanner, if there is one, and remove an image that it refuses."""
    if not settings.BUILD_SCAN_COMMAND or not result.sbom:
        return
    lease.log(f"Scan with {settings.BUILD_SCAN_COMMAND[0]}")
    try:
        scan(settings.BUILD_SCAN_COMMAND, image=result.image, sbom=result.sbom)
    except (BuildFailed, BuilderUnavailable):
        makes.remove(result.image)
        raise
