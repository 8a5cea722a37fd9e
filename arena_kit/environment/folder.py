"""Packs what an environment is made of, so that it can be played elsewhere by the same rules."""

from __future__ import annotations

from pathlib import Path

from arena_kit.environment.registry import info_path, kept_text
from arena_kit.environment.spec import EnvironmentSpec
from arena_kit.zips import zip_bytes

LEFT_OUT = frozenset({"__pycache__", "tests"})
MOST_BYTES = 64 << 20
"""A folder with more than this is not packed."""


def environment_zip(spec: EnvironmentSpec) -> bytes:
    """Return the folder of an environment, or its one file, as a zip; equal files give equal bytes.

    The zip is unpacked into a folder of environments, as `use_folder` takes it. Raises OSError and UnknownEnvironment.
    Hidden files, tests and links are left out, because an organiser did not put them there to be read.
    """
    if text := kept_text(spec.slug):
        return zip_bytes([(f"{spec.slug}.yml", text.encode())])
    path = info_path(spec)
    if path.name != "info.yml":
        return zip_bytes([(path.name, path.read_bytes())])
    files = [found for found in sorted(path.parent.rglob("*")) if _is_packed(found, path.parent)]
    if sum(found.stat().st_size for found in files) > MOST_BYTES:
        raise OSError(f"The folder of {spec.slug} is larger than {MOST_BYTES >> 20} MiB.")
    return zip_bytes((found.relative_to(path.parent.parent).as_posix(), found.read_bytes()) for found in files)


def _is_packed(path: Path, root: Path) -> bool:
    inside = path.relative_to(root)
    if any(part.startswith(".") or part in LEFT_OUT for part in inside.parts) or path.suffix in (".pyc", ".pyo"):
        return False
    return path.is_file() and not any((root / parent).is_symlink() for parent in (inside, *inside.parents[:-1]))
