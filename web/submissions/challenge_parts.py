"""The panel of challenges on an agent's page, for its owner and for owners of other agents."""

from __future__ import annotations

from dataclasses import dataclass, field

from django.contrib.auth.models import AnonymousUser

from core.duels.challenge_selectors import (
    Report,
    challenge_list,
    challenger_obstacle,
    challengers,
    is_rated,
    top_rivals,
)
from core.duels.version_tests import version_test_obstacle, versions_testable
from core.models import Agent, Submission, User
from web.people.quota_parts import QuotaLine, challenge_quotas


@dataclass(frozen=True, slots=True)
class ChallengePart:
    """The view of the panel.

    obstacle: why the owner cannot challenge anyone; empty if they can. rivals: the top ten, offered as opponents.
    own: the visitor's agents that may challenge this one. testable: versions that the owner may test.
    """

    obstacle: str
    reports: list[Report]
    rivals: list[Submission]
    own: list[Agent]
    quotas: list[QuotaLine]
    testable: list[Submission] = field(default_factory=list)


def challenge_part(viewer: User | AnonymousUser, agent: Agent, playing: Submission | None) -> ChallengePart | None:
    """Return what a visitor sees of challenges on an agent's page; None if they see nothing.

    playing: the result of `active_version`.
    """
    if not isinstance(viewer, User) or agent.environment.is_scored:
        return None
    if agent.owner_id == viewer.pk:
        obstacle = challenger_obstacle(agent, playing)
        rivals = [] if obstacle else top_rivals(agent)
        testable = [] if version_test_obstacle(agent) else versions_testable(agent)
        quotas = challenge_quotas(viewer, agent.environment)
        return ChallengePart(obstacle, challenge_list(agent), rivals, [], quotas, testable)
    own = challengers(viewer, agent.environment)
    if not own or playing is None or not is_rated(agent):
        return None
    return ChallengePart("", [], [], own, challenge_quotas(viewer, agent.environment))
