"""Reads the file of an environment, `info.yml`: every key is checked, and what is wrong is named."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import MISSING, fields, replace
from pathlib import Path
from typing import Any, get_type_hints

from arena_kit.content import content_folder
from arena_kit.environment.adapters.classic.info import MARK, BadKey, ClassicSource, Facts, read_classic
from arena_kit.environment.openings_key import Openings, read_openings
from arena_kit.environment.outside.reading import BadFile, parse_yaml, read_yaml
from arena_kit.environment.protocol import ArenaEnvironmentError
from arena_kit.environment.reference import Reference
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
SET_LATER = ("folder", "file", "is_outside", "announced_at", "kept_text", "earlier", "from_start", "keeps_twins")
"""Fields of a spec that no key of a file sets."""


class BadInfo(ArenaEnvironmentError):
    """The file of an environment is wrong; the message names the file and the key."""


def read_info(path: Path, facts: Facts | None = None) -> EnvironmentSpec:
    """Return the spec in one file, with those of its earlier versions.

    facts: what a trial has learned of a classic folder. Raises BadInfo and OSError.
    """
    where = file_name(path)
    try:
        data = read_yaml(path)
    except BadFile as error:
        raise BadInfo(f"{where} {error}.") from None
    spec = _info(where, path.parent, data, facts)
    return replace(spec, file=path, earlier=tuple(replace(one, file=path) for one in spec.earlier))


def read_text(text: str, where: str) -> EnvironmentSpec:
    """Return the spec in the text of a file about an environment of Gymnasium.

    where: the file's name, for complaints. Raises BadInfo.
    """
    try:
        data = parse_yaml(text)
    except BadFile as error:
        raise BadInfo(f"{where} {error}.") from None
    spec = _info(where, GYMNASIUM_FOLDER, data, None)
    if spec.gymnasium is None:
        raise BadInfo(f"{where}: gymnasium: this key is missing.")
    return spec


def _info(where: str, folder: Path, data: object, facts: Facts | None) -> EnvironmentSpec:
    if not isinstance(data, Mapping):
        raise BadInfo(f"{where} must be a mapping of keys to values.")
    if MARK in data:
        try:
            data = read_classic(data, facts or Facts())
        except BadKey as error:
            raise BadInfo(f"{where}: {error}") from None
    elif "classic" in data:
        raise BadInfo(f"{where}: classic: there is no such key.")
    earlier = data.get("earlier", {})
    newest = {key: value for key, value in data.items() if key != "earlier"}
    spec = _spec(where, folder, newest)
    return replace(spec, earlier=_earlier(f"{where}: earlier", folder, newest, earlier, before=spec.version))


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
            classic=lambda value: ClassicSource(**_checked(f"{where}: classic", ClassicSource, value)),
            limits=lambda value: Limits(**_checked(f"{where}: limits", Limits, value)),
            openings=lambda value: _openings(f"{where}: openings", value, home),
            reference=lambda value: _reference(f"{where}: reference", value),
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


def _reference(where: str, value: object) -> Reference:
    try:
        return Reference(**_checked(where, Reference, value))
    except ValueError as error:
        raise BadInfo(f"{where}: {error}") from None


def _checked(where: str, kind: type, data: object, **nested: Any) -> dict[str, Any]:
    """Return the arguments of a dataclass from YAML data. Raises BadInfo for unknown and missing keys and wrong types.

    nested: by key, the functions that read values which are mappings themselves.
    """
    if not isinstance(data, Mapping):
        raise BadInfo(f"{where} must be a mapping of keys to values.")
    known = {field.name: field for field in fields(kind) if field.name not in SET_LATER}
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


def file_name(path: Path) -> str:
    """Return the name of a file with that of its folder, for complaints."""
    return f"{path.parent.name}/{path.name}"
