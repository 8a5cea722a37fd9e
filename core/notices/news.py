"""What is told to whom when something has happened, in words. Called within the transaction in which it happens."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import groupby

from django.contrib.humanize.templatetags.humanize import ordinal
from django.db.models import QuerySet

from core.links import page
from core.models import (
    Agent,
    Audience,
    Build,
    Evaluation,
    EventKind,
    Job,
    JobFault,
    Notice,
    NoticeKind,
    Participant,
    Promotion,
    PromotionState,
    Submission,
    Tournament,
    TournamentState,
    Validation,
)
from core.notices.services import Message, announce, notify, notify_each
from core.submissions.visibility import error_shown

TOP = 10
"""Rows of a table that webhooks are told."""
NAMED = 3
HELD_BACK = "Its results are not released yet."


def agent_address(agent: Agent) -> str:
    """The path of an agent's page."""
    return page("agent", agent.environment.slug, agent.name)


def tournament_address(tournament: Tournament) -> str:
    """The path of a tournament's page."""
    return page("edition", tournament.environment.slug, tournament.edition)


def version_validated(submission: Submission, promotion: Promotion | None = None) -> None:
    """Tell the owner that a version is validated, and what comes next. promotion: the test that was begun for it."""
    agent = submission.agent
    if agent.environment.is_scored:
        next_step = "It is evaluated now."
    elif promotion is not None:
        next_step = f"It is tested against version {promotion.incumbent.number} first."
    elif submission.is_benched:
        next_step = "It does not play: it is benched."
    else:
        next_step = "It may play from now on."
    notify(
        user=agent.owner,
        kind=NoticeKind.VALIDATED,
        title=f"{submission} is validated",
        text=f"Version {submission.number} of {agent} in {agent.environment} is built and validated. {next_step}",
        address=agent_address(agent),
    )


def version_failed(job: Job) -> None:
    """Tell the owner that a version was not built, not validated or not evaluated, and why; of other jobs nothing."""
    match job:
        case Build():
            what = "could not be built"
        case Validation():
            what = "did not pass its validation"
        case Evaluation():
            what = "could not be evaluated"
        case _:
            return
    submission = job.submission
    agent = submission.agent
    hint = (
        "The arena is to blame, not your version, and its organisers can see why. It does not count as an upload."
        if job.fault == JobFault.PLATFORM
        else "Its log is on the agent's page. Upload a new version once you have found the reason."
    )
    # Hidden seeds stay hidden, whatever a player tells of them.
    why = error_shown(job, agent.owner, can_see_source=True)
    notify(
        user=agent.owner,
        kind=NoticeKind.VALIDATION,
        title=f"{submission} {what}",
        text=f"Version {submission.number} of {agent} in {agent.environment} {what}.\n\n{why}\n\n{hint}",
        address=agent_address(agent),
    )


def agent_quarantined(agent: Agent, submission: Submission) -> None:
    """Tell the owner that the arena has paused an agent."""
    notify(
        user=agent.owner,
        kind=NoticeKind.QUARANTINE,
        title=f"{agent.name} is paused",
        text=f"{agent.name} in {agent.environment} is paused. {agent.disabled_reason}\n\n"
        "It takes part in no duel until you upload a new version: once that one is validated, the agent is back by "
        f"itself. The duels of version {submission.number} and what it printed are on the agent's page. If you think "
        "that the arena is to blame, tell the organisers: they can let it play again.",
        address=agent_address(agent),
    )


def promotion_decided(promotion: Promotion) -> None:
    """Tell the owner what the test of a new version has come to; of one that was called off nothing."""
    if promotion.state in (PromotionState.TESTING, PromotionState.CANCELLED):
        return
    agent = promotion.candidate.agent
    notify(
        user=agent.owner,
        kind=NoticeKind.PROMOTION_DECIDED,
        title=f"{promotion.candidate} is {promotion.get_state_display()}",
        text=promotion.verdict,
        address=agent_address(agent),
    )


def tournament_started(tournament: Tournament) -> None:
    """Tell participants of a planned tournament that it has begun, and webhooks of any."""
    rows = list(_participants(tournament))
    address = tournament_address(tournament)
    # Editions begin by themselves after every upload: that is no news.
    if not tournament.is_automatic:
        messages = [
            Message(
                user=own[0].submission.agent.owner,
                title=f"{tournament} has begun",
                text=f"You take part with {listed(str(row.submission) for row in own)}. {len(rows)} agents are in it.",
                address=address,
            )
            for own in _by_owner(rows)
        ]
        notify_each(kind=NoticeKind.TOURNAMENT_STARTED, messages=messages)
    announce(
        kind=EventKind.TOURNAMENT_STARTED,
        environment=tournament.environment,
        title=f"{tournament} has begun",
        text=f"{len(rows)} agents take part.",
        address=address,
        data={**_about(tournament), "participants": len(rows)},
    )


def tournament_ended(tournament: Tournament) -> None:
    """Tell participants and webhooks how a tournament has ended, as far as each may know."""
    rows = _in_it(tournament)
    # A tournament of which something was voided ends again: the same is not said twice.
    _tell_ranks(tournament, rows, told=_told(tournament, rows))
    _announce_end(tournament, rows)


def results_released(tournament: Tournament, *, before: str) -> None:
    """Tell participants and webhooks what they could not know of a tournament that is over, and may know now.

    before: the audience of its results until now. Participants are told their ranks once, also where results were
    held back again in between.
    """
    if tournament.state != TournamentState.FINISHED:
        return
    rows = _in_it(tournament)
    if before == Audience.HIDDEN and tournament.results != Audience.HIDDEN:
        _tell_ranks(tournament, rows, told=_told(tournament, rows))
    if before != Audience.PUBLIC and tournament.results == Audience.PUBLIC:
        _announce_end(tournament, rows)


def tournament_called_off(tournament: Tournament, reason: str) -> None:
    """Tell who was in a planned tournament, or had registered for it, that it was cancelled."""
    if tournament.is_automatic:
        return
    registered = tournament.registrations.select_related("agent__owner")
    owners = {row.submission.agent.owner for row in _participants(tournament)} | {row.agent.owner for row in registered}
    title, address = f"{tournament} was cancelled", tournament_address(tournament)
    notify_each(
        kind=NoticeKind.TOURNAMENT_ENDED,
        messages=[Message(owner, title, reason, address) for owner in sorted(owners, key=lambda owner: owner.pk)],
    )


def _in_it(tournament: Tournament) -> list[Participant]:
    """Who was in a tournament to its end or was taken out of it."""
    rows = _participants(tournament)
    # Of a ladder a version leaves when a newer one takes its place: it was not taken out.
    return list(rows.filter(withdrawn_at=None) if tournament.is_ladder else rows)


def _announce_end(tournament: Tournament, rows: list[Participant]) -> None:
    is_public = tournament.results == Audience.PUBLIC
    table = [
        {"rank": row.rank, "agent": row.submission.agent.name, "version": row.submission.number,
         "owner": row.submission.agent.owner.username, "points": row.points}
        for row in _in_table(rows)[:TOP]
    ]  # fmt: skip
    lines = "\n".join(f"{row['rank']}. {row['agent']} v{row['version']} ({row['owner']})" for row in table)
    announce(
        kind=EventKind.TOURNAMENT_ENDED,
        environment=tournament.environment,
        title=f"{tournament} is over",
        text=lines if is_public else HELD_BACK,
        address=tournament_address(tournament),
        data={**_about(tournament), "participants": len(rows), "table": table if is_public else None},
    )


def _in_table(rows: Iterable[Participant]) -> list[Participant]:
    return [row for row in rows if row.withdrawn_at is None]


def _told(tournament: Tournament, rows: list[Participant]) -> dict[int, str]:
    """What people were told last of how a tournament has ended. Not by title, in which it may have another name."""
    owners = {row.submission.agent.owner_id for row in rows}
    found = Notice.objects.filter(
        user__in=owners, kind=NoticeKind.TOURNAMENT_ENDED, address=tournament_address(tournament)
    )
    return dict(found.order_by("pk").values_list("user", "text"))


def _tell_ranks(tournament: Tournament, rows: list[Participant], *, told: Mapping[int, str] | None = None) -> None:
    """Tell everybody their own rank; of automatic editions only those whose rank or version is another than before.

    told: by person, what they know already.
    """
    size = len(_in_table(rows))
    is_shown = tournament.results != Audience.HIDDEN
    before: dict[int, tuple[int, int]] = {}
    about = ""
    if tournament.is_automatic:
        about = f"editions {tournament.environment_id}"
        last = finished_before(tournament).filter(is_automatic=True).first()
        if last is not None:
            found = last.participants.values_list("submission__agent", "submission", "rank")
            before = {agent: (submission, rank) for agent, submission, rank in found}
    messages = []
    for own in _by_owner(rows):
        same = [before.get(row.submission.agent_id) == (row.submission_id, row.rank) for row in own]
        if all(same):
            continue
        said = [
            f"{row.submission} was taken out of it."
            if row.withdrawn_at
            else f"{row.submission} came {ordinal(row.rank)} of {size}."
            for row in own
        ]
        first = own[0]
        is_named = is_shown and first.withdrawn_at is None
        text = "\n".join(said) if is_shown else HELD_BACK
        if told and told.get(first.submission.agent.owner_id) == text:
            continue
        messages.append(
            Message(
                user=first.submission.agent.owner,
                title=f"{first.submission.agent} came {ordinal(first.rank)} of {size} in {tournament}"
                if is_named
                else f"{tournament} is over",
                text=text,
                address=tournament_address(tournament),
                about=about,
            )
        )
    notify_each(kind=NoticeKind.TOURNAMENT_ENDED, messages=messages)


def finished_before(tournament: Tournament) -> QuerySet[Tournament]:
    """Tournaments of its environment that had ended when this one did, the last first."""
    rows = Tournament.objects.filter(environment=tournament.environment_id, state=TournamentState.FINISHED)
    earlier = rows.filter(ended_at__lt=tournament.ended_at).exclude(pk=tournament.pk)
    return earlier.order_by("-ended_at", "-edition")


def _participants(tournament: Tournament) -> QuerySet[Participant]:
    rows = tournament.participants.select_related("submission__agent__owner", "submission__agent__environment")
    return rows.order_by("rank", "pk")


def _by_owner(rows: Iterable[Participant]) -> list[list[Participant]]:
    """Participants by owner, of each the best first."""
    ordered = sorted(rows, key=lambda row: (row.submission.agent.owner_id, row.withdrawn_at is not None, row.rank))
    return [list(own) for _, own in groupby(ordered, key=lambda row: row.submission.agent.owner_id)]


def _about(tournament: Tournament) -> dict[str, object]:
    return {"edition": tournament.edition, "name": tournament.name, "format": tournament.format,
            "is_automatic": tournament.is_automatic}  # fmt: skip


def listed(names: Iterable[str]) -> str:
    """The first few names, and how many more there are."""
    found = list(names)
    more = len(found) - NAMED
    if more > 0:
        return f"{', '.join(found[:NAMED])} and {more} more"
    return " and ".join([", ".join(found[:-1]), found[-1]]) if len(found) > 1 else "".join(found)
