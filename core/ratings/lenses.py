"""Stores what the lenses of `arena_kit.ranking` have found in an environment's ledger."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from datetime import datetime
from typing import Any

from django.db import transaction

from arena_kit.ranking.calibration import Calibration
from arena_kit.ranking.lenses import Beating
from arena_kit.ranking.nash import NashStanding
from core.models import Environment, Lens

DIGITS = 6


def lens_save(
    *,
    environment: Environment,
    nash: Sequence[NashStanding],
    cycles: Sequence[Sequence[Beating]],
    cycle_count: int,
    pair_count: int,
    clear_count: int,
    calibration: Calibration | None,
    fitted_at: datetime,
    ledger_version: int,
) -> None:
    """Replace an environment's lens.

    fitted_at, ledger_version: of the ratings that the lens belongs to; a lens of an earlier fit is out of date.
    """
    found = {
        "nash": [_rounded(asdict(row)) for row in nash],
        "cycles": [[_rounded(asdict(step)) for step in steps] for steps in cycles],
        "cycle_count": cycle_count,
        "pair_count": pair_count,
        "clear_count": clear_count,
        "calibration": None if calibration is None else _rounded(asdict(calibration)),
        "ledger_version": ledger_version,
    }
    with transaction.atomic():
        lens, _ = Lens.objects.update_or_create(environment=environment, defaults=found)
        # Saving has set computed_at to the clock of this worker.
        Lens.objects.filter(pk=lens.pk).update(computed_at=fitted_at)


def _rounded(found: dict[str, Any]) -> dict[str, Any]:
    """The same values with fewer digits: the last ones differ between machines, the stored ones must not."""
    return {name: _value(value) for name, value in found.items()}


def _value(value: Any) -> Any:
    if isinstance(value, float):
        return round(value, DIGITS)
    if isinstance(value, tuple):
        return [_rounded(item) for item in value]
    return value
