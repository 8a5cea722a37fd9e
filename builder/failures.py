"""What pip's words mean: whose fault it is, and the one sentence that its owner needs."""

from __future__ import annotations

import re
from dataclasses import dataclass

from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name
from packaging.version import InvalidVersion, Version

from builder.container import MEMORY_BYTES
from builder.errors import BuilderUnavailable, BuildFailed
from builder.installer import FETCHED_BYTES, INSTALL_SECONDS, MAX_FILES, TIMED_OUT, TOO_LARGE, TOO_MANY_FILES
from builder.layer import too_large, too_many_files

KILLED = (137, -9)
TERMINATED = 143
NEWER = ("==", "===", ">=", ">", "~=")
MAX_NAMED = 4
_MISSING = re.compile(r"^ERROR: No matching distribution found for (.+?)(?: \(from .*)?$", re.MULTILINE)
_FOUND = re.compile(r"satisfies the requirement .*\(from versions: (.*)\)$", re.MULTILINE)
_OTHER_PYTHON = re.compile(r"(\S+) Requires-Python ([^;\n]+)")
_CONFLICT = re.compile(r"^The conflict is caused by:\n((?:    .+\n?)+)", re.MULTILINE)
_UNREACHABLE = re.compile(
    r"max retries exceeded|temporary failure in name|connection broken|timed out|\b50[0-9] server error", re.IGNORECASE
)


@dataclass(frozen=True, slots=True)
class Missing:
    """A requirement that no wheel fits. wanted: as pip names it. versions: those that this Python could have, sorted.

    other_python: the newest version for another Python and what it asks for, e.g. `2.4.0 (Python >=3.12)`.
    """

    wanted: str
    versions: tuple[Version, ...]
    other_python: str = ""

    @property
    def name(self) -> str:
        return canonicalize_name(re.split(r"[^A-Za-z0-9._-]", self.wanted, maxsplit=1)[0])

    @property
    def is_too_new(self) -> bool:
        """Whether it asks for more than the newest: no older Python has it either."""
        try:
            asked = [Version(one.version.removesuffix(".*")) for one in Requirement(self.wanted).specifier
                     if one.operator in NEWER]  # fmt: skip
        except (InvalidRequirement, InvalidVersion):
            return False
        return bool(self.versions and asked) and max(asked) > self.versions[-1]

    def failure(self, line: str) -> BuildFailed:
        """line: that of the owner, if it is known."""
        shown = line or self.wanted
        if not self.versions and not self.other_python:
            why = f"no wheel of {self.name} fits the Python of the base image, or there is no such package."
            return BuildFailed(f"{shown}: {why} Check the name, or leave it out.", code="no_wheel")
        newest = next((version for version in reversed(self.versions) if not version.is_prerelease), None)
        hints = [f"newest is {newest}" if newest else "", self.other_python and f"there is {self.other_python}"]
        why = f"no version of {self.name} fits; {', '.join(filter(None, hints))}."
        return BuildFailed(f"{shown}: {why} Ask for a version that there is.", code="no_wheel")


def missing(status: int, output: str) -> Missing | None:
    """The requirement that pip found no wheel for, if that is how it ended."""
    found = _MISSING.search(output)
    # Without an index pip finds no package at all.
    if found is None or status == TIMED_OUT or _UNREACHABLE.search(output):
        return None
    versions = set()
    if listed := _FOUND.search(output):
        for word in listed[1].split(", "):
            try:
                versions.add(Version(word))
            except InvalidVersion:
                continue
    others = _OTHER_PYTHON.findall(output)
    other = f"{others[-1][0]} for Python {others[-1][1].strip()}" if others else ""
    return Missing(found[1], tuple(sorted(versions)), other)


def failure(status: int, output: str) -> BuildFailed | BuilderUnavailable:
    """Why pip failed, in one sentence and with a code of its own."""
    # First: an index that was slow till the end has also left words on connections.
    if status in {TIMED_OUT, TERMINATED}:
        return BuildFailed(
            f"Installing the requirements takes longer than {INSTALL_SECONDS // 60} minutes. Ask for fewer packages.",
            code="requirements_too_slow",
        )
    if status == TOO_LARGE:
        return too_large(FETCHED_BYTES)
    if status == TOO_MANY_FILES:
        return too_many_files(MAX_FILES)
    if "No space left" in output:
        return BuilderUnavailable("The disk is full.", code="disk_full")
    if _UNREACHABLE.search(output):
        return BuilderUnavailable("The package index cannot be reached.", code="index_unreachable")
    if status in KILLED:
        return BuildFailed(
            f"Installing the requirements needs more than {MEMORY_BYTES >> 30} GiB of memory. Ask for fewer packages.",
            code="requirements_out_of_memory",
        )
    if conflict := _CONFLICT.search(output):
        said = [line.strip().removeprefix("The user requested ") for line in conflict[1].splitlines()]
        shown = "; ".join(said[:MAX_NAMED]) + ("; ..." if len(said) > MAX_NAMED else "")
        return BuildFailed(
            f"These requirements exclude each other: {shown}. Widen or drop one of them.", code="requirements_conflict"
        )
    errors = [line for line in output.splitlines() if line.startswith("ERROR:")]
    first = errors[0].removeprefix("ERROR:").strip() if errors else "pip ended without saying why"
    return BuildFailed(f"The requirements cannot be installed: {first}", code="requirements_failed")
