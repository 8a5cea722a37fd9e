"""Registrations for planned tournaments, and the field that results from them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db.models import F, Q, QuerySet

from core.courses.teams import entrants, teams_of, with_teams
from core.listing import registration_rows
from core.models import Agent, Eligibility, Registration, Submission, Team, Tournament, TournamentState, User
from core.models.agent import SubmissionQuerySet
from core.people.rights import may

PATIENCE = timedelta(minutes=30)
"""How long after its time a tournament waits for versions from before the freeze to be built and validated."""


@dataclass(frozen=True, slots=True)
class OwnEntry:
    """An agent of the viewer.

    obstacle: why it cannot register, as a sentence; empty when it can. waits: it is registered, but there is no place.
    is_pending: none of its versions may play yet, but one is being built or validated. can_play: whether it may take
    part, however many agents its owner has registered.
    """

    agent: Agent
    is_registered: bool
    obstacle: str
    waits: bool = False
    is_pending: bool = False
    can_play: bool = True


@dataclass(frozen=True, slots=True)
class RegistrationCard:
    """A tournament's registration on a page. closed: why it is not open, as a sentence; empty when it is."""

    tournament: Tournament
    closed: str
    can_withdraw: bool
    registrations: Sequence[Registration]
    own: tuple[OwnEntry, ...]
    own_obstacle: str
    """Why none of the viewer's agents may take part; empty when they may."""
    is_invited: bool = False
    """Whether it is by invitation, and the viewer is invited."""
    awaited: int = 0
    """How many versions it waits for, see `awaited_count`."""
    own_team: Team | None = None
    """A team of the viewer that may have agents for it, while they work as themselves."""

    @property
    def begins_by(self) -> datetime | None:
        """When it no longer waits."""
        return self.tournament.starts_at + PATIENCE if self.tournament.starts_at else None

    @property
    def taken(self) -> int:
        """How many registered agents hold a place, see `holds_place`, without those that wait for one."""
        return sum(holds_place(row.agent) for row in self.registrations) - len(self.waiting)

    @property
    def waiting(self) -> frozenset[int]:
        """Agents that wait, because others that registered earlier hold all places."""
        return _waiting(self.tournament, self.registrations)

    @property
    def places_left(self) -> int | None:
        most = self.tournament.max_participants
        return None if most is None else max(0, most - self.taken)

    @property
    def substitutes(self) -> tuple[Agent, ...]:
        """Agents of the viewer that may take the place of a registered one."""
        return tuple(entry.agent for entry in self.own if not entry.is_registered and entry.can_play)

    @property
    def is_own_left(self) -> bool:
        """Return whether an agent of the viewer is not registered."""
        return any(not entry.is_registered for entry in self.own)


def field_list(tournament: Tournament) -> list[Submission]:
    """The versions that would take part if the tournament began now and had room for all: the newest of each agent.

    With a registration these are the registered agents of eligible owners, in that order; without one, all agents of
    eligible owners. Agents that may not play, or have no version from before the freeze, are left out.
    """
    newest = _newest(_entered(tournament, Submission.objects.active()))
    if not tournament.has_registration:
        return list(newest.values())
    order = tournament.registrations.order_by("pk").values_list("agent_id", flat=True)
    return [newest[agent] for agent in order if agent in newest]


def baseline_list(tournament: Tournament) -> list[Submission]:
    """The versions of its baselines that would play if the tournament began now, by the agents' names."""
    newest = _newest(_in_time(tournament, Submission.objects.active()).filter(agent__baseline_of=tournament))
    return sorted(newest.values(), key=lambda row: row.agent.name.casefold())


def awaited_count(tournament: Tournament, *, now: datetime) -> int:
    """How many versions a tournament whose time has come still waits for, because they may take part when validated."""
    starts_at = tournament.starts_at
    if tournament.state != TournamentState.PLANNED or starts_at is None or not starts_at <= now < starts_at + PATIENCE:
        return 0
    pending = Submission.objects.pending().filter(created_at__lte=starts_at)
    of_baselines = _in_time(tournament, pending).filter(agent__baseline_of=tournament)
    return _entered(tournament, pending).count() + of_baselines.count()


def eligible_count(tournament: Tournament, invited: Sequence[User], baselines: Sequence[Agent] = ()) -> int:
    """How many agents could take part now if all registered. The tournament may be one that is not saved."""
    rows = _eligible(tournament, invited).exclude(agent__in=baselines)
    return rows.order_by().values("agent").distinct().count()


def unregistered_owners(tournament: Tournament) -> list[User]:
    """Return the owners of agents that could take part now, without those who have registered one."""
    owners = _eligible(tournament).order_by().values("agent__owner")
    registered = tournament.registrations.values("agent__owner")
    return list(User.objects.filter(pk__in=owners).exclude(pk__in=registered).order_by("pk"))


def closed_because(tournament: Tournament, *, now: datetime) -> str:
    """Why registration is not open, as a sentence; empty while it is."""
    opens_at, closes_at = tournament.registration_opens_at, tournament.registration_closes_at
    if tournament.state != TournamentState.PLANNED:
        return _over(tournament)
    if opens_at is None:
        return _unregistered(tournament)
    if now < opens_at:
        return f"Registration opens on {tournament.moment(opens_at)}."
    if closes_at is not None and now >= closes_at:
        return f"Registration closed on {tournament.moment(closes_at)}."
    if tournament.starts_at is not None and now >= tournament.starts_at:
        return "Registration is over. The tournament begins shortly, unless the environment is closed."
    return ""


def owner_obstacle(tournament: Tournament, owner: User) -> str:
    """Why no agent of this person may take part, as a sentence; empty when they may."""
    if tournament.course_id is not None and not owner.memberships.filter(course=tournament.course_id).exists():
        return f"This tournament is for members of {tournament.course}."
    if tournament.eligibility == Eligibility.EVERYBODY or open_to(tournament).filter(pk=owner.pk).exists():
        return ""
    if tournament.eligibility == Eligibility.TEAMS:
        teams = ", ".join(tournament.teams)
        own = f"yours is {owner.team}" if owner.team else "your profile names none"
        return f"This tournament is for members of these teams: {teams}; {own}."
    return "This tournament is by invitation, and you are not invited. Ask its organiser."


def open_to(tournament: Tournament, invited: Sequence[User] | None = None) -> QuerySet[User]:
    """Return the accounts that a tournament is for, as far as its course does not decide it.

    What is for people is for their teams as well, and the other way round. Teams go by the name in people's profiles,
    or by that of a team of a course. invited: in place of those that the tournament has.
    """
    match tournament.eligibility:
        case Eligibility.TEAMS:
            named = User.objects.filter(as_team__isnull=False, username__in=tournament.teams)
            return User.objects.filter(Q(team__in=tournament.teams) | Q(pk__in=with_teams(named, tournament.course_id)))
        case Eligibility.INVITED:
            people = tournament.invited.all() if invited is None else [one.pk for one in invited]
            return with_teams(people, tournament.course_id)
    return User.objects.all()


def owner_full(tournament: Tournament, owner: User) -> str:
    """Why this person may not register another agent, as a sentence; empty when they may."""
    most = tournament.environment.active_per_owner
    as_one = entrants(tournament.course_id, owner)
    if not most or tournament.registrations.filter(agent__owner__in=as_one).count() < most:
        return ""
    whose = "Each owner" if len(as_one) == 1 else "A team, with all its people,"
    return f"{whose} may register up to {most} agent{'s' * (most > 1)}; withdraw another first."


def agent_obstacle(tournament: Tournament, agent: Agent, can_enter: set[int] | None = None) -> str:
    """Why an agent cannot take part, apart from who owns it, as a sentence; empty when it can.

    can_enter: agents with a version that may take part, or may when it is validated; looked up if not given.
    """
    if agent.environment_id != tournament.environment_id:
        return f"{agent} plays in another environment."
    if agent.is_quarantined:
        return f"{agent} is paused because it crashed; upload a new version first."
    if agent.is_disabled:
        return f"{agent} is disabled: {agent.disabled_reason or 'ask an organiser why'}."
    if agent.is_resting:
        return f"{agent} is hidden: show it again on its page first."
    if can_enter is None:
        if agent.baseline_of.filter(pk=tournament.pk).exists():
            return f"{agent} is a baseline of this tournament: it plays without a place."
        can_enter = playable_agents(tournament, [agent]) | pending_agents(tournament, [agent])
    if agent.pk in can_enter:
        return ""
    if tournament.freezes_at is not None and Submission.objects.active().filter(agent=agent).exists():
        return f"No version of {agent} that may play was uploaded before {tournament.moment(tournament.freezes_at)}."
    return f"{agent} has no version that may play. Upload one first."


def playable_agents(tournament: Tournament, agents: Sequence[Agent]) -> set[int]:
    """The ids of agents with a version that may take part."""
    return _agents(_in_time(tournament, Submission.objects.active()), agents)


def pending_agents(tournament: Tournament, agents: Sequence[Agent]) -> set[int]:
    """The ids of agents with a version that may take part if its build and its validation succeed."""
    return _agents(_in_time(tournament, Submission.objects.pending()), agents)


def _agents(rows: SubmissionQuerySet, agents: Sequence[Agent]) -> set[int]:
    return set(rows.filter(agent__in=agents).values_list("agent_id", flat=True))


def holds_place(agent: Agent) -> bool:
    """Return whether a registered agent occupies a place: not while it is disabled or its owner's account is closed.

    If it is let back in and there are too many, those that registered first take part.
    """
    return not agent.is_disabled and agent.owner.is_active


HOLDS_PLACE = Q(agent__is_disabled=False, agent__owner__is_active=True)
"""The condition of `holds_place` for registrations in the database."""


def waiting_list(tournament: Tournament) -> frozenset[int]:
    """The agents that wait for a place of a tournament."""
    return _waiting(tournament, list(registration_rows().filter(tournament=tournament)))


def registration_card(tournament: Tournament, viewer: User | None, *, now: datetime) -> RegistrationCard:
    """Return the registration of a planned tournament for its page. viewer: None without a login."""
    rows = list(registration_rows().filter(tournament=tournament))
    closed = closed_because(tournament, now=now)
    own: tuple[OwnEntry, ...] = ()
    own_obstacle = ""
    if viewer is not None and tournament.has_registration:
        registered = {row.agent_id for row in rows}
        agents = list(
            viewer.agents.filter(environment=tournament.environment_id).exclude(baseline_of=tournament).order_by("name")
        )
        # People who invite need no invitation, unless they have agents, which can be registered with one alone.
        organises = not agents and may(viewer, "core.change_tournament", tournament.course_id)
        own_obstacle = "" if organises else owner_obstacle(tournament, viewer)
        playable, pending = playable_agents(tournament, agents), pending_agents(tournament, agents)
        waiting = _waiting(tournament, rows)
        full = "" if closed else owner_full(tournament, viewer)
        obstacles = {agent.pk: agent_obstacle(tournament, agent, playable | pending) for agent in agents}
        own = tuple(
            OwnEntry(
                agent,
                agent.pk in registered,
                obstacles[agent.pk] or ("" if agent.pk in registered else full),
                agent.pk in waiting,
                agent.pk in pending - playable,
                not obstacles[agent.pk],
            )
            for agent in agents
        )
    is_planned = tournament.state == TournamentState.PLANNED
    is_invited = viewer is not None and is_planned and tournament.pk in invited_to(viewer)
    awaited = awaited_count(tournament, now=now)
    in_course = viewer is not None and tournament.course_id is not None and not closed
    team = teams_of(viewer).filter(course=tournament.course_id).first() if viewer and in_course else None
    return RegistrationCard(tournament, closed, is_planned, rows, own, own_obstacle, is_invited, awaited, team)


def invited_to(viewer: User) -> set[int]:
    """The planned tournaments by invitation that a person, or a team of theirs, is invited to."""
    rows = Tournament.objects.filter(state=TournamentState.PLANNED, eligibility=Eligibility.INVITED)
    of_team = Q(course__teams__people__user=viewer, invited=F("course__teams__account"))
    of_people = Q(course__teams__account=viewer, invited=F("course__teams__people__user"))
    return set(rows.filter(Q(invited=viewer) | of_team | of_people).values_list("pk", flat=True))


def _waiting(tournament: Tournament, registrations: Sequence[Registration]) -> frozenset[int]:
    """Agents beyond the number of places, counted in the order of registration."""
    held = [row.agent_id for row in registrations if holds_place(row.agent)]
    return frozenset(() if tournament.max_participants is None else held[tournament.max_participants :])


def _unregistered(tournament: Tournament) -> str:
    """Which agents take part without a registration, as `field_list` and `seeding` decide it."""
    whose = {
        Eligibility.TEAMS: f" of members of {', '.join(tournament.teams)}",
        Eligibility.INVITED: " of invited people",
    }
    of = f" of members of {tournament.course}" if tournament.course_id is not None else ""
    most = tournament.max_participants
    room = f" If there are more than {most}, only the {most} strongest take part." if most else ""
    every = f"every agent{of or whose.get(Eligibility(tournament.eligibility), '')} that may play takes part."
    return f"No registration is needed: {every}{room}"


def _eligible(tournament: Tournament, invited: Sequence[User] | None = None) -> SubmissionQuerySet:
    """The versions of agents that may play whose owners may take part. invited: as for `open_to`."""
    return _open(tournament, Submission.objects.active(), invited)


def _entered(tournament: Tournament, rows: SubmissionQuerySet) -> SubmissionQuerySet:
    """Leave the versions that are in time, of agents that are registered, or of all that need not be."""
    rows = _open(tournament, rows).exclude(agent__baseline_of=tournament)
    return rows.filter(agent__registrations__tournament=tournament) if tournament.has_registration else rows


def _open(
    tournament: Tournament, rows: SubmissionQuerySet, invited: Sequence[User] | None = None
) -> SubmissionQuerySet:
    rows = _in_time(tournament, rows).filter(agent__environment=tournament.environment_id)
    if tournament.course_id is not None:
        rows = rows.filter(agent__owner__memberships__course=tournament.course_id)
    if tournament.eligibility == Eligibility.EVERYBODY:
        return rows
    return rows.filter(agent__owner__in=open_to(tournament, invited))


def _newest(rows: SubmissionQuerySet) -> dict[int, Submission]:
    return rows.select_related("agent__owner", "rating").newest_by_agent()


def _in_time(tournament: Tournament, rows: SubmissionQuerySet) -> SubmissionQuerySet:
    return rows if tournament.freezes_at is None else rows.filter(created_at__lte=tournament.freezes_at)


def _over(tournament: Tournament) -> str:
    return {
        TournamentState.RUNNING: "The tournament has begun; registration is over.",
        TournamentState.FINISHED: "The tournament has ended.",
    }.get(TournamentState(tournament.state), "The tournament was cancelled.")
