"""The description of the API: complete, correct, and shown on our own page."""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Iterator
from functools import cache
from typing import Any

import hypothesis
import pytest
import schemathesis
from django.core import signals
from django.core.handlers.wsgi import WSGIHandler
from django.db import close_old_connections
from django.test import Client
from django.utils import timezone
from drf_spectacular.drainage import GENERATOR_STATS
from hypothesis import strategies
from pytest_django.fixtures import Settings
from rest_framework.throttling import SimpleRateThrottle
from schemathesis import GenerationMode
from schemathesis.checks import not_a_server_error
from schemathesis.core.result import Ok
from schemathesis.schemas import BaseSchema
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
    unsupported_method,
)

from core.models import Assignment, Course, Member, Role
from core.operations.health import HEALTHY
from core.people.tokens import token_create
from core.tests import applications, factories
from web.api.compatible import views
from web.api.reference import COMPATIBLE, groups
from web.api.schema import METHODS, schema_text
from web.api.tests.conftest import Arena

SCHEMA = "/api/schema"
FEW_EXAMPLES, MANY_EXAMPLES = 1, 25
SEED = 20_261_121
CHECKS = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_schema_conformance,
    unsupported_method,
]
RATES = dict.fromkeys(SimpleRateThrottle.THROTTLE_RATES, "1000000/second")


@cache
def _site() -> WSGIHandler:
    return WSGIHandler()


def _whole(environ: dict[str, Any], start_response: Any) -> list[bytes]:
    """Return the site as a WSGI application that closes every response, which the test client does not."""
    response = _site()(environ, start_response)
    try:
        return [b"".join(response)]
    finally:
        response.close()


def description() -> dict[str, Any]:
    schema: dict[str, Any] = json.loads(schema_text())
    return schema


def test_the_description_is_made_without_a_doubt(capsys: pytest.CaptureFixture[str]) -> None:
    schema_text.cache_clear()
    GENERATOR_STATS.reset()
    assert description()["openapi"].startswith("3.")
    assert not GENERATOR_STATS, capsys.readouterr().err


def test_every_operation_says_what_it_is_and_what_may_go_wrong() -> None:
    for path, operations in description()["paths"].items():
        for operation in operations.values():
            assert operation["description"], path
            assert path == "/health" or {"401", "429"} <= set(operation["responses"])
            assert all(answer["description"] or answer["content"] for answer in operation["responses"].values())


def test_every_operation_is_in_a_group_of_the_description() -> None:
    whole = description()
    used = {tag for operations in whole["paths"].values() for one in operations.values() for tag in one["tags"]}
    assert used == {tag["name"] for tag in whole["tags"]}


@pytest.mark.django_db
@pytest.mark.parametrize("slash", ["", "/"])
def test_the_description_and_its_page_are_everyone_s(client: Client, slash: str) -> None:
    assert client.get(f"/api/schema{slash}").json() == description()
    response = client.get(f"/api/docs{slash}")
    assert response.status_code == 200
    page = response.content.decode()
    assert "<script>" not in page
    assert "<style" not in page
    assert not re.search(r'(?:src|href)="(?:https?:)?//', page)


@pytest.mark.django_db
def test_the_page_shows_every_operation_and_its_links_lead_to_objects_on_it(client: Client) -> None:
    page = client.get("/api/docs").content.decode()
    operations = [
        (path, method) for path, methods in description()["paths"].items() for method in methods if method in METHODS
    ]
    assert page.count('<summary><span class="method ') == len(operations)
    # A sentence does not end inside `info.yml`.
    summaries = [one["summary"] for methods in description()["paths"].values() for one in methods.values()]
    assert [one for one in summaries if one.count("`") % 2] == []
    anchors = set(re.findall(r' id="([^"]+)"', page))
    assert {link for link in re.findall(r'href="#([^"]+)"', page) if link not in anchors} == set()
    assert [group.name for group in groups()][-1] == COMPATIBLE
    shown = page[page.index('id="get_agent_list"') :].partition("</details>")[0]
    for words in (
        "/api/v1/agents/",
        "Slug of the environment.",
        '<a href="#object-AgentAnswer">page of AgentAnswer</a>',
    ):
        assert words in shown


@pytest.fixture
def api(arena: Arena, settings: Settings, monkeypatch: pytest.MonkeyPatch) -> Iterator[BaseSchema]:
    """Return the described API over an arena with one of everything, without rate limits."""
    settings.ANONYMOUS_SUBMISSIONS = True
    monkeypatch.setattr(SimpleRateThrottle, "THROTTLE_RATES", RATES)
    taught = Course.objects.create(slug="robots", name="Robots")
    Member.objects.create(course=taught, user=arena.cast.alice, role=Role.TEACHER)
    Assignment.objects.create(
        course=taught,
        environment=arena.stage.environment,
        name="Week 1",
        opens_at=factories.NOON,
        due_at=timezone.now(),
    )
    # The test sends bad requests on purpose.
    monkeypatch.setattr(logging.getLogger("django.request"), "disabled", True)
    # No worker runs here, so /health rightly answers 503.
    parts = ("database", "redis", "broker", "celery_workers", "watchdog", "engine", "storage", "certificate")
    monkeypatch.setattr(views, "health_lately", lambda: (dict.fromkeys(parts, HEALTHY), 0))
    # Like Django's own test client: the database connection outlives the request.
    ends = (signals.request_started, signals.request_finished)
    for end in ends:
        end.disconnect(close_old_connections)
    yield schemathesis.openapi.from_wsgi(SCHEMA, _whole)
    for end in ends:
        end.connect(close_old_connections)


@pytest.mark.slow
@pytest.mark.parametrize("examples", [FEW_EXAMPLES, pytest.param(MANY_EXAMPLES, marks=pytest.mark.nightly)])
@pytest.mark.parametrize(
    "is_stranger", [pytest.param(True, marks=pytest.mark.nightly, id="stranger"), pytest.param(False, id="alice")]
)
def test_no_request_breaks_the_api(api: BaseSchema, arena: Arena, is_stranger: bool, examples: int) -> None:
    """Send random requests that follow or break the description; half of them concern existing objects."""
    _, token = token_create(owner=arena.cast.alice, name="schema", now=timezone.now(), days=1)
    headers = {} if is_stranger else {"Authorization": f"Bearer {token}"}
    for result in api.get_all_operations():
        assert isinstance(result, Ok)
        operation = result.ok()
        cases = operation.as_strategy(GenerationMode.POSITIVE) | operation.as_strategy(GenerationMode.NEGATIVE)

        @hypothesis.seed(SEED)
        @hypothesis.settings(
            max_examples=examples,
            deadline=None,
            database=None,
            suppress_health_check=list(hypothesis.HealthCheck),
            phases=[hypothesis.Phase.generate],
        )
        @hypothesis.given(case=cases, aimed=strategies.booleans())
        def ask(case: schemathesis.Case[Any], aimed: bool) -> None:
            if aimed:
                case.path_parameters = aim(case, arena)
            case.call_and_validate(checks=CHECKS, headers=headers)

        ask()


def aim(case: schemathesis.Case[Any], arena: Arena) -> dict[str, Any]:
    """Return values for the parts of an address that belong to existing objects."""
    path = case.operation.path
    rows = {
        "agents": arena.stage.anna.agent_id,
        "tournaments": arena.stage.tournament.pk,
        "duels": arena.stage.duel.pk,
        "evaluations": arena.verified.pk,
        "jobs": arena.stage.anna.builds.get().pk,
        "tokens": 1,
        "seasons": arena.season.pk,
    }
    values = {
        "id": next((row for name, row in rows.items() if f"/{name}/" in path), arena.verified.submission.public_id),
        "public_id": arena.stage.anna.public_id,
        "agent_id": arena.stage.anna.agent_id,
        "number": 1,
        "kind": "build",
        "choice": "best",
        "slug": "cart-pole",
        "env_id": "CartPole-v1",
        "course": Course.objects.get().slug,
        "assignment_id": Assignment.objects.get().pk,
    }
    rollout = applications.everything(arena.cast.alice)
    values |= {"key": rollout.task.key, "name": "har"}
    if "/rollouts" in case.path:
        values |= {"public_id": rollout.public_id, "kind": "csv"}
    elif "/batches" in case.path or case.path.startswith("/api/jobs"):
        values["public_id"] = rollout.batch.public_id
    return {name: str(values[name]) for name in case.path_parameters or {}}
