"""Copies of organisers' environments, by which the results of earlier rules are drawn, checked and branched."""

from __future__ import annotations

import contextlib
import filecmp
import os
import re
import shutil
from itertools import islice
from pathlib import Path

from arena_kit.environment.outside.trial import MOST_FILES, files_of
from arena_kit.environment.spec import EnvironmentSpec

EARLIER = "earlier"
"""The folder beside organisers' environments that holds a copy of each version of their rules, by its id."""
_ID = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*-v([0-9]+)")


def copy_keep(spec: EnvironmentSpec) -> None:
    """Keep a copy of an organiser's environment; one of the same version is replaced, as after a mend.

    Nothing happens where a later version has been kept: its predecessors stay as they were. Raises OSError.
    """
    is_folder = spec.file.name == "info.yml"
    earlier = (spec.file.parent.parent if is_folder else spec.file.parent) / EARLIER
    kept = [_ID.fullmatch(path.name) for path in earlier.glob(f"{spec.slug}-v*")]
    if any(one and one[0] == f"{spec.slug}-v{one[1]}" and int(one[1]) > spec.version for one in kept):
        return
    files = _files(spec.file.parent) if is_folder else {spec.file.name: spec.file}
    place = earlier / spec.id
    before = _files(place)
    if files.keys() == before.keys() and all(filecmp.cmp(files[name], before[name], shallow=False) for name in files):
        return
    part, old = (earlier / f".{name}-{spec.id}-{os.getpid()}" for name in ("part", "old"))
    try:
        for name, path in files.items():
            (part / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, part / name)
        with contextlib.suppress(FileNotFoundError):
            place.rename(old)
        part.rename(place)
    finally:
        for left in (part, old):
            shutil.rmtree(left, ignore_errors=True)


def copies_announce(folder: Path) -> None:
    """Let all processes read an organiser's folder again, whose environments have been tried. Raises OSError."""
    earlier = folder / EARLIER
    if folder.is_dir():
        earlier.mkdir(exist_ok=True)
        os.utime(earlier)


def announced_at(folder: Path) -> int:
    """Return when a folder was announced last, in nanoseconds; 0 before the first time."""
    try:
        return (folder / EARLIER).stat().st_mtime_ns
    except OSError:
        return 0


def copy_file(folder: Path, spec_id: str) -> Path | None:
    """Return the file of the copy of some rules in an organiser's folder, None without one. spec_id: any text."""
    if not _ID.fullmatch(spec_id):
        return None
    place = folder / EARLIER / spec_id
    files = [place / "info.yml", *sorted(place.glob("*.yml"))]
    return next((path for path in files if path.is_file()), None)


def _files(folder: Path) -> dict[str, Path]:
    """Return the files of a folder by their names in it, also those behind links; without hidden ones."""
    paths = list(islice(files_of(folder), MOST_FILES + 1)) if folder.is_dir() else []
    if len(paths) > MOST_FILES:
        raise OSError(f"{folder.name} has more than {MOST_FILES} files.")
    names = {path.relative_to(folder).as_posix(): path for path in paths if path.is_file()}
    return {name: path for name, path in names.items() if not any(part.startswith(".") for part in name.split("/"))}
