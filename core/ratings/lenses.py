"""Lenses: what was computed of the ledger is written down here."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django.db import transaction

from core.models import Environment, Lens


def lens_save(
    *,
    environment: Environment,
    nash: list[dict[str, Any]],
    cycles: list[list[dict[str, Any]]],
    cycle_count: int,
    pair_count: int,
    clear_count: int,
    calibration: dict[str, Any] | None,
    fitted_at: datetime,
    ledger_version: int,
) -> None:
    """Make this all that is known of who beats whom, and of predictions, in an environment.

    fitted_at, ledger_version: of the ratings that it goes with; a lens of an earlier fit is out of date.
    """
    found = {
        "nash": nash,
        "cycles": cycles,
        "cycle_count": cycle_count,
        "pair_count": pair_count,
        "clear_count": clear_count,
        "calibration": calibration,
        "ledger_version": ledger_version,
    }
    with transaction.atomic():
        lens, _ = Lens.objects.update_or_create(environment=environment, defaults=found)
        # A save writes the clock of this worker there.
        Lens.objects.filter(pk=lens.pk).update(computed_at=fitted_at)
