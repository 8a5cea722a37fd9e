"""Starts and ends editions."""

from __future__ import annotations

import logging
import secrets
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime

from django.db import transaction
from django.db.models.functions import Now

from arena_kit.ranking.pairing import round_robin
from core.duels.losses import losses_analyse
from core.editions import chosen, fits, ladder
from core.editions.follow import follow, ladder_rank, outdated_ladders
from core.editions.predictions import strengths
from core.editions.selectors import (
    are_built_again,
    is_waiting,
    last_edition,
    participants_due,
    startable_participants,
)
from core.errors import Refused
from core.jobs.apart import apart
from core.jobs.messages import TOURNAMENT_TASK, task_request
from core.jobs.states import OPEN
from core.links import page
from core.models import CHOSEN, Alarm, Environment, Play, Submission, Tournament, TournamentState
from core.moderation.services import quarantine_where_due
from core.moderation.withdrawals import participants_withdraw_barred
from core.notices.alarms import alarm_raise, alarm_settle
from core.ratings.services import moment_notify, ratings_failed
from core.tournaments.newcomers import unplayed
from core.tournaments.rules import first_edition, rules_of
from core.tournaments.selectors import next_edition
from core.tournaments.services import EditionTaken, asked_key, tournament_create, tournament_finish

logger = logging.getLogger(__name__)


def advance(environment: Environment, *, now: datetime) -> None:
    """Bring an environment up to date: standings, ratings, the end of the running edition, the start of the next."""
    follow(environment)
    running = environment.tournaments.filter(state=TournamentState.RUNNING, is_automatic=True).first()
    if running is not None:
        leave_where_due(running)
        if running.is_ladder:
            is_over = not ladder.goes_on(running, now=now)
        elif running.format == CHOSEN:
            is_over = not chosen.goes_on(running)
        else:
            is_over = not running.duels.filter(state__in=OPEN).exists()
        if is_over:
            finish(running)
            running = None
    is_fitted = False
    with ratings_may_fail(environment):
        is_fitted = fits.ratings_follow(environment, now=now)
        if is_fitted or _has_recovered(environment):
            alarm_settle(key=_alarm_key(environment))
    # After the ratings, because ladders are ranked by them.
    for tournament in outdated_ladders(environment):
        with apart(tournament):
            ladder_rank(tournament)
    if running is None:
        start_where_asked(environment)
        start_if_due(environment, now=now)
    elif running.is_ranked_by_rating:
        ladder.table_follow(running, is_fitted=is_fitted, now=now)
    moment_notify(environment=environment)


def leave_where_due(tournament: Tournament) -> None:
    """Take barred and crashing participants out of a running tournament; a row in trouble does not stop the others."""
    with apart(f"Those who may not take part in {tournament}"):
        participants_withdraw_barred(tournament=tournament)
    with apart(f"The quarantine of {tournament}"):
        quarantine_where_due(tournament=tournament)


def finish(tournament: Tournament) -> None:
    """End an edition whose duels are all over, with its final table and ratings.

    Ending it is the last step, and all others can be repeated, so a worker may die in between. If ratings cannot be
    computed, it ends without them: its table shows none, and the ratings catch up later.
    """
    # The last duel may have ended a moment ago.
    with apart(f"The quarantine of {tournament}"):
        quarantine_where_due(tournament=tournament)
    ratings_at_end(tournament)
    # A participant may have been withdrawn just now.
    follow(tournament.environment)
    if tournament.is_ranked_by_rating:
        ladder_rank(tournament)
    tournament_finish(tournament=tournament)
    if not tournament.is_ladder:
        with apart(f"The analyses of {tournament}"):
            losses_analyse(tournament)


def ratings_at_end(tournament: Tournament) -> None:
    """Fit the ratings of an environment at the end of a tournament, and store them with it."""
    with ratings_may_fail(tournament.environment):
        # The ratings of earlier rules were kept with it when the rules changed.
        is_of_today = rules_of(tournament) == tournament.environment.spec_id
        fits.ratings_refresh(tournament.environment, ended=tournament if is_of_today else None)
        alarm_settle(key=_alarm_key(tournament.environment))


@contextmanager
def ratings_may_fail(environment: Environment) -> Iterator[None]:
    """Raise an alarm if ratings cannot be computed; editions end and start without them."""
    try:
        yield
    except Exception:
        logger.exception("Ratings of %s cannot be computed.", environment)
        ratings_failed(environment=environment)
        alarm_raise(
            key=_alarm_key(environment),
            message=f"The ratings of {environment} cannot be computed; the log of the tournament worker says why. "
            "Editions and their tables continue. Ratings stay as they were; the arena tries again every few minutes.",
            address=page("ratings"),
        )


def _has_recovered(environment: Environment) -> bool:
    """Return whether an alarm rings although the ratings are up to date, e.g. after the failing duel was struck."""
    was_called = Alarm.objects.filter(key=_alarm_key(environment), settled_at=None).exists()
    return was_called and not fits.ratings_are_outdated(environment)


def _alarm_key(environment: Environment) -> str:
    return f"ratings-of-{environment.slug}"


def start_if_due(environment: Environment, *, now: datetime) -> Tournament | None:
    """Start the next edition if at least two agents can play and the set of submissions has changed since the last one.

    An agent that its owner hides or shows again changes nothing: its rating stays. Or start the ladder, or nothing, as
    the environment is set. A cancelled edition counts as the last one, because an organiser who cancels an edition does
    not want the same one again.
    """
    # Read before the submissions: if another edition starts in between, tournament_create refuses ours.
    number, last = next_edition(environment), last_edition(environment)
    if last is not None and last.edition < first_edition(environment):
        # The rules have changed since.
        last = None
    if environment.play != Play.EDITIONS:
        return ladder.start_if_due(environment, number, now=now) if environment.play == Play.LADDER else None
    submissions = participants_due(environment)
    if len(submissions) > environment.all_pairs_up_to:
        return _start_chosen_if_due(environment, number, submissions, last, now=now)
    # The participants of a ladder, and of a chosen edition, are not all that could have played.
    classic = last if last is not None and not last.is_ranked_by_rating else None
    before = set(classic.participants.values_list("submission_id", flat=True)) if classic else set()
    fresh = [submission for submission in submissions if submission.pk not in before]
    missing = before - {submission.pk for submission in submissions}
    is_changed = Submission.objects.filter(pk__in=missing, agent__is_resting=False).exists()
    is_changed = is_changed or bool(unplayed(environment, fresh))
    if environment.closed_because or len(submissions) < 2 or not (classic is None or is_changed):
        return None
    if are_built_again(missing, fresh) or is_waiting(environment, fresh, now=now):
        return None
    try:
        return start(environment, number, submissions)
    except EditionTaken:
        return None


def _start_chosen_if_due(
    environment: Environment,
    number: int,
    submissions: Sequence[Submission],
    last: Tournament | None,
    *,
    now: datetime,
) -> Tournament | None:
    """Start an edition of chosen pairs if some version has not played yet, and was in none just cancelled.

    last: the last edition by today's rules.
    """
    fresh = unplayed(environment, submissions)
    is_cancelled = last is not None and last.state == TournamentState.CANCELLED
    before = set(last.participants.values_list("submission_id", flat=True)) if last and is_cancelled else set()
    if environment.closed_because or len(submissions) < 2 or before.issuperset(row.pk for row in fresh):
        return None
    if is_waiting(environment, fresh, now=now):
        return None
    try:
        return chosen.start(environment, number, submissions)
    except EditionTaken:
        return None


def edition_ask(*, environment: Environment) -> None:
    """Ask the tournament manager for a new edition, which begins within seconds. Raises Refused if it cannot begin."""
    startable_participants(environment)
    Environment.objects.filter(pk=environment.pk).update(start_asked_at=Now())
    task_request("tournament", TOURNAMENT_TASK, environment.pk)


def start_where_asked(environment: Environment) -> None:
    """Start the edition that an organiser has asked for; an alarm gives the reason when one cannot start any more."""
    asked = Environment.objects.filter(pk=environment.pk, start_asked_at__isnull=False)
    with transaction.atomic():
        # Together, so that an order is carried out once, whichever worker dies.
        if not asked.update(start_asked_at=None):
            return
        try:
            logger.info("Started %s.", start_now(environment))
        except Refused as refusal:
            alarm_raise(
                key=asked_key(environment),
                message=f"The edition of {environment} that an organiser asked for has not begun. {refusal}",
                address=page("environment", environment.slug),
            )


def start_now(environment: Environment) -> Tournament:
    """Start an edition although nothing has changed. Raises Refused."""
    # Read before the submissions: if another edition starts in between, tournament_create refuses ours.
    number = next_edition(environment)
    try:
        return start(environment, number, startable_participants(environment))
    except EditionTaken:
        raise Refused(f"An edition of {environment} has just been started.") from None


def start(environment: Environment, number: int, submissions: Sequence[Submission]) -> Tournament:
    """Create edition `number`: of all pairs, or of more agents than that is meant for, of chosen ones.

    Raises EditionTaken if it exists already.
    """
    if len(submissions) > environment.all_pairs_up_to:
        return chosen.start(environment, number, submissions)
    rounds = [
        [(submissions[first], submissions[second]) for first, second in pairs]
        for pairs in round_robin(len(submissions))
    ]
    known = strengths([row.pk for row in submissions])
    return tournament_create(
        environment=environment,
        edition=number,
        submissions=submissions,
        rounds=rounds,
        seed=secrets.randbelow(2**31),
        expected=known.of_pairs((one.pk, other.pk) for pairs in rounds for one, other in pairs),
    )
