"""The ladder: continuous matchmaking without end.

While an environment's play is LADDER, one automatic tournament of this format runs there. Each step lets its
participants follow the agents and, when few duels are left in line, chooses the next round. It ends when the
environment is to play something else, at its `ends_at`, or when the rules of the game change; then the next one begins.
"""

from __future__ import annotations

import dataclasses
import secrets
from bisect import bisect_left
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta

from django.db import transaction
from django.db.models import BooleanField, Count, ExpressionWrapper, Max, Min, OuterRef, Q, Subquery

from arena_kit.ranking.formats import Impossible
from arena_kit.ranking.matchmaking import Candidate, Choice, Rules, choose_pairs
from arena_kit.ranking.rating import MEAN, POOL_SPREAD, STEP
from core.duels.seeds import duel_seed
from core.duels.services import duel_create
from core.duels.stopping import duel_test
from core.jobs.waits import ON_HOLD
from core.jobs.worker_selectors import workers_alive
from core.models import (
    LADDER,
    Audience,
    Duel,
    Environment,
    JobState,
    PairTotal,
    Play,
    RatingPool,
    Submission,
    Tournament,
    TournamentState,
)
from core.ratings.services import ratings_note
from core.tournaments.ladder_selectors import ladder_field
from core.tournaments.ladders import ladder_field_save
from core.tournaments.services import EditionTaken, ladder_create, ladder_stop, open_duels_cancel
from tournament_manager.follow import follow, ladder_rank
from tournament_manager.predictions import Strength, strengths

OPEN = (JobState.QUEUED, JobState.RUNNING)
FEWEST = 2
"""The fewest duels to keep in line; with more workers there are more."""
ENOUGH = 4
"""With this many submissions that are in no open duel, pairs are chosen among them alone."""
ENDED = "The ladder has ended."
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

    rules: Rules = dataclasses.field(default_factory=Rules)
    cap_days: int = 30


def ladder_settings(settings: Mapping[str, object]) -> LadderSettings:
    """Settings from plain values, e.g. read from JSON, with defaults for those left out. Raises Impossible."""
    defaults = {field.name: field.default for field in dataclasses.fields(Rules)} | {"cap_days": 30}
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
    return LadderSettings(Rules(**rules), settings.get("cap_days", 30))  # type: ignore[arg-type]  # checked above


def start_if_due(environment: Environment, number: int, *, now: datetime) -> Tournament | None:
    """Start a ladder as edition `number` if agents of two owners can play, with the settings of the previous ladder."""
    if environment.closed_because or not ladder_field(environment).has_two_owners:
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
    """Whether the environment still plays a ladder by the same rules; after a change of rules another one begins."""
    environment = tournament.environment
    versions = tournament.duels.order_by("-number").values_list("environment_version", flat=True)
    return environment.play == Play.LADDER and versions.first() in (None, environment.spec_id)


def table_follow(tournament: Tournament, *, is_fitted: bool, now: datetime) -> None:
    """Rank the table of a running ladder after a fit, and after participants have left."""
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
    field = ladder_field(ladder.environment)
    numbers = dict(Submission.objects.filter(pk__in=again).values_list("agent", "number"))
    playing = [row for row in field.playing if row.number > numbers.get(row.agent_id, 0)]
    ladder_field_save(tournament=ladder, playing=playing, paused=set(again), last_round=_last_round(ladder))
    return playing


def _round_follow(ladder: Tournament, playing: Sequence[Submission], now: datetime) -> str:
    """Choose a round if too few duels are in line; return why nothing is played, or an empty text."""
    if ladder.environment.closed_because:
        return ladder.environment.closed_because
    is_held = ExpressionWrapper(ON_HOLD, output_field=BooleanField())
    rows = ladder.duels.filter(state__in=OPEN).values_list(is_held, "state", "player_1", "player_2")
    coming = Counter((one, other) for _, _, one, other in rows)
    # A duel on hold may stay so for days: meanwhile its players meet others.
    open_ = [row for is_on_hold, *row in rows if not is_on_hold]
    waiting = sum(state == JobState.QUEUED for state, _, _ in open_)
    wanted = max(FEWEST, workers_alive("duel").count())
    if waiting >= wanted:
        return ""
    busy = {player for _, *players in open_ for player in players}
    free = [row for row in playing if row.pk not in busy]
    if len(free) < 2 and busy:
        return ""
    try:
        # With few free submissions, the two whose duel has just ended would meet again and again.
        among = free if len(free) >= ENOUGH or not busy else playing
        choice = _choose(among, ladder, 2 * wanted - waiting, now, coming)
    except Impossible as error:
        return f"The ladder cannot be played with its settings: {error}"
    by_id = {row.pk: row for row in playing}
    number = ladder.duels.aggregate(last=Max("number"))["last"] or 0
    round_number = _last_round(ladder) + 1
    match_count = ladder.environment.matches_per_duel
    version = ladder.environment.spec_id
    today = _met_today(ladder, now)
    for pairing in choice.pairings:
        number += 1
        duel_create(
            tournament=ladder,
            number=number,
            round=round_number,
            player_1=by_id[pairing.player_1],
            player_2=by_id[pairing.player_2],
            seed=duel_seed(
                environment_version=version,
                tournament_seed=ladder.seed,
                own=ladder.seed + number,
                encounter=today[frozenset((pairing.player_1, pairing.player_2))],
                # A ladder has no end, and openings that stayed could be learnt from the records.
                period=now.astimezone(UTC).date().isoformat(),
            ),
            match_count=match_count,
            expected=pairing.expected,
            reason=pairing.because,
            test=duel_test(environment=ladder.environment, match_count=match_count),
        )
    return "" if choice.pairings or coming else choice.shortfall


def _met_today(ladder: Tournament, now: datetime) -> Counter[frozenset[int]]:
    """The number of duels of the ladder that were made on the day of `now` (UTC), by players."""
    midnight = now.astimezone(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
    duels = ladder.duels.filter(created_at__gte=midnight).order_by()
    return Counter(frozenset(players) for players in duels.values_list("player_1", "player_2"))


def _choose(
    free: Sequence[Submission], ladder: Tournament, count: int, now: datetime, coming: Counter[tuple[int, int]]
) -> Choice:
    """Choose pairs among submissions without an open duel. coming: open duels by players."""
    settings = ladder_settings(ladder.settings)
    met, matches = _met(ladder.environment)
    recent = None
    if settings.cap_days:
        since = now - timedelta(days=settings.cap_days)
        recent = Counter(_met_since(ladder.environment, since, met, settings.rules.pair_cap)) + coming
    candidates = _candidates(free, ladder, matches)
    seed = ladder.seed + _last_round(ladder)
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
        duels = Duel.objects.filter(
            tournament__environment=environment,
            tournament__is_rated=True,
            tournament__results=Audience.PUBLIC,
            state=JobState.SUCCEEDED,
            void__isnull=True,
            ended_at__gte=since,
        )
        of_late = duels.order_by().values("player_1", "player_2").annotate(duels=Count("pk"))
        counts = {(one, other): count for one, other, count in of_late.values_list("player_1", "player_2", "duels")}
        found |= {pair: counts.get(pair, 0) for pair in often}
    return found


def _candidates(free: Sequence[Submission], ladder: Tournament, matches: Mapping[int, int]) -> list[Candidate]:
    """The submissions that can play now, with strengths of the last fit, or its prior for those without a rating."""
    before = _versions_before(free)
    known = strengths([row.pk for row in (*free, *before.values())]).known
    pool = RatingPool.objects.filter(environment=ladder.environment).first()
    first_version = Strength(MEAN, pool.spread if pool else POOL_SPREAD)
    waited = _waited(ladder, {row.pk for row in free})
    candidates = []
    for row in free:
        strength = known.get(row.pk)
        if strength is None:
            earlier = known.get(before[row.pk].pk) if row.pk in before else None
            strength = Strength(earlier.value, (earlier.deviation**2 + STEP**2) ** 0.5) if earlier else first_version
        candidates.append(
            Candidate(
                submission=row.pk,
                owner=row.agent.owner_id,
                rating=strength.value,
                deviation=strength.deviation,
                matches=matches.get(row.pk, 0),
                waited=waited[row.pk],
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


def _last_round(ladder: Tournament) -> int:
    # Rounds rise with the numbers, which have an index.
    last = ladder.duels.order_by("-number").values_list("round", flat=True).first()
    return last or 0
