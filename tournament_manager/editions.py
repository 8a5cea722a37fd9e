"""When an edition starts and when it ends."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from datetime import datetime, timedelta

from django.db.models import Q

from core.errors import Refused
from core.models import Build, Environment, JobState, Submission, Tournament, TournamentState, Validation
from core.services.bars import participants_withdraw_barred, quarantine_where_due
from core.services.ratings import ratings_keep
from core.services.tournaments import EditionTaken, tournament_create, tournament_finish
from tournament_manager import ledger
from tournament_manager.pairing import round_robin

PENDING_WAIT = timedelta(minutes=5)
"""How long a new edition waits for uploads that are still built or validated, counted from the first change."""
OPEN = (JobState.QUEUED, JobState.RUNNING)


def advance(environment: Environment, *, now: datetime) -> None:
    """Bring an environment up to date: standings, the end of the running edition, the start of the next."""
    running = environment.tournaments.filter(state=TournamentState.RUNNING).first()
    if running is not None:
        participants_withdraw_barred(tournament=running)
        quarantine_where_due(tournament=running)
        ledger.standings_refresh(running)
        if not running.duels.filter(state__in=OPEN).exists():
            finish(running)
            running = None
    for tournament in ledger.outdated_editions(environment):
        ledger.standings_refresh(tournament)
    if running is not None:
        return
    if ledger.ratings_are_outdated(environment):
        ledger.ratings_refresh(environment)
    start_if_due(environment, now=now)


def finish(tournament: Tournament) -> None:
    """End an edition whose duels are all over, with its final table and ratings.

    Ending it is the last step and every other can be repeated: a worker that dies in between leaves nothing undone.
    """
    # Its last duel may have ended a moment ago.
    quarantine_where_due(tournament=tournament)
    ledger.standings_refresh(tournament)
    ledger.ratings_refresh(tournament.environment)
    ratings_keep(tournament=tournament)
    tournament_finish(tournament=tournament)


def start_if_due(environment: Environment, *, now: datetime) -> Tournament | None:
    """Start the next edition when at least two agents can play and something has changed since the last one.

    What counts is the set of (agent, latest valid submission). A cancelled edition is a last edition like any other:
    an organiser who stops one does not want to see it again at once.
    """
    # Read before the submissions: who starts an edition in between makes ours impossible, see tournament_create.
    last = last_edition(environment)
    submissions = entrants(environment)
    before = set(last.participants.values_list("submission_id", flat=True)) if last else set()
    fresh = [submission for submission in submissions if submission.pk not in before]
    if not environment.is_active or len(submissions) < 2 or before == {row.pk for row in submissions}:
        return None
    missing = before - {submission.pk for submission in submissions}
    if are_built_again(missing, fresh) or is_waiting(environment, fresh, now=now):
        return None
    try:
        return start(environment, last, submissions)
    except EditionTaken:
        return None


def start_now(environment: Environment) -> Tournament:
    """Start an edition although nothing has changed. Raises Refused, saying why not."""
    last = last_edition(environment)
    if environment.is_scored:
        raise Refused(f"{environment} has one seat: it is ranked by scores, not by tournaments.")
    if not environment.is_active:
        raise Refused(f"{environment} is inactive; make it active first.")
    if last is not None and last.state == TournamentState.RUNNING:
        raise Refused(f"{last} is still running; wait for its end or cancel it.")
    submissions = entrants(environment)
    if len(submissions) < 2:
        found = "one agent" if submissions else "no agent"
        raise Refused(f"A tournament needs two agents with a valid submission; {environment} has {found}.")
    try:
        return start(environment, last, submissions)
    except EditionTaken:
        raise Refused(f"An edition of {environment} has just been started by somebody else.") from None


def start(environment: Environment, last: Tournament | None, submissions: Sequence[Submission]) -> Tournament:
    """Create the edition after `last`. Raises EditionTaken when somebody else was quicker."""
    rounds = [
        [(submissions[first], submissions[second]) for first, second in pairs]
        for pairs in round_robin(len(submissions))
    ]
    return tournament_create(
        environment=environment,
        edition=last.edition + 1 if last else 1,
        submissions=submissions,
        rounds=rounds,
        seed=secrets.randbelow(2**31),
    )


def last_edition(environment: Environment) -> Tournament | None:
    return environment.tournaments.order_by("-edition").first()


def entrants(environment: Environment) -> list[Submission]:
    """The latest valid submission of every agent, by agent."""
    latest: dict[int, Submission] = {}
    valid = Submission.objects.valid().filter(agent__environment=environment).select_related("agent")
    for submission in valid.order_by("agent_id", "number"):
        latest[submission.agent_id] = submission
    return list(latest.values())


def are_built_again(missing: set[int], fresh: Sequence[Submission]) -> bool:
    """Whether all that has changed is that submissions are built or validated again, e.g. by an organiser.

    However long that takes, an edition without them, or with older versions in their place, would be news of nothing.
    """
    is_open = Q(builds__state__in=OPEN) | Q(validations__state__in=OPEN)
    again = Submission.objects.filter(is_open, pk__in=missing).distinct()
    numbers = {submission.agent_id: submission.number for submission in again}
    return (
        bool(missing)
        and len(numbers) == len(missing)
        and all(submission.number < numbers.get(submission.agent_id, 0) for submission in fresh)
    )


def is_waiting(environment: Environment, fresh: Sequence[Submission], *, now: datetime) -> bool:
    """Whether the next edition should wait for uploads that are still built or validated, to take part as well.

    Not for ever: neither for an upload that is older than PENDING_WAIT, nor once one of the `fresh` entrants has
    waited that long for the others.
    """
    since = now - PENDING_WAIT
    if Validation.objects.filter(submission__in=fresh, state=JobState.SUCCEEDED, ended_at__lt=since).exists():
        return False
    return any(
        model._default_manager.filter(
            submission__agent__environment=environment, state__in=OPEN, created_at__gt=since
        ).exists()
        for model in (Build, Validation)
    )
