"""Reads a line of a conda environment as people write it, and says what it is on the package index.

The forms are those of conda's match specifications: `name`, `name=1.2`, `name==1.2=build`, `name >=1,<2`,
`name 1.2 build`, `channel/subdir::name` and `name[version='>=1', build=x]`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from arena_kit.upload.conda_names import (
    NO_WHEELS,
    OTHER_VERSIONS,
    WHEELS,
    is_conda_only,
    is_of_another_system,
    plain_name,
)

FROM_BASE_IMAGE = frozenset({"pip", "setuptools", "wheel"})
PYTHON = "python"
"""`arena_kit.upload.pythons` reads its version, which chooses the base image."""
MAX_CHARACTERS = 300
"""People write shorter lines."""
_LINE = re.compile(r"(?:[\w./-]+::)?(\w[\w.-]*)(.*)", re.ASCII | re.DOTALL)
_KEY = re.compile(r"""\s*(\w+)\s*=\s*(?:'([^']*)'|"([^"]*)"|([^\s,'"]*))\s*(?:,|\Z)""", re.ASCII)
_BUILD = re.compile(r"(==?[^=,|<>!~\s]+)=[\w.*]+")
_SHOWN = 60
_HASH = re.compile(r"\s--hash[= ]\w+:[0-9a-fA-F]+", re.ASCII)
_NAME = re.compile(r"[A-Za-z0-9][\w.-]*", re.ASCII)
_LOCAL = re.compile(r"(==\s*[\w.!]+)\+[A-Za-z0-9.]+", re.ASCII)
"""Matches the local part of a version, which packages of the index never have."""


@dataclass(frozen=True, slots=True)
class CondaRequirement:
    """A package of conda. line: the same as a requirement, not checked yet; empty if it is left out.

    note: what the owner should know, without the name of the file.
    """

    line: str
    note: str = ""


def conda_requirement(item: str) -> CondaRequirement | None:
    """Return a line of the `dependencies` as a requirement; None when it is not a package with a version."""
    parsed = parse(item)
    if parsed is None:
        return None
    package, version = parsed
    shown = item.strip()[:_SHOWN]
    plain = plain_name(package)
    if plain == PYTHON:
        return CondaRequirement("")
    if plain in FROM_BASE_IMAGE:
        return CondaRequirement("", f"{shown} is ignored: the arena's base image determines it.")
    if is_of_another_system(plain):
        return CondaRequirement("", f"{shown} is left out: players run on Linux, and it is for other systems.")
    if is_conda_only(package):
        return CondaRequirement("", f"{shown} is left out: only conda has it, and wheels bring what they need.")
    note = ""
    if "|" in version:
        note, version = f"{shown} allows several versions, and any is installed.", ""
    wheel = WHEELS.get(plain)
    if wheel is None:
        return CondaRequirement(f"{package}{pip_version(version)}", note)
    is_loose = plain in OTHER_VERSIONS and re.fullmatch(r"={1,2}[\w.]+", version)
    version = f"={version.lstrip('=')}" if is_loose else version
    return CondaRequirement(f"{wheel}{pip_version(version)}", note or f"{shown} is installed as the wheel {wheel}.")


def pip_requirement(line: str) -> CondaRequirement | None:
    """Return a line as pip reads it, without its hashes and without what the package index does not have.

    Left out are packages of other systems, and the part of a version that names an index of a project's own, as in
    torch==2.3.0+cpu. Returns None for no line, e.g. of options alone.
    """
    plain, hashes = _HASH.subn("", line)
    plain = plain.strip()
    if hashes and not plain:
        return None
    found = _NAME.match(plain)
    name = plain_name(found[0]) if found else ""
    if is_of_another_system(name) and ";" not in plain:
        return CondaRequirement("", f"{plain[:_SHOWN]} is left out: players run on Linux, and it is for other systems.")
    note = f"{name} has no wheels: write {NO_WHEELS[name]} instead." if name in NO_WHEELS else ""
    shorter = _LOCAL.sub(r"\1", plain)
    if shorter != plain:
        note = f"{plain[:_SHOWN]} is read as {shorter[:_SHOWN]}: the package index has no other builds."
    return CondaRequirement(shorter, note)


def parse(item: str) -> tuple[str, str] | None:
    """Return the name of a package and its version as conda writes it; None for a line of another form."""
    plain = item.strip()
    if not plain.isascii() or len(plain) > MAX_CHARACTERS:
        return None
    # Cut at the bracket first: one pattern for all parts would take minutes for a line of many spaces.
    head, bracket, rest = plain.partition("[")
    keys, after = rest[:-1], rest[-1:]
    found = _LINE.fullmatch(head)
    if found is None or "]" in head or (bracket and (after != "]" or "[" in keys or "]" in keys)):
        return None
    package, version = found[1], found[2].strip()
    if bracket:
        position, named = 0, {}
        while position < len(keys):
            key = _KEY.match(keys, position)
            if key is None:
                return None
            named[key[1]] = next(value for value in key.groups()[1:] if value is not None)
            position = key.end()
        version = named.get("version", version)
    # The build says on what a package was compiled: `=1.2=py311_0`, or the third word of `name 1.2 py311_0`.
    version = _BUILD.sub(r"\1", version)
    if not version.startswith(("=", "<", ">", "!", "~")) and version:
        version = "==" + version.split()[0] if version[0].isdigit() else version.split()[0]
    return package, re.sub(r"\s*,\s*", ",", version)


def pip_version(version: str) -> str:
    """Return a version of conda as pip writes it: `=1.2` means any 1.2, and `*` any at all."""
    if version.lstrip("=") in ("", "*"):
        return ""
    if re.match(r"=[^=]", version):
        number = version[1:].strip()
        return f"=={number}" if number.endswith("*") else f"=={number}.*"
    return version
