"""The panel of challenges on an agent's page, for its owner and for owners of other agents."""

from __future__ import annotations

from dataclasses import dataclass, field

from django.contrib.auth.models import AnonymousUser

from core.duels.challenge_selectors import (
    Report,
    challenge_list,
    challenger_hindrance,
    challengers,
    is_rated,
    top_rivals,
)
from core.duels.version_tests import hindrance_of_tests, versions_testable
from core.models import Agent, Submission, User
from web.people.quota_parts import QuotaLine, challenge_quotas


@dataclass(frozen=True, slots=True)
class ChallengePart:
    """The view of the panel.

    hindrance: why the owner cannot challenge anyone; empty if they can. rivals: the top ten, offered as opponents.
    own: the visitor's agents that may challenge this one. testable: versions that the owner may test.
    """

    hindrance: str
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
    quotas = challenge_quotas(viewer, agent.environment)
    if agent.owner_id == viewer.pk:
        hindrance = challenger_hindrance(agent, playing)
        rivals = [] if hindrance else top_rivals(agent)
        testable = [] if hindrance_of_tests(agent) else versions_testable(agent)
        return ChallengePart(hindrance, challenge_list(agent), rivals, [], quotas, testable)
    own = challengers(viewer, agent.environment)
    if not own or playing is None or not is_rated(agent):
        return None
    return ChallengePart("", [], [], own, quotas)
