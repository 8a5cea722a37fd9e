"""Agents and submissions for pages."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

from django.db.models import Case, Count, OuterRef, Prefetch, QuerySet, Subquery, When
from django.db.models.functions import Coalesce

from core.courses.tutoring import agents_tutored
from core.duels.selectors import NotStored
from core.evaluations.board import board_rank
from core.evaluations.episodes import Episode, mean_so_far, practice_results
from core.jobs.phase_selectors import (
    OpenLog,
    Phase,
    SubmissionStatus,
    evaluation_of,
    is_moving,
    open_log,
    phases_of,
    phases_read,
    status_of,
    validation_of,
)
from core.lookup import ByKey, Lookup, Objects
from core.models import (
    Agent,
    Build,
    Environment,
    Evaluation,
    JobState,
    Participant,
    Play,
    Submission,
    Tournament,
    TournamentState,
    User,
    Validation,
    ranked,
)
from core.people.rights import may
from core.ratings.board import Standing, standings_of
from core.submissions.faults import ShownFault, validation_fault
from core.submissions.lineups import Lineup, lineups_of
from core.submissions.outlook import edition_outlook
from core.submissions.tries import agents_listed, agents_visible
from core.tournaments.fields import place_awaited
from core.tournaments.ladder_selectors import ladder_outlook
from core.tournaments.results import Viewer, withheld_from
from core.tournaments.selectors import participant_progress

SIZES = ByKey(
    lambda tournaments: (
        Participant.objects.filter(ranked(), tournament__in=tournaments)
        .order_by()
        .values("tournament")
        .values_list("tournament", Count("pk"))
    )
)
PLACES_SHOWN = 20
"""How many tournaments of a version its page lists."""


@dataclass(frozen=True, slots=True)
class OwnAgent:
    """An agent in its owner's list, with its newest version and that version's status."""

    agent: Agent
    number: int
    status: SubmissionStatus
    is_moving: bool
    playing: int | None = None
    """The version that plays, or stands on the board with one seat, if it is not the newest."""
    is_benched: bool = False
    """Whether the newest version is benched."""


@dataclass(frozen=True, slots=True)
class Version:
    """A submission on its agent's page."""

    submission: Submission
    status: SubmissionStatus
    phases: tuple[Phase, ...]
    log: OpenLog | None
    places: tuple[EditionPlace, ...]
    is_moving: bool
    """Whether a phase or test of it waits or runs."""
    outlook: str = ""
    """A sentence about when a version that may play, but has not, will play."""
    evaluation: Evaluation | None = None
    """The newest evaluation of its latest build, where submissions are ranked by score."""
    mean: float | None = None
    """The mean score of a running evaluation's episodes."""
    rank: int | None = None
    """The rank on the board, if its agent stands there with this version."""
    lineup: Lineup | None = None
    """The role of the version, where agents play duels."""
    practice: tuple[Episode, ...] = ()
    """The newest version's results on the public seeds."""
    fault: ShownFault | None = None
    """Why its validation failed, for the newest version and people who may see its source."""
    place_count: int = 0
    """The number of all its tournaments; `places` has the running ones and the newest others."""
    run: FirstRun | None = None
    """The tournament in which it plays for its first rank."""

    @property
    def open_phase(self) -> Build | Validation | Evaluation | None:
        """The waiting or running phase, which its owner may cancel."""
        jobs = (phase.job for phase in self.phases)
        return next((job for job in jobs if isinstance(job, Build | Validation | Evaluation) and not job.is_over), None)

    @property
    def leaves(self) -> tuple[Tournament, ...]:
        """Running tournaments from which a deletion withdraws it: all except editions, which keep it to their end."""
        running = (
            place.participant.tournament
            for place in self.places
            if place.participant.withdrawn_at is None and place.participant.tournament.state == TournamentState.RUNNING
        )
        return tuple(row for row in running if row.is_ladder or not row.is_automatic)


@dataclass(frozen=True, slots=True)
class FirstRun:
    """A running tournament of a version without a rank, and how many of its duels there are over."""

    tournament: Tournament
    done: int
    total: int


@dataclass(frozen=True, slots=True)
class EditionPlace:
    """A submission's rank in an edition. size: number of participants without baselines."""

    participant: Participant
    size: int

    @property
    def is_unplayed(self) -> bool:
        """Return whether its edition was cancelled before any match was played, when all participants share rank 1."""
        return self.participant.tournament.state == TournamentState.CANCELLED and not self.participant.has_played


@dataclass(frozen=True, slots=True)
class UserAgent:
    """An agent on its owner's public page, with its place on the leaderboard."""

    agent: Agent
    standing: Standing | None
    evaluation: Evaluation | None = None
    """The evaluation on the board, where agents are ranked by score."""


def agent_source_visible(agent: Agent, viewer: Viewer) -> bool:
    """Return whether a viewer may see source and logs: the owner, organisers who may view
    versions, teachers and tutors of the owner's course, or everyone for a public agent."""
    if agent.is_public or agent.owner_id == viewer.pk or may(viewer, "core.view_submission"):
        return True
    return agents_tutored(viewer).filter(pk=agent.pk).exists()


def agent_get(environment_slug: str, name: str, viewer: Viewer | None = None) -> Agent:
    """Return an agent by environment and name, in any case. Raises Agent.DoesNotExist.

    viewer: raise it also if they may not know of the agent.
    """
    agents = Agent.objects.select_related("environment", "owner")
    agents = agents if viewer is None else agents_visible(agents, viewer)
    return agents.get(environment__slug=environment_slug, name__iexact=name)


def _newest_of_own(playing: QuerySet[Submission]) -> Lookup:
    """Return the query of the newest version of each agent of a person in an environment, and the number that plays."""
    newest = Submission.objects.filter(agent=OuterRef("agent")).order_by("-number").values("pk")[:1]
    number = Subquery(playing.filter(agent=OuterRef("agent")).order_by("-number").values("number")[:1])
    return ByKey(
        lambda environment, owner: (
            Submission.objects.filter(
                agent__environment=environment, agent__owner=owner, agent__deleted_at=None, pk=Subquery(newest)
            )
            .order_by("agent__name")
            .values_list("pk", number)
        )
    )


IN_DUELS = _newest_of_own(Submission.objects.active())
ON_BOARDS = _newest_of_own(Submission.objects.filter(evaluations__is_current=True))
OWN = Objects(lambda keys: Submission.objects.filter(pk__in=keys).select_related("agent__environment"))


def own_agent_list(environment: Environment, owner: User) -> list[OwnAgent]:
    """Return a user's agents in an environment, by name."""
    playing = dict((ON_BOARDS if environment.is_scored else IN_DUELS)(environment.pk, owner.pk))
    rows = {row.pk: row for row in OWN(tuple(playing))} if playing else {}
    phases_read(list(rows.values()))
    return [
        OwnAgent(
            rows[key].agent,
            rows[key].number,
            status_of(rows[key]),
            is_moving(rows[key]),
            None if number == rows[key].number else number,
            rows[key].is_benched,
        )
        for key, number in playing.items()
        if key in rows
    ]


def version_list(
    agent: Agent,
    keys: Collection[int],
    *,
    playing: Submission | None,
    is_publishing: bool,
    viewer: Viewer,
    has_newest: bool,
) -> list[Version]:
    """Return versions of an agent that a viewer may know of, newest first.

    keys: of some that follow each other, see `versions_of`. has_newest: whether the newest is one of them. playing: the
    result of `active_version`, unless agents are ranked by scores.
    Places in tournaments whose results are withheld from the viewer are left out. The newest version, and every
    version whose page still changes, has its log.
    """
    participations = Participant.objects.exclude(tournament__in=withheld_from(viewer))
    is_over = Case(When(tournament__state=TournamentState.RUNNING, then=0), default=1)
    newest_places = participations.select_related("tournament").order_by(is_over, "-tournament__edition")[:PLACES_SHOWN]
    own = participations.filter(submission=OuterRef("pk")).order_by().values("submission")
    # Versions of one agent share it, so its many columns are not read again.
    submissions = agent.submissions.filter(pk__in=keys).select_related("rating")
    ordered = (
        submissions.prefetch_related(Prefetch("participations", newest_places, to_attr="latest_places"))
        .annotate(place_count=Coalesce(Subquery(own.values(count=Count("pk"))), 0))
        .order_by("-number")
    )
    rows: list[Any] = list(ordered)
    phases_read(rows)
    newest: Any = rows[0] if rows and has_newest else None
    sizes = _sizes({place.tournament_id for row in rows for place in _places(row)})
    places = {row.pk: tuple(EditionPlace(one, sizes.get(one.tournament_id, 0)) for one in _places(row)) for row in rows}
    phases = phases_of(rows, is_publishing=is_publishing)
    if agent.environment.is_scored:
        return [
            replace(
                _scored_version(row, shown, is_newest=row is newest), places=places[row.pk], place_count=row.place_count
            )
            for row, shown in zip(rows, phases, strict=True)
        ]
    lineups, (latest, outlook) = lineups_of(agent, rows), _playing(agent, playing)
    can_see_source = agent_source_visible(agent, viewer)
    runs = {row.pk: _first_run(row) for row in rows if row == latest}
    return [
        Version(
            submission=row,
            status=status_of(row),
            phases=shown,
            log=open_log(row) if is_moving(row) or row is newest else None,
            places=places[row.pk],
            place_count=row.place_count,
            is_moving=is_moving(row) or lineups[row.pk].is_tested,
            lineup=lineups[row.pk],
            fault=validation_fault(validation_of(row)) if row is newest and can_see_source else None,
            run=runs.get(row.pk),
            outlook="" if row != latest else outlook or ("" if row.place_count else edition_outlook(agent.environment)),
        )
        for row, shown in zip(rows, phases, strict=True)
    ]


def user_agent_rows(user: User, viewer: Viewer) -> QuerySet[Agent]:
    """Return the agents of a user that lists show to a viewer, by environment and name."""
    return agents_listed(user.agents.select_related("environment"), viewer).order_by("environment__name", "name")


CURRENT = Objects(
    lambda agents: (
        Evaluation.objects.filter(agent__in=agents, is_current=True)
        .select_related("submission")
        .defer("log", "episodes", "metrics")
    )
)


def user_agent_list(agents: Sequence[Agent]) -> list[UserAgent]:
    """Return agents with their standing."""
    alone = [agent for agent in agents if agent.environment.is_scored]
    others = [agent for agent in agents if not agent.environment.is_scored]
    standing = {row.agent_id: row for row in CURRENT(tuple(agent.pk for agent in alone))} if alone else {}
    ranks = standings_of(others) if others else {}
    return [UserAgent(agent, ranks.get(agent.pk), standing.get(agent.pk)) for agent in agents]


def _playing(agent: Agent, playing: Submission | None) -> tuple[Submission | None, str]:
    """Return the version that plays for an agent, and a sentence if it waits for a place, or on its ladder."""
    if playing is None or agent.environment.play == Play.NOTHING:
        return playing, ""
    waits = place_awaited(agent)
    if waits or agent.environment.play != Play.LADDER:
        return playing, waits
    return playing, ladder_outlook(agent.environment) or "It plays in the ladder."


def _first_run(row: Submission) -> FirstRun | None:
    """Return the running tournament in which a version plays for its first rank; None with a rank or without one."""
    if _has_rank(row):
        return None
    for participant in _places(row):
        if participant.withdrawn_at is None and participant.tournament.state == TournamentState.RUNNING:
            progress = participant_progress(participant)
            return FirstRun(participant.tournament, progress.succeeded + progress.void, progress.total)
    return None


def _has_rank(row: Submission) -> bool:
    rating = getattr(row, "rating", None)
    return rating is not None and rating.rank is not None


def _scored_version(row: Submission, phases: tuple[Phase, ...], *, is_newest: bool) -> Version:
    """Return a version in an environment ranked by score; files are read only for the newest version."""
    validation, evaluation = validation_of(row), evaluation_of(row)
    practice: list[Episode] = []
    if is_newest and validation is not None and validation.is_over:
        with suppress(NotStored):
            practice = practice_results(validation)
    return Version(
        submission=row,
        status=status_of(row),
        phases=phases,
        log=open_log(row) if is_moving(row) or is_newest else None,
        places=(),
        is_moving=is_moving(row),
        evaluation=evaluation,
        mean=mean_so_far(evaluation) if evaluation is not None and evaluation.state == JobState.RUNNING else None,
        rank=board_rank(evaluation) if evaluation is not None and evaluation.is_current else None,
        practice=tuple(practice),
    )


def _places(row: Submission) -> list[Participant]:
    """Return the places that `version_list` has read, the newest first."""
    read: list[Participant] = vars(row)["latest_places"]
    return sorted(read, key=lambda place: -place.tournament.edition)


def _sizes(tournament_ids: set[int]) -> dict[int, int]:
    """Return the number of participants with a rank by tournament."""
    return dict(SIZES(tuple(sorted(tournament_ids)))) if tournament_ids else {}
