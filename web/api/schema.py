"""The OpenAPI description of the API."""

from __future__ import annotations

import json
import re
from functools import cache
from threading import Lock
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.views.decorators.http import require_safe
from drf_spectacular.generators import SchemaGenerator
from drf_spectacular.openapi import AutoSchema

from web.api.tags import tagged

Json = dict[str, Any]
PROBLEM: Json = {
    "type": "object",
    "description": "What went wrong: `detail` is a sentence; otherwise each wrong field has a list of sentences.",
    "properties": {
        "detail": {"type": "string"},
        "code": {
            "description": "The quota or limit that was reached, e.g. quota_uploads_per_day, or why an archive is "
            "refused, e.g. does_not_compile. A list of sentences concerns the field `code` of a request, which holds "
            "the second factor.",
            "oneOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}],
        },
    },
    "additionalProperties": {},
}
OBJECTS = {(200, "application/json"): {"type": "array", "items": {"type": "object", "additionalProperties": {}}}}
"""The answer of an operation that lists objects without describing them."""
OUR_TAGS = (
    "site",
    "environments",
    "agents",
    "submissions",
    "evaluations",
    "duels",
    "challenges",
    "runs",
    "sittings",
    "tournaments",
    "courses",
    "ratings",
    "rollouts",
    "jobs",
    "inbox",
    "tokens",
)
"""The groups of the description in order; the compatible addresses follow them."""
BODIES = ("post", "put", "patch", "delete")
METHODS = ("get", *BODIES)
_making = Lock()
"""Held while the description is made: drf-spectacular loads its extensions in a way that two threads break."""


class DescribedView(AutoSchema):
    """Describes views by their docstrings and groups them by their tags."""

    def get_tags(self) -> list[str]:
        return [getattr(self.view, "tag")]  # noqa: B009  (APIView declares no tag)

    def get_summary(self) -> str:
        """Return the first sentence of the description."""
        return re.split(r"[.;:](?!\w)", self.get_description(), maxsplit=1)[0]

    def get_operation_id(self) -> str:
        # The name of the view is unique, because every view has one address: AgentVersions gives get_agent_versions.
        return f"{self.method.lower()}_{re.sub(r'(?<!^)(?=[A-Z])', '_', type(self.view).__name__).lower()}"


@require_safe
@tagged
def schema(request: HttpRequest) -> HttpResponse:
    """Return the description as JSON."""
    return HttpResponse(schema_text(), content_type="application/vnd.oai.openapi+json")


@cache
def schema_text() -> str:
    """Return the whole description, which never changes while the process lives."""
    with _making:
        return json.dumps(SchemaGenerator().get_schema(request=None, public=True))  # type: ignore[no-untyped-call]


def add_shared_answers(result: Json, generator: object, **_: object) -> Json:
    """Add the order of the groups and the errors that any address may answer to the description."""
    older = {"name": "compatible", "description": "Addresses that clients of older systems know"}
    result["tags"] = [*({"name": name} for name in OUR_TAGS), older]
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
        ("401", "The token is wrong or missing."),
        ("429", "Too many requests. Retry-After gives the seconds to wait."),
    ]
    if operation.get("parameters") or "requestBody" in operation:
        answers.append(("400", "The request is invalid."))
    if "{" in path or any(one["name"] == "page" for one in operation.get("parameters", [])):
        answers.append(("404", "There is no such object."))
    if "/matches/" in path or "/episodes/{" in path:
        answers.append(("410", "The records are no longer stored."))
    if path.endswith("/standing/"):
        answers.append(("403", "Results are withheld until the organisers release them."))
    if method in BODIES:
        answers.append(("403", "The object is not yours, or the CSRF token is missing."))
    if "requestBody" in operation:
        answers.append(("415", "This address does not accept the content type of the body."))
    return answers


def _problem() -> Json:
    return {"application/json": {"schema": {"$ref": "#/components/schemas/Problem"}}}
