"""Builds packages: images of the services with their data in them, of which two worlds export the same."""

from __future__ import annotations

import io
import tempfile
import zipfile
from datetime import timedelta
from pathlib import Path

from django.db import close_old_connections

from arena_kit.errors import PlatformFault
from arena_kit.image.calls import engine, engine_errors
from arena_kit.image.errors import BuilderUnavailable, BuildFailed
from arena_kit.log_context import bind
from arena_kit.rollout.building.build import UPLOADS, package_build, package_tag
from arena_kit.rollout.building.images import Log
from arena_kit.rollout.packages.package import LIMITS, PackageRefused, package_read
from arena_kit.rollout.worlds.built import BuiltPackage
from arena_kit.rollout.worlds.leases import NoRoom
from arena_kit.rollout.worlds.stored import built_as_json, built_of
from arena_kit.rollout.worlds.world import seeded_tag
from arena_kit.upload.zip_safety import ArchiveRefused, open_zip
from arena_kit.zips import zip_bytes
from core.jobs.artifacts import files_stored
from core.jobs.lease import Lease
from core.jobs.lifecycle import job_delay
from core.models import Job, Package, PackageBuild
from core.rollouts.packages import package_build_fail, package_build_succeed
from core.rollouts.reading import site_limits
from rollout_runner.host import bases, engine_worlds, is_on_cluster, prefix, registry

ROOM_PAUSE = timedelta(seconds=15)
"""How long work waits that finds no memory on its host; it costs no attempt."""
KEPT_BUILT = 2
"""Built packages that a process remembers; each may hold the state of a whole application."""
_built: dict[int, BuiltPackage] = {}


def package_make(build: PackageBuild, lease: Lease) -> None:
    """Make the images of a package, and store what its worlds are started from."""
    bind(stage="build")
    try:
        built = _make(build.package, build.seed, _logging(lease))
    except (PackageRefused, BuildFailed) as refusal:
        close_old_connections()
        package_build_fail(build=build, code=refusal.code, error=str(refusal), log=lease.text)
        return
    except NoRoom as full:
        delay(build, full, lease)
        return
    lease.raise_if_lost()
    bind(stage="store")
    close_old_connections()
    with tempfile.TemporaryDirectory() as folder:
        packed = Path(folder, "fresh.zip")
        packed.write_bytes(zip_bytes(built.fresh.items()))
        with files_stored(job=build, files={"fresh": packed}) as stored:
            package_build_succeed(
                build=build,
                built=built_as_json(built),
                fresh=stored["fresh"],
                state_digest=built.digest,
                log=lease.text,
            )


def delay(job: Job, full: NoRoom, lease: Lease) -> None:
    """Give a job back that finds no room on this host now."""
    job_delay(job=job, span=ROOM_PAUSE, code=full.code, error=str(full), log=lease.text)


def package_here(build: PackageBuild, lease: Lease) -> BuiltPackage:
    """Like `package_standing`, for a job."""
    return package_standing(build, log=_logging(lease))


def package_standing(build: PackageBuild, *, log: Log) -> BuiltPackage:
    """Return a built package whose images are on this host; they are made again where they are missing.

    Raises PlatformFault, and NoRoom if that has to wait.
    """
    if build.pk not in _built:
        built = built_of(build.built, fresh=fresh_of(build), uploads=_uploads(build.package))
        images = None if is_on_cluster() else _images_here(built)
        if is_on_cluster():
            log("Its nodes pull the images of the package from the registry.")
        elif images is None:
            log("The images of the package are not on this host; they are made again.")
            try:
                again = _make(build.package, build.seed, log)
            except (PackageRefused, BuildFailed) as refusal:
                raise PlatformFault(str(refusal), code="package_not_reproducible") from refusal
            if again.digest != built.digest:
                raise PlatformFault("The package gives other data on this host.", code="package_not_reproducible")
            built = again
        else:
            built = built_of(
                {**build.built, "services": [
                    {**each, "image": images[each["service"]["name"]]} for each in build.built["services"]
                ]},
                fresh=built.fresh, uploads=built.uploads,
            )  # fmt: skip
        while len(_built) >= KEPT_BUILT:
            _built.pop(next(iter(_built)))
        _built[build.pk] = built
    return _built[build.pk]


def fresh_of(build: PackageBuild) -> dict[str, bytes]:
    """Return the files that a fresh world exports. Raises PlatformFault if they are not stored."""
    try:
        with build.fresh.open("rb") as file, zipfile.ZipFile(file) as archive:
            return {name: archive.read(name) for name in archive.namelist()}
    except (OSError, zipfile.BadZipFile) as error:
        raise PlatformFault(f"The exported state of {build} is not stored: {error}", code="store_failed") from None


def _logging(lease: Lease) -> Log:
    def log(line: str) -> None:
        lease.raise_if_lost()
        lease.log(line)

    return log


def _make(package: Package, seed: int, log: Log) -> BuiltPackage:
    try:
        with package.archive.open("rb") as stored:
            file = io.BytesIO(stored.read())
    except OSError as error:
        raise PlatformFault(f"The zip of {package} is not stored: {error}", code="store_failed") from None

    try:
        read = package_read(file, site_limits())
        pushed_to = registry() if is_on_cluster() else None
        return package_build(file, read, worlds=engine_worlds(), bases=bases(), log=log, seed=seed, registry=pushed_to)
    except BuilderUnavailable as trouble:
        raise PlatformFault(str(trouble), code=trouble.code) from trouble


def _images_here(built: BuiltPackage) -> dict[str, str] | None:
    """Return the images of the services on this engine, by their ids or else by their names; None if one is missing."""
    tag, found = package_tag(built.sha256, built.seed), {}
    try:
        with engine() as client:
            with engine_errors():
                images = client.api.images()
            ids = {each["Id"] for each in images}
            names = {name: each["Id"] for each in images for name in each.get("RepoTags") or ()}
    except BuilderUnavailable as trouble:
        raise PlatformFault(str(trouble), code=trouble.code) from trouble
    for each in built.services:
        name = f"{prefix()}-{built.slug}:{seeded_tag(tag, each.service.name)}"
        if each.image in ids:
            found[each.service.name] = each.image
        elif name in names:
            found[each.service.name] = names[name]
        else:
            return None
    return found


def _uploads(package: Package) -> dict[str, bytes]:
    """Return the files that agents may upload."""
    try:
        with package.archive.open("rb") as stored, open_zip(stored, LIMITS) as archive:
            names = [name for name in archive.namelist() if name.startswith(UPLOADS) and not name.endswith("/")]
            return {name.removeprefix(UPLOADS): archive.read(name) for name in names}
    except (OSError, zipfile.BadZipFile, ArchiveRefused) as error:
        raise PlatformFault(f"The zip of {package} is not stored: {error}", code="store_failed") from None
