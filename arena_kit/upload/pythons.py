"""Which Python a submission asks for, and which base image fits it best."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from arena_kit.older import tomllib
from arena_kit.upload.archive import ArchiveReport
from arena_kit.upload.conda import PYTHON, parse, pip_version
from arena_kit.upload.requirements import read_yaml
from arena_kit.upload.zip_safety import ArchiveRefused

if TYPE_CHECKING:
    # It is loaded where it is needed: that takes a sixth of an inspection, and few archives ask for a Python.
    from packaging.specifiers import SpecifierSet

Version = tuple[int, int]
CONDA_FILES = ("environment.yml", "environment.yaml")
PROJECT = "pyproject.toml"
MAX_CHARACTERS = 300
"""Longer conditions on a version are not looked at."""
_LONG_NUMBER = re.compile(r"\d{10}", re.ASCII)
_PINNED = re.compile(r"(?:cpython-)?(\d+)\.(\d+)(?:\.\d+)?", re.ASCII)


@dataclass(frozen=True, slots=True)
class WantedPython:
    """The versions of Python that a submission requires. source:

    the file that names them, and how, for a sentence. note: a sentence for the owner if the file was not read.
    """

    versions: SpecifierSet
    source: str
    note: str = ""

    def fits(self, version: Version) -> bool:
        """Return whether any release of a version of Python, e.g. (3, 12), is asked for."""
        major, minor = version
        # A lower bound like >=3.11.4 is met by a later release of the same version.
        return any(self.versions.contains(f"{major}.{minor}.{patch}") for patch in (0, 4, 8, 12, 99))


@dataclass(frozen=True, slots=True)
class ChosenPython:
    """The version of Python that players of a submission run on. note: a sentence for the owner if it does not fit."""

    version: Version
    note: str = ""


def read_wanted_python(report: ArchiveReport, read: Callable[[str], str]) -> WantedPython | None:
    """Return the Python that an archive asks for; None if it does not say so, or not in a form that is understood.

    `.python-version` comes before the conda environment, and `requires-python` in pyproject.toml is read last. read:
    returns the text of a file in the archive by its name. Raises ArchiveRefused and RequirementsRefused.
    """
    for name in (".python-version", *CONDA_FILES, PROJECT):
        if name not in report.names:
            continue
        try:
            wanted = _wanted(name, read(name))
        except ArchiveRefused as refused:
            if name != PROJECT:
                raise
            from packaging.specifiers import SpecifierSet

            # Nothing else is read from it, so it is not a reason to refuse an upload.
            return WantedPython(SpecifierSet(), name, f"The Python version in {name} was not read: {refused}")
        if wanted is not None:
            return wanted
    return None


def choose_python(wanted: WantedPython | None, offered: Iterable[Version]) -> ChosenPython:
    """Return which of the offered versions runs a submission: the first that fits, else the nearest one.

    offered: not empty; the first is the default.
    """
    versions = list(offered)
    fitting = [version for version in versions if wanted is None or wanted.fits(version)]
    if wanted is None or fitting:
        # The default if it fits, else the oldest: what was written for a version runs best on the nearest one.
        note = "" if wanted is None else wanted.note
        return ChosenPython(versions[0] if versions[0] in fitting else min(fitting), note)
    aim = _aim(wanted)
    nearest = min(versions, key=lambda version: (abs(version[1] - aim[1]), version))
    return ChosenPython(
        nearest, f"{wanted.source} asks for another Python than the arena has; it runs on Python {written(nearest)}."
    )


def written(version: Version) -> str:
    """Return a version as people write it: 3.12."""
    return f"{version[0]}.{version[1]}"


def read_version(text: str) -> Version | None:
    """Return the first two numbers of a version of Python; None for other texts."""
    found = re.fullmatch(r"(\d{1,2})\.(\d{1,3})(?:[.\w+-]*)", text.strip(), re.ASCII)
    return (int(found[1]), int(found[2])) if found else None


def _wanted(name: str, text: str) -> WantedPython | None:
    if name == ".python-version":
        lines = [line.strip() for line in text.splitlines() if line.strip() and not line.startswith("#")]
        found = _PINNED.fullmatch(lines[0]) if lines else None
        return _specified(f"=={found[1]}.{found[2]}.*", f".python-version ({lines[0][:30]})") if found else None
    if name == PROJECT:
        try:
            project = tomllib.loads(text).get("project", {})
        except (ValueError, RecursionError):
            # Also for a number with more digits than Python reads.
            return None
        asked = project.get("requires-python") if isinstance(project, dict) else None
        shown = f"pyproject.toml (requires-python {str(asked)[:30]})"
        return _specified(asked, shown) if isinstance(asked, str) else None
    data = read_yaml(text, name)
    items = data.get("dependencies") if isinstance(data, dict) else None
    for item in items if isinstance(items, list) else ():
        parsed = parse(item) if isinstance(item, str) else None
        if parsed is not None and parsed[0].lower() == PYTHON and parsed[1]:
            # `python=3.8.5` means this release, and any release of the same version is as good here.
            version = re.sub(r"\A={0,2}(\d+\.\d+)\S*\Z", r"=\1", parsed[1])
            return _specified(pip_version(version), f"{name} ({item.strip()[:30]})")
    return None


def _specified(text: str, source: str) -> WantedPython | None:
    # Python refuses to read numbers of thousands of digits, and only when versions are compared.
    if len(text) > MAX_CHARACTERS or _LONG_NUMBER.search(text):
        return None
    from packaging.specifiers import InvalidSpecifier, SpecifierSet

    try:
        return WantedPython(SpecifierSet(text), source)
    except InvalidSpecifier:
        return None


def _aim(wanted: WantedPython) -> Version:
    """Return the version that a submission names first, or 3.0 if it names none."""
    found = re.search(r"(\d+)\.(\d+)", str(wanted.versions))
    return (int(found[1]), int(found[2])) if found else (3, 0)
