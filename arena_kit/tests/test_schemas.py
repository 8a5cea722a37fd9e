"""The schemas of files that organisers write know the keys that the readers know, and take every shipped file."""

from __future__ import annotations

import json
from dataclasses import MISSING, fields
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

from arena_kit.environment.info import SET_LATER
from arena_kit.environment.openings_key import KEYS
from arena_kit.environment.spec import ActionArraySpec, ArraySpec, EnvironmentSpec, GymnasiumSource, Limits
from arena_kit.rollout.checks.evidence import STATUSES
from arena_kit.rollout.checks.kinds import CHECKS, GUARDS
from arena_kit.rollout.packages.manifest import FORMATS, HOOKS, Manifest
from arena_kit.rollout.tasks.file import tasks_read
from arena_kit.rollout.tasks.task import Difficulty, Split
from arena_kit.schemas import schemas

ROOT = Path(__file__).resolve().parents[2]
SCHEMAS: dict[str, dict[str, Any]] = {name: json.loads(text) for name, text in schemas().items()}
SHIPPED = [
    *((path, "environment") for path in sorted(ROOT.glob("environments/*/info.yml"))),
    *((path, "environment") for path in sorted(ROOT.glob("environments/gymnasium/*.yml"))),
    *((path, "package") for path in sorted(ROOT.glob("environments/applications/*/environment.yml"))),
    *((path, "tasks") for path in sorted(ROOT.glob("environments/applications/*/tasks.json"))),
]


def check(name: str, data: object) -> list[str]:
    found = jsonschema.Draft202012Validator(SCHEMAS[name]).iter_errors(json.loads(json.dumps(data)))
    return [f"{error.json_path}: {error.message}" for error in found]


@pytest.mark.parametrize(("path", "name"), SHIPPED, ids=[str(path.relative_to(ROOT)) for path, _ in SHIPPED])
def test_every_shipped_file_fits_its_schema(path: Path, name: str) -> None:
    text = path.read_text(encoding="utf-8")
    assert check(name, yaml.safe_load(text)) == []
    if path.suffix == ".yml":
        line = text.partition("\n")[0].removeprefix("# yaml-language-server: $schema=")
        assert (path.parent / line).resolve() == ROOT / "arena_kit" / "schemas" / f"{name}.json"


@pytest.mark.parametrize(
    ("kind", "place"),
    [(EnvironmentSpec, ""), (ArraySpec, "observation"), (ActionArraySpec, "action"),
     (GymnasiumSource, "gymnasium"), (Limits, "limits")],
)  # fmt: skip
def test_the_schema_of_environments_has_the_keys_of_the_reader(kind: type[Any], place: str) -> None:
    schema = SCHEMAS["environment"]["$defs"][place] if place else SCHEMAS["environment"]
    wanted = {field.name for field in fields(kind)} - {*SET_LATER, "classic"}
    needed = {
        field.name for field in fields(kind) if field.default is MISSING and field.default_factory is MISSING
    } - set(SET_LATER)
    assert set(schema["properties"]) - {"earlier"} == wanted
    assert set(schema["else"]["required"] if not place else schema.get("required", ())) == needed


def test_the_other_schemas_have_the_words_of_the_readers() -> None:
    task, package = SCHEMAS["tasks"]["$defs"], SCHEMAS["package"]["properties"]
    assert set(SCHEMAS["environment"]["$defs"]["openings"]["properties"]) == set(KEYS)
    assert task["check"]["properties"]["kind"]["enum"] == list(CHECKS)
    assert task["guard"]["properties"]["kind"]["enum"] == list(GUARDS)
    found = {name: task["task"]["properties"][name]["enum"] for name in ("expect", "split", "difficulty")}
    assert found == {"expect": list(STATUSES), "split": list(Split), "difficulty": list(Difficulty)}
    assert set(package) == {field.name.removesuffix("_bytes") for field in fields(Manifest)}
    assert tuple(package["hooks"]["properties"]) == HOOKS
    assert package["exports"]["items"]["properties"]["format"]["enum"] == list(FORMATS)


def test_a_misspelt_key_is_found() -> None:
    spec = yaml.safe_load((ROOT / "environments" / "connect_four" / "info.yml").read_text())
    assert "action_cuont" in check("environment", {**spec, "action_cuont": 7})[0]
    assert check("tasks", [{"id": 1, "task": "Go.", "splitt": "HIDDEN"}]) != []


def test_a_file_of_tasks_may_name_its_schema() -> None:
    named = {"$schema": "https://arena.example/schemas/tasks.json", "schema": 1}
    data = {**named, "tasks": [{"id": "a", "task": "Go.", "answer": 1}]}
    assert check("tasks", data) == []
    assert [task.key for task in tasks_read(json.dumps(data).encode()).tasks] == ["a"]
