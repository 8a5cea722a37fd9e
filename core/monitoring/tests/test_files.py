"""What the arena writes for Prometheus and Alertmanager."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from pytest_django.fixtures import Settings

SMTP = "django.core.mail.backends.smtp.EmailBackend"


def written(folder: Path) -> dict[str, Any]:
    call_command("monitoring_files", str(folder))
    found: dict[str, Any] = json.loads((folder / "alertmanager.yml").read_text())
    return found


@pytest.fixture
def arena(settings: Settings) -> Settings:
    settings.METRICS_TOKEN, settings.SITE_URL = "secret", "https://arena.example.org"
    settings.ADMINS, settings.EMAIL_BACKEND = [("one@example.org", "one@example.org")], SMTP
    settings.EMAIL_HOST, settings.EMAIL_PORT, settings.EMAIL_USE_TLS = "mail.example.org", 587, True
    settings.EMAIL_HOST_USER, settings.EMAIL_HOST_PASSWORD = "arena", 'quote" and \n line'
    return settings


def test_every_alert_is_mailed_but_those_about_the_arenas_own_alarms(arena: Settings, tmp_path: Path) -> None:
    found = written(tmp_path)
    assert (tmp_path / "metrics-token").read_text() == "secret"
    receivers = {one["name"]: one for one in found["receivers"]}
    assert found["route"]["receiver"] == "mail"
    assert found["route"]["routes"][0] == {"matchers": ['origin="arena"'], "receiver": "nothing"}
    (mail,) = receivers["mail"]["email_configs"]
    assert (mail["to"], mail["smarthost"], mail["require_tls"]) == ("one@example.org", "mail.example.org:587", True)
    assert mail["auth_password"] == 'quote" and \n line'
    assert receivers["nothing"] == {"name": "nothing"}
    if program := shutil.which("amtool"):
        done = subprocess.run(
            [program, "check-config", str(tmp_path / "alertmanager.yml")], capture_output=True, check=False
        )
        assert done.returncode == 0, done.stdout + done.stderr


def test_without_organisers_addresses_no_alert_is_mailed(arena: Settings, tmp_path: Path) -> None:
    arena.ADMINS = []
    assert all("email_configs" not in one for one in written(tmp_path)["receivers"])


def test_without_a_token_or_a_folder_nothing_is_written(arena: Settings, tmp_path: Path) -> None:
    with pytest.raises(CommandError, match="cannot be written: No such file"):
        call_command("monitoring_files", str(tmp_path / "nowhere"))
    arena.METRICS_TOKEN = ""
    with pytest.raises(CommandError, match="METRICS_TOKEN is not set"):
        call_command("monitoring_files", str(tmp_path))
    assert list(tmp_path.iterdir()) == []
