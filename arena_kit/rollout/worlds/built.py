"""A package whose images are made: what a world is started from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from arena_kit.rollout.exports.state import ExportedState
from arena_kit.rollout.packages.compose import Service
from arena_kit.rollout.packages.manifest import Export, Login


@dataclass(frozen=True, slots=True)
class BuiltService:
    """A service and its image.

    image: a content id, so that the engine never pulls. environment: with the arena's. user: whom it runs as, as
    numbers, e.g. 1000:1000; empty if that is not known. reference: the image's name by digest in a registry, for
    clusters; empty without one.
    """

    service: Service
    image: str
    environment: Mapping[str, str] = field(default_factory=dict)
    user: str = ""
    reference: str = ""


@dataclass(frozen=True, slots=True)
class BuiltPackage:
    """Services in an order in which they can start, and what is exported of them.

    sha256: of the zip. seed: what the data were made from. fresh: the files that a fresh world exports, by name.
    digest: of the state in them. home, logins: where a browser starts and how it logs in. clock: the time that pages
    see, or empty for the real one. uploads: files that agents may upload, by name. front: whether a proxy keeps the
    network log.
    """

    sha256: str
    slug: str
    services: tuple[BuiltService, ...]
    exports: tuple[Export, ...]
    memory_bytes: int
    origins: tuple[str, ...] = ()
    volatile: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    seed: int = 0
    fresh: Mapping[str, bytes] = field(default_factory=dict)
    digest: str = ""
    home: str = ""
    logins: tuple[Login, ...] = ()
    clock: str = ""
    uploads: Mapping[str, bytes] = field(default_factory=dict)
    front: bool = False

    def state(self, files: Mapping[str, bytes]) -> ExportedState:
        """Return the state in exported files. Raises ExportRefused."""
        return ExportedState(files, volatile=self.volatile)
