"""Every environment of this arena, read on first use from the `info.yml` beside its rules."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import yaml

from environments.api import UnknownEnvironment
from environments.spec import ArraySpec, EnvironmentSpec, Limits

FOLDER = Path(__file__).parent


class BadInfo(Exception):
    """An `info.yml` is wrong; the message names the file and the key."""


@cache
def all_specs() -> tuple[EnvironmentSpec, ...]:
    """All specs, ordered by slug."""
    specs = [read_info(path) for path in FOLDER.glob("*/info.yml")]
    return tuple(sorted(specs, key=lambda spec: spec.slug))


def get_spec(name: str) -> EnvironmentSpec:
    """The spec of a slug (`connect-four`) or an id (`connect-four-v1`). Raises UnknownEnvironment."""
    for spec in all_specs():
        if name in (spec.slug, spec.id):
            return spec
    known = ", ".join(spec.slug for spec in all_specs())
    raise UnknownEnvironment(f"There is no environment {name!r}. There are: {known}.")


def read_info(path: Path) -> EnvironmentSpec:
    """Read one `info.yml`. Raises BadInfo."""
    where = f"{path.parent.name}/{path.name}"
    try:
        data = yaml.safe_load(path.read_text(encoding="utf-8"))
    except yaml.YAMLError as error:
        raise BadInfo(f"{where} is not YAML: {error}") from None
    if not isinstance(data, dict):
        raise BadInfo(f"{where} must be a mapping of keys.")
    fields: dict[str, Any] = dict(data)
    try:
        observation = dict(fields.pop("observation"))
        fields["observation"] = ArraySpec(**{**observation, "shape": tuple(observation["shape"])})
        fields["limits"] = Limits(**fields.pop("limits", {}))
        return EnvironmentSpec(**fields)
    except KeyError as error:
        raise BadInfo(f"{where} lacks the key {error}.") from None
    except TypeError as error:
        raise BadInfo(f"{where}: {error}.") from None
