"""The texts of notices and announcements of tournaments. Call each in the transaction in which its event happens."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import groupby

from django.contrib.humanize.templatetags.humanize import ordinal
from django.db.models import Max, QuerySet

from core.links import tournament_address
from core.models import (
    CHOSEN,
    Agent,
    Audience,
    EventKind,
    Notice,
    NoticeKind,
    Participant,
    RatingPoint,
    Tournament,
    TournamentState,
    User,
)
from core.notices.services import Message, announce, listed, notify_each
from core.ratings.board import standings_of
from core.tournaments.newcomers import newcomers

TOP = 10
"""Number of rows of a table that webhooks get."""
WITHHELD = "Its results are not released yet."


def place_found(tournament: Tournament, agents: Iterable[Agent]) -> None:
    """Tell the owners of agents that waited that these have a place."""
    title, address = f"A place in {tournament} has become free", tournament_address(tournament)
    messages = [Message(agent.owner, title, f"{agent} waited for it and has it now.", address) for agent in agents]
    notify_each(kind=NoticeKind.TOURNAMENT_OPEN, messages=messages)


def tournament_started(tournament: Tournament) -> None:
    """Tell the participants of a planned tournament, and the webhooks of any tournament, that it has begun."""
    rows = list(_participants(tournament))
    address = tournament_address(tournament)
    # Editions begin automatically after every upload, so their start is not news.
    if not tournament.is_automatic:
        messages = [
            Message(
                user=own[0].submission.agent.owner,
                title=f"{tournament} has begun",
                text=f"You take part with {listed(str(row.submission) for row in own)}. It has {len(rows)} agents.",
                address=address,
            )
            for own in _by_owner(rows)
        ]
        messages += [
            Message(
                user=row.agent.owner,
                title=f"{tournament} has begun without {row.agent}",
                text=f"{row.agent} was registered, but had no version that could play, or there was no place.",
                address=address,
            )
            for row in tournament.registrations.exclude(agent__in=[row.submission.agent_id for row in rows])
        ]
        messages += [
            Message(
                user=agent.owner,
                title=f"{tournament} has begun without {agent}",
                text=f"{agent} was to play as a baseline, but had no version that could play.",
                address=address,
            )
            for agent in tournament.baselines.exclude(submissions__participations__tournament=tournament)
        ]
        notify_each(kind=NoticeKind.TOURNAMENT_STARTED, messages=messages)
    announce(
        kind=EventKind.TOURNAMENT_STARTED,
        environment=tournament.environment,
        course=tournament.course,
        title=f"{tournament} has begun",
        text="Agents join as they are chosen." if tournament.format == CHOSEN else f"{len(rows)} agents take part.",
        address=address,
        data={**_about(tournament), "participants": len(rows)},
    )


def registration_opened(tournament: Tournament, owners: Iterable[User]) -> None:
    """Tell owners that their agents may be registered for a planned tournament."""
    title = f"Registration for {tournament} is open"
    notify_each(
        kind=NoticeKind.TOURNAMENT_OPEN,
        messages=[Message(owner, title, _when(tournament), tournament_address(tournament)) for owner in owners],
    )


def tournament_invited(tournament: Tournament, people: Iterable[User]) -> None:
    """Tell people that they are invited to a planned tournament."""
    notify_each(
        kind=NoticeKind.TOURNAMENT_INVITED,
        messages=[
            Message(
                user=person,
                title=f"You are invited to {tournament}",
                text=_when(tournament),
                address=tournament_address(tournament),
            )
            for person in people
        ],
    )


def _when(tournament: Tournament) -> str:
    """Return what an invited person has to do, and by when."""
    opens_at, closes_at, starts_at = (
        None if time is None else tournament.moment(time)
        for time in (tournament.registration_opens_at, tournament.registration_closes_at, tournament.starts_at)
    )
    begins = f"It begins on {starts_at}." if starts_at else "Its organiser has not set a time for its beginning yet."
    if opens_at is None:
        return f"{begins} Your agents take part without registration, each with its newest version that may play."
    until = f" and closes on {closes_at}" if closes_at else ""
    return f"Registration opens on {opens_at}{until}: register your agents on the page of the tournament. {begins}"


def tournament_ended(tournament: Tournament) -> None:
    """Tell participants and webhooks how a tournament has ended, as far as each may know."""
    rows = _in_it(tournament)
    # After a duel was voided a tournament ends again; the same text is not sent twice.
    _notify_ranks(tournament, rows, told=_told(tournament, rows))
    _announce_end(tournament, rows)


def results_released(tournament: Tournament, *, before: str) -> None:
    """Tell participants and webhooks those results of a finished tournament that they may see only now.

    before: the previous audience of the results. Participants are told their ranks once, even if the results were
    hidden again in between.
    """
    if tournament.state != TournamentState.FINISHED:
        return
    rows = _in_it(tournament)
    # An edition's results change the leaderboard with the next fit, and the next edition tells ranks there.
    if before == Audience.HIDDEN and tournament.results != Audience.HIDDEN and not tournament.is_automatic:
        _notify_ranks(tournament, rows, told=_told(tournament, rows))
    if before != Audience.PUBLIC and tournament.results == Audience.PUBLIC:
        _announce_end(tournament, rows)


def tournament_called_off(tournament: Tournament, reason: str) -> None:
    """Tell the participants and registered owners of a planned tournament that it was cancelled."""
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
    """Return those who were in a tournament at its end or were taken out of it."""
    rows = _participants(tournament)
    # In a ladder, a newer version replaces an older one, which was not taken out.
    return list(rows.filter(withdrawn_at=None) if tournament.is_ladder else rows)


def _announce_end(tournament: Tournament, rows: list[Participant]) -> None:
    is_public = tournament.results == Audience.PUBLIC
    table = [
        {
            "rank": row.rank,
            "agent": row.submission.agent.name,
            "version": row.submission.number,
            "owner": row.submission.agent.owner.username,
            **({"score": row.score} if tournament.plays_alone else {"points": row.points}),
        }
        for row in _in_table(rows)[:TOP]
    ]
    lines = "\n".join(f"{row['rank']}. {row['agent']} v{row['version']} ({row['owner']})" for row in table)
    announce(
        kind=EventKind.TOURNAMENT_ENDED,
        environment=tournament.environment,
        course=tournament.course,
        title=f"{tournament} is over",
        text=lines if is_public else WITHHELD,
        address=tournament_address(tournament),
        data={**_about(tournament), "participants": len(rows), "table": table if is_public else None},
    )


def _in_table(rows: Iterable[Participant]) -> list[Participant]:
    return [row for row in rows if row.is_ranked]


def _told(tournament: Tournament, rows: list[Participant]) -> dict[int, str]:
    """Return what people were last told about a tournament's end. By address, because its title may have changed."""
    owners = {row.submission.agent.owner_id for row in rows}
    found = Notice.objects.filter(
        user__in=owners, kind=NoticeKind.TOURNAMENT_ENDED, address=tournament_address(tournament)
    )
    return dict(found.order_by("pk").values_list("user", "text"))


def _notify_ranks(tournament: Tournament, rows: list[Participant], *, told: Mapping[int, str]) -> None:
    """Tell participants their own ranks: in the tournament, or after the arena's own editions on the leaderboard.

    Editions tell only those whose rank or version has changed. told: by person, the last text about this end.
    """
    is_shown = tournament.results != Audience.HIDDEN
    find = _on_leaderboard if tournament.is_automatic and is_shown else _in_tournament
    places = find(tournament, rows)
    messages = []
    for own in _by_owner(rows):
        found = [places[row.pk] for row in own if row.pk in places]
        text = "\n".join(line for _, line in found) if is_shown else WITHHELD
        owner = own[0].submission.agent.owner
        if not found or told.get(owner.pk) == text:
            continue
        messages.append(
            Message(
                user=owner,
                title=(is_shown and found[0][0]) or f"{tournament} is over",
                text=text,
                address=tournament_address(tournament),
                about=f"editions {tournament.environment_id}" if tournament.is_automatic else "",
            )
        )
    notify_each(kind=NoticeKind.TOURNAMENT_ENDED, messages=messages)


def _in_tournament(tournament: Tournament, rows: list[Participant]) -> dict[int, tuple[str, str]]:
    """Return by participant a title, empty for those that were taken out, and a line about the place in its table."""
    size = len(_in_table(rows))
    return {
        row.pk: ("", f"{row.submission} was taken out of it.")
        if row.withdrawn_at
        else (
            f"{row.submission.agent} {row.came(size)} in {tournament}",
            f"{row.submission} {row.came(size)}.",
        )
        for row in rows
    }


def _on_leaderboard(tournament: Tournament, rows: list[Participant]) -> dict[int, tuple[str, str]]:
    """Return the same about ranks on the leaderboard, where rank or version differs from the moment before the last."""
    moments = RatingPoint.objects.filter(environment=tournament.environment_id)
    newest = moments.aggregate(last=Max("at"))["last"]
    earlier = moments.filter(at__lt=newest).aggregate(last=Max("at"))["last"] if newest else None
    points = (moments.filter(at=earlier) if earlier else moments.none()).values_list(
        "submission__agent", "submission", "rank"
    )
    # A ladder ends once, so its end is news to all. An edition of chosen pairs is news of those that it is for: moments
    # within it may have ranked them already, and in a large field the ranks of all others change all the time.
    before = {} if tournament.is_ranked_by_rating else {agent: (submission, rank) for agent, submission, rank in points}
    if tournament.format == CHOSEN:
        new = newcomers(tournament)
        rows = [row for row in rows if row.submission_id in new or row.withdrawn_at]
    standings = standings_of([row.submission.agent for row in rows])
    words = {}
    for row in rows:
        agent = row.submission.agent
        standing = standings.get(agent.pk)
        if row.withdrawn_at:
            words[row.pk] = ("", f"{row.submission} was taken out of {tournament}.")
        elif standing and before.get(agent.pk) != (standing.rating.submission_id, standing.rank):
            place = f"is {ordinal(standing.rank)} of {standing.size}"
            words[row.pk] = (
                f"{agent} {place} in {tournament.environment}",
                f"{standing.rating.submission} {place}, with a rating of {standing.rating.value:.0f}.",
            )
    return words


def _participants(tournament: Tournament) -> QuerySet[Participant]:
    rows = tournament.participants.filter(is_baseline=False).order_by("rank", "pk")
    return rows.select_related("submission__agent__owner", "submission__agent__environment")


def _by_owner(rows: Iterable[Participant]) -> list[list[Participant]]:
    """Group participants by owner, each group's best first."""
    ordered = sorted(rows, key=lambda row: (row.submission.agent.owner_id, row.withdrawn_at is not None, row.rank))
    return [list(own) for _, own in groupby(ordered, key=lambda row: row.submission.agent.owner_id)]


def _about(tournament: Tournament) -> dict[str, object]:
    return {
        "edition": tournament.edition,
        "name": tournament.name,
        "format": tournament.format,
        "is_automatic": tournament.is_automatic,
    }
