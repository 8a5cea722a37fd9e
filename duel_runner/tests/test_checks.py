from __future__ import annotations

import pytest
from pytest_django.fixtures import Settings

from duel_runner.checks import check_script_limits


@pytest.mark.parametrize(("name", "value"), [("seconds", 0.0), ("cpu_count", 0.0), ("memory_limit_bytes", 1)])
def test_limits_with_which_no_script_could_run_are_refused(settings: Settings, name: str, value: float) -> None:
    assert check_script_limits() == []

    settings.SCRIPT_LIMITS = {**settings.SCRIPT_LIMITS, name: value}

    (message,) = check_script_limits()
    assert (message.id, f"{name}={value}" in message.msg) == ("arena.E007", True)
