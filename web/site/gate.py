"""The gate of courses: an address that names a row of a course leads only people who may see the course to it.

Pages pass it in a middleware, programs in a permission, because their tokens are read later. Bodies of requests pass it
where an environment is looked up by its name.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any
from uuid import UUID

from django.db.models import Model, QuerySet
from django.http import Http404, HttpRequest, HttpResponse
from django.urls import ResolverMatch
from django.views.defaults import page_not_found

from core.courses.sight import CHALLENGES, Viewer, courses_closed, hidden
from core.jobs.kinds import JOB_MODELS
from core.models import (
    Agent,
    Batch,
    Challenge,
    Course,
    Duel,
    Environment,
    Evaluation,
    Rollout,
    Run,
    Season,
    Sitting,
    Submission,
    Task,
    Tournament,
    Validation,
)
from web.site.requests import viewer_of

PLACE = re.compile(r"([a-z]*)[/-]<(?:\w+:)?(\w+)>")
"""The word before a part of an address, and the name of the part."""
MODELS: Mapping[str, type[Model]] = {
    "agents": Agent,
    "batches": Batch,
    "challenges": Challenge,
    "duel": Duel,
    "duels": Duel,
    "evaluations": Evaluation,
    "results": Submission,
    "rollouts": Rollout,
    "runs": Run,
    "seasons": Season,
    "sittings": Sitting,
    "submissions": Submission,
    "tournaments": Tournament,
    "validations": Validation,
}
"""The models whose rows addresses name by a key or a public id, by the word before it."""


def gate(match: ResolverMatch, viewer: Viewer) -> None:
    """Raise Http404 if an address names a row of a course, or of another person's assignment, that a person may not
    see."""
    found = list(named(match.route, match.kwargs))
    if not found or not (any(rows.model in CHALLENGES for rows in found) or courses_closed(viewer).exists()):
        return
    if any(hidden(rows, viewer).exists() for rows in found):
        raise Http404("There is no such page.")


def named(route: str, parts: Mapping[str, Any]) -> Iterator[QuerySet[Any]]:
    """Yield the rows that the parts of an address name."""
    for word, name in PLACE.findall(route):
        value = parts.get(name)
        key = _key(value)
        if name == "slug":
            yield Environment.objects.filter(slug=value)
        elif name == "course":
            yield Course.objects.filter(slug=value)
        elif name == "env_id":
            yield Environment.objects.filter(env_id=value)
        elif name == "edition":
            yield Tournament.objects.filter(environment__slug=parts["slug"], edition=parts["edition"])
        elif word == "tasks":
            yield Task.objects.filter(key=value)
        elif word == "jobs" and isinstance(key, UUID):
            yield Batch.objects.filter(public_id=key)
        elif name == "pk" and "kind" in parts and parts["kind"] in JOB_MODELS:
            yield JOB_MODELS[parts["kind"]]._default_manager.filter(pk=key)
        elif word in MODELS and key is not None:
            field = "public_id" if isinstance(key, UUID) else "pk"
            yield MODELS[word]._default_manager.filter(**{field: key})


def _key(value: object) -> int | UUID | None:
    """Return the key or the public id that a part of an address is; None for a name."""
    if isinstance(value, int | UUID):
        return value
    try:
        return UUID(str(value))
    except ValueError:
        return None


def page_gate(request: HttpRequest) -> HttpResponse | None:
    """Return the answer 404 for a page of a course that its visitor may not see; None for all others."""
    match = request.resolver_match
    if match is None or match.namespace == "api" or not match.kwargs:
        return None
    try:
        gate(match, viewer_of(request))
    except Http404 as missing:
        return page_not_found(request, missing)
    return None
