"""Chooses the pairs of a ladder's next round: its settings, what has been played, and who can play how well."""

from __future__ import annotations

import dataclasses
from bisect import bisect_left
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta

from django.db.models import Count, Min, OuterRef, Subquery

from arena_kit.ranking.formats import Impossible
from arena_kit.ranking.matchmaking import Candidate, ChosenPairs, MatchmakingRules, Pairing, choose_pairs
from arena_kit.ranking.rating import MEAN, POOL_SPREAD, STEP
from core.courses.teams import teams_by_person
from core.editions.predictions import Strength, strengths
from core.models import Duel, Environment, JobState, PairTotal, RatingPool, Submission, Tournament
from core.ratings.pairs import rated_duels

OVERLAP = timedelta(hours=1)
"""Duels whose creations are further apart than this have keys in the order of their creation."""
LIMITS: dict[str, tuple[float, float]] = {
    "pair_cap": (1, 10_000),
    "cap_days": (0, 3_650),
    "new_below": (0, 100_000),
    "longest_wait": (1, 1_000),
    "noise": (0, 10),
    "order_share": (0, 1),
}
"""The range of each setting."""


@dataclasses.dataclass(frozen=True, slots=True)
class LadderSettings:
    """The settings of a ladder. cap_days: older duels do not count towards pair_cap; 0: all count."""

    rules: MatchmakingRules = dataclasses.field(default_factory=MatchmakingRules)
    cap_days: int = 30


def ladder_settings(settings: Mapping[str, object]) -> LadderSettings:
    """Settings from plain values, e.g. read from JSON, with defaults for those left out. Raises Impossible."""
    defaults = {field.name: field.default for field in dataclasses.fields(MatchmakingRules)} | {"cap_days": 30}
    for name, value in settings.items():
        if name not in defaults:
            raise Impossible(f"A ladder has no setting {name!r}. Its settings are {', '.join(defaults)}.")
        is_whole = isinstance(defaults[name], int)
        lowest, highest = LIMITS[name]
        # A boolean is an integer to Python, but is not meant as a number here.
        fits = isinstance(value, int if is_whole else int | float) and not isinstance(value, bool)
        if not fits or not lowest <= value <= highest:  # type: ignore[operator]  # checked just before
            kind = "a whole number" if is_whole else "a number"
            raise Impossible(f"{name} is {value!r}; make it {kind} from {lowest:g} to {highest:g}.")
    rules = {name: value for name, value in settings.items() if name != "cap_days"}
    return LadderSettings(MatchmakingRules(**rules), settings.get("cap_days", 30))  # type: ignore[arg-type]  # checked above


def met_today(ladder: Tournament, pairings: Iterable[Pairing], now: datetime) -> Counter[frozenset[int]]:
    """The number of duels of the ladder that were made on the day of `now` (UTC), by players: those to be paired."""
    players = {player for row in pairings for player in (row.player_1, row.player_2)}
    midnight = now.astimezone(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
    made = Duel.objects.filter(created_at__gte=midnight - OVERLAP).order_by("created_at", "pk")
    first = made.values_list("pk", flat=True).first() or 0
    # The indexes of players go by key, so only duels that these players have had since then are read.
    duels = ladder.duels.filter(pk__gte=first, created_at__gte=midnight, player_1__in=players, player_2__in=players)
    return Counter(frozenset(found) for found in duels.order_by().values_list("player_1", "player_2"))


def pairs_choose(
    free: Sequence[Submission], ladder: Tournament, count: int, now: datetime, coming: Counter[tuple[int, int]]
) -> ChosenPairs:
    """Choose pairs among submissions without an open duel. coming: open duels by players."""
    settings = ladder_settings(ladder.settings)
    met, matches = _met(ladder.environment)
    recent = None
    if settings.cap_days:
        since = now - timedelta(days=settings.cap_days)
        recent = Counter(_met_since(ladder.environment, since, met, settings.rules.pair_cap)) + coming
    candidates = _candidates(free, ladder, matches)
    seed = ladder.seed + last_round(ladder)
    return choose_pairs(candidates, Counter(met) + coming, count=count, seed=seed, rules=settings.rules, recent=recent)


def _met(environment: Environment) -> tuple[dict[tuple[int, int], int], dict[int, int]]:
    """The number of rated duels of each (player_1, player_2), and of rated matches of each submission."""
    rows = PairTotal.objects.filter(environment=environment).order_by("first", "second")
    met: dict[tuple[int, int], int] = {}
    played: dict[int, int] = {}
    for one, other, duels, *matches in rows.values_list("first", "second", "duel_count", "wins", "draws", "losses"):
        if duels:
            met[one, other] = duels
        for player in (one, other):
            played[player] = played.get(player, 0) + sum(matches)
    return met, played


def _met_since(
    environment: Environment, since: datetime, met: Mapping[tuple[int, int], int], cap: int
) -> dict[tuple[int, int], int]:
    """`met`, with only duels since `since` for pairs that have met `cap` times or more; others are below the cap.

    Pairs that have recently met that often do not meet again, so the cap bounds what is counted here.
    """
    found = dict(met)
    often = {pair for pair in met if met[pair] + met.get(pair[::-1], 0) >= cap}
    if often:
        of_late = (
            rated_duels(environment)
            .filter(ended_at__gte=since)
            .order_by()
            .values("player_1", "player_2")
            .annotate(duels=Count("pk"))
        )
        counts = {(one, other): count for one, other, count in of_late.values_list("player_1", "player_2", "duels")}
        found |= {pair: counts.get(pair, 0) for pair in often}
    return found


def _candidates(free: Sequence[Submission], ladder: Tournament, matches: Mapping[int, int]) -> list[Candidate]:
    """The submissions that can play now, and for how many rounds each has waited."""
    waited = _waited(ladder, {row.pk for row in free})
    return candidates_of(ladder.environment, free, matches, waited)


def candidates_of(
    environment: Environment,
    submissions: Sequence[Submission],
    matches: Mapping[int, int],
    waited: Mapping[int, int] | None = None,
) -> list[Candidate]:
    """Return submissions with the strengths of the last fit, or its prior for those without a rating.

    matches: rated matches by submission; 0 for those left out, as for `waited`.
    """
    known = strengths([row.pk for row in submissions]).known
    before = _versions_before([row for row in submissions if row.pk not in known])
    earlier_known = strengths([row.pk for row in before.values()]).known
    pool = RatingPool.objects.filter(environment=environment).first()
    teams = teams_by_person(environment.course_id)
    first_version = Strength(pool.mean, pool.spread) if pool else Strength(MEAN, POOL_SPREAD)
    candidates = []
    for row in submissions:
        strength = known.get(row.pk)
        if strength is None:
            earlier = earlier_known.get(before[row.pk].pk) if row.pk in before else None
            strength = Strength(earlier.value, (earlier.deviation**2 + STEP**2) ** 0.5) if earlier else first_version
        candidates.append(
            Candidate(
                submission=row.pk,
                owner=teams.get(row.agent.owner_id, row.agent.owner_id),
                rating=strength.value,
                deviation=strength.deviation,
                matches=matches.get(row.pk, 0),
                waited=(waited or {}).get(row.pk, 0),
                name=str(row),
            )
        )
    return candidates


def _versions_before(submissions: Sequence[Submission]) -> dict[int, Submission]:
    """The previous version, by submission."""
    agents = {row.agent_id for row in submissions}
    numbers = {(row.agent_id, row.number): row for row in Submission.objects.filter(agent__in=agents)}
    pairs = ((row.pk, numbers.get((row.agent_id, row.number - 1))) for row in submissions)
    return {key: earlier for key, earlier in pairs if earlier is not None}


def _waited(ladder: Tournament, submissions: Collection[int]) -> dict[int, int]:
    """The rounds chosen since each submission's last duel ended, or since it joined; cancelled duels do not count."""
    joined = ladder.participants.filter(submission__in=submissions).values_list("submission", "joined_after")
    since: dict[int, tuple[int, datetime | None]] = {key: (after or 0, None) for key, after in joined}
    for key, last, ended in _last_duels(ladder, submissions):
        since[key] = max(since[key], (last, ended), key=lambda seen: seen[0])
    first = min((last for last, _ in since.values()), default=0)
    later = ladder.duels.filter(round__gt=first).order_by("round").values("round").annotate(at=Min("created_at"))
    rounds = list(later.values_list("round", "at"))
    numbers, begun = [number for number, _ in rounds], [at for _, at in rounds]
    return {
        key: len(rounds) - max(bisect_left(numbers, last + 1), bisect_left(begun, ended) if ended else 0)
        for key, (last, ended) in since.items()
    }


def _last_duels(ladder: Tournament, submissions: Collection[int]) -> Iterator[tuple[int, int, datetime | None]]:
    """(submission, round, end) of each submission's newest duels as player_1 and as player_2, from an index."""
    for player in ("player_1", "player_2"):
        own = Duel.objects.filter(**{player: OuterRef("pk")}, tournament=ladder).exclude(state=JobState.CANCELLED)
        rows = Submission.objects.filter(pk__in=submissions).annotate(
            last=Subquery(own.order_by("-pk").values("pk")[:1])
        )
        newest = {last: key for key, last in rows.values_list("pk", "last") if last is not None}
        for pk, number, ended in Duel.objects.filter(pk__in=newest).values_list("pk", "round", "ended_at"):
            yield newest[pk], number, ended


def last_round(ladder: Tournament) -> int:
    """The number of a ladder's last round, 0 before the first."""
    # Rounds rise with the numbers, which have an index.
    last = ladder.duels.order_by("-number").values_list("round", flat=True).first()
    return last or 0
