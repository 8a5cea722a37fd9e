"""Advances tournaments of organisers step by step until they are played to their end.

The rows are the only state: a step reads a history from them, the format makes a plan of it, and the step brings the
rows in line with the plan. A worker may die at any time; see `arena_kit.ranking.formats.contract`.
"""

from __future__ import annotations

import secrets
from datetime import datetime

from django.db import transaction
from django.db.models import F

from arena_kit.ranking.formats import CountedDuel, DuelState, History, Impossible, Plan, format_settings
from arena_kit.ranking.formats.ranking import standings_of
from arena_kit.ranking.standings import duel_results
from core.editions import follow
from core.editions import services as editions
from core.editions.predictions import strengths
from core.editions.results import counted, entries
from core.errors import Refused
from core.models import CancelCode, Duel, JobState, LedgerChange, Tournament, TournamentState
from core.ratings.ledger import ledger_change
from core.tournaments.plan_selectors import DUEL_STATES
from core.tournaments.plans import plan_save
from core.tournaments.registration_selectors import baseline_list
from core.tournaments.rounds import (
    Pairing,
    counting,
    drawn_again_leave,
    duels_cancel,
    duels_draw,
    duels_strike,
    last_round,
    leaving_forget,
    tournament_lock,
    tournament_open,
)
from core.tournaments.rules import format_of
from core.tournaments.scoring import evaluations_draw, scores_of
from core.tournaments.seeding import seeded
from core.tournaments.services import STANDING_FIELDS, standings_save, tournament_finish

STRUCK = "A result that it depended on was struck."
LEFT = "One of the two has left the tournament."


class NotYet(Refused):
    """The planned tournament is not due; an organiser may have put it off a moment ago."""


def history_of(tournament: Tournament) -> History:
    """The history of a tournament, as its format reads it."""
    order = tournament.participants.order_by(F("seeding").asc(nulls_last=True), "pk")
    seeds = list(order.values_list("submission", "is_baseline"))
    leaving = tournament.participants.exclude(withdrawn_at=None).order_by("withdrawn_at", "pk")
    left = {who: number for who, number in leaving.values_list("submission", "left_after") if number is not None}
    columns = ("pk", "round", "player_1", "player_2", "state", "started_at")
    duels = list(counting(tournament).order_by("number").values_list(*columns))
    # Read after the duels: one that has ended in between is still open here, and is read in the next step.
    results = {result.duel: result for result in duel_results(entries(counted(tournament)))}
    records = []
    for key, number, one, other, state, started_at in duels:
        # Only where a player has left, so that a plan that is kept holds when a worker begins any other duel.
        is_begun = started_at is not None and (one in left or other in left)
        record = CountedDuel(key, number, (one, other), DUEL_STATES[JobState(state)], is_begun=is_begun)
        if record.state is DuelState.PLAYED:
            result = results.get(key)
            if result is None:
                # It was struck in between.
                continue
            sides = [result.submissions.index(one), result.submissions.index(other)]
            points, scores = result.points, result.scores
            record = CountedDuel(
                key,
                number,
                (one, other),
                DuelState.PLAYED,
                (points[sides[0]], points[sides[1]]),
                (scores[sides[0]], scores[sides[1]]),
            )
        records.append(record)
    return History(
        participants=tuple(who for who, _ in seeds),
        duels=tuple(records),
        left=left,
        seed=tournament.seed,
        baselines=frozenset(who for who, is_baseline in seeds if is_baseline),
        scores=scores_of(tournament),
    )


def plan_of(tournament: Tournament) -> Plan:
    """The plan that follows from a tournament's history. Raises Impossible."""
    return format_of(tournament).plan(history_of(tournament))


def tournament_begin(tournament: Tournament, *, now: datetime) -> Tournament:
    """Begin a planned tournament with its participants in the order of their seeds, and draw its first round.

    Raises NotYet when it is not due, and Refused when it cannot be played.
    """
    with transaction.atomic():
        locked = tournament_lock(tournament)
        if locked.starts_at is not None and locked.starts_at > now:
            raise NotYet(f"{locked} begins on {locked.moment(locked.starts_at)}; change that, or wait.")
        locked.seed = locked.seed or secrets.randbelow(2**31)
        submissions, baselines = seeded(locked), baseline_list(locked)
        try:
            played = format_of(locked)
            played.check(len(submissions), len(baselines))
        except Impossible as problem:
            raise Refused(str(problem)) from None
        tournament_open(
            tournament=locked,
            submissions=submissions,
            baselines=baselines,
            settings=format_settings(played),
            seed=locked.seed,
            now=now,
        )
    tournament_step(locked, now=now)
    tournament.refresh_from_db()
    return tournament


def tournament_step(tournament: Tournament, *, now: datetime) -> None:
    """Bring a running tournament in line with its plan, and end it when that is finished.

    Safe to call at any time, any number of times, by several workers at once: ending is the last step, and all others
    can be repeated.
    """
    # Computed before the tournament is locked: pairing a large field takes a second, and its result is cached. An agent
    # that crashes in the very last duel has played to the end.
    if not plan_of(tournament).is_finished:
        editions.leave_where_due(tournament)
    if _follow(tournament, ends=False):
        if not tournament.plays_alone:
            editions.ratings_at_end(tournament)
        _follow(tournament, ends=True)
    tournament.refresh_from_db()


def running(environment_id: int) -> list[Tournament]:
    """The running tournaments of an environment that are played by a plan, i.e. those of organisers."""
    rows = Tournament.objects.filter(
        environment=environment_id, state=TournamentState.RUNNING, is_automatic=False
    ).exclude(format="ladder")
    return list(rows.select_related("environment").order_by("pk"))


def outdated_over(environment_id: int) -> list[Tournament]:
    """The finished and cancelled tournaments of organisers in an environment whose tables are out of date."""
    rows = Tournament.objects.filter(
        environment=environment_id,
        ledger_version__gt=F("table_version"),
        state__in=(TournamentState.FINISHED, TournamentState.CANCELLED),
        is_automatic=False,
    )
    return list(rows.select_related("environment").order_by("pk"))


def over_refresh(tournament: Tournament) -> None:
    """Make the table of a tournament that is over anew, locked against further strikes."""
    with transaction.atomic():
        locked = tournament_lock(tournament)
        standings_refresh(locked)


def standings_refresh(tournament: Tournament) -> int:
    """Recompute the table of any tournament, write what has changed, and return in how many rows."""
    if tournament.is_automatic:
        return follow.standings_refresh(tournament)
    if not tournament.participants.exists():
        # The tournament has not begun.
        return 0
    return _write(tournament, plan_of(tournament))


def _follow(tournament: Tournament, *, ends: bool) -> bool:
    """Take one step with the tournament's row locked; return whether it has been played to its end.

    ends: whether to end it in that case.
    """
    with transaction.atomic():
        locked = tournament_lock(tournament)
        if locked.state != TournamentState.RUNNING:
            return False
        plan, struck_count = _taken_back(locked)
        # Duels that cannot be played would be void, and drawn again at every step.
        is_due = bool(plan.play or plan.evaluate)
        shortfall = (locked.paused_because or locked.environment.closed_because) if is_due else ""
        if shortfall != locked.shortfall:
            Tournament.objects.filter(pk=locked.pk).update(shortfall=shortfall[:200])
        play = () if shortfall else plan.play
        known = strengths({player for order in play for player in order.players})
        duels_draw(
            tournament=locked,
            pairings=[
                Pairing(
                    order.round,
                    *order.players,
                    order.seed,
                    2 * order.pairs,
                    known.expected(*order.players),
                    order.encounter,
                )
                for order in play
            ],
        )
        evaluations_draw(tournament=locked, submissions=() if shortfall else plan.evaluate)
        if is_due and not shortfall:
            # Planned again with the duels and evaluations just created.
            plan = plan_of(locked)
        _write(locked, plan)
        if ends and plan.is_finished:
            # Participants taken out after the last duel had nothing left to leave.
            locked.participants.filter(left_after=None).exclude(withdrawn_at=None).update(withdrawn_at=None)
            tournament_finish(tournament=locked)
        if struck_count:
            # Last, because the holder of the ledger must not wait for another row.
            ledger_change(environment_id=locked.environment_id, kind=LedgerChange.Kind.STRIKE, tournament=locked)
        return plan.is_finished


def _taken_back(tournament: Tournament) -> tuple[Plan, int]:
    """The plan after all stale duels have been taken back, and how many of them were struck."""
    struck_count = 0
    played = format_of(tournament)
    leaving = tournament.participants.filter(left_after=None).exclude(withdrawn_at=None)
    while True:
        history = history_of(tournament)
        plan = played.plan(history)
        # A disqualified participant leaves even when all has been played.
        gone = leaving.exclude(disqualified_because="") if plan.is_finished else leaving
        if gone.update(left_after=last_round(tournament)):
            continue
        stale = Duel.objects.in_bulk([duel.key for duel in plan.stale])
        # Open duels of participants who have left are stale because of that, all others because of an earlier strike.
        has_left = {
            duel.key: duel.state is DuelState.OPEN and not set(history.left).isdisjoint(duel.players)
            for duel in plan.stale
        }
        causes = [
            (code, reason, [row for key, row in stale.items() if has_left[key] == left])
            for left, code, reason in (
                (True, CancelCode.PLAYER_LEFT, LEFT),
                (False, CancelCode.RESULT_STRUCK, STRUCK),
            )
        ]
        missed = [
            duels_cancel(duels=[row for row in rows if not row.is_over], code=code, reason=why)
            for code, why, rows in causes
        ]
        if any(missed):
            # A duel has just ended, so its result may stand.
            continue
        for code, why, rows in causes:
            over = [row for row in rows if row.state != JobState.CANCELLED]
            struck_count += duels_strike(duels=over, code=code, reason=why)
        again = [duel.round for duel in plan.stale if not has_left[duel.key]]
        if again and leaving_forget(tournament=tournament, number=min(again)):
            continue
        drawn = {player: order.round for order in plan.play for player in order.players}
        if not drawn or not drawn_again_leave(tournament=tournament, rounds=drawn):
            return plan, struck_count


def _write(tournament: Tournament, plan: Plan) -> int:
    """Store the table and the plan of a tournament; return how many rows of the table have changed."""
    participants = {row.submission_id: row for row in tournament.participants.all()}
    changed = []
    for standing in standings_of(plan, {key for key, row in participants.items() if row.is_baseline}):
        row = participants[standing.submission]
        if any(getattr(row, name) != getattr(standing, name) for name in STANDING_FIELDS):
            for name in STANDING_FIELDS:
                setattr(row, name, getattr(standing, name))
            changed.append(row)
    standings_save(participants=changed)
    plan_save(tournament=tournament, planned=plan)
    Tournament.objects.filter(pk=tournament.pk).update(table_version=F("ledger_version"))
    return len(changed)
