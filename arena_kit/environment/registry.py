"""Finds every environment of this arena: games by the `info.yml` beside their rules, those of Gymnasium by the files in
`gymnasium/`, and organisers' own in the folders given to `use_folder`. The files are read on first use."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import MISSING, dataclass, fields, replace
from functools import cache
from pathlib import Path
from typing import Any, get_type_hints

import yaml

from arena_kit.content import content_folder
from arena_kit.environment.openings_key import Openings, read_openings
from arena_kit.environment.protocol import ArenaEnvironmentError, UnknownEnvironment
from arena_kit.environment.spec import (
    ActionArraySpec,
    ArraySpec,
    EnvironmentSpec,
    GymnasiumSource,
    Limits,
)

FOLDER = content_folder("environments")
GYMNASIUM_FOLDER = FOLDER / "gymnasium"
GYMNASIUM_DEFAULTS: dict[str, Any] = {
    "version": 1,
    "seats": 1,
    "forfeit_score": 0,
    "image": "gymnasium.svg",
    "entry_point": "arena_kit.environment.adapters.gymnasium:GymnasiumEnvironment",
    "renderer": "arena_kit.environment.adapters.picture:frame_to_svg",
    "episodes_per_evaluation": 100,
    "matches_per_validation": 10,
}
"""Default values for the file of an environment that Gymnasium has registered."""
_own_folders: list[Path] = []


class BadInfo(ArenaEnvironmentError):
    """The file of an environment is wrong; the message names the file and the key."""


@dataclass(frozen=True, slots=True)
class LeftOut:
    """A file in an organisers' folder that cannot be used, with a sentence that says why."""

    path: Path
    because: str


_left_out: list[LeftOut] = []
_own: list[str] = []
"""The slugs found in organisers' folders when `all_specs` last read them."""


@cache
def all_specs() -> tuple[EnvironmentSpec, ...]:
    """Return all specs, ordered by slug; files in organisers' folders that cannot be read are left out.

    Raises BadInfo for a shipped file that cannot be read.
    """
    specs = [spec for folder in (FOLDER, GYMNASIUM_FOLDER) for spec in read_folder(folder)]
    for name, count in Counter(name for spec in specs for name in {spec.slug, spec.public_id}).items():
        if count > 1:
            raise BadInfo(f"Two environments are called {name!r}.")
    left_out: list[LeftOut] = []
    own: set[str] = set()
    for path in (path for folder in _own_folders for path in _files(folder)):
        try:
            spec = read_info(path)
            taken = {name for other in specs for name in (other.slug, other.public_id)}
            if found := taken & {spec.slug, spec.public_id}:
                raise BadInfo(f"{_name(path)}: another environment is called {min(found)!r} already.")
            specs.append(spec)
            own.add(spec.slug)
        except (BadInfo, OSError) as error:
            left_out.append(LeftOut(path, str(error)))
    _left_out[:], _own[:] = left_out, sorted(own)
    return tuple(sorted(specs, key=lambda spec: spec.slug))


def left_out() -> tuple[LeftOut, ...]:
    """Return the files in organisers' folders that cannot be used, and why. Raises BadInfo, as `all_specs`."""
    all_specs()
    return tuple(_left_out)


def own_slugs() -> frozenset[str]:
    """Return the slugs of the environments in organisers' folders. Raises BadInfo, as `all_specs`."""
    all_specs()
    return frozenset(_own)


def use_folder(folder: Path) -> None:
    """Add the `*.yml` and `*/info.yml` of a folder to all specs from now on; the folder need not exist."""
    if folder not in _own_folders:
        _own_folders.append(folder)
        all_specs.cache_clear()


def get_spec(name: str) -> EnvironmentSpec:
    """Return the spec of a slug (`cart-pole`), an id (`cart-pole-v1`) or a public id (`CartPole-v1`).

    The id may be that of an earlier version of the rules. Raises UnknownEnvironment.
    """
    for spec in all_specs():
        if name in (spec.slug, spec.id, spec.public_id):
            return spec
    for earlier in (one for spec in all_specs() for one in spec.earlier):
        if name == earlier.id:
            return earlier
    known = ", ".join(spec.slug for spec in all_specs())
    missed = "".join(f" Left out: {one.because}" for one in _left_out)
    raise UnknownEnvironment(f"There is no environment {name!r}. The environments are: {known}.{missed}")


def read_folder(folder: Path) -> tuple[EnvironmentSpec, ...]:
    """Return the specs of all files in a folder, ordered by slug. Raises BadInfo."""
    found: dict[str, EnvironmentSpec] = {}
    for path in _files(folder):
        spec = read_info(path)
        if spec.slug in found:
            raise BadInfo(f"{_name(path)}: slug: another environment is called {spec.slug!r} already.")
        found[spec.slug] = spec
    return tuple(found[slug] for slug in sorted(found))


def _files(folder: Path) -> list[Path]:
    return [*sorted(folder.glob("*/info.yml")), *sorted(folder.glob("*.yml"))]


def read_info(path: Path) -> EnvironmentSpec:
    """Return the spec in one file, with those of its earlier versions. Raises BadInfo."""
    where = _name(path)
    try:
        data = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise BadInfo(f"{where} is not YAML: {' '.join(str(error).split())}.") from None
    if not isinstance(data, Mapping):
        raise BadInfo(f"{where} must be a mapping of keys to values.")
    earlier = data.get("earlier", {})
    newest = {key: value for key, value in data.items() if key != "earlier"}
    spec = _spec(where, path.parent, newest)
    return replace(spec, earlier=_earlier(f"{where}: earlier", path.parent, newest, earlier, before=spec.version))


def _earlier(
    where: str, folder: Path, newest: Mapping[str, object], value: object, *, before: int
) -> tuple[EnvironmentSpec, ...]:
    """Return the earlier versions: by version, the keys that differ from the newest; null where one did not exist."""
    if not isinstance(value, Mapping) or not all(
        type(version) is int and isinstance(keys, Mapping) for version, keys in value.items()
    ):
        raise BadInfo(f"{where}: must be a mapping of versions to the keys that were different.")
    specs = []
    for version, keys in value.items():
        if not 1 <= version < before:
            raise BadInfo(f"{where}: {version}: must lie between 1 and {before - 1}, below the version of the file.")
        if fixed := [key for key in ("slug", "version") if key in keys]:
            raise BadInfo(f"{where}: {version}: {fixed[0]}: an earlier version cannot change this key.")
        merged = {key: value for key, value in {**newest, **keys, "version": version}.items() if value is not None}
        specs.append(_spec(f"{where}: {version}", folder, merged))
    return tuple(specs)


def _spec(where: str, folder: Path, data: Mapping[str, object]) -> EnvironmentSpec:
    """Return the spec that these keys describe. where: the file, and the keys above them, for complaints."""
    home = folder
    if "gymnasium" in data:
        data, folder = {**GYMNASIUM_DEFAULTS, **data}, GYMNASIUM_FOLDER
    spec = EnvironmentSpec(
        **_checked(
            where,
            EnvironmentSpec,
            data,
            observation=lambda value: ArraySpec(**_checked(f"{where}: observation", ArraySpec, value)),
            action=lambda value: ActionArraySpec(**_checked(f"{where}: action", ActionArraySpec, value)),
            gymnasium=lambda value: GymnasiumSource(**_checked(f"{where}: gymnasium", GymnasiumSource, value)),
            limits=lambda value: Limits(**_checked(f"{where}: limits", Limits, value)),
            openings=lambda value: _openings(f"{where}: openings", value, home),
        ),
        folder=folder,
    )
    try:
        spec.validate()
    except ValueError as error:
        raise BadInfo(f"{where}: {error}") from None
    return spec


def _openings(where: str, value: object, folder: Path) -> Openings:
    try:
        return read_openings(where, value, folder)
    except ValueError as error:
        raise BadInfo(str(error)) from None


def _checked(where: str, kind: type, data: object, **nested: Any) -> dict[str, Any]:
    """Return the arguments of a dataclass from YAML data. Raises BadInfo for unknown and missing keys and wrong types.

    nested: by key, the functions that read values which are mappings themselves.
    """
    if not isinstance(data, Mapping):
        raise BadInfo(f"{where} must be a mapping of keys to values.")
    known = {field.name: field for field in fields(kind) if field.name not in ("folder", "earlier")}
    types = get_type_hints(kind)
    if unknown := [str(key) for key in data if key not in known]:
        raise BadInfo(f"{where}: {unknown[0]}: there is no such key.")
    arguments = {}
    for name, field in known.items():
        if name in data:
            read = nested.get(name)
            arguments[name] = read(data[name]) if read else _value(f"{where}: {name}", types[name], data[name])
        elif field.default is MISSING and field.default_factory is MISSING:
            raise BadInfo(f"{where}: {name}: this key is missing.")
    return arguments


def _value(where: str, wanted: object, value: object) -> object:
    if wanted is float and type(value) is int:
        return float(value)
    if wanted == tuple[int, ...]:
        if isinstance(value, list) and all(type(item) is int for item in value):
            return tuple(value)
        raise BadInfo(f"{where}: must be a list of whole numbers, not {value!r}.")
    if wanted == tuple[float, ...]:
        if isinstance(value, list) and all(type(item) in (int, float) for item in value):
            return tuple(float(item) for item in value)
        raise BadInfo(f"{where}: must be a list of numbers, not {value!r}.")
    if wanted == tuple[str, ...]:
        if isinstance(value, list) and all(isinstance(item, str) for item in value):
            return tuple(value)
        raise BadInfo(f"{where}: must be a list of texts, not {value!r}.")
    if wanted == Mapping[str, Any]:
        if isinstance(value, dict) and all(isinstance(key, str) for key in value):
            return value
        raise BadInfo(f"{where}: must be a mapping of names to values, not {value!r}.")
    if wanted == float | None:
        wanted = float
        value = float(value) if type(value) is int else value
    # isinstance would take a bool for an int, but `seats: yes` is a mistake.
    if type(value) is not wanted:
        names = {int: "a whole number", float: "a number", str: "text", bool: "true or false"}
        raise BadInfo(f"{where}: must be {names.get(wanted, wanted)}, not {value!r}.")  # type: ignore[call-overload]
    return value


def _name(path: Path) -> str:
    return f"{path.parent.name}/{path.name}"
