from __future__ import annotations

import logging
import re

import pytest
from django.conf import settings as django_settings
from pytest_django.fixtures import Settings

from core.checks.retired_variables import PROTECTED, RETIRED, check_retired_variables
from core.checks.startup import refuse_unsafe_start
from core.settings.variables import Variables


def test_a_variable_that_is_not_read_any_more_is_named_with_what_replaced_it(settings: Settings) -> None:
    settings.VARIABLES = Variables(
        {"KEEP_JOB_LOGS_DAYS": "30", "EMAIL_HOST_PASSWORD_FILE": "/run/secrets/mail", "A": "b"}
    )
    found = check_retired_variables()
    assert [(message.id, str(message.msg).partition(" ")[0]) for message in found] == [
        ("arena.W005", "EMAIL_HOST_PASSWORD"),
        ("arena.W005", "KEEP_JOB_LOGS_DAYS"),
    ]
    assert "EMAIL_URL=" in str(found[0].hint)
    assert found[1].hint == "Set KEEP_DAYS=logs=..."
    assert not any(message.is_serious() for message in found)


@pytest.mark.parametrize("name", sorted(PROTECTED))
def test_the_arena_does_not_start_without_a_protection_that_a_retired_variable_asked_for(
    settings: Settings, name: str
) -> None:
    settings.VARIABLES, settings.HTTPS = Variables({name: "x"}), False
    assert [(message.id, message.is_serious()) for message in check_retired_variables()] == [("arena.E031", True)]
    settings.HTTPS = True
    assert [message.is_serious() for message in check_retired_variables()] == [name != "HTTPS"]


def test_a_site_that_no_command_line_checks_logs_them(settings: Settings, caplog: pytest.LogCaptureFixture) -> None:
    settings.VARIABLES = Variables({"RATE_CHANGES": "1/hour"})
    settings.SECRET_KEY = "a-long-random-text-of-this-test-0123456789-abcdefghijklmnop"
    with caplog.at_level(logging.WARNING):
        refuse_unsafe_start()
    assert "RATE_CHANGES is set, but the arena no longer reads it. Set RATES=changes=..." in caplog.text


def test_no_retired_variable_is_read_and_every_one_that_replaces_it_is() -> None:
    known = set(django_settings.VARIABLES.names)
    assert not known & set(RETIRED)
    named = {name for hint in RETIRED.values() for name in re.findall(r"\b[A-Z]+_?[A-Z_]*(?==)|Set ([A-Z_]+)", hint)}
    # As DOCKER_HOST, the library reads it.
    assert {name for name in named if name} - {"KUBECONFIG"} <= known
    for hint in RETIRED.values():
        for variable, key in re.findall(r"Set ([A-Z_]+)=([a-z_]+)=", hint):
            assert f"{key}=" in django_settings.VARIABLES.names[variable]


def test_there_are_no_more_variables_than_two_operators_would_set_differently() -> None:
    # 60 for the arena of duels and evaluations, the others for traces, rollouts, players as images and an organiser.
    assert len(django_settings.VARIABLES.names) <= 70
