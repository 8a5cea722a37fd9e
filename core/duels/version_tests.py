"""Tests of one version of an agent against another: unrated duels under a sequential test, at their owner's request."""

from __future__ import annotations

import secrets

from django.db import transaction

from core.duels.services import duel_new, duels_enqueue
from core.duels.stopping import version_test
from core.errors import Refused
from core.models import Agent, Challenge, ChallengeKind, Submission, User
from core.people.quotas import challenge_quota_check, owner_lock


def versions_testable(agent: Agent) -> list[Submission]:
    """Return the versions of an agent that can play, newest first."""
    rows = Submission.objects.validated().filter(agent=agent)
    return list(rows.select_related("agent__environment").order_by("-number"))


def version_test_obstacle(agent: Agent) -> str:
    """Return a sentence that says why no versions of an agent can be tested now; empty when they can."""
    environment = agent.environment
    if environment.seats != 2:
        return f"Versions are tested in duels, and {environment} has none."
    if environment.closed_because:
        return environment.closed_because
    if agent.is_disabled:
        return f"{agent} is paused or disabled: its page says why and what to do."
    return ""


def version_test_create(*, user: User, submission: Submission, against: Submission) -> Challenge:
    """Test whether a version is better than another one of the same agent, as a promotion would.

    The duel is unrated, ends as soon as the test is decided, and changes nothing about which version plays. It counts
    as one duel of the quota of challenges. Raises Refused with what to do, and QuotaExceeded.
    """
    agent = submission.agent
    with transaction.atomic():
        locked = owner_lock(user)
        if agent.owner_id != locked.pk or against.agent_id != agent.pk:
            raise Refused(f"Only the owner of {agent} may test its versions, and only against each other.")
        if why := version_test_obstacle(agent):
            raise Refused(why)
        if submission == against:
            raise Refused("Choose two versions that differ.", field="against")
        usable = versions_testable(agent)
        for field, row in (("version", submission), ("against", against)):
            if row not in usable:
                raise Refused(f"Version {row.number} cannot play: it is not validated, or deleted.", field=field)
        challenge_quota_check(owner=locked, environment=agent.environment, duel_count=1, what="test")
        challenge = Challenge.objects.create(user=locked, submission=submission, kind=ChallengeKind.VERSION)
        test = version_test(agent.environment)
        duel = duel_new(
            challenge=challenge,
            player_1=submission,
            player_2=against,
            seed=secrets.randbelow(2**31),
            match_count=2 * test.cap,
            reason=f"{locked.username} asked whether version {submission.number} is better than {against.number}.",
            test=test,
        )
        duels_enqueue(duels=[duel])
    return challenge
