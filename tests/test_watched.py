"""Debian's Prometheus and Alertmanager watch a site and workers that run: figures, rules, dashboards and alarms."""

from __future__ import annotations

import json
import re
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest
import yaml
from pytest_django.fixtures import Settings

from core.models import Alarm
from core.tests import factories
from tests.programs import METRICS_TOKEN, answers, database_url, free_port, manage, running
from tests.samples import FIRST, tic_tac_toe, upload
from tests.waiting import wait_until
from tests.watching import FOLDER, alert_rules, dashboard_queries, program

pytestmark = [
    pytest.mark.django_db(transaction=True), pytest.mark.prometheus, pytest.mark.nightly, pytest.mark.slow,
]  # fmt: skip
SECONDS = re.compile(r"\b(\d+)(s|m|h)\b")


@dataclass(frozen=True)
class Watched:
    """The ports of what runs. worker: the figures of the workers. start: starts the workers; stop: ends them."""

    site: int
    prometheus: int
    alertmanager: int
    start: Callable[[], None]
    stop: Callable[[], None]

    def ask(self, path: str, **query: str) -> Any:
        """Return the data of an answer of Prometheus. Raises for queries that it does not understand."""
        address = f"http://127.0.0.1:{self.prometheus}/api/v1/{path}?{urlencode(query)}"
        with urllib.request.urlopen(address, timeout=30) as answer:
            found = json.load(answer)
        assert found["status"] == "success", found
        return found["data"]

    def value(self, query: str) -> float | None:
        found = self.ask("query", query=query)["result"]
        return float(found[0]["value"][1]) if found else None


@pytest.fixture
def watched(settings: Settings, tmp_path: Path) -> Iterator[Watched]:
    """A site, workers of builds, and what watches them by the files in monitoring/, with shorter times."""
    settings.SANDBOX, settings.DATA_DIR, settings.MEDIA_ROOT = "process", tmp_path, tmp_path / "files"
    site, worker, prometheus, alertmanager = (free_port() for _ in range(4))
    variables = {
        "DEBUG": "true", "SECRET_KEY": settings.SECRET_KEY, "SANDBOX": "process", "REDIS_URL": "",
        "DATABASE_URL": database_url(), "DATA_DIR": str(tmp_path), "METRICS_TOKEN": METRICS_TOKEN,
        "CHANNEL_DIR": str(settings.CHANNEL_DIR), "SITE_URL": "http://127.0.0.1", "ALLOWED_HOSTS": "arena.example.org",
    }  # fmt: skip
    for name in ("site", "worker"):
        (tmp_path / f"metrics-{name}").mkdir()
    (tmp_path / "alerts.yml").write_text(quicker((FOLDER / "alerts.yml").read_text()))
    targets = {"web:8000": site, "worker-build:9101": worker, "alertmanager:9093": alertmanager}
    (tmp_path / "prometheus.yml").write_text(configured(tmp_path, targets))
    manage(variables, "monitoring_files", str(tmp_path))
    (tmp_path / "alertmanager.yml").write_text(quicker((tmp_path / "alertmanager.yml").read_text()))
    workers = ExitStack()

    def start() -> None:
        own = {"METRICS_DIR": str(tmp_path / "metrics-worker"), "METRICS_PORT": str(worker)}
        output = workers.enter_context((tmp_path / "workers.log").open("ab"))
        workers.enter_context(running({**variables, **own}, "manage.py", "run_workers", "build", output=output))

    with ExitStack() as stack:
        stack.enter_context(workers)
        gunicorn = ["-m", "gunicorn", "core.wsgi", "--bind", f"127.0.0.1:{site}", "--threads", "4", "--timeout", "120"]
        own = {"METRICS_DIR": str(tmp_path / "metrics-site")}
        output = stack.enter_context((tmp_path / "site.log").open("wb"))
        stack.enter_context(running({**variables, **own}, *gunicorn, output=output))
        stack.enter_context(program(
            "prometheus-alertmanager", f"--config.file={tmp_path}/alertmanager.yml", "--cluster.listen-address=",
            f"--web.listen-address=127.0.0.1:{alertmanager}", f"--storage.path={tmp_path}/alertmanager",
            log=tmp_path / "alertmanager.log",
        ))  # fmt: skip
        wait_until(lambda: answers(site), "the site")
        stack.enter_context(program(
            "prometheus", f"--config.file={tmp_path}/prometheus.yml", f"--storage.tsdb.path={tmp_path}/prometheus",
            f"--web.listen-address=127.0.0.1:{prometheus}", log=tmp_path / "prometheus.log",
        ))  # fmt: skip
        wait_until(lambda: answers(prometheus), "Prometheus")
        yield Watched(site, prometheus, alertmanager, start, workers.close)


def quicker(text: str) -> str:
    """Return a configuration in which every waiting time is a second; ranges of queries stay as they are."""
    text = re.sub(r"^( +for:) \w+$", r"\1 1s", text, flags=re.MULTILINE)
    return re.sub(r'("(?:group_wait|group_interval)":) "\w+"', r'\1 "1s"', text)


def configured(folder: Path, targets: dict[str, int]) -> str:
    """Return prometheus.yml with the site and the workers of builds, at their ports here."""
    found = yaml.safe_load((FOLDER / "prometheus.yml").read_text())
    found["global"] = {"scrape_interval": "3s", "scrape_timeout": "3s", "evaluation_interval": "1s"}
    found["scrape_configs"] = [job for job in found["scrape_configs"] if job["job_name"] in ("site", "workers")]
    groups = [*found["alerting"]["alertmanagers"], *found["scrape_configs"]]
    for group in groups:
        for static in group["static_configs"]:
            static["targets"] = [f"127.0.0.1:{targets[one]}" for one in static["targets"] if one in targets]
    for job in found["scrape_configs"]:
        job["authorization"]["credentials_file"] = str(folder / "metrics-token")
    return yaml.safe_dump(found)


def alerts(watched: Watched, name: str) -> list[dict[str, Any]]:
    """Return the alerts of a name that Alertmanager holds, whose routes have a receiver of mails."""
    with urllib.request.urlopen(f"http://127.0.0.1:{watched.alertmanager}/api/v2/alerts", timeout=10) as answer:
        found = json.load(answer)
    return [
        one for one in found
        if one["labels"]["alertname"] == name and one["receivers"] == [{"name": "mail"}]
    ]  # fmt: skip


def test_alerts_of_prometheus_reach_alertmanager_and_end_and_every_query_is_understood(watched: Watched) -> None:
    upload(tic_tac_toe(), "first", FIRST)
    wait_until(lambda: watched.value('up{job="site"}') == 1, "figures of the site")
    # No workers yet.
    wait_until(lambda: bool(alerts(watched, "WorkerTargetDown")), "an alert about the workers")
    assert "The workers at 127.0.0.1:" in alerts(watched, "WorkerTargetDown")[0]["annotations"]["summary"]
    wait_until(lambda: watched.value('jobs_open{kind="build", state="QUEUED"}') == 1, "a job that waits")

    watched.start()
    wait_until(lambda: watched.value('jobs_finished_total{kind="build", state="SUCCEEDED"}') == 1, "a counted build")
    wait_until(lambda: not alerts(watched, "WorkerTargetDown"), "the end of the alert")

    queries = list(dashboard_queries("prometheus"))
    assert len(queries) > 30
    for place, query in queries:
        text = query.replace("$__rate_interval", "1m").replace("$__range", "1h")
        assert watched.ask("query", query=text)["resultType"] == "vector", place
    wait_until(lambda: watched.value("min by (component) (component_healthy)") is not None, "components")
    rules = {rule["name"]: rule for group in watched.ask("rules")["groups"] for rule in group["rules"]}
    assert set(rules) == set(alert_rules())
    assert {name: rule["lastError"] for name, rule in rules.items() if rule.get("lastError")} == {}

    # An alarm of the arena fires in Prometheus, and is not mailed a second time.
    Alarm.objects.create(key="duel-1-does-not-verify", message="Odd.", raised_at=factories.NOON)
    wait_until(lambda: watched.value('ALERTS{alertname="AlarmsOpen", alertstate="firing"}') == 1, "an alert about it")
    watched.stop()
    wait_until(lambda: bool(alerts(watched, "WorkerTargetDown")), "the alert's return")
    assert not alerts(watched, "AlarmsOpen")
