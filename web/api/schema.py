"""The API's description of itself (OpenAPI), and the page that shows it."""

from __future__ import annotations

import json
import re
from functools import cache
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe
from drf_spectacular.generators import SchemaGenerator
from drf_spectacular.openapi import AutoSchema

Json = dict[str, Any]
PROBLEM: Json = {
    "type": "object",
    "description": "What went wrong: `detail` is a sentence; else every field that is wrong has a list of sentences.",
    "properties": {
        "detail": {"type": "string"},
        "code": {
            "description": "Of quotas and limits: which one, e.g. quota_uploads_per_day. A list of sentences is about "
            "the field of this name, in which a second factor is sent.",
            "oneOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}],
        },
    },
    "additionalProperties": {},
}
BODIES = ("post", "put", "patch", "delete")
METHODS = ("get", *BODIES)


class DescribedView(AutoSchema):
    """Views say what they are in their docstrings, and are grouped by what they are about."""

    def get_tags(self) -> list[str]:
        # Every view of the API has one.
        return [getattr(self.view, "tag")]  # noqa: B009  (APIView does not know of it)

    def get_summary(self) -> str:
        """The first sentence of the description."""
        return re.split(r"[.;:]", self.get_description(), maxsplit=1)[0]

    def get_operation_id(self) -> str:
        # "AgentVersions" is agent_versions: every view has one address.
        return f"{self.method.lower()}_{re.sub(r'(?<!^)(?=[A-Z])', '_', type(self.view).__name__).lower()}"


@require_safe
def schema(request: HttpRequest) -> HttpResponse:
    """The description, as JSON."""
    return HttpResponse(schema_text(), content_type="application/vnd.oai.openapi+json")


@require_safe
def docs(request: HttpRequest) -> HttpResponse:
    """The description, to read and to try."""
    return render(request, "web/api/docs.html")


@cache
def schema_text() -> str:
    """The whole description; the same as long as the process lives."""
    return json.dumps(SchemaGenerator().get_schema(request=None, public=True))  # type: ignore[no-untyped-call]


def add_shared_answers(result: Json, generator: object, **_: object) -> Json:
    """Describe what any address may answer when something is wrong with a request."""
    result.setdefault("components", {}).setdefault("schemas", {})["Problem"] = PROBLEM
    for path, operations in result["paths"].items():
        for method, operation in operations.items():
            if method not in METHODS or path == "/health":
                continue
            for status, sentence in _shared(path, method, operation):
                answer = operation["responses"].setdefault(status, {"description": sentence})
                answer.setdefault("content", _problem())
    return result


def _shared(path: str, method: str, operation: Json) -> list[tuple[str, str]]:
    answers = [
        ("401", "The token is wrong, or one is needed."),
        ("429", "Too many requests. Retry-After says in how many seconds to ask again."),
    ]
    if operation.get("parameters") or "requestBody" in operation:
        answers.append(("400", "Something in the request is wrong."))
    if "{" in path or any(one["name"] == "page" for one in operation.get("parameters", [])):
        answers.append(("404", "There is no such thing."))
    if "/matches/" in path or "/episodes/{" in path:
        answers.append(("410", "The records of this are not kept any longer."))
    if path.endswith("/standing/"):
        answers.append(("403", "Results are held back until the organisers release them."))
    if method in BODIES:
        answers.append(("403", "This is not yours, or the CSRF token is missing."))
    if "requestBody" in operation:
        answers.append(("415", "The body is of a kind that this address does not take."))
    return answers


def _problem() -> Json:
    return {"application/json": {"schema": {"$ref": "#/components/schemas/Problem"}}}
