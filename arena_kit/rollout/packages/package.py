"""Reads a package as it is uploaded: the zip, its two YAML files and its tasks. Nothing of it runs."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import IO

from arena_kit.errors import Refused
from arena_kit.rollout.packages import compose, manifest
from arena_kit.rollout.packages.compose import Caps, Service
from arena_kit.rollout.packages.manifest import Manifest, manifest_read
from arena_kit.rollout.packages.services import compose_read
from arena_kit.rollout.tasks.file import MOST_BYTES as MOST_TASKS_BYTES
from arena_kit.rollout.tasks.file import TaskFile, TasksRefused, tasks_read
from arena_kit.rollout.values.strict_json import Flaw, NotJson
from arena_kit.upload.archive import inspect_archive, read_text
from arena_kit.upload.requirements import RequirementsRefused, parse_requirements
from arena_kit.upload.zip_safety import READ_BYTES, ArchiveLimits, ArchiveRefused

TASKS = "tasks.json"
FILES = (manifest.FILE, compose.FILE, TASKS)
FOLDERS = ("services", "seed", "uploads")
MOST_PACKED_BYTES = 200 << 20
LIMITS = ArchiveLimits(entry_count=10_000, total_bytes=1 << 30, text_bytes=256 << 10, keeps_hidden=True)
_TASK_LIMITS = ArchiveLimits(entry_count=10_000, total_bytes=1 << 30, text_bytes=MOST_TASKS_BYTES, keeps_hidden=True)
MOST_NAMED = 20
NO_ZIP = "not_a_zip"


@dataclass(frozen=True, slots=True)
class SiteLimits:
    """The limits of a package on a site. memory_bytes: of a whole world."""

    service: Caps = field(default_factory=Caps)
    memory_bytes: int = 8 << 30


@dataclass(frozen=True, slots=True)
class Package:
    """A package that was read and found good. services: in an order in which they can start. names: all its files."""

    sha256: str
    manifest: Manifest
    services: tuple[Service, ...]
    tasks: TaskFile
    names: tuple[str, ...]


class PackageRefused(Refused):
    """A package that is not accepted. flaws: everything that is wrong with its files."""

    def __init__(self, flaws: Sequence[Flaw]) -> None:
        """Refuse a package for at least one reason."""
        said = [f"{flaw.path}: {flaw.message}" if flaw.path else flaw.message for flaw in flaws[:MOST_NAMED]]
        more = f" And {len(flaws) - MOST_NAMED} more." if len(flaws) > MOST_NAMED else ""
        super().__init__("\n".join(said) + more, code=flaws[0].code)
        self.flaws = tuple(flaws)


def package_read(file: IO[bytes], limits: SiteLimits | None = None) -> Package:
    """Return the package in a zip. file: seekable. Raises PackageRefused."""
    limits = limits or SiteLimits()
    try:
        names, digest = _names(file)
        flaws = _misplaced(names)
        for name in (manifest.FILE, compose.FILE):
            if name not in names:
                flaws.append(Flaw("missing_file", name, "The file is missing at the root of the zip."))
        if flaws:
            raise PackageRefused(flaws)
        services = compose_read(read_text(file, compose.FILE, LIMITS), limits.service, flaws)
        found = manifest_read(read_text(file, manifest.FILE, LIMITS), services, limits.memory_bytes, flaws)
        flaws += _lost_files(file, services, names)
        if flaws or found is None:
            raise PackageRefused(flaws)
        return Package(digest, found, services, _tasks(file, names, found), names)
    except ArchiveRefused as refusal:
        # The sentence of the check of archives is for agents.
        said = (
            f"This is not a zip. Pack {manifest.FILE}, {compose.FILE} and their folders."
            if refusal.code == NO_ZIP
            else ""
        )
        raise PackageRefused([Flaw(refusal.code, refusal.file, said or str(refusal))]) from None


def _names(file: IO[bytes]) -> tuple[tuple[str, ...], str]:
    """Return the names of all files and the SHA-256 of the zip. Raises ArchiveRefused and PackageRefused."""
    packed = file.seek(0, 2)
    if packed > MOST_PACKED_BYTES:
        sentence = f"The zip has {packed >> 20} MiB; at most {MOST_PACKED_BYTES >> 20} are allowed."
        raise PackageRefused([Flaw("too_large", "", sentence)])
    report = inspect_archive(file, LIMITS, needs_entry_point=False)
    file.seek(0)
    hashed = hashlib.sha256()
    while data := file.read(READ_BYTES):
        hashed.update(data)
    return report.names, hashed.hexdigest()


def _misplaced(names: Sequence[str]) -> list[Flaw]:
    """Return a flaw for every file that no part of a package is made of."""
    sentence = f"A package has the files {', '.join(FILES)} and the folders {', '.join(FOLDERS)} at its root."
    return [
        Flaw("unknown_file", name, sentence)
        for name in names
        if name not in FILES and name.partition("/")[0] not in FOLDERS
    ]


def _lost_files(file: IO[bytes], services: Sequence[Service], names: Sequence[str]) -> list[Flaw]:
    """Return a flaw for folders and requirements that services name and the zip has not."""
    found = []
    for service in services:
        path = f"{compose.FILE}.services.{service.name}"
        if service.files and not any(name.startswith(f"{service.files}/") for name in names):
            found.append(Flaw("missing_file", f"{path}.files", f"The zip has no folder {service.files}."))
        if service.requirements and service.requirements not in names:
            found.append(Flaw("missing_file", f"{path}.requirements", f"The zip has no file {service.requirements}."))
        elif service.requirements:
            try:
                parse_requirements(read_text(file, service.requirements, LIMITS), service.requirements)
            except RequirementsRefused as refusal:
                found.append(Flaw(refusal.code, service.requirements, str(refusal)))
    return found


def _tasks(file: IO[bytes], names: Sequence[str], found: Manifest) -> TaskFile:
    if TASKS not in names:
        return TaskFile((), (), found.slug)
    try:
        tasks = tasks_read(read_text(file, TASKS, _TASK_LIMITS).encode(), found.rules)
    except (NotJson, TasksRefused) as refusal:
        raise PackageRefused([Flaw(refusal.code, TASKS, str(refusal))]) from None
    if tasks.skipped:
        wrong = [flaw for each in tasks.skipped for flaw in each.reasons]
        raise PackageRefused([Flaw(flaw.code, f"{TASKS} {flaw.path}", flaw.message) for flaw in wrong])
    return tasks
