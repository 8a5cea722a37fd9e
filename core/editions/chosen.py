"""Editions of a chosen part of all pairs, for more agents than can all meet each other after every upload.

Such an edition has a budget of duels. A version that has not played gets `new_duels`, one after the other, each against
the opponent of whom a match says most, given its results so far; `other_duels` are played among the others, chosen as a
ladder chooses. Both grow with the logarithm of the number of agents. Participants are those who play, and their ratings
rank them, because they meet different opponents.
"""

from __future__ import annotations

import math
import secrets
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict

from django.db import transaction

from arena_kit.ranking.matchmaking import Pairing
from arena_kit.ranking.newcomers import edition_sizes
from core.editions.chosen_choice import chosen_pairs
from core.editions.follow import follow
from core.editions.ladder import FEWEST
from core.editions.pairings import pairings_play
from core.jobs.states import OPEN
from core.jobs.worker_selectors import places_alive
from core.models import (
    Duel,
    Environment,
    JobState,
    Submission,
    Tournament,
    TournamentState,
)
from core.tournaments.fields import active_field
from core.tournaments.newcomers import newcomers, unplayed
from core.tournaments.rules import rules_of
from core.tournaments.services import chosen_create, participants_add


def start(environment: Environment, number: int, submissions: Sequence[Submission]) -> Tournament:
    """Create edition `number` and its first duels. Raises EditionTaken."""
    new, size = unplayed(environment, submissions), edition_sizes(len(submissions))
    # A duel of two new versions counts for both.
    of_both = (len(new) - 1) / (len(submissions) - 1) / 2 if new else 0
    planned = math.ceil(len(new) * size.new_duels * (1 - of_both)) + size.other_duels
    tournament = chosen_create(
        environment=environment,
        edition=number,
        seed=secrets.randbelow(2**31),
        settings={**asdict(size), "planned_duels": planned},
        submissions=new,
    )
    goes_on(tournament, playing=submissions)
    return tournament


def goes_on(tournament: Tournament, *, playing: Sequence[Submission] | None = None) -> bool:
    """Choose duels of a running edition if too few are in line; return False when its last one is over.

    playing: the active field, if it has just been read. A second call in a row changes nothing. One transaction locks
    the tournament's row, so that each of several workers sees what the others did.
    """
    follow(tournament.environment)
    with transaction.atomic():
        locked = Tournament.objects.select_for_update(no_key=True).filter(state=TournamentState.RUNNING)
        edition = locked.filter(pk=tournament.pk).first()
        # If it was cancelled a moment ago, there is nothing to end.
        return edition is None or _duels_choose(edition, playing)


def _duels_choose(edition: Tournament, playing: Sequence[Submission] | None) -> bool:
    """Return whether duels are open, or will be once the environment is open again."""
    open_ = list(edition.duels.filter(state__in=OPEN).values_list("player_1", "player_2"))
    wanted = max(FEWEST, places_alive(Duel))
    if len(open_) >= wanted:
        return True
    environment = edition.environment
    # An edition is played by one version of the rules.
    field = _field(edition, playing) if rules_of(edition) == environment.spec_id else {}
    pairings = (
        chosen_pairs(edition, list(field.values()), newcomers(edition), open_, wanted=2 * wanted) if field else []
    )
    shortfall = environment.closed_because if pairings else ""
    if shortfall != edition.shortfall:
        Tournament.objects.filter(pk=edition.pk).update(shortfall=shortfall[:200])
    if pairings and not shortfall:
        _duels_make(edition, field, pairings)
    return bool(open_ or pairings)


def _field(edition: Tournament, playing: Sequence[Submission] | None) -> dict[int, Submission]:
    """Return the submissions that can meet: those that wait for their first edition wait for its end."""
    rows = active_field(edition.environment).playing if playing is None else playing
    here = dict(edition.participants.values_list("submission", "withdrawn_at"))
    waiting = {row.pk for row in unplayed(edition.environment, [row for row in rows if row.pk not in here])}
    return {row.pk: row for row in rows if row.pk not in waiting and here.get(row.pk) is None}


def _duels_make(edition: Tournament, field: Mapping[int, Submission], pairings: Sequence[Pairing]) -> None:
    keys = dict.fromkeys(key for row in pairings for key in (row.player_1, row.player_2))
    earlier = edition.duels.exclude(state=JobState.CANCELLED).filter(player_1__in=keys, player_2__in=keys)
    met = Counter(frozenset(pair) for pair in earlier.values_list("player_1", "player_2"))
    there = set(edition.participants.filter(submission__in=keys).values_list("submission", flat=True))
    participants_add(tournament=edition, submissions=[field[key] for key in keys if key not in there])
    pairings_play(tournament=edition, pairings=pairings, players=field, met=met)
