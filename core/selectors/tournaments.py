"""Environments, editions and participants as pages show them."""

from __future__ import annotations

from dataclasses import dataclass

from django.db.models import Count, OuterRef, Q, QuerySet, Subquery

from core.models import Duel, Environment, Evaluation, JobState, Participant, Tournament, TournamentState


@dataclass(frozen=True, slots=True)
class Progress:
    """Duels of an edition by how they ended."""

    total: int
    succeeded: int
    void: int

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
        """How many tenths are done: coarse enough to be read out."""
        return 10 * self.done // self.total if self.total else 0


@dataclass(frozen=True, slots=True)
class EnvironmentCard:
    environment: Environment
    agent_count: int
    user_count: int
    leader: Participant | None = None
    """First of the last finished edition."""
    best: Evaluation | None = None
    """Where submissions are ranked by scores: the first of the board."""


def environment_cards() -> list[EnvironmentCard]:
    """Active environments with how many take part and who leads."""
    environments = list(
        Environment.objects.filter(is_active=True).annotate(
            agent_count=Count("agents", distinct=True), user_count=Count("agents__owner", distinct=True)
        )
    )
    leaders: dict[int, Participant] = {}
    first = Participant.objects.filter(
        rank=1, tournament__environment__in=environments, tournament__state=TournamentState.FINISHED
    )
    for row in first.select_related(
        "tournament", "submission__agent__owner", "submission__agent__environment"
    ).order_by("tournament__edition", "-submission__agent__name"):
        leaders[row.tournament.environment_id] = row
    best = _best([environment for environment in environments if environment.is_scored])
    return [
        EnvironmentCard(
            environment,
            environment.agent_count,
            environment.user_count,
            leaders.get(environment.pk),
            best.get(environment.pk),
        )
        for environment in environments
    ]


def environment_groups() -> list[tuple[str, list[Environment]]]:
    """Active environments by name, in the groups of the home page."""
    rows = list(Environment.objects.filter(is_active=True).only("slug", "name", "seats"))
    return [("Games", [row for row in rows if not row.is_scored]), ("Tasks", [row for row in rows if row.is_scored])]


def _best(environments: list[Environment]) -> dict[int, Evaluation]:
    """The first of the board of each environment, verified ones before others. One query, none without any."""
    if not environments:
        return {}
    # As `board.standing`, for all environments at once.
    board = Evaluation.objects.filter(
        environment=OuterRef("pk"),
        is_current=True,
        submission__deleted_at=None,
        agent__is_disabled=False,
        agent__owner__is_active=True,
    )
    first = board.order_by("-is_verified", "-score", "created_at", "pk").values("pk")[:1]
    chosen = Environment.objects.filter(pk__in=[row.pk for row in environments]).values(first=Subquery(first))
    shown = Evaluation.objects.filter(pk__in=chosen).select_related("submission__agent__owner")
    return {row.environment_id: row for row in shown.defer("log", "episodes", "metrics")}


def tournament_latest(environment: Environment) -> Tournament | None:
    """The edition a page shows by itself: the newest that was not cancelled."""
    return environment.tournaments.exclude(state=TournamentState.CANCELLED).order_by("-edition").first()


_IN_TABLES = (
    *(field.name for field in Participant._meta.concrete_fields),
    "submission__number",
    *(f"submission__agent__{name}" for name in ("name", "is_disabled", "quarantined_at")),
    *(f"submission__agent__owner__{name}" for name in ("username", "team", "is_active")),
    "submission__rating__value",
)


def participant_list(tournament: Tournament) -> QuerySet[Participant]:
    """The table of an edition, with live ratings. It may have hundreds of rows, so only what pages show is read."""
    return (
        tournament.participants.select_related("submission__agent__owner", "submission__rating")
        .only(*_IN_TABLES)
        .order_by("rank", "submission__agent__name")
    )


def tournament_progress(tournament: Tournament) -> Progress:
    counts = tournament.duels.aggregate(
        total=Count("pk"),
        succeeded=Count("pk", filter=Q(state=JobState.SUCCEEDED)),
        void=Count("pk", filter=Q(state__in=[JobState.FAILED, JobState.CANCELLED])),
    )
    return Progress(counts["total"], counts["succeeded"], counts["void"])


def edition_window(environment: Environment, edition: int) -> list[int | None]:
    """Editions for a pager: first, two before, this one, two after, last; None stands for a gap."""
    editions = list(environment.tournaments.order_by("edition").values_list("edition", flat=True))
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
    """One duel seen by one participant."""

    duel: Duel
    opponent: Participant | None
    result: str
    wins: int
    losses: int
    draws: int
    own_errors: int
    opponent_errors: int
    own_log: str


def opponent_list(participant: Participant) -> list[OpponentRow]:
    """A participant's duels, opponents by rank; figures always from its own side."""
    tournament = participant.tournament
    own = participant.submission_id
    by_submission = {row.submission_id: row for row in participant_list(tournament)}
    duels = tournament.duels.filter(Q(player_1=own) | Q(player_2=own)).select_related("void")
    rows = []
    for duel in duels.defer("log", "history", "verification"):
        is_first = duel.player_1_id == own
        opponent = by_submission.get(duel.player_2_id if is_first else duel.player_1_id)
        mine, theirs = ("PLAYER_1", "PLAYER_2") if is_first else ("PLAYER_2", "PLAYER_1")
        wins, losses = duel.player_1_wins, duel.player_2_wins
        errors, other_errors = duel.player_1_errors, duel.player_2_errors
        if not is_first:
            wins, losses, errors, other_errors = losses, wins, other_errors, errors
        result = {mine: "Won", theirs: "Lost", "DRAW": "Drawn"}.get(duel.outcome, duel.get_state_display().capitalize())
        rows.append(
            OpponentRow(
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
        )
    return sorted(rows, key=lambda row: (row.opponent.rank if row.opponent else 0, row.duel.number))
