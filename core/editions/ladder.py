"""The ladder: continuous matchmaking without end.

While an environment's play is LADDER, one automatic tournament of this format runs there. Each step lets its
participants follow the agents and, when few duels are left in line, chooses the next round. It ends when the
environment is to play something else, at its `ends_at`, or when the rules of the game change; then the next one begins.
"""

from __future__ import annotations

import secrets
from collections import Counter
from collections.abc import Sequence
from datetime import UTC, datetime

from django.db import transaction
from django.db.models import BooleanField, ExpressionWrapper, Max, Q

from arena_kit.ranking.formats import Impossible
from core.editions.follow import follow, ladder_rank
from core.editions.ladder_choice import last_round, met_today, pairs_choose
from core.editions.pairings import pairings_play
from core.jobs.states import OPEN
from core.jobs.waits import ON_HOLD
from core.jobs.worker_selectors import places_alive
from core.models import (
    LADDER,
    Duel,
    Environment,
    JobState,
    Play,
    Submission,
    Tournament,
    TournamentState,
)
from core.ratings.services import ratings_note
from core.tournaments.fields import active_field
from core.tournaments.ladders import ladder_field_save
from core.tournaments.rules import rules_of
from core.tournaments.services import EditionTaken, ladder_create, ladder_stop, open_duels_cancel

FEWEST = 2
"""The fewest duels to keep in line; with more workers there are more."""
ENOUGH = 4
"""With this many submissions that are in no open duel, pairs are chosen among them alone."""
ENDED = "The ladder has ended."


def start_if_due(environment: Environment, number: int, *, now: datetime) -> Tournament | None:
    """Start a ladder as edition `number` if agents of two owners can play, with the settings of the previous ladder."""
    if environment.closed_because or not active_field(environment).has_two_owners:
        return None
    before = environment.tournaments.filter(is_automatic=True, format=LADDER).order_by("-edition").first()
    try:
        tournament = ladder_create(
            environment=environment,
            edition=number,
            seed=secrets.randbelow(2**31),
            settings=before.settings if before else {},
        )
    except EditionTaken:
        return None
    ladder_step(tournament, now=now)
    return tournament


def goes_on(tournament: Tournament, *, now: datetime) -> bool:
    """Take one step of a running ladder; return False when it is over and has no open duels."""
    environment = tournament.environment
    if tournament.ends_at is not None and tournament.ends_at <= now:
        ladder_stop(environment=environment)
    environment.refresh_from_db(fields=["play", "version"])
    if _is_on(tournament):
        ladder_step(tournament, now=now)
        return True
    open_duels_cancel(tournament=tournament, reason=ENDED)
    return False


def ladder_step(tournament: Tournament, *, now: datetime) -> None:
    """Update the participants, and choose the next round when it is time; a second call in a row changes nothing.

    One transaction locks the tournament's row, so that each of several workers sees what the others did. Data derived
    from the ledger is brought up to date first, so that the choice uses all results.
    """
    follow(tournament.environment)
    with transaction.atomic():
        locked = Tournament.objects.select_for_update(no_key=True).filter(state=TournamentState.RUNNING)
        ladder = locked.filter(pk=tournament.pk).first()
        # Checked again with the row locked, because the ladder may have been ended in the meantime.
        if ladder is None or not _is_on(ladder):
            return
        playing = _participants_follow(ladder)
        shortfall = _round_follow(ladder, playing, now)
        if shortfall != ladder.shortfall:
            Tournament.objects.filter(pk=ladder.pk).update(shortfall=shortfall[:200])


def _is_on(tournament: Tournament) -> bool:
    """Return whether the environment still plays a ladder by the same rules; after a change another one begins."""
    environment = tournament.environment
    return environment.play == Play.LADDER and rules_of(tournament) == environment.spec_id


def table_follow(tournament: Tournament, *, is_fitted: bool, now: datetime) -> None:
    """Rank a running table of ratings after a fit, and after participants have left."""
    # An edition is a moment of the history when it ends.
    if tournament.is_ladder:
        ratings_note(environment=tournament.environment, at=now)
    rows = tournament.participants
    lowest = rows.filter(withdrawn_at=None).aggregate(last=Max("rank"))["last"] or 0
    # Participants that are gone stand below all others.
    is_mixed = rows.filter(withdrawn_at__isnull=False, rank__lte=lowest).exists()
    if is_fitted or is_mixed:
        ladder_rank(tournament)


def _participants_follow(ladder: Tournament) -> list[Submission]:
    """Let agents' newest active submissions join and all others leave; return those that can play now."""
    here = Submission.objects.filter(participations__tournament=ladder, participations__withdrawn_at=None)
    is_open = Q(builds__state__in=OPEN) | Q(validations__state__in=OPEN)
    # A submission that is built again, e.g. by an organiser, neither leaves nor gives way to its predecessor.
    again = dict(here.filter(is_open, deleted_at=None).values_list("pk", "agent"))
    field = active_field(ladder.environment)
    numbers = dict(Submission.objects.filter(pk__in=again).values_list("agent", "number"))
    playing = [row for row in field.playing if row.number > numbers.get(row.agent_id, 0)]
    ladder_field_save(tournament=ladder, playing=playing, paused=set(again), last_round=last_round(ladder))
    return playing


def _round_follow(ladder: Tournament, playing: Sequence[Submission], now: datetime) -> str:
    """Choose a round if too few duels are in line; return why nothing is played, or an empty text."""
    if ladder.environment.closed_because:
        return ladder.environment.closed_because
    is_on_hold = ExpressionWrapper(ON_HOLD, output_field=BooleanField())
    rows = ladder.duels.filter(state__in=OPEN).values_list(is_on_hold, "state", "player_1", "player_2")
    coming = Counter((one, other) for _, _, one, other in rows)
    # A duel on hold may stay so for days: meanwhile its players meet others.
    open_ = [row for is_on_hold, *row in rows if not is_on_hold]
    waiting = sum(state == JobState.QUEUED for state, _, _ in open_)
    wanted = max(FEWEST, places_alive(Duel))
    if waiting >= wanted:
        return ""
    busy = {player for _, *players in open_ for player in players}
    free = [row for row in playing if row.pk not in busy]
    if len(free) < 2 and busy:
        return ""
    try:
        # With few free submissions, the two whose duel has just ended would meet again and again.
        among = free if len(free) >= ENOUGH or not busy else playing
        choice = pairs_choose(among, ladder, 2 * wanted - waiting, now, coming)
    except Impossible as error:
        return f"The ladder cannot be played with its settings: {error}"
    pairings_play(
        tournament=ladder,
        pairings=choice.pairings,
        players={row.pk: row for row in playing},
        met=met_today(ladder, choice.pairings, now),
        round=last_round(ladder) + 1,
        # A ladder has no end, and openings that stayed could be learnt from the records.
        period=now.astimezone(UTC).date().isoformat(),
    )
    return "" if choice.pairings or coming else choice.shortfall
