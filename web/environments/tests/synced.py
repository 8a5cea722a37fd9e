"""What `sync_environments` finds, for tests that are about a few environments alone."""

from __future__ import annotations

import pytest

from arena_kit.environment.registry import all_specs
from arena_kit.environment.spec import EnvironmentSpec

COMMAND = "core.management.commands.sync_environments"


def few_are_shipped(monkeypatch: pytest.MonkeyPatch, *slugs: str) -> None:
    """Let the command find Quarto and these alone: trying all that are shipped takes a second or two each time."""
    wanted = {"quarto", *slugs}

    def few() -> tuple[EnvironmentSpec, ...]:
        return tuple(spec for spec in all_specs() if spec.slug in wanted)

    monkeypatch.setattr(f"{COMMAND}.all_specs", few)
