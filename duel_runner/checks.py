"""System checks of the runner's settings."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.core.checks import CheckMessage, Error, register

from arena_kit.sandbox.scripts import ScriptLimits
from core.checks.startup import TAG


@register(TAG)
def check_script_limits(**_: Any) -> list[CheckMessage]:
    """arena.E007: no script submission can run with the configured limits."""
    try:
        ScriptLimits(**settings.SCRIPT_LIMITS)
    except ValueError as error:
        hint = "They are set by SCRIPT_OPTIONS; example.env says what each means."
        return [Error(str(error), hint=hint, id="arena.E007")]
    return []
