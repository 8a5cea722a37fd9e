"""Metrics of requests, and access to them."""

from __future__ import annotations

from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from prometheus_client import REGISTRY
from prometheus_client.parser import text_string_to_metric_families
from pytest_django.fixtures import DjangoCaptureOnCommitCallbacks, Settings

from core.models import Environment
from core.tests import factories
from core.tests.factories import Cast
from tests.samples import FIRST, zip_of
from web.api.tests.conftest import Program
from web.api.tests.sending import SUBMIT, file, files, script


def value(name: str, **labels: str) -> float:
    return REGISTRY.get_sample_value(name, labels) or 0.0


# --- Uploads --------------------------------------------------------------------------------------------------

MODES: list[tuple[dict[str, Any], str]] = [
    (script(), "single"),
    (files("a.py", "b.py", main_file="a.py"), "multi"),
    ({"file": file("player.zip", zip_of(FIRST))}, "zip"),
]


@pytest.mark.django_db
@pytest.mark.parametrize(("form", "mode"), MODES)
def test_a_submission_is_counted_by_how_it_came_once_it_is_stored(
    cast: Cast,
    cart_pole: Environment,
    program: Program,
    form: dict[str, Any],
    mode: str,
    django_capture_on_commit_callbacks: DjangoCaptureOnCommitCallbacks,
) -> None:
    before = value("submissions_received_total", mode=mode), value("submissions_upload_bytes_total")
    with django_capture_on_commit_callbacks(execute=False) as callbacks:
        assert program(cast.alice).post(SUBMIT, form).status_code == 200
    assert (value("submissions_received_total", mode=mode), value("submissions_upload_bytes_total")) == before
    for callback in callbacks:
        callback()
    assert value("submissions_received_total", mode=mode) == before[0] + 1
    assert value("submissions_upload_bytes_total") > before[1]


@pytest.mark.slow
@pytest.mark.django_db
def test_the_form_of_the_site_counts_as_the_interface_for_programs_does(
    client: Client, django_capture_on_commit_callbacks: DjangoCaptureOnCommitCallbacks
) -> None:
    task, ann = factories.task(), factories.user("ann")
    client.force_login(ann)
    before = {mode: value("submissions_received_total", mode=mode) for mode in ("single", "multi", "zip")}
    address = f"/environments/{task.slug}/agents/"
    sent: dict[str, list[SimpleUploadedFile]] = {
        "zip": [SimpleUploadedFile("player.zip", zip_of(FIRST))],
        "single": [SimpleUploadedFile("player.py", FIRST.encode())],
        "multi": [SimpleUploadedFile("player.py", FIRST.encode()), SimpleUploadedFile("net.py", b"X = 1\n")],
    }
    for mode, archive in sent.items():
        with django_capture_on_commit_callbacks(execute=True):
            assert client.post(address, {"name": mode, "archive": archive}).status_code == 302
        # Sending the same again is not a new submission.
        archive[0].seek(0)
    assert {mode: value("submissions_received_total", mode=mode) - before[mode] for mode in before} == {
        "single": 1, "multi": 1, "zip": 1,
    }  # fmt: skip


FAILURES: list[tuple[dict[str, Any], str]] = [
    ({}, "no_file"),
    ({"file": "no file name"}, "empty_filename"),
    (files("notes.txt", main_file="notes.txt"), "no_py"),
    (files("a.py", "b.py"), "missing_main"),
    (files("a.py", "b.py", main_file="c.py"), "unknown_main"),
    (files("a.py", "b.txt", main_file="b.txt"), "main_not_py"),
    ({"file": file("agent.txt")}, "not_py"),
    (script(client_id="7"), "bad_client_id"),
    (script(env_id="Nowhere-v0"), "form"),
    ({"file": file("agent.py", b"def (")}, "does_not_compile"),
    ({"file": file("player.zip", b"no zip")}, "not_a_zip"),
]


@pytest.mark.django_db
@pytest.mark.parametrize(("form", "reason"), FAILURES)
def test_an_upload_that_is_refused_is_counted_by_its_reason(
    cast: Cast, cart_pole: Environment, program: Program, form: dict[str, Any], reason: str
) -> None:
    for sent in form.values():
        for upload in sent if isinstance(sent, list) else [sent]:
            getattr(upload, "seek", lambda _: None)(0)
    before = value("submissions_validation_failures_total", reason=reason)
    assert program(cast.alice).post(SUBMIT, form).status_code == 400
    assert value("submissions_validation_failures_total", reason=reason) == before + 1


@pytest.mark.django_db
def test_what_a_form_refuses_is_counted_on_the_site_and_for_programs(
    cast: Cast, cart_pole: Environment, client: Client, program: Program
) -> None:
    client.force_login(cast.alice)
    before = {reason: value("submissions_validation_failures_total", reason=reason) for reason in ("no_file", "form")}
    assert client.post(f"/environments/{cart_pole.slug}/agents/", {"name": "a"}).status_code == 422
    assert program(cast.alice).post("/api/v1/agents/", {"name": "a"}).status_code == 400
    for reason, count in before.items():
        assert value("submissions_validation_failures_total", reason=reason) == count + 1


# --- Boards and requests --------------------------------------------------------------------------------------


@pytest.mark.django_db
def test_a_board_is_counted_wherever_it_is_asked_for(client: Client, cart_pole: Environment) -> None:
    labels = {"env_id": cart_pole.env_id, "sort": "date_asc"}
    before = value("leaderboard_queries_total", **labels), value("leaderboard_query_duration_seconds_count")
    for path in ("/api/leaderboard/", "/leaderboard/CartPole-v1", f"/api/v1/environments/{cart_pole.slug}/board/"):
        assert client.get(path, {"sort": "date_asc"}).status_code == 200
    assert client.get(f"/environments/{cart_pole.slug}/", {"sort": "date_asc"}).status_code == 200
    # An unknown environment adds no value to the label.
    assert client.get("/api/leaderboard/", {"env_id": "Nowhere-v0"}).status_code == 400
    assert value("leaderboard_queries_total", **labels) == before[0] + 4
    assert value("leaderboard_query_duration_seconds_count") == before[1] + 4
    assert value("leaderboard_queries_total", env_id="Nowhere-v0", sort="score_desc") == 0


@pytest.mark.django_db
def test_requests_are_counted_by_view_not_by_address(client: Client) -> None:
    def requests(handler: str, status: str, method: str = "GET") -> float:
        return value("http_requests_total", handler=handler, method=method, status=status)

    def style_sheet() -> str:
        response: Any = client.get("/static/admin/css/base.css")
        # A collected style sheet is an open file until it is read.
        if response.streaming:
            b"".join(response)
        return str(response.status_code)

    static = style_sheet()
    watched = (("api:results", "404"), ("web:live", "405", "other"), ("static", static))
    before = [requests(*labels) for labels in watched]
    for number in range(3):
        client.get(f"/api/results/{number:032x}")
    client.generic("BREW", "/health/live")
    style_sheet()
    assert [requests(*labels) - then for labels, then in zip(watched, before, strict=True)] == [3, 1, 1]
    assert value("http_request_duration_seconds_count", handler="api:results", method="GET") >= 3


# --- Who may read it ------------------------------------------------------------------------------------------


def scrape(client: Client, *, address: str = "203.0.113.9", **headers: str) -> int:
    return client.get("/metrics", headers={**headers, "host": "web:8000"}, REMOTE_ADDR=address).status_code


@pytest.mark.slow
@pytest.mark.django_db
def test_figures_are_closed_until_an_address_is_let_in(client: Client, settings: Settings) -> None:
    settings.DEBUG = False
    assert scrape(client) == 403
    assert b"METRICS_TOKEN" in client.get("/metrics").content

    settings.METRICS_TOKEN = "the-token"
    assert scrape(client, authorization="Bearer the-token") == 200
    for wrong in ("Bearer the-toke", "Bearer", "Bearer ", "the-token", "Basic the-token", "Bearer ünïcode"):
        assert scrape(client, authorization=wrong) == 403

    settings.METRICS_NETWORKS = ["203.0.113.0/28", "2001:db8::/32"]
    for inside in ("203.0.113.9", "::ffff:203.0.113.9", "2001:db8::7"):
        assert scrape(client, address=inside) == 200
    assert scrape(client, address="203.0.113.99") == scrape(client, address="") == 403
    # Behind a proxy, the address is the proxy's.
    assert scrape(client, **{"x-forwarded-for": "203.0.113.9"}) == 403


@pytest.mark.django_db
def test_figures_are_open_to_developers_unless_addresses_are_named(client: Client, settings: Settings) -> None:
    settings.DEBUG = True
    assert scrape(client) == 200
    settings.METRICS_NETWORKS = ["192.0.2.1"]
    assert scrape(client) == 403


@pytest.mark.slow
@pytest.mark.django_db
def test_figures_come_in_the_format_that_is_asked_for(client: Client, settings: Settings) -> None:
    settings.DEBUG = True
    plain = client.get("/metrics")
    assert plain.headers["Content-Type"].startswith("text/plain")
    names = {family.name for family in text_string_to_metric_families(plain.content.decode())}
    assert {"http_requests", "component_healthy", "arena_info", "workers_alive", "jobs_open", "alarms_open"} <= names
    modern = client.get("/metrics/", headers={"accept": "application/openmetrics-text; version=1.0.0"})
    assert modern.headers["Content-Type"].startswith("application/openmetrics-text")
    assert modern.content.endswith(b"# EOF\n")
