"""The files in monitoring/ as values, and Debian's Prometheus and Alertmanager as processes."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / "monitoring"
OF_EXPORTERS = {
    "probe_success", "probe_ssl_earliest_cert_expiry", "redis_memory_used_bytes", "redis_memory_max_bytes",
    "redis_evicted_keys_total", "node_cpu_seconds_total", "node_memory_MemAvailable_bytes",
    "node_memory_MemTotal_bytes", "node_filesystem_avail_bytes", "node_filesystem_size_bytes",
}  # fmt: skip
"""Figures that rules use and that exporters of others show."""
STOP_SECONDS = 30


def alert_rules() -> dict[str, dict[str, Any]]:
    """Return the rules by the names of their alerts."""
    groups = yaml.safe_load((FOLDER / "alerts.yml").read_text())["groups"]
    return {rule["alert"]: rule for group in groups for rule in group["rules"]}


def dashboards() -> dict[str, dict[str, Any]]:
    """Return the dashboards by the names of their files."""
    return {path.name: json.loads(path.read_text()) for path in sorted((FOLDER / "grafana/dashboards").glob("*.json"))}


def dashboard_queries(source: str) -> Iterator[tuple[str, str]]:
    """Yield the place and the text of every query of a kind of source: prometheus or loki."""
    for name, dashboard in dashboards().items():
        for panel in dashboard["panels"]:
            if panel["datasource"]["type"] == source:
                for target in panel["targets"]:
                    yield f"{name}: {panel['title']}", target["expr"]


@contextmanager
def program(*command: str, log: Path) -> Iterator[subprocess.Popen[bytes]]:
    """Run a program with its output in a file, and end it afterwards."""
    with log.open("wb") as output:
        process = subprocess.Popen(command, stdout=output, stderr=output)
        try:
            yield process
        finally:
            process.terminate()
            process.wait(STOP_SECONDS)
