"""The API's description as a page for people: groups of operations, and the objects that they take and return."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from web.api.schema import METHODS, schema_text

Json = dict[str, Any]
REF = "#/components/schemas/"
COMPATIBLE = "compatible"
"""The group of addresses that clients of older systems know. It comes last, and so do its objects."""


@dataclass(frozen=True, slots=True)
class Kind:
    """The kind of a value, in words. of: the object that is described elsewhere on the page, if it is one."""

    words: str
    of: str = ""


@dataclass(frozen=True, slots=True)
class Field:
    """A parameter of an address, or a field of an object. where: path, query, header; empty for a field."""

    name: str
    kind: Kind
    is_required: bool
    about: str
    where: str = ""


@dataclass(frozen=True, slots=True)
class Answer:
    status: str
    about: str
    kind: Kind | None


@dataclass(frozen=True, slots=True)
class Operation:
    """A method of an address. body: content type and kind of what it takes."""

    anchor: str
    method: str
    path: str
    summary: str
    about: str
    parameters: tuple[Field, ...]
    body: tuple[tuple[str, Kind], ...]
    answers: tuple[Answer, ...]


@dataclass(frozen=True, slots=True)
class Group:
    name: str
    operations: tuple[Operation, ...]


@dataclass(frozen=True, slots=True)
class Object:
    """An object that operations name. about: its description."""

    name: str
    about: str
    fields: tuple[Field, ...]


@cache
def groups() -> tuple[Group, ...]:
    """Return all operations by group, in the order of the description."""
    description = json.loads(schema_text())
    found: dict[str, list[Operation]] = {tag["name"]: [] for tag in description["tags"]}
    for path, methods in description["paths"].items():
        for method in METHODS:
            if method in methods:
                found[methods[method]["tags"][0]].append(_operation(path, method, methods[method]))
    return tuple(Group(name, tuple(operations)) for name, operations in found.items())


@cache
def objects() -> tuple[Object, ...]:
    """Return the objects that operations take and return, by name. Lists in pages are described with their rows."""
    schemas: Json = json.loads(schema_text())["components"]["schemas"]
    return tuple(
        Object(name, schemas[name].get("description", ""), tuple(_fields(schemas[name]))) for name in _described()
    )


@cache
def _described() -> tuple[str, ...]:
    """Return the names of the objects that have fields."""
    schemas: Json = json.loads(schema_text())["components"]["schemas"]
    return tuple(sorted(name for name, one in schemas.items() if one.get("properties") and not _is_page(name)))


def _operation(path: str, method: str, told: Json) -> Operation:
    bodies = told.get("requestBody", {}).get("content", {})
    summary, about = told.get("summary", ""), told.get("description", "")
    return Operation(
        anchor=told["operationId"],
        method=method.upper(),
        path=path,
        summary=summary,
        about="" if about.rstrip(".") == summary else about,
        parameters=tuple(_parameter(one) for one in told.get("parameters", [])),
        body=tuple((content, _kind(one["schema"])) for content, one in bodies.items()),
        answers=tuple(_answer(status, one) for status, one in sorted(told["responses"].items())),
    )


def _parameter(told: Json) -> Field:
    kind, about = _kind(told.get("schema", {})), told.get("description", "")
    return Field(told["name"], kind, bool(told.get("required")), about, where=told["in"])


def _answer(status: str, told: Json) -> Answer:
    contents = list(told.get("content", {}).items())
    kind = None
    if contents:
        content, one = contents[0]
        kind = _kind(one.get("schema", {})) if content == "application/json" else Kind(content)
    return Answer(status, told.get("description", ""), kind)


def _fields(schema: Json) -> Iterator[Field]:
    required: Sequence[str] = schema.get("required", ())
    for name, one in schema["properties"].items():
        yield Field(name, _kind(one), name in required, one.get("description", ""))


def _kind(schema: Json) -> Kind:
    """Write what a value is."""
    if "$ref" in schema:
        name = schema["$ref"].removeprefix(REF)
        row = name.removeprefix("Paginated").removesuffix("List") if _is_page(name) else name
        return Kind(name if row == name else f"page of {row}", row if row in _described() else "")
    choices = schema.get("allOf") or schema.get("oneOf")
    if choices:
        kinds = [_kind(one) for one in choices]
        return Kind(" or ".join(kind.words for kind in kinds), kinds[0].of)
    if schema.get("type") == "array":
        inner = _kind(schema.get("items", {}))
        return Kind(f"list of {inner.words}", inner.of)
    words = " or ".join(json.dumps(one) for one in schema["enum"]) if "enum" in schema else _plain(schema)
    return Kind(f"{words} or null" if schema.get("nullable") else words)


def _plain(schema: Json) -> str:
    return {
        "date-time": "moment",
        "date": "day",
        "uuid": "id",
        "binary": "file",
        "uri": "address",
        "email": "e-mail",
    }.get(schema.get("format", ""), str(schema.get("type", "anything")))


def _is_page(name: str) -> bool:
    return name.startswith("Paginated") and name.endswith("List")
