"""Which agents play in editions and ladders, and which wait because their owner has too many."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping
from dataclasses import dataclass

from core.courses.teams import entrants, teams_by_person
from core.models import Agent, Environment, Play, Submission


@dataclass(frozen=True, slots=True)
class Field:
    """Every agent's newest active submission: those that play, and those over their owner's limit.

    teams: see `teams_by_person`.
    """

    playing: tuple[Submission, ...]
    aside: tuple[Submission, ...]
    teams: Mapping[int, int]

    @property
    def has_two_owners(self) -> bool:
        """Return whether agents of two owners may meet."""
        owners = {submission.agent.owner_id for submission in self.playing}
        return len({self.teams.get(owner, owner) for owner in owners}) > 1


# A field may have thousands of rows, which are read whenever an edition chooses duels.
_READ = (
    *("number", "created_at", "archive_sha256", "agent__name", "agent__environment", "agent__owner__username"),
    *("agent__owner__team", "agent__owner__is_active", "agent__owner__email", "agent__owner__is_quota_exempt"),
)


def active_field(environment: Environment, *, owners: Collection[int] | None = None) -> Field:
    """The field of an environment: of each owner the `active_per_owner` agents with the newest submissions; 0: all.

    owners: only their agents. A team of the environment's course and its people are one owner. Accounts without quotas
    have no limit, and neither has that of anonymous uploads, because it stands for many people.
    """
    active = Submission.objects.active().filter(agent__environment=environment).select_related("agent__owner")
    active = active.only(*_READ)
    if owners is not None:
        active = active.filter(agent__owner__in=owners)
    by_owner: dict[int, list[Submission]] = defaultdict(list)
    without_limit: set[int] = set()
    teams = teams_by_person(environment.course_id)
    for submission in sorted(active.newest_by_agent().values(), key=lambda row: (row.created_at, row.pk), reverse=True):
        owner = submission.agent.owner
        if owner.is_system or owner.is_quota_exempt:
            without_limit.add(key := owner.pk)
        else:
            key = teams.get(owner.pk, owner.pk)
        by_owner[key].append(submission)
    playing: list[Submission] = []
    aside: list[Submission] = []
    for key, own in by_owner.items():
        limit = 0 if key in without_limit else environment.active_per_owner
        playing += own[: limit or None]
        aside += own[limit:] if limit else []
    return Field(_in_order(playing), _in_order(aside), teams)


def _in_order(rows: list[Submission]) -> tuple[Submission, ...]:
    return tuple(sorted(rows, key=lambda row: row.pk))


def place_awaited(agent: Agent) -> str:
    """Return a sentence about the wait of an agent whose owner has too many; empty for all others."""
    most = agent.environment.active_per_owner
    as_one = entrants(agent.environment.course_id, agent.owner) if most else ()
    if Agent.objects.filter(environment=agent.environment_id, owner__in=as_one).count() <= most:
        # Most owners have few.
        return ""
    field = active_field(agent.environment, owners=as_one)
    if all(row.agent_id != agent.pk for row in field.aside):
        return ""
    names = [row.agent.name for row in field.playing]
    where = "the ladder" if agent.environment.play == Play.LADDER else "an edition"
    whose = "each owner" if len(as_one) == 1 else "a team, with all its people,"
    one = len(names) == 1
    return (
        f"This agent waits for a place: {whose} may have up to {'one agent' if one else f'{len(names)} agents'} in "
        f"{where}, and {_and(names)} {'has a newer version' if one else 'have newer versions'}. "
        f"Hide {'it' if one else 'one of them'} to make room."
    )


def _and(names: list[str]) -> str:
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)
