"""News of stored ratings: agents that were overtaken, and new leaders.

For editions of all pairs the ends of two tournaments are compared; otherwise two moments of the history.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from django.db.models import Max, Min, QuerySet
from django.utils import timezone

from core.links import agent_address, page
from core.models import (
    CHOSEN,
    Audience,
    Environment,
    EventKind,
    NoticeKind,
    RatingPoint,
    Submission,
    Tournament,
    TournamentState,
)
from core.notices.services import Message, announce, listed, notify_each, was_told_since

OVERTAKEN_PAUSE = timedelta(days=1)


@dataclass(frozen=True, slots=True)
class Kept:
    """A stored rating, with its interval if there is one."""

    submission: Submission
    value: float
    low: float | None
    high: float | None

    def __str__(self) -> str:
        if self.low is None or self.high is None:
            return f"{self.value:.0f}"
        return f"{self.value:.0f} ({self.low:.0f} to {self.high:.0f})"


Standing = Mapping[int, Kept]
"""Ratings by agent, best first."""


def tournament_rated(tournament: Tournament) -> None:
    """Send the notices of the ratings stored at the end of a tournament. Call it once, when it ends.

    Left out where `moment_kept` covers it.
    """
    environment = tournament.environment
    if not tournament.counts_for_ratings or _is_told_by_moments(environment):
        return
    now = _at_end(tournament)
    rated = finished_before(tournament).filter(
        is_rated=True, results=Audience.PUBLIC, participants__rating__isnull=False
    )
    if (last := rated.first()) is not None:
        _notify_overtaken(environment, before=_at_end(last), now=now)
    # Only editions of all pairs have all agents; another tournament has a leader of its own.
    if (
        tournament.is_automatic
        and (edition := rated.filter(is_automatic=True).exclude(format=CHOSEN).first()) is not None
    ):
        _notify_leader(environment, before=_at_end(edition), now=now)


def finished_before(tournament: Tournament) -> QuerySet[Tournament]:
    """Return the tournaments of its environment that ended before this one, last one first."""
    rows = Tournament.objects.filter(environment=tournament.environment_id, state=TournamentState.FINISHED)
    earlier = rows.filter(ended_at__lt=tournament.ended_at).exclude(pk=tournament.pk)
    return earlier.order_by("-ended_at", "-edition")


def moment_kept(environment: Environment, at: datetime) -> None:
    """Send the notices of the moment of the history just stored at `at`, where tournaments do not send them.

    The leader is compared once a day, at the day's first moment, because two close agents may alternate every hour.
    """
    if not _is_told_by_moments(environment):
        return
    earlier = RatingPoint.objects.filter(environment=environment, at__lt=at)
    last = earlier.aggregate(last=Max("at"))["last"]
    if last is None:
        return
    now = _at(environment, at)
    _notify_overtaken(environment, before=_at(environment, last), now=now)
    if _day(last) < _day(at):
        first = earlier.filter(at__gte=_day(last)).aggregate(first=Min("at"))["first"]
        _notify_leader(environment, before=_at(environment, first), now=now)


def _notify_overtaken(environment: Environment, *, before: Standing, now: Standing) -> None:
    """Notify owners of agents that another agent has overtaken by rating, at most once a day per agent.

    Agents that are only in one of the two standings are ignored, and so are agents of the same owner.
    """
    since = timezone.now() - OVERTAKEN_PAUSE
    both = [key for key in now if key in before]
    for place, key in enumerate(both):
        row = now[key]
        agent = row.submission.agent
        rivals = [
            now[other]
            for other in both[:place]
            if before[other].value < before[key].value
            and now[other].value > row.value
            and now[other].submission.agent.owner_id != agent.owner_id
        ]
        about = f"agent {agent.pk}"
        if not rivals or was_told_since(agent.owner, NoticeKind.OVERTAKEN, about, since):
            continue
        names = listed(f"{one.submission.agent} of {one.submission.agent.owner}" for one in rivals)
        rival = rivals[0].submission.agent
        message = Message(
            user=agent.owner,
            title=f"{agent} is overtaken by {rival}" + (" and others" if rivals[1:] else ""),
            text=f"{agent} in {environment} has a rating of {row} now, and has been overtaken by {names}. "
            f"{rival} has {rivals[0]}." + _doubt(row, rivals[0]),
            address=agent_address(agent),
            about=about,
            agent=agent,
            rival=rival,
        )
        notify_each(kind=NoticeKind.OVERTAKEN, messages=[message])


def _notify_leader(environment: Environment, *, before: Standing, now: Standing) -> None:
    """Tell webhooks when another agent has the highest rating."""
    if not (before and now):
        return
    was, leader = next(iter(before.values())), next(iter(now.values()))
    agent = leader.submission.agent
    if was.submission.agent_id == agent.pk:
        return
    # The previous leader may be resting by now.
    still = now.get(was.submission.agent_id)
    announce(
        kind=EventKind.LEADER_CHANGED,
        environment=environment,
        title=f"{agent} leads {environment}",
        text=f"{agent} of {agent.owner} has a rating of {leader} and comes before {was.submission.agent}."
        + (_doubt(still, leader) if still else ""),
        address=page("environment", environment.slug),
        data={
            "agent": agent.name,
            "owner": agent.owner.username,
            "version": leader.submission.number,
            "rating": leader.value,
            "before": was.submission.agent.name,
        },
    )


def _day(at: datetime) -> datetime:
    """The beginning of the day, in UTC."""
    return at.astimezone(UTC).replace(hour=0, minute=0, second=0, microsecond=0)


def _is_told_by_moments(environment: Environment) -> bool:
    """Return whether a ladder runs, or the last edition was one of chosen pairs, whose table lacks most agents."""
    automatic = environment.tournaments.filter(is_automatic=True)
    last = automatic.exclude(state=TournamentState.CANCELLED).order_by("-edition").first()
    return last is not None and (last.format == CHOSEN or (last.is_ladder and last.state == TournamentState.RUNNING))


def _at_end(tournament: Tournament) -> Standing:
    """The ratings stored with participants, without those that may not play any more."""
    rows = tournament.participants.filter(
        rating__isnull=False, withdrawn_at=None, submission__agent__is_disabled=False
    ).select_related("submission__agent__owner", "submission__agent__environment")
    return {
        row.submission.agent_id: Kept(row.submission, row.rating or 0.0, row.rating_low, row.rating_high)
        for row in rows.order_by("-rating", "pk")
    }


def _at(environment: Environment, at: datetime) -> Standing:
    """The ratings at a moment of the history, without agents that may not play any more."""
    rows = RatingPoint.objects.filter(
        environment=environment, at=at, rank__isnull=False, submission__agent__is_disabled=False
    ).select_related("submission__agent__owner", "submission__agent__environment")
    return {
        row.submission.agent_id: Kept(row.submission, row.value, row.low, row.high)
        for row in rows.order_by("-value", "pk")
    }


def _doubt(row: Kept, rival: Kept) -> str:
    if row.high is None or rival.low is None or rival.low > row.high:
        return ""
    return " The intervals overlap: it may be luck."
