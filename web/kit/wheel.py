"""Makes the wheel of `arena-kit` from the folder that the arena runs from, as `pyproject.toml` describes it.

Equal files give equal bytes and other files another version, so all processes and hosts of a site serve the same wheel
without a build. A test compares it with the one that hatchling builds.
"""

from __future__ import annotations

import base64
import hashlib
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from arena_kit.zips import zip_bytes

LEFT_OUT = frozenset({"__pycache__"})
COMPILED = frozenset({".pyc", ".pyo", ".pyd"})
GENERATOR = "arena"


@dataclass(frozen=True, slots=True)
class Wheel:
    """A wheel with its hash. name, version: of the project."""

    name: str
    version: str
    requires_python: str
    filename: str
    content: bytes = field(repr=False)
    sha256: str

    @property
    def least_python(self) -> str:
        """The oldest version of Python that it runs on."""
        return self.requires_python.removeprefix(">=")


@cache
def wheel(root: Path) -> Wheel:
    """Return the wheel of the project in a folder; it is made once in each process. Raises OSError."""
    project = _project(root)
    files = dict(_files(root, project["tool"]["hatch"]["build"]["targets"]["wheel"]))
    about = {**project["project"], "version": f"{project['project']['version']}+{_label(files, project['project'])}"}
    stem = f"{canonicalize_name(about['name']).replace('-', '_')}-{about['version']}"
    info = f"{stem}.dist-info"
    files |= {
        f"{info}/METADATA": metadata(about).encode(),
        f"{info}/WHEEL": f"Wheel-Version: 1.0\nGenerator: {GENERATOR}\nRoot-Is-Purelib: true\n"
        "Tag: py3-none-any\n".encode(),
        f"{info}/entry_points.txt": _entry_points(about["scripts"]),
        f"{info}/licenses/LICENSE": (root / "LICENSE").read_bytes(),
    }
    files[f"{info}/RECORD"] = _record(files, f"{info}/RECORD")
    content = zip_bytes(files.items())
    return Wheel(
        name=canonicalize_name(about["name"]),
        version=about["version"],
        requires_python=about["requires-python"],
        filename=f"{stem}-py3-none-any.whl",
        content=content,
        sha256=hashlib.sha256(content).hexdigest(),
    )


def _label(files: Mapping[str, bytes], about: Mapping[str, Any]) -> str:
    """Return the local label of a version (PEP 440) for one content; installers replace another one by it.

    It begins with a letter, because a label of digits alone is read as a number and loses its zeros.
    """
    content = hashlib.sha256(metadata(about).encode())
    for name, data in sorted(files.items()):
        content.update(f"\n{name}\n{len(data)}\n".encode())
        content.update(data)
    return f"k{content.hexdigest()[:12]}"


def metadata(about: Mapping[str, Any]) -> str:
    """Return the core metadata (version 2.4) of a project as `pyproject.toml` describes it."""
    lines = [
        "Metadata-Version: 2.4",
        f"Name: {about['name']}",
        f"Version: {about['version']}",
        f"Summary: {about['description']}",
        f"License-Expression: {about['license']}",
        "License-File: LICENSE",
        f"Requires-Python: {about['requires-python']}",
        *(f"Requires-Dist: {Requirement(line)}" for line in sorted(about["dependencies"])),
    ]
    extras: Mapping[str, list[str]] = about["optional-dependencies"]
    for extra in sorted(extras):
        lines.append(f"Provides-Extra: {extra}")
        lines += [f"Requires-Dist: {line}; extra == '{extra}'" for line in sorted(_of_extra(extra, extras, about))]
    return "\n".join(lines) + "\n"


def requirements(root: Path, extras: Iterable[str]) -> list[str]:
    """Return what arena-kit needs with some of its extras."""
    about = _project(root)["project"]
    found = set(about["dependencies"])
    for extra in extras:
        found |= _of_extra(extra, about["optional-dependencies"], about)
    return sorted(found)


def _project(root: Path) -> dict[str, Any]:
    return tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))


def _of_extra(extra: str, extras: Mapping[str, list[str]], about: Mapping[str, Any]) -> set[str]:
    """Return the requirements of an extra; one that names the project itself stands for its own extras."""
    found: set[str] = set()
    for line in extras[extra]:
        requirement = Requirement(line)
        if canonicalize_name(requirement.name) == canonicalize_name(about["name"]):
            for other in requirement.extras:
                found |= _of_extra(other, extras, about)
        else:
            found.add(str(requirement))
    return found


def _files(root: Path, target: Mapping[str, Any]) -> Iterator[tuple[str, bytes]]:
    """Yield the paths and contents of the files in the wheel."""
    excluded = tuple(f"{name}/" for name in target["exclude"])
    for folder, inside in {**{name: name for name in target["packages"]}, **target["force-include"]}.items():
        for path in sorted((root / folder).rglob("*")):
            name = path.relative_to(root / folder).as_posix()
            is_hidden = any(part.startswith(".") or part in LEFT_OUT for part in name.split("/"))
            if is_hidden or path.suffix in COMPILED or not path.is_file():
                continue
            if not f"{folder}/{name}/".startswith(excluded):
                yield f"{inside}/{name}", path.read_bytes()


def _entry_points(scripts: Mapping[str, str]) -> bytes:
    return "\n".join(["[console_scripts]", *(f"{name} = {at}" for name, at in scripts.items()), ""]).encode()


def _record(files: Mapping[str, bytes], own: str) -> bytes:
    lines = []
    for name, content in sorted(files.items()):
        digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
        lines.append(f"{name},sha256={digest},{len(content)}")
    return "\n".join([*lines, f"{own},,", ""]).encode()
