"""Rated matches as data sets: whose results everybody may see, between agents whose owners have consented."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from datetime import datetime

from django.db.models import Q, QuerySet

from arena_kit.datasets.lines import DatasetWriter, DuelOfDataset
from core.courses.sight import released
from core.duels.selectors import NotStored, file_open
from core.links import site_url
from core.models import Duel, JobState

ROWS_AT_ONCE = 200
"""How many duels the database hands over at a time."""


def dataset_duels(environment_version: str) -> QuerySet[Duel]:
    """Return the duels of a data set, in the order in which they were made."""
    rows = Duel.objects.filter(
        released(),
        environment_version=environment_version,
        state=JobState.SUCCEEDED,
        void=None,
    )
    for player in ("player_1", "player_2"):
        agent = f"{player}__agent"
        consented = Q(**{f"{agent}__shares_moves": True})
        rows = rows.filter(consented | Q(**{f"{agent}__shares_moves": None, f"{agent}__is_public": True}))
    return rows.exclude(records="").select_related("player_1__agent", "player_2__agent").order_by("pk")


def dataset_chunks(environment_version: str, *, now: datetime) -> Iterator[bytes]:
    """Yield the data set of an environment's rules, see `arena_kit.datasets.lines`."""
    writer = DatasetWriter(environment_version, site_url(), now.isoformat(timespec="seconds"))
    return writer.chunks(_opened(dataset_duels(environment_version)))


def _opened(duels: QuerySet[Duel]) -> Iterator[DuelOfDataset]:
    """Yield duels with their records open, without those whose records are not stored any more."""
    for duel in duels.iterator(chunk_size=ROWS_AT_ONCE):
        players = (duel.player_1, duel.player_2)
        with contextlib.suppress(NotStored), file_open(duel.records, "The records are") as file:
            ids = (str(players[0].public_id), str(players[1].public_id))
            yield DuelOfDataset(duel.pk, ids, (str(players[0]), str(players[1])), file)
