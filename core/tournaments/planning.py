"""Plans tournaments of organisers, and changes and calls off planned ones."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime

from django.db import IntegrityError, transaction
from django.db.models.functions import Now

from arena_kit.ranking.formats import MOST_PARTICIPANTS, Format, format_fit, format_make, settings_checked
from arena_kit.text import plain_line
from core.courses.repeats import next_name, weeks_later
from core.errors import Refused
from core.evaluations.seeds import seeds_of_tournament_reveal
from core.jobs.messages import TOURNAMENT_TASK, task_request
from core.models import (
    WINDOW,
    Agent,
    Audience,
    Eligibility,
    Environment,
    LedgerChange,
    Season,
    Seeding,
    Tournament,
    TournamentState,
    User,
)
from core.ratings.ledger import ledger_change
from core.tournaments.baselines import baselines_set
from core.tournaments.inviting import invitations_set
from core.tournaments.notices import results_released, tournament_called_off
from core.tournaments.pictures import picture_copy
from core.tournaments.registration_selectors import field_list
from core.tournaments.seeding import seeds_set
from core.tournaments.selectors import next_edition

PLANNED_FIELDS = (
    "name",
    "about",
    "time_zone",
    "format",
    "settings",
    "seed",
    "seeded_by",
    "is_rated",
    "has_openings",
    "results",
    "season",
    "course",
    *WINDOW,
    "eligibility",
    "teams",
    "max_participants",
)
"""The fields that organisers decide about a tournament, besides the invitations and baselines."""
TRIES = 5
NAME_LENGTH: int = Tournament._meta.get_field("name").max_length or 0
MOST_SEED = 2**31 - 1
GONE = "The tournament has begun or was cancelled in the meantime. Reload the page."


def plan_check(
    tournament: Tournament, *, invited: Sequence[User], baselines: Sequence[Agent] = (), now: datetime
) -> None:
    """Raise Refused, naming the field, for a plan that cannot be played. The row may be one that is not saved."""
    for problem in plan_problems(tournament, invited=invited, baselines=baselines, now=now):
        raise problem


def plan_problems(
    tournament: Tournament, *, invited: Sequence[User], baselines: Sequence[Agent] = (), now: datetime
) -> Iterator[Refused]:
    """Yield all that is wrong with a plan, each naming its field. The row may be one that is not saved."""
    played: list[Format] = []
    checks: tuple[Callable[[], None], ...] = (
        lambda: environment_check(tournament.environment),
        lambda: format_fit(tournament.format, tournament.environment.seats),
        lambda: name_check(tournament.name, most=NAME_LENGTH),
        lambda: played.append(format_make(tournament.format, tournament.settings)),
    )
    for check in checks:
        try:
            check()
        except Refused as refusal:
            yield refusal
    if not 0 <= tournament.seed <= MOST_SEED:
        yield Refused(
            f"The seed is {tournament.seed}; make it a whole number from 1 to {MOST_SEED}, or 0 to have it drawn.",
            field="seed",
        )
    if tournament.season is not None and tournament.season.environment_id != tournament.environment_id:
        yield Refused(f"The season “{tournament.season.name}” is of another environment.", field="season")
    yield from _window_problems(tournament, now=now)
    for one in played:
        yield from _field_problems(tournament, one)
        if baselines:
            try:
                one.check_baselines()
            except Refused as refusal:
                yield refusal
    yield from _entry_problems(tournament, invited)


def _entry_problems(tournament: Tournament, invited: Sequence[User]) -> Iterator[Refused]:
    """Yield what is wrong with who takes part, and with their seeds."""
    if tournament.eligibility == Eligibility.TEAMS and not any(name.strip() for name in tournament.teams):
        yield Refused("Name the teams that may take part.", field="teams")
    if tournament.eligibility == Eligibility.INVITED and not invited:
        yield Refused("Name the people who are invited.", field="invited")
    if tournament.plays_alone:
        if tournament.seeded_by != Seeding.RATING:
            yield Refused("Agents that play alone need no seeds: leave them by rating.", field="seeded_by")
        if not tournament.has_openings:
            yield Refused("Agents that play alone have no openings to leave out.", field="has_openings")
    elif tournament.seeded_by == Seeding.BY_HAND and not tournament.has_registration:
        yield Refused("Seeds by hand are given to registered agents: open a registration.", field="seeded_by")


def _field_problems(tournament: Tournament, played: Format) -> Iterator[Refused]:
    """Yield what is wrong with the number of participants."""
    most = tournament.max_participants
    if most is not None and most < played.fewest:
        yield Refused(
            f"{played.name} with these settings needs {played.fewest} participants; let at least as many in, or change "
            "the settings.",
            field="max_participants",
        )
    if most is not None and most > MOST_PARTICIPANTS:
        yield Refused(f"A tournament takes at most {MOST_PARTICIPANTS} participants.", field="max_participants")


def name_check(name: str, *, most: int, field: str = "name") -> None:
    """Raise Refused for a name without visible characters, or with more than `most` characters."""
    seen = plain_line(name)
    if not seen:
        raise Refused(f"The {field} is empty; enter one.", field=field)
    if len(seen) > most:
        raise Refused(f"A name has at most {most} characters; this one has {len(seen)}. Shorten it.", field=field)


def environment_check(environment: Environment) -> None:
    """Raise Refused where no tournament can be planned."""
    if environment.is_app:
        raise Refused(f"{environment} is an application, which has no tournaments.", field="environment")
    if not environment.is_active:
        raise Refused(f"{environment} is inactive; make it active first.", field="environment")


def tournament_plan(
    *, tournament: Tournament, invited: Sequence[User] = (), baselines: Sequence[Agent] = (), now: datetime
) -> Tournament:
    """Save a new tournament as planned, under the next free edition of its environment.

    tournament: an unsaved row with the fields that organisers decide; a seed of 0 is drawn. Raises Refused.
    """
    _complete(tournament, now=now)
    plan_check(tournament, invited=invited, baselines=baselines, now=now)
    tournament.seed = tournament.seed or secrets.randbelow(MOST_SEED) + 1
    tournament.state, tournament.is_automatic, tournament.started_at = TournamentState.PLANNED, False, None
    with transaction.atomic():
        _save_with_edition(tournament)
        invitations_set(tournament=tournament, people=invited)
        baselines_set(tournament=tournament, agents=baselines)
    return tournament


def tournament_replan(
    *,
    tournament: Tournament,
    invited: Sequence[User],
    baselines: Sequence[Agent] = (),
    seeds: Sequence[Agent] | None = None,
    now: datetime,
) -> None:
    """Save the changes of organisers to a planned tournament. Raises Refused, also when it is no longer planned.

    seeds: registered agents, the best seed first; None for the seeds that they have.
    """
    _complete(tournament, now=now)
    plan_check(tournament, invited=invited, baselines=baselines, now=now)
    with transaction.atomic():
        rows = Tournament.objects.filter(pk=tournament.pk, state=TournamentState.PLANNED)
        if not rows.update(**{name: getattr(tournament, name) for name in PLANNED_FIELDS}):
            raise Refused(GONE)
        invitations_set(tournament=tournament, people=invited)
        baselines_set(tournament=tournament, agents=baselines)
        if seeds is not None:
            seeds_set(tournament=tournament, agents=seeds)


def tournament_copy(*, tournament: Tournament, by: User, now: datetime) -> Tournament:
    """Plan a tournament of a course once more, a week later by the clocks of its time zone. Raises Refused.

    A number at the end of its name is raised by one: after Week 1 comes Week 2.
    """
    zone = tournament.time_zone or (tournament.course.time_zone if tournament.course is not None else "")
    fields = {name: getattr(tournament, name) for name in PLANNED_FIELDS}
    for name in WINDOW:
        if (at := fields[name]) is not None:
            fields[name] = weeks_later(at, zone)
    fields["name"] = next_name(tournament.name, NAME_LENGTH)
    copy = Tournament(environment=tournament.environment, created_by=by, **fields | {"seed": 0})
    invited, baselines = list(tournament.invited.all()), list(tournament.baselines.all())
    with transaction.atomic():
        tournament_plan(tournament=copy, invited=invited, baselines=baselines, now=now)
        picture_copy(tournament=tournament, to=copy)
    return copy


def tournament_relabel(
    *, tournament: Tournament, name: str, season: Season | None, results: str, about: str | None = None
) -> None:
    """Change what may still change about a tournament that has begun. Ratings follow the visibility of its results.

    about: None for the text that it has. Raises Refused for hiding public results, because they stay in histories,
    notices and people's files.
    """
    with transaction.atomic():
        shown = _audience_locked(tournament)
        if shown == Audience.PUBLIC and results != Audience.PUBLIC:
            raise Refused("Its results are public already, so they can no longer be withheld.", field="results")
        Tournament.objects.filter(pk=tournament.pk).update(
            name=name, season=season, results=results, about=tournament.about if about is None else about
        )
        tournament.refresh_from_db()
        results_released(tournament, before=shown)
        if tournament.results != shown:
            _released(tournament)


def tournament_call_off(*, tournament: Tournament, reason: str) -> bool:
    """Cancel a planned tournament; return False if it has begun or was cancelled in the meantime."""
    rows = Tournament.objects.filter(pk=tournament.pk, state=TournamentState.PLANNED)
    with transaction.atomic():
        if not rows.update(state=TournamentState.CANCELLED, ended_at=Now(), cancel_reason=reason[:200]):
            return False
        tournament_called_off(tournament, reason)
    return True


def tournament_begin_soon(*, tournament: Tournament, now: datetime) -> None:
    """Begin a planned tournament now and close its registration. Raises Refused for too few participants."""
    opens_at, closes_at = tournament.registration_opens_at, tournament.registration_closes_at
    if opens_at is not None and opens_at >= now:
        raise Refused(
            f"Registration does not open before {tournament.moment(opens_at)}, so there are no participants yet. "
            "Change that time first."
        )
    played, found = format_make(tournament.format, tournament.settings), len(field_list(tournament))
    if found < played.fewest:
        raise Refused(
            f"{played.name} with these settings needs {played.fewest} participants, and {found} would take part; wait "
            "for more, or change the settings."
        )
    rows = Tournament.objects.filter(pk=tournament.pk, state=TournamentState.PLANNED)
    closed = {"registration_closes_at": now} if opens_at is not None and (closes_at is None or closes_at > now) else {}
    frozen = {"freezes_at": now} if tournament.freezes_at is not None and tournament.freezes_at > now else {}
    # One that is due already does not wait anew for versions.
    if not rows.update(starts_at=min(now, tournament.starts_at or now), **closed, **frozen):
        raise Refused(GONE)
    task_request("tournament", TOURNAMENT_TASK, tournament.environment_id)


def results_release(*, tournament: Tournament, to: str = Audience.PUBLIC) -> None:
    """Show all results to participants or to everyone. Raises Refused.

    Those of a rated tournament count for ratings as soon as everyone sees them.
    """
    with transaction.atomic():
        shown = _audience_locked(tournament)
        if shown in (Audience.PUBLIC, to):
            raise Refused("Its results are public already.")
        Tournament.objects.filter(pk=tournament.pk).update(results=to)
        tournament.refresh_from_db()
        results_released(tournament, before=shown)
        _released(tournament)


def _released(tournament: Tournament) -> None:
    """Note a change in the visibility of the results, which ratings and hidden seeds depend on."""
    seeds_of_tournament_reveal(tournament)
    ledger_change(environment_id=tournament.environment_id, kind=LedgerChange.Kind.RELEASE, tournament=tournament)


def _audience_locked(tournament: Tournament) -> str:
    """The audience of a tournament's results; its row is locked, so that a change is announced only once."""
    return Tournament.objects.select_for_update(no_key=True).values_list("results", flat=True).get(pk=tournament.pk)


def _complete(tournament: Tournament, *, now: datetime) -> None:
    """Fill in the fields that follow from others."""
    tournament.name = plain_line(tournament.name)
    if tournament.environment.course_id is not None:
        tournament.course = tournament.environment.course
    tournament.settings = settings_checked(tournament.format, tournament.settings)
    # Ratings come from duels.
    tournament.is_rated = tournament.is_rated and not tournament.plays_alone
    tournament.teams = [name.strip() for name in tournament.teams if name.strip()]
    if tournament.registration_closes_at is not None and tournament.registration_opens_at is None:
        tournament.registration_opens_at = now


def _window_problems(tournament: Tournament, *, now: datetime) -> Iterator[Refused]:
    """Yield what is wrong with the order of the times."""
    moment = tournament.moment
    opens_at, closes_at, freezes_at, starts_at = (getattr(tournament, name) for name in WINDOW)
    if opens_at and closes_at and closes_at <= opens_at:
        yield Refused(
            f"Registration would close on {moment(closes_at)}, before it opens on {moment(opens_at)}; close it later.",
            field="registration_closes_at",
        )
    if starts_at and closes_at and starts_at < closes_at:
        yield Refused(
            f"It would begin on {moment(starts_at)}, while registration is open until {moment(closes_at)}; close "
            "registration earlier, or begin later.",
            field="starts_at",
        )
    if starts_at and opens_at and starts_at <= opens_at:
        yield Refused(
            f"It would begin on {moment(starts_at)}, before registration opens on {moment(opens_at)}; begin later.",
            field="starts_at",
        )
    if starts_at and freezes_at and freezes_at > starts_at:
        yield Refused(
            f"Versions would be frozen on {moment(freezes_at)}, after the beginning on {moment(starts_at)}; freeze "
            "them earlier.",
            field="freezes_at",
        )
    if starts_at and starts_at < now:
        yield Refused(
            f"{moment(starts_at)} is in the past. Set a later time, or leave it empty and begin it by hand.",
            field="starts_at",
        )


def _save_with_edition(tournament: Tournament) -> None:
    """Save a tournament under the next free edition; try again when another one has taken the number."""
    environment = tournament.environment
    for left in reversed(range(TRIES)):
        tournament.edition = next_edition(environment)
        try:
            with transaction.atomic():
                tournament.save()
        except IntegrityError:
            taken = environment.tournaments.filter(edition=tournament.edition).exists()
            if not left or not taken:
                raise
        else:
            return
