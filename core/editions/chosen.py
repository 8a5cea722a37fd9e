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
from itertools import islice

from django.db import transaction
from django.db.models import Exists, Max, OuterRef, Q

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
from core.models import (
    CHOSEN,
    Duel,
    Environment,
    JobState,
    PairTotal,
    Participant,
    Rating,
    RatingPool,
    Submission,
    Tournament,
    TournamentState,
)
from core.tournaments.fields import active_field
from core.tournaments.services import chosen_create, participants_add

MOST_NEW_DUELS = 40
NO_RESULT = Q(state=JobState.FAILED) | Q(void__isnull=False)
ANY_OTHER = 0
"""The key of no submission."""
LOOKED_AT = 200
"""The number of agents among which the other duels are chosen: those whose ratings are the least certain."""


def unplayed(submissions: Sequence[Submission]) -> list[Submission]:
    """Return the submissions that have yet to play in an automatic tournament.

    Editions of chosen pairs that were cancelled, or that a submission was taken out of, do not count.
    """
    waiting = Submission.objects.filter(~_has_played(OuterRef("pk")), pk__in=[row.pk for row in submissions])
    keys = set(waiting.values_list("pk", flat=True))
    return [row for row in submissions if row.pk in keys]


def _has_played(submission: OuterRef, **before: object) -> Exists:
    cut_short = Q(tournament__state=TournamentState.CANCELLED) | Q(withdrawn_at__isnull=False)
    rows = Participant.objects.filter(submission=submission, tournament__is_automatic=True, **before)
    return Exists(rows.exclude(cut_short, tournament__format=CHOSEN))


def sizes(count: int) -> dict[str, int]:
    """Return the settings of an edition among this many agents."""
    bits = math.log2(count)
    return {"new_duels": min(MOST_NEW_DUELS, count - 1, math.ceil(4 * bits)), "other_duels": math.ceil(2 * bits)}


def start(environment: Environment, number: int, submissions: Sequence[Submission]) -> Tournament:
    """Create edition `number` and its first duels. Raises EditionTaken."""
    new, size = unplayed(submissions), sizes(len(submissions))
    # A duel of two new versions counts for both.
    of_both = (len(new) - 1) / (len(submissions) - 1) / 2 if new else 0
    planned = math.ceil(len(new) * size["new_duels"] * (1 - of_both)) + size["other_duels"]
    tournament = chosen_create(
        environment=environment,
        edition=number,
        seed=secrets.randbelow(2**31),
        settings={**size, "planned_duels": planned},
        submissions=new,
    )
    goes_on(tournament)
    return tournament


def goes_on(tournament: Tournament) -> bool:
    """Choose duels of a running edition if too few are in line; return False when its last one is over.

    A second call in a row changes nothing. One transaction locks the tournament's row, so that each of several workers
    sees what the others did.
    """
    follow(tournament.environment)
    with transaction.atomic():
        locked = Tournament.objects.select_for_update(no_key=True).filter(state=TournamentState.RUNNING)
        edition = locked.filter(pk=tournament.pk).first()
        # If it was cancelled a moment ago, there is nothing to end.
        return edition is None or _duels_choose(edition)


def _duels_choose(edition: Tournament) -> bool:
    """Return whether duels are open, or will be once the environment is open again."""
    open_ = list(edition.duels.filter(state__in=OPEN).values_list("player_1", "player_2"))
    wanted = max(FEWEST, places_alive(Duel))
    if len(open_) >= wanted:
        return True
    environment = edition.environment
    versions = edition.duels.order_by("number").values_list("environment_version", flat=True)
    # An edition is played by one version of the rules.
    is_on = versions.first() in (None, environment.spec_id)
    field = _field(edition) if is_on else {}
    pairings = _pairings(edition, field, open_, 2 * wanted - len(open_)) if len(field) > 1 else []
    shortfall = environment.closed_because if pairings else ""
    if shortfall != edition.shortfall:
        Tournament.objects.filter(pk=edition.pk).update(shortfall=shortfall[:200])
    if pairings and not shortfall:
        _duels_make(edition, field, pairings)
    return bool(open_ or pairings)


def _field(edition: Tournament) -> dict[int, Submission]:
    """Return the submissions that can meet: those that wait for their first edition wait for its end."""
    rows = active_field(edition.environment).playing
    here = dict(edition.participants.values_list("submission", "withdrawn_at"))
    waiting = {row.pk for row in unplayed([row for row in rows if row.pk not in here])}
    return {row.pk: row for row in rows if row.pk not in waiting and here.get(row.pk) is None}


def _pairings(
    edition: Tournament, field: Mapping[int, Submission], open_: Sequence[tuple[int, int]], room: int
) -> list[Pairing]:
    duels = edition.duels.exclude(state=JobState.CANCELLED).order_by("pk")
    played = list(duels.values_list("player_1", "player_2"))
    lost = Counter(key for pair in duels.filter(NO_RESULT).values_list("player_1", "player_2") for key in pair)
    known = {row.submission: row for row in _candidates(edition, list(field.values()))}
    new = _new(edition)
    busy = Counter(key for pair in open_ for key in pair)
    pairings = list(islice(_of_new(edition, known, new & field.keys(), busy, played, lost), room))
    others = sum(one not in new and other not in new for one, other in played)
    if (left := min(room - len(pairings), edition.settings["other_duels"] - others)) > 0:
        taken = {key for row in pairings for key in (row.player_1, row.player_2)}
        free = [row for key, row in known.items() if key not in new | taken and not busy[key]]
        pairings += _of_others(edition, free, left)
    return pairings


def _new(edition: Tournament) -> set[int]:
    """Return the participants for which this is the first automatic tournament."""
    earlier = _has_played(OuterRef("submission"), tournament__edition__lt=edition.edition)
    return set(edition.participants.filter(~earlier).values_list("submission", flat=True))


def _of_new(
    edition: Tournament,
    known: Mapping[int, Candidate],
    new: Collection[int],
    busy: Counter[int],
    played: Sequence[tuple[int, int]],
    lost: Counter[int],
) -> Iterator[Pairing]:
    """Yield duels of those that have not had theirs, the fewest first. `busy` counts them too.

    lost: duels without a result, which are made good for as long as there are no more of them than others.
    """
    each: int = edition.settings["new_duels"]
    counts = Counter(key for pair in played for key in pair)
    counts.subtract({key: min(each, count) for key, count in lost.items()})
    wanted = 2 * max(FEWEST, places_alive(Duel))
    due = [key for key in sorted(new, key=lambda key: (counts[key], key)) if counts[key] < each][: 2 * wanted]
    if not due:
        return
    # With few of them, each has several open duels, or workers would wait for results; but results guide the choice.
    at_once = max(1, min(math.ceil(wanted / len(due)), each // 4))
    met = _met(edition.environment, due, played)
    for turn in range(at_once):
        for key in due:
            if busy[key] >= at_once or counts[key] >= each:
                continue
            value, deviation = strength_after(known[key], met[key], known)
            one = replace(known[key], rating=value, deviation=deviation, matches=counts[key])
            free = [row for other, row in known.items() if other != key and not busy[other]]
            pairing = opponent_choose(one, free, met[key], seed=edition.seed + counts[key] * 1009 + key + turn)
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


def _of_others(edition: Tournament, free: Sequence[Candidate], count: int) -> list[Pairing]:
    """Return pairs of agents whose ratings are the least certain."""
    looked_at = sorted(free, key=lambda row: (-row.deviation, row.submission))[:LOOKED_AT]
    keys = [row.submission for row in looked_at]
    totals = PairTotal.objects.filter(environment=edition.environment, first__in=keys, second__in=keys)
    met = {(one, other): duels for one, other, duels in totals.values_list("first", "second", "duel_count")}
    pool = RatingPool.objects.filter(environment=edition.environment, is_connected=True)
    if pool.exists():
        # Results join them through agents that are not looked at; as if all of them had met one of those.
        rated = Rating.objects.filter(submission__in=keys).values_list("submission", flat=True)
        met |= {(key, ANY_OTHER): 1 for key in rated}
    # Their matches are not read, so that none counts as new. Without a cap: repeated duels count for less anyway.
    known = [replace(row, matches=1000) for row in looked_at]
    seed = edition.seed + edition.duels.count()
    return list(choose_pairs(known, met, count=count, seed=seed, recent={}).pairings)


def _candidates(edition: Tournament, submissions: Sequence[Submission]) -> list[Candidate]:
    """Return submissions with their strengths.

    Agents of an owner without quotas may meet, as it stands for many, and all may where they have one owner.
    """
    owners = {row.pk: row.agent.owner for row in submissions}
    is_one = len({owner.pk for owner in owners.values()}) == 1
    return [
        replace(row, owner=-row.submission)
        if is_one or owners[row.submission].is_system or owners[row.submission].is_quota_exempt
        else row
        for row in candidates_of(edition.environment, submissions, {})
    ]


def _duels_make(edition: Tournament, field: Mapping[int, Submission], pairings: Sequence[Pairing]) -> None:
    keys = dict.fromkeys(key for row in pairings for key in (row.player_1, row.player_2))
    earlier = edition.duels.exclude(state=JobState.CANCELLED).filter(player_1__in=keys, player_2__in=keys)
    met = Counter(frozenset(pair) for pair in earlier.values_list("player_1", "player_2"))
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
