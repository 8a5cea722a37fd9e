"""A running duel of which something new is told every second, as its worker would; a process of `benchmarks.streams`.

It fills an empty database and prints the duel's number. Once it has read a line it tells, and prints each count of
matches with the moment (monotonic seconds) from which readers of the database see it, until its input ends.
"""

from __future__ import annotations

import select
import sys
import time
from datetime import timedelta
from typing import TYPE_CHECKING
from uuid import uuid4

from benchmarks.load.rows import Size, fill, play_match

if TYPE_CHECKING:
    from core.models import Duel

TOLD_SECONDS = 1.0
"""Workers tell about once a second."""
MOVES_AT_ONCE = 2
MOST_MATCHES = 100_000
"""More than are ever told here: the duel must not end."""
SIZE = Size(agents=4, editions=1, matches=60, plays=4, recorded=1)


def main() -> None:
    """Tell until the input ends."""
    fill(SIZE)
    duel = running_duel()
    print(duel.pk, flush=True)
    sys.stdin.readline()
    match, begin, count = 1, 0, 0
    actions = play_match(duel.environment_version, duel.seed, match).actions
    while not select.select([sys.stdin], [], [], TOLD_SECONDS)[0]:
        count += 1
        end = begin + MOVES_AT_ONCE
        tell(duel, match, begin, actions[begin:end], count)
        print(count, time.monotonic(), flush=True)
        begin = end
        if end >= len(actions):
            match, begin = match + 1, 0
            actions = play_match(duel.environment_version, duel.seed, match).actions


def running_duel() -> Duel:
    """Create a running duel that everyone may see, between the players of another one."""
    from django.utils import timezone

    from core.models import Duel, JobState

    pattern, now = Duel.objects.order_by("pk")[0], timezone.now()
    return Duel.objects.create(
        tournament=pattern.tournament, number=MOST_MATCHES, round=pattern.round, player_1=pattern.player_1,
        player_2=pattern.player_2, environment_version=pattern.environment_version, seed=pattern.seed,
        match_count=MOST_MATCHES, state=JobState.RUNNING, attempt=1, worker="worker-1", claim_token=uuid4(),
        started_at=now, lease_expires_at=now + timedelta(days=1),
    )  # fmt: skip


def tell(duel: Duel, match: int, begin: int, actions: tuple[int, ...], count: int) -> None:
    """Tell moves of a match, so long ago that pages show them now, and one more finished match."""
    from django.db import transaction
    from django.utils import timezone

    from core.models import Duel, ToldMoves
    from core.watching.selectors import DELAY
    from core.watching.services import moves_store

    assert duel.claim_token is not None
    row = ToldMoves(
        duel=duel, claim_token=duel.claim_token, match=match, begin=begin, actions=list(actions), is_followed=True,
        told_at=timezone.now() - DELAY,
    )  # fmt: skip
    with transaction.atomic():
        moves_store([row])
        Duel.objects.filter(pk=duel.pk).update(matches_done=count)


if __name__ == "__main__":
    main()
