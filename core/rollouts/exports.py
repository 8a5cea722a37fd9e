"""The trajectories of a batch for other programs."""

from __future__ import annotations

import json
from collections.abc import Iterator

from core.duels.selectors import NotStored
from core.models import Batch, Rollout
from core.rollouts.permissions import Viewer, work_visible
from core.rollouts.records import atif_trajectory, steps_of
from core.rollouts.selectors import batch_rollouts


def batch_trajectories(batch: Batch, viewer: Viewer) -> Iterator[bytes]:
    """Yield a line of JSON for each rollout of a batch that is over and whose steps are kept and seen by a viewer.

    One rollout is in memory at a time.
    """
    rows = (
        batch_rollouts(batch, viewer).exclude(steps="").select_related(*Rollout.RELATED, "task__file", "task__member")
    )
    for row in rows.order_by("pk").iterator(chunk_size=1):
        if not row.is_over or not work_visible(row, viewer):
            continue
        try:
            steps = steps_of(row)
        except NotStored:
            # Its file may have gone since the rows were read.
            continue
        yield json.dumps(atif_trajectory(row, steps), ensure_ascii=False).encode() + b"\n"
