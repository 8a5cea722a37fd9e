"""Reads pip's output: decides whether the owner or the platform is at fault, and writes a sentence for people."""

from __future__ import annotations

import re
import sys
from dataclasses import dataclass

from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name
from packaging.version import InvalidVersion, Version

from arena_kit.image.errors import BuilderUnavailable, BuildFailed
from arena_kit.image.limits import (
    FETCHED_BYTES,
    INSTALL_SECONDS,
    MAX_FILES,
    MEMORY_BYTES,
    TIMED_OUT,
    TOO_LARGE,
    TOO_MANY_FILES,
)
from arena_kit.upload.conda_names import NO_WHEELS, likely_wheel

KILLED = (137, -9)
TERMINATED = 143
NEWER = ("==", "===", ">=", ">", "~=")
MAX_NAMED = 4
BASE_IMAGE = "the base image"
_MISSING = re.compile(r"^ERROR: No matching distribution found for ([^;\n]+?)(?:;.*| \(from .*)?$", re.MULTILINE)
_FOUND = re.compile(r"satisfies the requirement .*?(?:\(from ([^)\n]+)\) )?\(from versions: (.*)\)$", re.MULTILINE)
_OTHER_PYTHON = re.compile(r"(\S+) Requires-Python ([^;\n]+)")
_CONFLICT = re.compile(r"^The conflict is caused by:\n((?:    .+\n?)+)", re.MULTILINE)
_UNREACHABLE = re.compile(
    r"max retries exceeded|temporary failure in name|connection broken|timed out|\b50[0-9] server error", re.IGNORECASE
)


@dataclass(frozen=True, slots=True)
class Missing:
    """A requirement that no wheel fits.

    wanted: the requirement as pip names it. versions: those that fit this Python, sorted. needed_by: the package that
    requires it; empty when the owner does. other_python: the versions of Python that the wanted version is for.
    """

    wanted: str
    versions: tuple[Version, ...] = ()
    needed_by: str = ""
    other_python: str = ""

    @property
    def name(self) -> str:
        return canonicalize_name(re.split(r"[^A-Za-z0-9._-]", self.wanted, maxsplit=1)[0])

    @property
    def is_too_new(self) -> bool:
        """Return whether it requires a version beyond the newest one, which then fits no other Python either."""
        try:
            asked = [
                Version(one.version.removesuffix(".*"))
                for one in Requirement(self.wanted).specifier
                if one.operator in NEWER
            ]
        except (InvalidRequirement, InvalidVersion):
            return False
        return bool(self.versions and asked) and max(asked) > self.versions[-1]

    def failure(self, line: str, *, where: str = BASE_IMAGE) -> BuildFailed:
        """Return the failure for the owner. line: the owner's own line, if known. where: names what has the Python."""
        shown = line or (f"{self.wanted} (needed by {self.needed_by})" if self.needed_by else self.wanted)
        newest = next((version for version in reversed(self.versions) if not version.is_prerelease), None)
        if newest is None:
            why = f"no wheel of {self.name} fits the Python of {where}, or there is no such package. "
            # A name that another package wrote is not a slip of the owner.
            meant = None if self.needed_by else likely_wheel(self.name)
            what = f"Did you mean {meant}?" if meant else "Check the name, or leave it out."
            if not self.needed_by and self.name in sys.stdlib_module_names:
                why, what = f"{self.name} is a part of Python. ", "Leave it out."
            if meant and self.name in NO_WHEELS:
                why, what = f"{self.name} has no wheels. ", f"Write {meant} instead."
            return BuildFailed(f"{shown}: {why}{what}", code="no_wheel")
        python = f"the wanted one needs Python {self.other_python}, and " if self.other_python else ""
        why = f"no version of {self.name} fits; {python}the newest here is {newest}. Ask for an existing version."
        return BuildFailed(f"{shown}: {why}", code="no_wheel")


def missing(status: int, output: str) -> Missing | None:
    """Return the requirement that pip found no wheel for, or None when pip ended for another reason."""
    found = _MISSING.search(output)
    # pip also says so when it cannot reach the index.
    if found is None or status == TIMED_OUT or _UNREACHABLE.search(output):
        return None
    wanted = found[1].strip()
    listed = _FOUND.search(output)
    needed_by, versions = (listed[1] or "", listed[2]) if listed else ("", "")
    known = {version for word in versions.split(", ") if (version := _version(word))}
    return Missing(wanted, tuple(sorted(known)), needed_by, _other_python(wanted, output))


def _version(word: str) -> Version | None:
    try:
        return Version(word)
    except InvalidVersion:
        return None


def _other_python(wanted: str, output: str) -> str:
    """Return the versions of Python that the wanted version needs, or "" when pip did not see that version."""
    try:
        specifier = Requirement(wanted).specifier
    except InvalidRequirement:
        return ""
    fits = [python for word, python in _OTHER_PYTHON.findall(output) if specifier.contains(word, prereleases=True)]
    return fits[-1].strip() if fits else ""


def failure(status: int, output: str) -> BuildFailed | BuilderUnavailable:
    """Return why pip failed, as a typed error with one sentence."""
    # The time-out comes first: a slow index also leaves messages about connections in the output.
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
    first = errors[0].removeprefix("ERROR:").strip() if errors else "pip gave no reason"
    return BuildFailed(f"The requirements cannot be installed: {first}", code="requirements_failed")


def too_large(most_bytes: int) -> BuildFailed:
    """Return the failure of requirements that take too much space on disk."""
    return BuildFailed(
        f"The requirements take more than {most_bytes >> 30} GiB on disk. Ask for fewer or smaller packages.",
        code="requirements_too_large",
    )


def too_many_files(most_files: int) -> BuildFailed:
    """Return the failure of requirements that consist of too many files."""
    return BuildFailed(
        f"The requirements install more than {most_files} files. Ask for fewer packages.",
        code="requirements_too_many_files",
    )
