"""Chooses the next pairs of an edition of chosen pairs; `core.editions.chosen` plays them."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice

from django.db.models import Q

from arena_kit.ranking.matchmaking import Candidate, Pairing, choose_pairs
from arena_kit.ranking.newcomers import Met, opponent_choose, strength_after
from core.editions.ladder_choice import candidates_of
from core.models import Environment, JobState, PairTotal, Rating, RatingPool, Submission, Tournament

NO_RESULT = Q(state=JobState.FAILED) | Q(void__isnull=False)
ANY_OTHER = 0
"""The key of no submission."""
LOOKED_AT = 200
"""The number of agents among which the other duels are chosen: those whose ratings are the least certain."""


def chosen_pairs(
    edition: Tournament,
    field: Sequence[Submission],
    new: Collection[int],
    open_: Sequence[tuple[int, int]],
    *,
    wanted: int,
) -> list[Pairing]:
    """Return the next pairs among a field; none when the edition's budget is spent.

    new: the submissions that have not played before. open_: the players of open duels. wanted: how many duels may be
    open.
    """
    room = wanted - len(open_)
    duels = edition.duels.exclude(state=JobState.CANCELLED).order_by("pk")
    played = list(duels.values_list("player_1", "player_2"))
    lost = Counter(key for pair in duels.filter(NO_RESULT).values_list("player_1", "player_2") for key in pair)
    known = {row.submission: row for row in _candidates(edition, field)}
    busy = Counter(key for pair in open_ for key in pair)
    pairings = list(islice(_of_new(edition, known, new, busy, played, lost, wanted), room))
    others = sum(one not in new and other not in new for one, other in played)
    if (left := min(room - len(pairings), edition.settings["other_duels"] - others)) > 0:
        taken = {key for row in pairings for key in (row.player_1, row.player_2)}
        free = [row for key, row in known.items() if key not in taken and key not in new and not busy[key]]
        pairings += _of_others(edition, free, left)
    return pairings


def _of_new(
    edition: Tournament,
    known: Mapping[int, Candidate],
    new: Collection[int],
    busy: Counter[int],
    played: Sequence[tuple[int, int]],
    lost: Counter[int],
    wanted: int,
) -> Iterator[Pairing]:
    """Yield duels of those that have not had theirs, the fewest first. `busy` counts them too.

    lost: duels without a result, which are made good for as long as there are no more of them than others.
    """
    each: int = edition.settings["new_duels"]
    counts = Counter(key for pair in played for key in pair)
    counts.subtract({key: min(each, count) for key, count in lost.items()})
    due = [key for key in sorted(known.keys() & set(new), key=lambda key: (counts[key], key)) if counts[key] < each]
    # At most half of the agents at the front have open duels.
    due = due[: 4 * wanted]
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
