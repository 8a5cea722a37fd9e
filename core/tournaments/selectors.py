"""Editions and their participants as pages show them."""

from __future__ import annotations

from dataclasses import dataclass, replace

from django.db.models import Case, Count, F, Manager, Max, OuterRef, Q, QuerySet, Subquery, When
from django.db.models.functions import Coalesce, Lower

from core.jobs.waits import ON_HOLD
from core.lookup import Objects
from core.models import (
    Duel,
    Environment,
    Evaluation,
    JobFault,
    JobState,
    Participant,
    RatingPool,
    Tournament,
    TournamentState,
    User,
)
from core.tournaments.scoring import evaluations_counting


@dataclass(frozen=True, slots=True)
class EditionProgress:
    """Duels of an edition by how they ended. on_hold: those that wait because their environment failed."""

    total: int
    succeeded: int
    void: int
    on_hold: int = 0

    @property
    def done(self) -> int:
        return self.succeeded + self.void

    @property
    def succeeded_percent(self) -> float:
        return round(100 * self.succeeded / self.total, 1) if self.total else 0.0

    @property
    def void_percent(self) -> float:
        return round(100 * self.void / self.total, 1) if self.total else 0.0

    @property
    def tenths(self) -> int:
        """How many tenths are done: coarse enough for a screen reader to announce."""
        return 10 * self.done // self.total if self.total else 0


def tournament_latest(environment: Environment) -> Tournament | None:
    """The edition that a page shows by default: the arena's newest that was not cancelled."""
    own = environment.tournaments.filter(is_automatic=True).exclude(state=TournamentState.CANCELLED)
    return own.order_by("-edition").first()


def next_edition(environment: Environment) -> int:
    """Return the edition of an environment's next tournament of any kind."""
    last: int | None = environment.tournaments.aggregate(last=Max("edition"))["last"]
    return (last or 0) + 1


def rating_pool_get(environment: Environment) -> RatingPool | None:
    """The figures of the last fit for the whole pool; None before the first fit."""
    return RatingPool.objects.filter(environment=environment).first()


_IN_TABLES = (
    *(field.name for field in Participant._meta.concrete_fields),
    *(f"submission__{name}" for name in ("number", "public_id", "created_at")),
    *(f"submission__agent__{name}" for name in ("name", "is_disabled", "quarantined_at")),
    *(f"submission__agent__owner__{name}" for name in ("username", "team", "is_active")),
    *(
        f"submission__rating__{name}"
        for name in ("value", "low", "high", "best_rank", "worst_rank", "best_chance", "match_count")
    ),
)


def participant_list(tournament: Tournament) -> QuerySet[Participant]:
    """The table of an edition, with current ratings. It may have hundreds of rows, so only shown columns are read."""
    return (
        tournament.participants.select_related("submission__agent__owner", "submission__rating")
        .only(*_IN_TABLES)
        .order_by("rank", "submission__agent__name")
    )


def _taking_part(slug: str, edition: int, name: str, **where: object) -> QuerySet[Participant]:
    rows = Participant.objects.alias(folded=Lower("submission__agent__name")).filter(
        tournament__environment__slug=slug, tournament__edition=edition, folded=name, **where
    )
    rows = rows.select_related("tournament__environment", "submission__agent__owner", "submission__rating")
    return rows.order_by("-submission__number")[:1]


NEWEST = Objects(_taking_part)
VERSION = Objects(lambda slug, edition, name, number: _taking_part(slug, edition, name, submission__number=number))


def participant_get(slug: str, edition: int, name: str, number: int | None) -> Participant:
    """Return the participant of an agent: with its newest version or, where ratings rank, with this one.

    Raises Participant.DoesNotExist.
    """
    named = (slug, edition, name.lower())
    for row in NEWEST(*named) if number is None else VERSION(*named, number):
        return row
    raise Participant.DoesNotExist


def leavable_list(tournament: Tournament, owner: User) -> list[Participant]:
    """A user's agents that may withdraw from a running tournament of organisers."""
    if tournament.is_automatic or tournament.state != TournamentState.RUNNING:
        return []
    rows = tournament.participants.filter(submission__agent__owner=owner, withdrawn_at=None)
    return list(rows.select_related("submission__agent").order_by("submission__agent__name"))


def tournament_progress(tournament: Tournament) -> EditionProgress:
    """The progress of a tournament's duels; for organisers' tournaments without struck and cancelled ones."""
    if tournament.is_automatic:
        found = _progress(tournament.duels)
        # While it runs, further duels are still to be chosen.
        planned = tournament.settings.get("planned_duels", 0) if tournament.state == TournamentState.RUNNING else 0
        return replace(found, total=max(found.total, planned))
    if tournament.plays_alone:
        # Evaluations that the arena failed are made again.
        found = _progress(evaluations_counting(tournament).exclude(state=JobState.FAILED, fault=JobFault.PLATFORM))
        return replace(found, total=max(found.total, tournament.participants.filter(withdrawn_at=None).count()))
    return _progress(tournament.duels.filter(void=None).exclude(state=JobState.CANCELLED))


def participant_progress(participant: Participant) -> EditionProgress:
    """The progress of one participant's duels."""
    return _progress(_duels_of(participant))


def _progress(duels: Manager[Duel] | QuerySet[Duel] | QuerySet[Evaluation]) -> EditionProgress:
    counts = duels.aggregate(
        total=Count("pk"),
        succeeded=Count("pk", filter=Q(state=JobState.SUCCEEDED)),
        void=Count("pk", filter=Q(state__in=[JobState.FAILED, JobState.CANCELLED])),
        on_hold=Count("pk", filter=ON_HOLD),
    )
    return EditionProgress(**counts)


def edition_window(environment: Environment, edition: int) -> list[int | None]:
    """The arena's editions for a pager: first, two before, this one, two after, last; None stands for a gap."""
    editions = list(
        environment.tournaments.filter(is_automatic=True).order_by("edition").values_list("edition", flat=True)
    )
    ends = {*editions[:1], *editions[-1:]}
    window: list[int | None] = []
    for place, number in enumerate(editions):
        if abs(number - edition) > 2 and number not in ends:
            continue
        if window and window[-1] != editions[place - 1]:
            window.append(None)
        window.append(number)
    return window


@dataclass(frozen=True, slots=True)
class OpponentRow:
    """A duel as one participant sees it."""

    duel: Duel
    opponent: Participant | None
    result: str
    wins: int
    losses: int
    draws: int
    own_errors: int
    opponent_errors: int
    own_log: str


def opponent_list(participant: Participant, *, offset: int = 0, limit: int | None = None) -> list[OpponentRow]:
    """A participant's duels by rank of the opponent, all without a limit; figures are from the participant's side."""
    tournament, own = participant.tournament, participant.submission_id
    opponent = Case(When(player_1=own, then=F("player_2")), default=F("player_1"))
    place = tournament.participants.filter(submission=OuterRef("opponent")).values("rank")
    duels = _duels_of(participant).select_related("void").defer("log", "history", "verification")
    # Opponents that have left the edition have no rank.
    ordered = duels.annotate(opponent=opponent, place=Coalesce(Subquery(place), 0)).order_by("place", "number")
    shown = list(ordered[offset : None if limit is None else offset + limit])
    theirs = participant_list(tournament).filter(submission__in=[duel.opponent for duel in shown])
    by_submission = {row.submission_id: row for row in theirs}
    return [_opponent_row(duel, by_submission.get(duel.opponent), is_first=duel.player_1_id == own) for duel in shown]


def _duels_of(participant: Participant) -> QuerySet[Duel]:
    own = participant.submission_id
    return participant.tournament.duels.filter(Q(player_1=own) | Q(player_2=own))


def _opponent_row(duel: Duel, opponent: Participant | None, *, is_first: bool) -> OpponentRow:
    mine, theirs = ("PLAYER_1", "PLAYER_2") if is_first else ("PLAYER_2", "PLAYER_1")
    wins, losses = duel.player_1_wins, duel.player_2_wins
    errors, other_errors = duel.player_1_errors, duel.player_2_errors
    if not is_first:
        wins, losses, errors, other_errors = losses, wins, other_errors, errors
    result = {mine: "Won", theirs: "Lost", "DRAW": "Drawn"}.get(duel.outcome, duel.get_state_display().capitalize())
    return OpponentRow(
        duel=duel,
        opponent=opponent,
        result="Void" if duel.is_void else result,
        wins=wins,
        losses=losses,
        draws=duel.draws,
        own_errors=errors,
        opponent_errors=other_errors,
        own_log="player_1" if is_first else "player_2",
    )
