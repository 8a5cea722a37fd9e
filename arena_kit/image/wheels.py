"""Which wheels a set of requirements comes to, wherever pip runs: in a container or on the participant's computer."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Protocol

from packaging.requirements import Requirement
from packaging.utils import InvalidWheelFilename, canonicalize_name, parse_wheel_filename

from arena_kit.image.errors import BuildFailed
from arena_kit.image.failures import BASE_IMAGE, failure, missing
from arena_kit.image.limits import MAX_PACKAGES

MAX_FALL_BACKS = 5
"""At most this many lines fall back to versions that are there; each costs a run of pip."""
TESTS = r"/tests?/"
"""Matches the tests inside packages, half of the files of NumPy and SciPy, which are not compiled."""
DOWNLOAD = ("download", "--only-binary", ":all:", "--progress-bar", "off")
INSTALL = ("install", "--no-index", "--no-deps", "--no-compile", "--no-warn-script-location")
"""Commands of pip: only the first uses a network, and no code of a package runs in either."""
HASHES = """
import hashlib, json, os, sys
found = {}
for name in sorted(os.listdir(sys.argv[1])):
    with open(os.path.join(sys.argv[1], name), "rb") as file:
        found[name] = hashlib.sha256(file.read()).hexdigest()
print(json.dumps(found))
"""

Log = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Wheel:
    """An installed wheel. sha256: the hash of its file, in hexadecimal."""

    filename: str
    sha256: str

    @property
    def name(self) -> str:
        return parse_wheel_filename(self.filename)[0]

    @property
    def version(self) -> str:
        return str(parse_wheel_filename(self.filename)[1])


class Fetcher(Protocol):
    """A program that runs pip."""

    def fetch(self, lines: tuple[str, ...], log: Log) -> tuple[int, str]:
        """Let pip find and fetch the wheels of these lines; return its exit status and the end of its output."""


def checked_wheels(hashes: Mapping[str, str]) -> tuple[Wheel, ...]:
    """Return the fetched wheels, from the SHA-256 of each file by name. Raises BuildFailed."""
    found = tuple(Wheel(name, digest) for name, digest in hashes.items())
    if len(found) > MAX_PACKAGES:
        raise BuildFailed(
            f"The requirements need {len(found)} packages; at most {MAX_PACKAGES} are allowed.",
            code="too_many_packages",
        )
    try:
        for wheel in found:
            parse_wheel_filename(wheel.filename)
    except InvalidWheelFilename as error:
        raise BuildFailed(f"The package index gave a file that is not a wheel: {error}.", code="no_wheel") from None
    return found


def not_met(lines: tuple[str, ...], base: Mapping[str, str]) -> tuple[str, ...]:
    """Return the lines that the base image does not meet; a line with extras or a marker counts as not met."""
    return tuple(line for line in lines if not _is_met(Requirement(line), base))


def _is_met(asked: Requirement, base: Mapping[str, str]) -> bool:
    version = base.get(canonicalize_name(asked.name))
    return version is not None and not asked.extras and not asked.marker and asked.specifier.contains(version)


def fetch_all(
    pip: Fetcher, wanted: list[str], base: Mapping[str, str], log: Log, *, where: str = BASE_IMAGE
) -> list[str]:
    """Fetch the wheels; return the lines that fall back to versions that are there. Raises BuildFailed.

    base: versions that are there, by normalised name. where: what has them and the Python, in words.
    """
    given_up: list[str] = []
    while wanted:
        status, output = pip.fetch(tuple(wanted), log)
        if status == 0:
            break
        absent = missing(status, output)
        if absent is None:
            raise failure(status, output)
        line = next((line for line in wanted if _package_of(line) == absent.name), "")
        if not line or absent.is_too_new or absent.name not in base:
            raise absent.failure(line, where=where)
        if len(given_up) == MAX_FALL_BACKS:
            raise BuildFailed(
                f"More than {MAX_FALL_BACKS} requirements have no wheel for the Python of {where}, "
                f"including {line}. Ask for versions that have one.",
                code="no_wheel",
            )
        wanted.remove(line)
        given_up.append(line)
        log(f"No wheel for {line}: trying without it.")
    return given_up


def warning(line: str, here: Mapping[str, str], base: Mapping[str, str], *, where: str = BASE_IMAGE) -> str:
    """Return a sentence for the owner about a line that fell back to another version."""
    package = _package_of(line)
    if package in here:
        # Another requirement depends on the package.
        return f"{line} has no wheel for the Python of {where}; version {here[package]} is used."
    return f"{line} has no wheel for the Python of {where}; version {base[package]}, which is there, is used."


def _package_of(line: str) -> str:
    return canonicalize_name(Requirement(line).name)
