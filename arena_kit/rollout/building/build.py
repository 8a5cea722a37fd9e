"""Builds a package: images of its services with the data of a seed in them, of which two worlds export the same."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from pathlib import Path
from typing import IO

from arena_kit.image.calls import engine
from arena_kit.image.labels import PREFIX_LABEL
from arena_kit.image.registry import SILENCE_SECONDS, Registry
from arena_kit.rollout.building.images import Bases, Log, service_image, untag
from arena_kit.rollout.building.leftovers import building
from arena_kit.rollout.building.users import user_of
from arena_kit.rollout.exports.diff import state_diff
from arena_kit.rollout.exports.state import ExportRefused
from arena_kit.rollout.packages.manifest import FILE as MANIFEST
from arena_kit.rollout.packages.manifest import Hook
from arena_kit.rollout.packages.package import LIMITS, Package, PackageRefused
from arena_kit.rollout.values.strict_json import Flaw
from arena_kit.rollout.worlds.built import BuiltPackage, BuiltService
from arena_kit.rollout.worlds.docker_world import DockerWorld
from arena_kit.rollout.worlds.host import DockerWorlds
from arena_kit.rollout.worlds.world import LOG_CHARACTERS, WorldFault, seeded_tag
from arena_kit.upload.archive import unpack_archive

HOOK_SECONDS = 600.0
BUILD_SECONDS = 3_600.0
PACKAGE_LABEL = "arena.package"
"""Holds the SHA-256 of the zip that an image was made of."""
UPLOADS = "uploads/"
_MOST_CHANGES = 5


def package_build(
    file: IO[bytes],
    package: Package,
    *,
    worlds: DockerWorlds,
    bases: Bases,
    log: Log,
    seed: int = 0,
    registry: Registry | None = None,
) -> BuiltPackage:
    """Return a package with its images. file: the zip that it was read from. registry: gets the images, for clusters.

    Its services start in a world, the hooks `seed` and `check` run, and each service is stored with what it has written
    outside its tmpfs. A second world, of the stored images, must export the same state. What a killed build leaves is
    removed by `leftovers_remove`. Raises PackageRefused, BuildFailed, BuilderUnavailable, PlatformFault, and NoRoom if
    it has to wait.
    """
    repository, tag = f"{bases.prefix}-{package.manifest.slug}", package_tag(package.sha256, seed)
    with building(worlds.builds, tag) as folder, engine() as client:
        unpacked = folder / "package"
        unpack_archive(file, unpacked, LIMITS, needs_entry_point=False)
        made: list[str] = []
        try:
            services = []
            for service in package.services:
                has_seed = "seed" in package.manifest.hooks and package.manifest.hooks["seed"].service == service.name
                built, names = service_image(
                    client, service, bases, unpacked, f"{repository}:{tag}", log, has_seed=has_seed
                )
                made += names
                services.append(built)
            plain = _built(package, tuple(services), seed, unpacked)
            kept = [f"{repository}:{seeded_tag(tag, built.service.name)}" for built in services]
            try:
                seeded = _seeded(package, plain, worlds, f"{repository}:{tag}", bases.prefix, log)
                return seeded if registry is None else _pushed(seeded, registry, repository, tag, log)
            except BaseException:
                untag(client, kept)
                raise
        finally:
            untag(client, made)


def package_tag(sha256: str, seed: int) -> str:
    """Return what the names of a package's images have in common."""
    return f"{sha256[:16]}-{seed}"


def package_remove(built: BuiltPackage, bases: Bases) -> None:
    """Remove the images of a package. Raises BuilderUnavailable if no engine answers."""
    with engine() as client:
        repository, tag = f"{bases.prefix}-{built.slug}", package_tag(built.sha256, built.seed)
        untag(client, [f"{repository}:{seeded_tag(tag, each.service.name)}" for each in built.services])


def _built(package: Package, services: tuple[BuiltService, ...], seed: int, unpacked: Path) -> BuiltPackage:
    manifest = package.manifest
    names = [name for name in package.names if name.startswith(UPLOADS) and (unpacked / name).is_file()]
    return BuiltPackage(
        package.sha256, manifest.slug, services, manifest.exports, manifest.memory_bytes, manifest.origins,
        manifest.volatile, seed, home=manifest.home, logins=manifest.logins,
        clock=manifest.clock.isoformat() if manifest.clock else "",
        uploads={name.removeprefix(UPLOADS): (unpacked / name).read_bytes() for name in names},
        front=manifest.front,
    )  # fmt: skip


def _seeded(
    package: Package, plain: BuiltPackage, worlds: DockerWorlds, name: str, prefix: str, log: Log
) -> BuiltPackage:
    """Return the package with its data in its images, after a second world has exported what the first has."""
    repository, _, tag = name.rpartition(":")
    try:
        log("A first world starts")
        with worlds.open(plain, seconds=BUILD_SECONDS) as world:
            for step in ("seed", "check"):
                if hook := package.manifest.hooks.get(step):
                    log(f"The hook {step} runs in {hook.service}")
                    _run_hook(world, step, hook, plain.seed, log)
            first = world.export()
            log(f"It has exported {len(first)} files; its services are stopped and stored")
            labels = {PREFIX_LABEL: prefix, PACKAGE_LABEL: package.sha256}
            users = {each.service.name: user_of(world, each.service) for each in plain.services}
            images = world.commit(repository, tag, labels)
        stored = tuple(
            dataclasses.replace(each, image=images[each.service.name], user=users[each.service.name])
            for each in plain.services
        )
        built = dataclasses.replace(plain, services=stored)
        log("A second world starts, of the stored images")
        with worlds.open(built, seconds=BUILD_SECONDS) as world:
            second = world.export()
        digest = _equal_digest(built, first, second)
    except (ExportRefused, WorldFault) as fault:
        raise PackageRefused([Flaw(fault.code, "", _told(fault))]) from None
    log(f"Both worlds have exported the same state: {digest}")
    return dataclasses.replace(built, fresh=second, digest=digest)


def _pushed(built: BuiltPackage, registry: Registry, repository: str, tag: str, log: Log) -> BuiltPackage:
    """Return the package with the names of its images in a registry. Raises RegistryFailed."""
    services = []
    with engine(SILENCE_SECONDS) as client:
        for each in built.services:
            log(f"{each.service.name}: its image goes to {registry.repository}")
            digest = registry.push(client, f"{repository}:{seeded_tag(tag, each.service.name)}")
            services.append(dataclasses.replace(each, reference=registry.reference(digest)))
    return dataclasses.replace(built, services=tuple(services))


def _run_hook(world: DockerWorld, step: str, hook: Hook, seed: int, log: Log) -> None:
    ran = world.run(hook.service, hook.command, seconds=HOOK_SECONDS, environment={"SEED": str(seed)})
    log(ran.output[-LOG_CHARACTERS:])
    if ran.status != 0:
        why = f"It did not end within {HOOK_SECONDS:.0f} s." if ran.status < 0 else f"It ended with {ran.status}."
        said = f" It printed: {ran.output[-LOG_CHARACTERS:]}" if ran.output else ""
        raise PackageRefused([Flaw("hook_failed", f"{MANIFEST}.hooks.{step}", f"{why}{said}")])


def _equal_digest(built: BuiltPackage, first: Mapping[str, bytes], second: Mapping[str, bytes]) -> str:
    """Return the digest of both exports. Raises PackageRefused if they differ."""
    with built.state(first) as before, built.state(second) as after:
        if before.digest() == after.digest():
            return after.digest()
        diff = state_diff(before, after)
    places = ", ".join(f"{where} ({count})" for where, count in diff.counts.items())
    examples = " ".join(change.sentence for change in diff.changes[:_MOST_CHANGES])
    sentence = (
        f"After a restart the export differs in {places or 'columns'}. {examples} Columns that differ by nature, such "
        "as times, go into volatile."
    )
    raise PackageRefused([Flaw("not_reproducible", f"{MANIFEST}.exports", sentence)])


def _told(fault: ExportRefused | WorldFault) -> str:
    log = fault.log if isinstance(fault, WorldFault) else ""
    return f"{fault} It printed: {log}" if log else str(fault)
