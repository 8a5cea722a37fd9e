"""Editions of a chosen part of all pairs, for more agents than can all meet each other after every upload.

Such an edition has a budget of duels. A version that has not played gets `new_duels`, one after the other, each against
the opponent of whom a match says most, given its results so far; `other_duels` are played among the others, chosen as a
ladder chooses. Both grow with the logarithm of the number of agents. Participants are those who play, and their ratings
rank them, because they meet different opponents.
"""

from __future__ import annotations

import math
import secrets
from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace

from django.db import transaction
from django.db.models import Max, Q

from arena_kit.ranking.matchmaking import (
    Candidate,
    Met,
    Pairing,
    choose_pairs,
    opponent_choose,
    strength_after,
)
from core.duels.seeds import duel_seed
from core.duels.services import duel_create
from core.duels.stopping import duel_test
from core.editions.follow import follow
from core.editions.ladder import FEWEST
from core.editions.ladder_choice import candidates_of
from core.jobs.states import OPEN
from core.jobs.worker_selectors import places_alive
from core.models import Duel, Environment, JobState, PairTotal, Participant, Submission, Tournament, TournamentState
from core.tournaments.fields import active_field
from core.tournaments.services import chosen_create, participants_add

MOST_NEW_DUELS = 40
LOOKED_AT = 200
"""The number of agents among which the other duels are chosen: those whose ratings are the least certain."""


def unplayed(submissions: Sequence[Submission]) -> list[Submission]:
    """Return the submissions that have taken part in no automatic tournament."""
    played = set(
        Participant.objects.filter(submission__in=submissions, tournament__is_automatic=True).values_list(
            "submission", flat=True
        )
    )
    return [row for row in submissions if row.pk not in played]


def sizes(count: int) -> dict[str, int]:
    """Return the settings of an edition among this many agents."""
    bits = math.log2(count)
    return {"new_duels": min(MOST_NEW_DUELS, count - 1, math.ceil(4 * bits)), "other_duels": math.ceil(2 * bits)}


def start(environment: Environment, number: int, submissions: Sequence[Submission]) -> Tournament:
    """Create edition `number` and its first duels. Raises EditionTaken."""
    new, size = unplayed(submissions), sizes(len(submissions))
    tournament = chosen_create(
        environment=environment,
        edition=number,
        seed=secrets.randbelow(2**31),
        settings={**size, "planned_duels": len(new) * size["new_duels"] + size["other_duels"]},
        submissions=new,
    )
    edition_step(tournament)
    return tournament


def goes_on(tournament: Tournament) -> bool:
    """Choose the next duels of a running edition; return False when its budget is spent and all duels are over."""
    edition_step(tournament)
    return tournament.duels.filter(state__in=OPEN).exists()


def edition_step(tournament: Tournament) -> None:
    """Choose duels if too few are in line; a second call in a row changes nothing.

    One transaction locks the tournament's row, so that each of several workers sees what the others did.
    """
    follow(tournament.environment)
    with transaction.atomic():
        locked = Tournament.objects.select_for_update(no_key=True).filter(state=TournamentState.RUNNING)
        edition = locked.filter(pk=tournament.pk).first()
        if edition is not None and not edition.environment.closed_because:
            _duels_choose(edition)


def _duels_choose(edition: Tournament) -> None:
    played = list(
        edition.duels.exclude(state=JobState.CANCELLED).order_by("pk").values_list("state", "player_1", "player_2")
    )
    open_ = [(one, other) for state, one, other in played if state in OPEN]
    wanted = max(FEWEST, places_alive(Duel))
    room = 2 * wanted - len(open_)
    if room <= wanted:
        return
    field = {row.pk: row for row in active_field(edition.environment).playing}
    gone = set(edition.participants.filter(withdrawn_at__isnull=False).values_list("submission", flat=True))
    new = _new(edition) & field.keys() - gone
    busy = Counter(key for pair in open_ for key in pair)
    pairings: list[Pairing] = []
    for pairing in _of_new(edition, field, new, busy, [(one, other) for _, one, other in played], gone):
        if len(pairings) == room:
            break
        pairings.append(pairing)
    others = sum(one not in new and other not in new for _, one, other in played)
    if (left := min(room - len(pairings), edition.settings["other_duels"] - others)) > 0:
        taken = {key for row in pairings for key in (row.player_1, row.player_2)}
        free = [row for key, row in field.items() if key not in new | gone | taken and not busy[key]]
        pairings += _of_others(edition, free, left)
    _duels_make(edition, field, pairings, Counter(frozenset(pair) for _, *pair in played))


def _new(edition: Tournament) -> set[int]:
    """Return the participants for which this is the first automatic tournament."""
    rows = edition.participants.exclude(
        submission__participations__tournament__in=Tournament.objects.filter(
            environment=edition.environment_id, edition__lt=edition.edition, is_automatic=True
        )
    )
    return set(rows.values_list("submission", flat=True))


def _of_new(
    edition: Tournament,
    field: Mapping[int, Submission],
    new: Collection[int],
    busy: Counter[int],
    played: Sequence[tuple[int, int]],
    gone: Collection[int],
) -> Iterator[Pairing]:
    """Yield duels of those that have not had theirs, the fewest first. `busy` counts them too."""
    counts = Counter(key for pair in played for key in pair)
    each: int = edition.settings["new_duels"]
    due = [key for key in sorted(new, key=lambda key: (counts[key], key)) if counts[key] < each]
    if not due:
        return
    # With few of them, each has several open duels, or workers would wait for results.
    at_once = max(1, math.ceil(2 * max(FEWEST, places_alive(Duel)) / len(due)))
    met = _met(edition.environment, due, played)
    of_field = _candidates(edition, [row for key, row in field.items() if key not in gone])
    known = {row.submission: row for row in of_field}
    for turn in range(at_once):
        for key in due:
            if busy[key] >= at_once or counts[key] >= each:
                continue
            value, deviation = strength_after(known[key], met[key], known)
            one: Candidate = replace(known[key], rating=value, deviation=deviation, matches=counts[key])
            free = [row for row in of_field if row.submission != key and not busy[row.submission]]
            seed = edition.seed + counts[key] * 1009 + key + turn
            pairing = opponent_choose(one, free, met[key], seed=seed)
            if pairing is None:
                continue
            busy.update((key, pairing.player_2))
            counts.update((key, pairing.player_2))
            before = met[key].get(pairing.player_2, Met(0))
            met[key][pairing.player_2] = Met(before.duel_count + 1, before.share)
            yield pairing


def _met(
    environment: Environment, due: Collection[int], played: Sequence[tuple[int, int]]
) -> defaultdict[int, dict[int, Met]]:
    """Return what each of `due` has played against others: its rated results, and duels of this edition."""
    scored: defaultdict[tuple[int, int], list[float]] = defaultdict(lambda: [0.0, 0.0])
    rows = PairTotal.objects.filter(Q(first__in=due) | Q(second__in=due), environment=environment)
    for first, second, wins, draws, losses in rows.values_list("first", "second", "wins", "draws", "losses"):
        for one, other, won in ((first, second, wins), (second, first, losses)):
            scored[one, other][0] += won + draws / 2
            scored[one, other][1] += wins + draws + losses
    duels = Counter(pair for one, other in played for pair in ((one, other), (other, one)))
    found: defaultdict[int, dict[int, Met]] = defaultdict(dict)
    for one, other in {*scored, *duels}:
        if one in due:
            points, matches = scored[one, other]
            found[one][other] = Met(max(1, duels[one, other]), points / matches if matches else None)
    return found


def _of_others(edition: Tournament, free: Sequence[Submission], count: int) -> list[Pairing]:
    """Return pairs of agents whose ratings are the least certain."""
    looked_at = sorted(_candidates(edition, free), key=lambda row: (-row.deviation, row.submission))[:LOOKED_AT]
    keys = [row.submission for row in looked_at]
    totals = PairTotal.objects.filter(environment=edition.environment, first__in=keys, second__in=keys)
    met = {(one, other): duels for one, other, duels in totals.values_list("first", "second", "duel_count")}
    seed = edition.seed + edition.duels.count()
    # Their matches are not read, so that none counts as new.
    known = [replace(row, matches=1000) for row in looked_at]
    return list(choose_pairs(known, met, count=count, seed=seed).pairings)


def _candidates(edition: Tournament, submissions: Sequence[Submission]) -> list[Candidate]:
    """Return submissions with their strengths. Agents of an owner without quotas may meet, as it stands for many."""
    owners = {row.pk: row.agent.owner for row in submissions}
    return [
        replace(row, owner=-row.submission)
        if owners[row.submission].is_system or owners[row.submission].is_quota_exempt
        else row
        for row in candidates_of(edition.environment, submissions, {})
    ]


def _duels_make(
    edition: Tournament, field: Mapping[int, Submission], pairings: Sequence[Pairing], met: Counter[frozenset[int]]
) -> None:
    keys = dict.fromkeys(key for row in pairings for key in (row.player_1, row.player_2))
    there = set(edition.participants.filter(submission__in=keys).values_list("submission", flat=True))
    participants_add(tournament=edition, submissions=[field[key] for key in keys if key not in there])
    count, version = edition.environment.matches_per_duel, edition.environment.spec_id
    last = edition.duels.aggregate(last=Max("number"))["last"] or 0
    for place, pairing in enumerate(pairings, start=last + 1):
        duel_create(
            tournament=edition,
            number=place,
            player_1=field[pairing.player_1],
            player_2=field[pairing.player_2],
            seed=duel_seed(
                environment_version=version,
                tournament_seed=edition.seed,
                own=edition.seed + place,
                encounter=met[frozenset((pairing.player_1, pairing.player_2))],
            ),
            match_count=count,
            expected=pairing.expected,
            reason=pairing.because,
            test=duel_test(environment=edition.environment, match_count=count),
        )
