"""Creates and ends tournaments."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from django.db import IntegrityError, transaction
from django.db.models.functions import Now

from arena_kit.ranking.formats.ranking import SCORE_FIGURES
from core.duels.pausing import jobs_pause, paused_go_on
from core.duels.seeds import duel_seed
from core.duels.services import BATCH_SIZE, duels_enqueue
from core.duels.stopping import duel_test
from core.errors import Refused
from core.evaluations.seeds import seeds_of_tournament_reveal
from core.jobs.control import job_cancel_if_open
from core.jobs.messages import TOURNAMENT_TASK, task_request
from core.jobs.states import OPEN
from core.models import (
    CHOSEN,
    LADDER,
    CancelCode,
    Duel,
    Environment,
    Evaluation,
    LedgerChange,
    Participant,
    Play,
    Submission,
    Tournament,
    TournamentState,
)
from core.notices.alarms import alarm_settle
from core.ratings.ledger import ledger_change
from core.ratings.notices import tournament_rated
from core.ratings.participants import participants_write
from core.tournaments.notices import tournament_called_off, tournament_ended, tournament_started
from core.tournaments.scoring import evaluations_cancel, evaluations_lock

Rounds = Sequence[Sequence[tuple[Submission, Submission]]]
STANDING_FIELDS = ("rank", "points", "wins", "draws", "losses", "total_score", *SCORE_FIGURES)


class EditionTaken(Exception):
    """This edition exists already, or an earlier one still runs."""


def tournament_create(
    *,
    environment: Environment,
    edition: int,
    submissions: Sequence[Submission],
    rounds: Rounds,
    seed: int,
    expected: Mapping[tuple[int, int], float] | None = None,
) -> Tournament:
    """Start an edition: tournament, participants and all duels in one transaction.

    edition: one more than the last one that the caller has seen; of two callers that saw the same, one is refused.
    seed: of the edition; duel number n plays with seed + n, and where duels share openings all play with one seed, see
    `duel_seed`. expected: predicted share of the matches of player_1, 0 to 1, by the ids of player_1 and player_2, as
    far as known. Raises EditionTaken; then nothing is written.
    """
    test = duel_test(environment=environment, match_count=environment.matches_per_duel)
    known = expected or {}
    with transaction.atomic():
        tournament = _automatic(environment, edition, seed=seed)
        Participant.objects.bulk_create(
            [Participant(tournament=tournament, submission=submission) for submission in submissions],
            batch_size=BATCH_SIZE,
        )
        pairs = [(number, *pair) for number, round_pairs in enumerate(rounds, start=1) for pair in round_pairs]
        duels_enqueue(
            duels=[
                Duel(
                    tournament=tournament,
                    number=number,
                    round=round_number,
                    player_1=player_1,
                    player_2=player_2,
                    environment_version=environment.spec_id,
                    seed=duel_seed(
                        environment_version=environment.spec_id, tournament_seed=seed, own=seed + number, encounter=0
                    ),
                    match_count=environment.matches_per_duel,
                    test=None if test is None else test.as_json,
                    expected=known.get((player_1.pk, player_2.pk)),
                )
                for number, (round_number, player_1, player_2) in enumerate(pairs, start=1)
            ],
        )
        tournament_started(tournament)
    return tournament


def ladder_create(*, environment: Environment, edition: int, seed: int, settings: Mapping[str, object]) -> Tournament:
    """Start a ladder without participants, which join later. settings: plain values. Raises EditionTaken."""
    return _automatic(environment, edition, seed=seed, format=LADDER, settings=dict(settings))


def chosen_create(
    *,
    environment: Environment,
    edition: int,
    seed: int,
    settings: Mapping[str, object],
    submissions: Sequence[Submission],
) -> Tournament:
    """Start an edition of chosen pairs with its first participants; opponents join as they are chosen.

    Raises EditionTaken.
    """
    with transaction.atomic():
        tournament = _automatic(environment, edition, seed=seed, format=CHOSEN, settings=dict(settings))
        participants_add(tournament=tournament, submissions=submissions)
        tournament_started(tournament)
    return tournament


def participants_add(*, tournament: Tournament, submissions: Sequence[Submission]) -> None:
    """Add participants, ranked below all others until the table is made again."""
    below = tournament.participants.count() + 1
    rows = [Participant(tournament=tournament, submission=row, rank=below) for row in submissions]
    Participant.objects.bulk_create(rows, batch_size=BATCH_SIZE)


def asked_key(environment: Environment) -> str:
    """Return the key of the alarm about an edition that was asked for and has not begun."""
    return f"edition-of-{environment.slug}"


def _automatic(environment: Environment, edition: int, **fields: object) -> Tournament:
    try:
        with transaction.atomic():
            # Whichever begins is the one that an organiser has asked for.
            Environment.objects.filter(pk=environment.pk).update(start_asked_at=None)
            alarm_settle(key=asked_key(environment))
            return Tournament.objects.create(environment=environment, edition=edition, **fields)
    except IntegrityError:
        raise EditionTaken(f"{environment} edition {edition}, or an earlier one exists already.") from None


def standings_save(*, participants: Sequence[Participant]) -> None:
    """Write the figures of participants, as computed from the ledger."""
    participants_write(participants=participants, fields=STANDING_FIELDS)


def tournament_finish(*, tournament: Tournament) -> bool:
    """End a running tournament and notify its participants; return whether this call has ended it."""
    with transaction.atomic():
        is_ended = _end(tournament, TournamentState.FINISHED, TournamentState.RUNNING)
        if is_ended:
            tournament.refresh_from_db(fields=["state", "ended_at"])
            seeds_of_tournament_reveal(tournament)
            tournament_ended(tournament)
            tournament_rated(tournament)
    return is_ended


def tournament_cancel(*, tournament: Tournament, reason: str) -> None:
    """Cancel a running or planned tournament: results stay in the ledger, open duels are cancelled.

    After a cancelled ladder no other begins until an organiser asks for one.
    """
    with transaction.atomic():
        evaluations_lock(tournament)
        if not _end(
            tournament, TournamentState.CANCELLED, TournamentState.PLANNED, TournamentState.RUNNING, why=reason
        ):
            return
        if tournament.is_ladder:
            ladder_stop(environment=tournament.environment)
        open_duels_cancel(tournament=tournament, reason=reason)
        own = Evaluation.every.filter(tournament=tournament)
        evaluations_cancel(own, code=CancelCode.TOURNAMENT_OVER, reason=reason)
        tournament.refresh_from_db(fields=["ended_at"])
        seeds_of_tournament_reveal(tournament)
        tournament_called_off(tournament, reason)
        # A result may have come in since the last step.
        ledger_change(environment_id=tournament.environment_id, kind=LedgerChange.Kind.CANCEL, tournament=tournament)


def tournament_pause(*, tournament: Tournament) -> None:
    """Let no further duel or evaluation of a running tournament of organisers begin. Raises Refused."""
    running = Tournament.objects.filter(pk=tournament.pk, state=TournamentState.RUNNING, is_automatic=False)
    with transaction.atomic():
        evaluations_lock(tournament)
        if not running.filter(paused_at=None).update(paused_at=Now()):
            raise Refused("It is not running, or is paused already.")
        tournament.refresh_from_db()
        for jobs in (tournament.duels.all(), Evaluation.every.filter(tournament=tournament)):
            jobs_pause(jobs, because=tournament.paused_because)


def tournament_go_on(*, tournament: Tournament) -> None:
    """Let a paused tournament go on. Raises Refused."""
    with transaction.atomic():
        evaluations_lock(tournament)
        if not Tournament.objects.filter(pk=tournament.pk).exclude(paused_at=None).update(paused_at=None):
            raise Refused("It is not paused.")
        for jobs in (tournament.duels.all(), Evaluation.every.filter(tournament=tournament)):
            paused_go_on(jobs)
        task_request("tournament", TOURNAMENT_TASK, tournament.environment_id)


def ladder_stop(*, environment: Environment) -> None:
    """Let an environment that plays a ladder play nothing; a running ladder then ends with its table."""
    Environment.objects.filter(pk=environment.pk, play=Play.LADDER).update(play=Play.NOTHING)
    task_request("tournament", TOURNAMENT_TASK, environment.pk)


def open_duels_cancel(*, tournament: Tournament, reason: str) -> None:
    """Cancel all open duels of a tournament."""
    for duel in tournament.duels.filter(state__in=OPEN).order_by("pk"):
        job_cancel_if_open(job=duel, code=CancelCode.TOURNAMENT_OVER, reason=reason)


def _end(tournament: Tournament, state: TournamentState, *of: TournamentState, why: str = "") -> bool:
    rows = Tournament.objects.filter(pk=tournament.pk, state__in=of)
    return bool(rows.update(state=state, ended_at=Now(), paused_at=None, cancel_reason=why[:200]))
