"""Packages: uploaded by organisers, built once, and then the application of their environment."""

from __future__ import annotations

from dataclasses import asdict
from typing import BinaryIO, cast

from django.conf import settings
from django.core.files.uploadedfile import UploadedFile
from django.db import transaction
from django.db.models import Max, QuerySet

from arena_kit.rollout.packages.manifest import Manifest
from arena_kit.rollout.packages.package import Package as PackageRead
from arena_kit.rollout.packages.package import PackageRefused, package_read
from core.errors import Refused
from core.files.uploads import upload_stored
from core.jobs.lifecycle import job_enqueue, job_fail, job_succeed
from core.jobs.locks import name_lock
from core.jobs.states import OPEN
from core.jobs.written import written_once
from core.models import Environment, EnvironmentKind, JobFault, JobState, Package, PackageBuild, User
from core.models.environment import Play
from core.people.audit_log import Operator, audit_record
from core.rollouts.acceptance import acceptance_begin
from core.rollouts.permissions import ROLLOUTS_OFF, may_upload_packages
from core.rollouts.reading import site_limits
from core.rollouts.tasks import tasks_write

PICTURE = "environments/gymnasium/gymnasium.svg"
PLAYER_MEMORY_BYTES = 1 << 30
START_SECONDS, AGENT_SECONDS = 60.0, 300.0
MOST_SEEDS = 20
"""How many sets of data a package may be built with."""


def package_upload(
    *,
    owner: User,
    archive: UploadedFile[bytes],
    is_public: bool = False,
    note: str = "",
    operator: Operator | None = None,
) -> tuple[Package, bool]:
    """Store a package, with its tasks, and let it be built; return it and whether it is new. Raises Refused.

    operator: who sends it, for the audit log.

    The same zip sent twice is one package. A slug that the arena does not know makes a new application.
    """
    if settings.ROLLOUTS == "false":
        raise Refused(ROLLOUTS_OFF, code="rollouts_off")
    if not may_upload_packages(owner):
        raise Refused("Packages are uploaded by organisers, because they run programs of their own.", code="not_yours")
    read = _read(archive)
    with upload_stored(Package, archive) as stored, transaction.atomic():
        name_lock(f"package {read.manifest.slug}")
        environment = _environment(read.manifest)
        known = environment.packages.filter(archive_sha256=read.sha256).first()
        if known is not None:
            return known, False
        package = Package.objects.create(
            environment=environment,
            number=(environment.packages.aggregate(last=Max("number"))["last"] or 0) + 1,
            archive=stored.name,
            archive_sha256=read.sha256,
            archive_bytes=archive.size or 0,
            manifest=manifest_kept(read),
            memory_bytes=read.manifest.memory_bytes,
            is_public=is_public,
            uploaded_by=owner,
            note=note[:200],
        )
        if read.tasks.tasks:
            tasks_write(
                owner=owner,
                environment=environment,
                found=read.tasks,
                sha256=read.sha256,
                package=package,
                allow_duplicates=False,
            )
        package_build_ensure(package=package, seed=0)
        if operator is not None:
            audit_record(operator=operator, action="upload", row=package)
    return package, True


def package_build_ensure(*, package: Package, seed: int) -> PackageBuild:
    """Return the build of a package with this seed that succeeded or is under way; start one otherwise.

    One that failed is tried again, and so is one whose images no cluster can pull where worlds are pods. Raises Refused
    for more seeds than a package may have.
    """
    seed = _seed(package, seed)
    with transaction.atomic():
        name_lock(f"package build {package.pk}")
        known = package_built(package, seed) or builds_of(package, seed).filter(state__in=OPEN).first()
        if known is not None:
            return known
        if seed and package.builds.exclude(seed=seed).values("seed").distinct().count() >= MOST_SEEDS:
            raise Refused(f"A package has at most {MOST_SEEDS} seeds.", code="too_many_seeds")
        build = PackageBuild.objects.create(package=package, seed=seed)
        job_enqueue(job=build)
    return build


def builds_of(package: Package, seed: int) -> QuerySet[PackageBuild]:
    """Return the builds of a package with a seed, the newest first; without seeds of its own it has one build."""
    return package.builds.filter(seed=_seed(package, seed)).order_by("-pk")


def _seed(package: Package, seed: int) -> int:
    return seed if package.manifest["seeds"] else 0


def package_built(package: Package, seed: int) -> PackageBuild | None:
    """Return the newest successful build of a package with a seed; None without one."""
    made = builds_of(package, seed).filter(state=JobState.SUCCEEDED)
    if settings.SANDBOX != "kubernetes":
        return made.first()
    # One that was made before there was a registry starts on its own host alone.
    return next((build for build in made if all(each.get("reference") for each in build.built["services"])), None)


@written_once
def package_build_succeed(
    *, build: PackageBuild, built: dict[str, object], fresh: str, state_digest: str, log: str
) -> None:
    """Store what worlds are started from, and try the tasks that have not been tried. Raises StaleJob."""
    with transaction.atomic():
        job_succeed(job=build, log=log, built=built, fresh=fresh, state_digest=state_digest)
        Environment.objects.filter(pk=build.package.environment_id, unavailable_because=NOT_BUILT).update(
            unavailable_because=""
        )
        acceptance_begin(package=build.package)


@written_once
def package_build_fail(*, build: PackageBuild, code: str, error: str, log: str) -> None:
    """Refuse a package by its own fault, e.g. because two of its worlds are not equal. Raises StaleJob."""
    job_fail(job=build, fault=JobFault.PLAYER, code=code, error=error, log=log)


NOT_BUILT = "No package of it has been built yet."


def manifest_kept(read: PackageRead) -> dict[str, object]:
    """Return what is kept of a manifest for pages and for reading tasks: nothing that must stay hidden.

    The fields of logins hold passwords and stay in the zip.
    """
    manifest = read.manifest
    return {
        "slug": manifest.slug,
        "name": manifest.name,
        "description": manifest.description,
        "origins": list(manifest.origins),
        "home": manifest.home,
        "logins": [login.name for login in manifest.logins],
        "limits": asdict(manifest.limits),
        "services": [{"name": each.name, "image": each.image} for each in read.services],
        "seeds": manifest.seeds,
        "clock": manifest.clock.isoformat() if manifest.clock else "",
    }


def _read(archive: UploadedFile[bytes]) -> PackageRead:
    try:
        return package_read(cast(BinaryIO, archive.file), site_limits())
    except PackageRefused as refusal:
        raise Refused(str(refusal), field="archive", code=refusal.code) from None


def _environment(manifest: Manifest) -> Environment:
    """Return the application of a slug, with the manifest's name and description. Raises Refused."""
    environment = Environment.objects.filter(slug=manifest.slug).first()
    if environment is None:
        return Environment.objects.create(
            slug=manifest.slug,
            env_id=manifest.slug,
            kind=EnvironmentKind.APP,
            version=1,
            name=manifest.name,
            description=manifest.description,
            image=PICTURE,
            seats=1,
            play=Play.NOTHING,
            unavailable_because=NOT_BUILT,
            matches_per_duel=2,
            matches_per_validation=1,
            memory_limit_bytes=PLAYER_MEMORY_BYTES,
            move_seconds=START_SECONDS,
            bank_seconds=0.0,
            start_seconds=START_SECONDS,
            duel_seconds=AGENT_SECONDS,
            parallel_matches=1,
        )
    if not environment.is_app:
        raise Refused(
            f"{manifest.slug} is a game of this arena already; choose another slug.", field="archive", code="slug_taken"
        )
    environment.name, environment.description = manifest.name, manifest.description
    environment.save(update_fields=["name", "description"])
    return environment
