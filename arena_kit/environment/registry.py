"""Finds every environment of this arena: games by the `info.yml` beside their rules, those of Gymnasium by the files in
`gymnasium/`, and organisers' own in the folders given to `use_folder`. The files are read on first use, and again after
each `sync_environments`. Files that are in no folder come from the function given to `use_files`.

A folder with code of an organiser is tried in a limited process first: one that does not pass is left out."""

from __future__ import annotations

import contextlib
import re
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path

from arena_kit.environment.info import (
    FOLDER,
    GYMNASIUM_DEFAULTS,
    GYMNASIUM_FOLDER,
    BadInfo,
    file_name,
    read_info,
    read_text,
)
from arena_kit.environment.outside.copies import announced_at, copy_file
from arena_kit.environment.outside.fitting import check_fit
from arena_kit.environment.outside.pictures import picture_note
from arena_kit.environment.outside.reading import BadFile, read_yaml
from arena_kit.environment.outside.trial import TrialResult, frozen_facts, verdict_on, verdicts
from arena_kit.environment.protocol import UnknownEnvironment
from arena_kit.environment.spec import BARE, EnvironmentSpec

_own_folders: list[Path] = []
_stores: dict[Path, Path] = {}
"""By organisers' folder: where the verdicts of its trials are kept."""


@dataclass(frozen=True, slots=True)
class LeftOut:
    """An environment of an organiser that cannot be used. because: a sentence. slug: its own, or what it would be.

    is_taken: whether an environment with other rules has its slug.
    """

    path: Path
    because: str
    slug: str = ""
    is_taken: bool = False


KEPT_PREFIX = "gym-"
"""Begins the slugs of environments whose files are in no folder, so that no others are looked for there."""
_left_out: list[LeftOut] = []
_sources: list[Callable[[str], str]] = []
"""Functions that return the text of a file that is in no folder, by the slug of its environment; "" for none."""
_own: list[str] = []
"""The slugs found in organisers' folders when `all_specs` last read them."""
Announced = tuple[tuple[Path, int], ...]
"""Organisers' folders, with the times at which they were announced last."""


def all_specs() -> tuple[EnvironmentSpec, ...]:
    """Return all specs, ordered by slug; organisers' environments that cannot be used are left out.

    Raises BadInfo for a shipped file that cannot be read.
    """
    return _read(_announced())


def _announced() -> Announced:
    return tuple((folder, announced_at(folder)) for folder in _own_folders)


def forget() -> None:
    """Read all files again when they are next needed."""
    _read.cache_clear()
    _copied.cache_clear()


@lru_cache(maxsize=1)
def _read(announced: Announced) -> tuple[EnvironmentSpec, ...]:
    specs = [spec for folder in (FOLDER, GYMNASIUM_FOLDER) for spec in read_folder(folder)]
    for name, count in Counter(name for spec in specs for name in {spec.slug, spec.public_id}).items():
        if count > 1:
            raise BadInfo(f"Two environments are called {name!r}.")
    left_out: list[LeftOut] = []
    own: set[str] = set()
    for own_folder, at in announced:
        for path, found in read_own(own_folder).items():
            taken = {name: other for other in specs for name in (other.slug, other.public_id)}
            if isinstance(found, LeftOut):
                left_out.append(found)
            elif clash := taken.keys() & {found.slug, found.public_id}:
                key, name = ("slug", found.slug) if found.slug in clash else ("env_id", found.public_id)
                whose = f"the one in {taken[name].folder.name}" if taken[name].slug in own else "one of the arena"
                because = f"{file_name(path)}: {key}: another environment, {whose}, is called {name!r} already."
                # The slug belongs to the other one, whose row must stay as it is.
                left_out.append(LeftOut(path, because, is_taken=not _is_copy(path, taken[name])))
            else:
                specs.append(_outside(found, at))
                own.add(found.slug)
    _left_out[:], _own[:] = left_out, sorted(own)
    return tuple(sorted(specs, key=lambda spec: spec.slug))


def read_own(folder: Path, *, again: bool = False) -> dict[Path, EnvironmentSpec | LeftOut]:
    """Return what each file of an organiser's folder holds, or why it cannot be used.

    again: whether to try the folders with code once more whose verdict is known.
    """
    paths, store = _files(folder), _stores.get(folder)
    found: dict[Path, EnvironmentSpec | LeftOut] = {path: _readable(path) for path in paths}
    readable = {path: spec for path, spec in found.items() if isinstance(spec, EnvironmentSpec)}
    # Packages that an organiser has installed may crash as well as code in a folder.
    found |= {path: _outside(spec) for path, spec in readable.items()}
    coded = [path for path, spec in readable.items() if _has_code(spec)]
    for path, verdict in verdicts(coded, store, again=again).items():
        found[path] = _tried(path, verdict, store)
    return found


def _is_copy(path: Path, other: EnvironmentSpec) -> bool:
    """Return whether a file or folder holds the same rules as another one, as one that was pulled from a site does."""
    names = [path.name, *(one.name for one in path.parent.glob("*.py"))] if path.name == "info.yml" else [path.name]
    try:
        return all((path.parent / name).read_bytes() == (other.file.parent / name).read_bytes() for name in names)
    except OSError:
        return False


def _readable(path: Path) -> EnvironmentSpec | LeftOut:
    try:
        spec = read_info(path)
        check_fit(spec)
    except (BadInfo, OSError) as error:
        return _refused(path, str(error))
    except ValueError as error:
        return _refused(path, f"{file_name(path)}: {error}")
    return spec


def _has_code(spec: EnvironmentSpec) -> bool:
    """Return whether it is a folder with code, not a file about an environment that is installed."""
    return spec.gymnasium is None


def _tried(path: Path, verdict: TrialResult, store: Path | None) -> EnvironmentSpec | LeftOut:
    if verdict.because:
        return _refused(path, verdict.because)
    try:
        spec = read_info(path, verdict.facts)
        if verdict.facts is not None:
            frozen = frozen_facts(spec.id, verdict.facts, store)
            if (frozen.shape, frozen.dtype) != (verdict.facts.shape, verdict.facts.dtype):
                return _refused(
                    path,
                    f"{file_name(path)}: version: the states of {spec.id} were {frozen.dtype} of shape {frozen.shape} "
                    f"and are now {verdict.facts.dtype} of shape {verdict.facts.shape}; "
                    "other rules need a higher version.",
                )
            spec = read_info(path, frozen)
        check_fit(spec)
    except (BadInfo, OSError) as error:
        return _refused(path, str(error))
    except ValueError as error:
        return _refused(path, f"{file_name(path)}: {error}")
    return _outside(spec)


def _outside(spec: EnvironmentSpec, at: int = 0) -> EnvironmentSpec:
    earlier = tuple(replace(one, is_outside=True, announced_at=at) for one in spec.earlier)
    return replace(spec, is_outside=True, announced_at=at, earlier=earlier)


def _refused(path: Path, because: str) -> LeftOut:
    try:
        slug = read_yaml(path).get("slug")
    except (BadFile, OSError, AttributeError):
        slug = None
    name = path.parent.name if path.name == "info.yml" else path.stem
    return LeftOut(path, because, slug if isinstance(slug, str) else name)


def left_out() -> tuple[LeftOut, ...]:
    """Return the environments in organisers' folders that cannot be used, and why. Raises BadInfo, as `all_specs`."""
    all_specs()
    return tuple(_left_out)


def own_slugs() -> frozenset[str]:
    """Return the slugs of the environments in organisers' folders. Raises BadInfo, as `all_specs`."""
    all_specs()
    return frozenset(_own)


def notes() -> tuple[str, ...]:
    """Return sentences about organisers' environments that are used, but not quite as in their files."""
    found = []
    for spec in all_specs():
        if spec.is_outside:
            said = [*(spec.classic.notes if spec.classic is not None else ())]
            if spec.gymnasium is None or spec.image != GYMNASIUM_DEFAULTS["image"]:
                said.append(picture_note(spec.file.parent, spec.image))
            found += [f"{file_name(spec.file)}: {note}" for note in said if note]
    return tuple(found)


def use_folder(folder: Path, store: Path | None = None) -> None:
    """Add the `*.yml` and `*/info.yml` of a folder to all specs from now on; the folder need not exist.

    store: a folder to keep the verdicts of trials in; None to try its environments once in every process.
    """
    folder = folder.absolute()
    if store is not None:
        _stores[folder] = store
    if folder not in _own_folders:
        _own_folders.append(folder)


def use_chosen(folder: Path) -> None:
    """Add a folder that a person has named, as `use_folder`.

    Raises ValueError where it is not there, and where one of its slugs is taken: the other environment would be played.
    """
    if not folder.is_dir():
        raise ValueError(f"There is no folder {folder} with environments.")
    use_folder(folder)
    for one in left_out():
        if one.is_taken and one.path.is_relative_to(folder.absolute()):
            raise ValueError(f"{one.because} Give yours another slug.")


def spec_from(folder: str | Path, name: str) -> EnvironmentSpec:
    """Return the rules of a name, also of one in this folder; "" for none.

    Raises UnknownEnvironment, and ValueError for the folder as `use_chosen`.
    """
    if folder:
        use_chosen(Path(folder))
    return get_spec(name)


def use_files(source: Callable[[str], str]) -> None:
    """Ask `source` from now on for the files of environments whose slugs begin with KEPT_PREFIX and are in no folder.

    source: takes a slug and returns the text of the file, "" if there is none.
    """
    _sources[:] = [source]


def kept_text(name: str) -> str:
    """Return the text of a file that is in no folder, by the slug or the id of its environment; "" for none."""
    if not name.startswith(KEPT_PREFIX):
        return ""
    slugs = dict.fromkeys((re.sub(r"-v\d+$", "", name), name))
    return next((text for source in _sources for slug in slugs if (text := source(slug))), "")


@lru_cache(maxsize=512)
def _read_kept(text: str) -> EnvironmentSpec | None:
    """Return the spec in a kept file; None without one, and for one that this release cannot read."""
    try:
        spec = read_text(text, "a kept file")
        check_fit(spec)
    except (BadInfo, ValueError):
        return None
    return replace(spec, kept_text=text)


def try_again() -> None:
    """Try every folder with code once more, also those whose verdict is known."""
    for folder in _own_folders:
        read_own(folder, again=True)
    forget()


def get_spec(name: str) -> EnvironmentSpec:
    """Return the spec of a slug (`cart-pole`), an id (`cart-pole-v1`) or a public id (`CartPole-v1`).

    The id may be that of an earlier version of the rules, in the file or in a copy, and end with BARE. Raises
    UnknownEnvironment.
    """
    for spec in all_specs():
        if name in (spec.slug, spec.id, spec.public_id):
            return spec
    for earlier in (one for spec in all_specs() for one in spec.earlier):
        if name == earlier.id:
            return earlier
    copied = _copied(name, _announced())
    if copied is not None:
        return copied
    kept = _read_kept(kept_text(name))
    if kept is not None and name in (kept.slug, kept.id):
        return kept
    if name.endswith(BARE):
        return get_spec(name.removesuffix(BARE)).without_openings()
    because = next((one.because for one in _left_out if one.slug in (name, re.sub(r"-v\d+$", "", name))), "")
    if because:
        raise UnknownEnvironment(f"The environment {name!r} is left out: {because}")
    known = ", ".join(spec.slug for spec in all_specs())
    missed = "".join(f" Left out: {one.because}" for one in _left_out)
    raise UnknownEnvironment(f"There is no environment {name!r}. The environments are: {known}.{missed}")


@lru_cache(maxsize=512)
def _copied(name: str, announced: Announced) -> EnvironmentSpec | None:
    """Return the spec of the copy of an organiser's rules that was kept under an id; None without one that works."""
    for folder, _ in announced:
        path = copy_file(folder, name)
        found = None if path is None else _readable(path)
        if path is not None and isinstance(found, EnvironmentSpec) and _has_code(found):
            store = _stores.get(folder)
            found = _tried(path, verdict_on(path, store), store)
        if isinstance(found, EnvironmentSpec) and found.id == name:
            return _outside(found)
    return None


def read_folder(folder: Path) -> tuple[EnvironmentSpec, ...]:
    """Return the specs of all files in a folder, ordered by slug. Raises BadInfo."""
    found: dict[str, EnvironmentSpec] = {}
    for path in _files(folder):
        spec = read_info(path)
        if spec.slug in found:
            raise BadInfo(f"{file_name(path)}: slug: another environment is called {spec.slug!r} already.")
        found[spec.slug] = spec
    return tuple(found[slug] for slug in sorted(found))


def info_path(spec: EnvironmentSpec) -> Path:
    """Return the path of the file that describes an environment or has it as earlier. Raises UnknownEnvironment."""
    for path in (path for folder in (FOLDER, GYMNASIUM_FOLDER, *_own_folders) for path in _files(folder)):
        with contextlib.suppress(BadInfo, OSError):
            info = read_info(path)
            if spec.rules_id in {one.id for one in (info, *info.earlier)}:
                return path
    if (copied := _copied(spec.rules_id, _announced())) is not None:
        return copied.file
    raise UnknownEnvironment(f"The file of {spec.id} is no longer there.")


def _files(folder: Path) -> list[Path]:
    return [*sorted(folder.glob("*/info.yml")), *sorted(folder.glob("*.yml"))]
