"""A built package as JSON, so that other processes and later years can start its worlds and judge by its state."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

from arena_kit.rollout.packages.compose import HealthCheck, Service
from arena_kit.rollout.packages.manifest import Export, Login
from arena_kit.rollout.worlds.built import BuiltPackage, BuiltService

SCHEMA = 1
APART = ("fresh", "uploads")
"""Fields that hold the content of files, which is stored beside."""


def built_as_json(built: BuiltPackage) -> dict[str, Any]:
    """Return a built package without the content of files."""
    found = dataclasses.asdict(dataclasses.replace(built, fresh={}, uploads={}))
    return {"schema": SCHEMA, **{name: value for name, value in found.items() if name not in APART}}


def built_of(
    found: Mapping[str, Any], *, fresh: Mapping[str, bytes], uploads: Mapping[str, bytes] | None = None
) -> BuiltPackage:
    """Return the package of `built_as_json`. Raises ValueError if this version cannot read it."""
    try:
        if found["schema"] != SCHEMA:
            raise ValueError(f"This version reads the schema {SCHEMA}, not {found['schema']}.")
        return BuiltPackage(
            sha256=found["sha256"],
            slug=found["slug"],
            services=tuple(_service(each) for each in found["services"]),
            exports=tuple(
                Export(each["service"], each["format"], each["files"], tuple(each["command"]))
                for each in found["exports"]
            ),
            memory_bytes=found["memory_bytes"],
            origins=tuple(found["origins"]),
            volatile={name: tuple(columns) for name, columns in found["volatile"].items()},
            seed=found["seed"],
            fresh=fresh,
            digest=found["digest"],
            home=found["home"],
            logins=tuple(Login(**each) for each in found["logins"]),
            clock=found["clock"],
            uploads=uploads or {},
            front=found.get("front", False),
        )
    except (KeyError, TypeError, AttributeError) as error:
        raise ValueError(f"The built package cannot be read: {error!r}") from None


def _service(found: Mapping[str, Any]) -> BuiltService:
    service: dict[str, Any] = {
        name: tuple(value) if isinstance(value, list) else value for name, value in found["service"].items()
    }
    health: dict[str, Any] = dict(service.pop("health"))
    health["test"] = tuple(health["test"])
    return BuiltService(
        Service(**service, health=HealthCheck(**health)),
        found["image"],
        found["environment"],
        # A version before clusters has stored it.
        found.get("user", ""),
        found.get("reference", ""),
    )
