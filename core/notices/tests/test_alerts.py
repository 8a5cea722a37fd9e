"""Alerts of Prometheus become alarms, and settle with them."""

from __future__ import annotations

import json
from typing import Any

import pytest
from django.test import Client
from pytest_django.fixtures import Settings

from core.errors import Refused
from core.models import Alarm
from core.notices.alerts import MOST_ALERTS, Alert, alerts_apply, alerts_read

TOKEN = "a-token-for-this-test"
KEY = "prometheus-QueueWithoutWorkers-0123456789abcdef"


def alert(status: str = "firing", **labels: str) -> dict[str, Any]:
    return {
        "status": status,
        "labels": {"alertname": "QueueWithoutWorkers", "queue": "duel", **labels},
        "annotations": {"summary": "No worker of the queue duel is alive."},
        "fingerprint": "0123456789abcdef",
    }


def message(*alerts: dict[str, Any]) -> dict[str, Any]:
    return {"version": "4", "status": "firing", "alerts": list(alerts)}


def test_an_alert_has_a_key_of_its_name_and_labels_and_its_summary() -> None:
    assert alerts_read(message(alert(), alert("resolved"))) == [
        Alert(KEY, "No worker of the queue duel is alive.", True),
        Alert(KEY, "No worker of the queue duel is alive.", False),
    ]


def test_alerts_about_the_arenas_own_alarms_are_left_out() -> None:
    assert alerts_read(message(alert(origin="arena"))) == []


def test_a_summary_is_one_line_that_can_be_stored() -> None:
    odd = alert(alertname="A b/c" * 40) | {"annotations": {"summary": "one\ntwo\0\ud800\u202e three" + "x" * 9000}}
    (found,) = alerts_read(message(odd))
    assert found.message.startswith("one two? three")
    assert len(found.message) == 1000
    assert len(found.key) <= 100
    assert " " not in found.key


@pytest.mark.parametrize(
    ("sent", "why"),
    [
        ([], "no list of alerts"),
        ({"alerts": {}}, "no list of alerts"),
        ({"alerts": ["one"]}, "labels of an alert"),
        ({"alerts": [alert() | {"labels": 3}]}, "labels of an alert"),
        ({"alerts": [alert() | {"annotations": []}]}, "annotations of an alert"),
        ({"alerts": [alert() | {"fingerprint": "../x"}]}, "no alertname or fingerprint"),
        ({"alerts": [alert(alertname="")]}, "no alertname or fingerprint"),
        ({"alerts": [alert("perhaps")]}, "neither firing nor resolved"),
        ({"alerts": [alert()] * (MOST_ALERTS + 1)}, "more than 500"),
    ],
)
def test_a_message_that_is_none_of_alertmanagers_is_refused_with_a_reason(sent: object, why: str) -> None:
    with pytest.raises(Refused, match=why):
        alerts_read(sent)


@pytest.mark.django_db
def test_an_alert_that_fires_is_an_alarm_until_it_is_over() -> None:
    fires, over = Alert(KEY, "None is alive.", True), Alert(KEY, "None is alive.", False)
    alerts_apply(alerts=[fires])
    alerts_apply(alerts=[fires])
    alarm = Alarm.objects.get()
    assert (alarm.key, alarm.message, alarm.settled_at) == (KEY, "None is alive.", None)
    alerts_apply(alerts=[over])
    alarm.refresh_from_db()
    assert alarm.settled_at is not None


@pytest.mark.django_db
def test_alertmanager_is_heard_by_the_address_of_a_process_with_the_token_alone(
    client: Client, settings: Settings
) -> None:
    settings.METRICS_TOKEN, settings.ALLOWED_HOSTS = TOKEN, ["arena.example.org"]

    def send(body: bytes, token: str = TOKEN) -> int:
        return client.post(
            "/api/alertmanager/webhook", body, content_type="application/json", headers={
                "Authorization": f"Bearer {token}", "Host": "web:8000",
            },
        ).status_code  # fmt: skip

    good = json.dumps(message(alert())).encode()
    assert send(good, "another") == 403
    assert send(b"{") == send(b"\xff") == send(b"[" * 100_000) == send(b"[]") == 400
    assert send(b" " * ((1 << 20) + 1)) == 413
    assert not Alarm.objects.exists()
    assert send(good) == 200
    assert Alarm.objects.get().key == KEY
    assert client.get("/api/alertmanager/webhook").status_code == 405
    # Networks that may read the figures raise no alarms.
    settings.METRICS_TOKEN, settings.METRICS_NETWORKS = "", ["127.0.0.0/8"]
    assert send(good, "") == 403
