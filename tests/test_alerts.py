"""What watches the arena from outside: its rules fire when they should, and the files of others have their form."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml
from jsonschema import Draft202012Validator

from tests.watching import FOLDER, alert_rules, dashboard_queries, dashboards

WORD, NUMBER = {"type": "string", "minLength": 1}, {"type": "integer", "minimum": 0}
SOURCE = {"type": "object", "required": ["type", "uid"], "properties": {"type": {"enum": ["prometheus", "loki"]}}}
DASHBOARD = {
    "type": "object",
    "required": ["title", "uid", "schemaVersion", "time", "templating", "panels"],
    "properties": {
        "uid": {"type": "string", "pattern": "^[a-z-]{1,40}$"},
        "schemaVersion": {"const": 39},
        "time": {"type": "object", "required": ["from", "to"]},
        "templating": {"properties": {"list": {"type": "array", "items": {"required": ["name", "type"]}}}},
        "panels": {
            "type": "array",
            "items": {
                "type": "object",
                "required": ["id", "type", "title", "datasource", "gridPos", "targets"],
                "properties": {
                    "id": NUMBER,
                    "type": {"enum": ["stat", "timeseries", "state-timeline", "logs"]},
                    "title": WORD,
                    "datasource": SOURCE,
                    "gridPos": {
                        "required": ["x", "y", "w", "h"],
                        "properties": {"x": NUMBER, "y": NUMBER, "w": {"maximum": 24, "minimum": 1}, "h": NUMBER},
                    },
                    "targets": {
                        "type": "array",
                        "minItems": 1,
                        "items": {"required": ["expr", "refId"], "properties": {"expr": WORD}},
                    },
                },
            },
        },
    },
}
"""Of Grafana's dashboards, what ours use."""
SOURCES = {
    "type": "object",
    "required": ["apiVersion", "datasources"],
    "properties": {
        "apiVersion": {"const": 1},
        "datasources": {
            "items": {
                "required": ["name", "uid", "type", "access", "url"],
                "properties": {"access": {"const": "proxy"}, "url": {"pattern": "^http://[a-z]+:[0-9]+$"}},
            }
        },
    },
}
PROVIDERS = {
    "required": ["apiVersion", "providers"],
    "properties": {
        "providers": {
            "items": {
                "required": ["name", "type", "options"],
                "properties": {"options": {"required": ["path"]}, "type": {"const": "file"}},
            }
        }
    },
}
LOKI = {
    "type": "object",
    "additionalProperties": False,
    "required": ["server", "common", "schema_config", "limits_config", "compactor"],
    "properties": {
        "auth_enabled": {"type": "boolean"},
        "server": {"required": ["http_listen_port"]},
        "common": {"required": ["path_prefix", "replication_factor", "ring", "storage"]},
        "schema_config": {
            "properties": {
                "configs": {
                    "items": {
                        "required": ["from", "store", "object_store", "schema", "index"],
                        "properties": {
                            "from": {"type": "string"},
                            "store": {"const": "tsdb"},
                            "schema": {"const": "v13"},
                        },
                    }
                }
            }
        },
        "limits_config": {"required": ["retention_period", "allow_structured_metadata"]},
        # Without a store for requests to delete, Loki refuses to start with retention.
        "compactor": {"required": ["working_directory", "retention_enabled", "delete_request_store"]},
        "analytics": {"type": "object"},
    },
}
SHIPPER = {
    "type": "object",
    "additionalProperties": False,
    "required": ["service", "parsers", "pipeline"],
    "properties": {
        "service": {"type": "object"},
        "parsers": {"items": {"required": ["name", "format"]}},
        "pipeline": {
            "additionalProperties": False,
            "required": ["inputs", "filters", "outputs"],
            "properties": {
                name: {"type": "array", "minItems": 1, "items": {"required": ["name"]}}
                for name in ("inputs", "filters", "outputs")
            },
        },
    },
}
SCHEMAS: dict[str, dict[str, Any]] = {
    "grafana/provisioning/datasources/arena.yml": SOURCES,
    "grafana/provisioning/dashboards/arena.yml": PROVIDERS,
    "loki.yml": LOKI,
    "fluent-bit.yml": SHIPPER,
}


def test_every_alert_has_a_moment_at_which_it_fires_and_one_at_which_it_does_not() -> None:
    found: dict[str, set[bool]] = {name: set() for name in alert_rules()}
    for test in yaml.safe_load((FOLDER / "alerts_test.yml").read_text())["tests"]:
        for moment in test["alert_rule_test"]:
            found[moment["alertname"]].add(bool(moment["exp_alerts"]))
    assert {name for name, cases in found.items() if cases != {True, False}} == set()


@pytest.mark.prometheus
@pytest.mark.parametrize(
    "command",
    [("test", "rules", "alerts_test.yml"), ("check", "rules", "alerts.yml")],
    ids=["cases", "rules"],
)
def test_promtool_finds_every_alert_as_its_cases_say(command: tuple[str, ...]) -> None:
    done = subprocess.run(["promtool", *command], cwd=FOLDER, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.prometheus
def test_promtool_reads_the_configuration(tmp_path: Path) -> None:
    text = (FOLDER / "prometheus.yml").read_text().replace("/monitoring/metrics-token", str(tmp_path / "token"))
    (tmp_path / "token").write_text("secret")
    (tmp_path / "alerts.yml").symlink_to(FOLDER / "alerts.yml")
    (tmp_path / "prometheus.yml").write_text(text)
    command = ["promtool", "check", "config", str(tmp_path / "prometheus.yml")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_every_process_that_has_metrics_is_scraped() -> None:
    # Those that are commented out, too.
    text = (FOLDER.parent / "docker-compose.yml").read_text()
    serving = set(
        re.findall(
            r"^  (?:# )?([a-z-]+):\n(?:  .*\n)*?  .*(?:run_workers|run_executor|autoscale)\b.*\]", text, re.MULTILINE
        )
    )
    assert {"worker-build", "worker-quick", "worker-rollout", "executor", "autoscale"} <= serving
    [workers] = [
        job
        for job in yaml.safe_load((FOLDER / "prometheus.yml").read_text())["scrape_configs"]
        if job["job_name"] == "workers"
    ]
    fixed = [target for one in workers["static_configs"] for target in one["targets"]]
    named = [f"{name}:{one['port']}" for one in workers["dns_sd_configs"] for name in one["names"]]
    assert sorted(fixed + named) == sorted(f"{name}:9101" for name in serving)


@pytest.mark.parametrize("name", SCHEMAS)
def test_files_of_programs_that_are_not_here_have_their_form(name: str) -> None:
    Draft202012Validator(SCHEMAS[name]).validate(yaml.safe_load((FOLDER / name).read_text()))


@pytest.mark.parametrize("name", dashboards())
def test_a_dashboard_has_the_form_that_grafana_reads(name: str) -> None:
    dashboard = dashboards()[name]
    Draft202012Validator(DASHBOARD).validate(dashboard)
    variables = {f"${{{one['name']}}}" for one in dashboard["templating"]["list"]}
    assert {panel["datasource"]["uid"] for panel in dashboard["panels"]} <= variables
    assert len({panel["id"] for panel in dashboard["panels"]}) == len(dashboard["panels"])
    places = [
        (x, y)
        for panel in dashboard["panels"]
        for x in range(panel["gridPos"]["x"], panel["gridPos"]["x"] + panel["gridPos"]["w"])
        for y in range(panel["gridPos"]["y"], panel["gridPos"]["y"] + panel["gridPos"]["h"])
    ]
    assert len(places) == len(set(places))


def test_queries_of_logs_ask_for_labels_that_the_shipper_sends() -> None:
    output = yaml.safe_load((FOLDER / "fluent-bit.yml").read_text())["pipeline"]["outputs"][0]
    labels = {"source", *re.findall(r"\$(\w+)", output["label_keys"])}
    queries = list(dashboard_queries("loki"))
    assert queries
    for place, query in queries:
        asked = re.findall(r"(\w+)(?:=~|=)", query.partition("}")[0])
        assert asked, place
        assert set(asked) <= labels, place


def test_the_shipper_keeps_the_fields_that_the_reference_explains() -> None:
    output = yaml.safe_load((FOLDER / "fluent-bit.yml").read_text())["pipeline"]["outputs"][0]
    kept = set(re.findall(r"=\$(\w+)", output["structured_metadata"]))
    explained = (FOLDER.parent / "docs/reference/metrics.md").read_text()
    assert {name for name in kept if f"`{name}`" not in explained} == set()
    assert "job_kind" in kept
