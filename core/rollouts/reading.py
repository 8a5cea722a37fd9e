"""From rows to what the library works with: tasks, packages, built packages."""

from __future__ import annotations

from dataclasses import asdict

from django.conf import settings

from arena_kit.rollout.packages.compose import Caps
from arena_kit.rollout.packages.package import SiteLimits
from arena_kit.rollout.tasks.reading import Rules, task_again
from arena_kit.rollout.tasks.task import RolloutLimits
from arena_kit.rollout.tasks.task import Task as TaskRead
from core.models import Environment, Package, Task

BESIDE_BYTES = 2304 << 20
"""The most that a world needs beside its package: the browser, the pause container and the player."""


def site_limits() -> SiteLimits:
    """Return what this site lets a package have: a world with its browser must fit into the memory of a host."""
    most = max(256 << 20, settings.ROLLOUT_MEMORY_BYTES - BESIDE_BYTES)
    caps = Caps(images=tuple(settings.APP_IMAGES))
    return SiteLimits(
        Caps(min(caps.memory_bytes, most), caps.cpu_count, caps.pids, caps.tmpfs_bytes, caps.images), most
    )


def task_of(row: Task) -> TaskRead:
    """Return the task of a row, with its checks. Raises ValueError if this version cannot read it."""
    return task_again(row.key, row.definition, environment=row.environment.slug)


def limits_of(row: Task, package: Package) -> RolloutLimits:
    """Return the limits of a task in a package: its own, or those of the package, and never wider than the latter.

    A task may be older than a package that allows less. Raises ValueError if this version cannot read the task.
    """
    own, most = asdict(task_of(row).limits), package.manifest["limits"]
    written = row.definition.get("limits") or {}
    found = dict(most)
    for name, value in own.items():
        if ("cost" if name == "cost_micros" else name) in written:
            found[name] = value if most[name] is None else min(value, most[name])
    return RolloutLimits(**found)


def newest_package(environment: Environment) -> Package | None:
    """Return the newest package of an application whose images were made; None without one."""
    built = environment.packages.filter(builds__state="SUCCEEDED", builds__seed=0)
    return built.order_by("-number").first()


def latest_package(environment: Environment) -> Package | None:
    """Return the package that was uploaded last, built or not; None without one."""
    return environment.packages.order_by("-number").first()


def rules_of(environment: Environment) -> Rules:
    """Return what tasks of an application may say, by its latest package."""
    package = latest_package(environment)
    return Rules(environment.slug) if package is None else rules_of_manifest(environment.slug, package.manifest)


def rules_of_manifest(slug: str, manifest: dict[str, object]) -> Rules:
    """Return what tasks may say, by what is kept of a package's manifest."""
    limits, logins, origins = manifest["limits"], manifest["logins"], manifest["origins"]
    assert isinstance(limits, dict)
    assert isinstance(logins, list)
    assert isinstance(origins, list)
    return Rules(slug, RolloutLimits(**limits), tuple(logins), tuple(origins))
