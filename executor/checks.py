"""The system check of the executor's settings."""

from __future__ import annotations

from typing import Any

from django.core.checks import CheckMessage, Error, register

from core.checks import TAG
from executor.listening import listening


@register(TAG)
def check_listening(**_: Any) -> list[CheckMessage]:
    """arena.E030: the executor cannot listen, or would listen on a network without encryption."""
    hint = "Plain text is for 127.0.0.1, [::1] and unix:PATH only. See docs/operator/executor.md."
    return [Error(problem, hint=hint, id="arena.E030") for problem in listening().problems()]
