"""Disables and quarantines agents, and bans people. Each takes effect at once, also on waiting and running work.

A submission is withdrawn from a running edition: its open duels are cancelled, and its played duels no longer count for
standings there, so that all others have met the same opponents. They stay in the ledger and in the ratings. In an
organiser's tournament played duels count as its format says, and owners may withdraw too; a duel that has begun is then
played to its end, or an owner could take back a duel that is being lost.
"""

from __future__ import annotations

import logging
from collections.abc import Collection
from contextlib import suppress

from django.conf import settings
from django.db import transaction
from django.db.models import F, Max, Q, QuerySet
from django.utils import timezone

from core.duels.challenges import unrated_agents, unrated_duels_cancel
from core.errors import Refused
from core.evaluations.services import agent_lock, evaluation_again
from core.jobs.apart import apart
from core.jobs.control import job_cancel, job_cancel_if_open
from core.jobs.phase_selectors import decisive_job
from core.jobs.states import OPEN, StaleJob
from core.models import (
    Agent,
    CancelCode,
    Duel,
    Evaluation,
    Job,
    JobState,
    LedgerChange,
    LedgerEntry,
    Participant,
    Promotion,
    PromotionState,
    Submission,
    Tournament,
    TournamentState,
    User,
)
from core.moderation.crashes import crash_streak, crashed_in
from core.ratings.ledger import ledger_change
from core.submissions.news import agent_quarantined
from core.submissions.phases import publication_again
from core.submissions.promotions import promotion_pass, promotions_review
from core.submissions.services import PHASES, submission_rebuild
from core.tournaments.rounds import GONE, last_round

logger = logging.getLogger(__name__)

SAID = {
    CancelCode.AGENT_DISABLED: "Its agent was disabled.",
    CancelCode.OWNER_BANNED: "Its owner's account was closed.",
}
"""Shown with work that was stopped and may continue later."""
BARRED = "One of its players may no longer take part."
PAUSED = "One of its players was paused for crashing."


def agent_disable(*, agent: Agent, reason: str) -> None:
    """Take an agent out of everything, including waiting and running work. Its results stay."""
    with transaction.atomic():
        locked = agent_lock(agent.pk)
        _write(locked, is_disabled=True, disabled_reason=reason[:200], quarantined_at=None, quarantined_number=None)
        _stop([locked], CancelCode.AGENT_DISABLED)
    agent.refresh_from_db()


def agent_enable(*, agent: Agent) -> None:
    """Let a disabled or quarantined agent take part again: its crashes are forgiven, and stopped work continues."""
    with transaction.atomic():
        locked = agent_lock(agent.pk)
        last = LedgerEntry.objects.filter(submission__agent=locked).aggregate(last=Max("pk"))["last"]
        _write(
            locked,
            is_disabled=False,
            disabled_reason="",
            quarantined_at=None,
            quarantined_number=None,
            forgiven_entry=last or 0,
        )
        _go_on([locked], CancelCode.AGENT_DISABLED)
    agent.refresh_from_db()


def user_ban(*, user: User, reason: str) -> None:
    """Close an account: its sessions end, its tokens are refused, its agents no longer take part. Raises Refused."""
    with transaction.atomic():
        locked = User.objects.select_for_update(no_key=True).get(pk=user.pk)
        if not locked.is_active:
            raise Refused("The account is already closed.")
        User.objects.filter(pk=user.pk).update(
            is_active=False, ban_reason=reason[:200], session_epoch=F("session_epoch") + 1
        )
        # Nothing new can begin, because uploads lock the owner's row.
        working = _agents_with_jobs(locked, state__in=OPEN)
        playing = set(_running(locked.agents.all()).values_list("submission__agent", flat=True))
        playing |= set(unrated_agents(locked.agents.all()))
        _stop([agent_lock(pk) for pk in sorted(working | playing | _tested(locked))], CancelCode.OWNER_BANNED)
    user.refresh_from_db()


def user_unban(*, user: User) -> None:
    """Open an account again: stopped work continues, except duels; sessions stay ended. Raises Refused."""
    with transaction.atomic():
        locked = User.objects.select_for_update(no_key=True).get(pk=user.pk)
        if locked.is_active:
            raise Refused("The account is not closed.")
        User.objects.filter(pk=user.pk).update(is_active=True, ban_reason="")
        stopped = _agents_with_jobs(locked, cancel_code=CancelCode.OWNER_BANNED)
        _go_on([agent_lock(pk) for pk in sorted(stopped)], CancelCode.OWNER_BANNED)
    user.refresh_from_db()


def quarantine_where_due(*, tournament: Tournament) -> list[Agent]:
    """Quarantine the agents that have crashed in too many duels in a row; return those that this call quarantined.

    Safe to call at any time and by several workers at once: each agent is quarantined once.
    """
    if not settings.QUARANTINE_AFTER:
        return []
    found = []
    for row in crashed_in(tournament):
        with apart(row):
            if _quarantine(row):
                found.append(row.agent)
    return found


def participants_withdraw_barred(*, tournament: Tournament) -> None:
    """Withdraw barred participants from a running edition, even those who were barred while it was being made.

    Those who left after the end of a tournament that continues keep their places, see `rounds.drawn_again_leave`.
    """
    if tournament.is_automatic:
        # Its duels are drawn all at once, so its players stay to the end.
        barred = Q(submission__agent__is_disabled=True) | Q(submission__agent__owner__is_active=False)
    else:
        barred = GONE & Q(left_after=None)
    rows = tournament.participants.filter(barred, withdrawn_at=None)
    for number in list(rows.order_by("pk").values_list("pk", flat=True)):
        with apart(f"Participant {number}"), transaction.atomic():
            _withdraw(rows.filter(pk=number).select_related("tournament", "submission__agent__owner"))


def participant_withdraw(*, participant: Participant, user: User) -> None:
    """Take a person's agent out of an organiser's running tournament for good. Raises Refused with the reason."""
    with transaction.atomic():
        agent = agent_lock(participant.submission.agent_id)
        if agent.owner_id != user.pk:
            raise Refused("Only the owner of an agent may withdraw it.", code="not_yours")
        tournament = Tournament.objects.get(pk=participant.tournament_id)
        if tournament.is_automatic:
            raise Refused("Agents cannot be withdrawn from automatic tournaments.", code="automatic")
        if not _withdraw(_running([agent]).filter(pk=participant.pk), by_owner=True):
            raise Refused(f"{agent} no longer takes part: it has left, or the tournament is over.", code="over")


def _quarantine(submission: Submission) -> bool:
    most: int = settings.QUARANTINE_AFTER
    # Checked first without a lock: in a long ladder many agents have crashed once.
    if crash_streak(submission, most=most) < most:
        return False
    with transaction.atomic():
        agent = agent_lock(submission.agent_id)
        submission.agent = agent
        # Checked again under the lock.
        if agent.is_disabled or crash_streak(submission, most=most) < most:
            return False
        newer = Submission.objects.valid().filter(agent=agent, number__gt=submission.number, is_benched=False)
        why = f"Version {submission.number}, which it was tested against, crashed in {most} duels in a row."
        if newer.exists() or promotion_pass(agent=agent, why=why):
            # The agent has a better version, which plays from the next edition on.
            _withdraw(_running([agent]).filter(submission=submission))
            return False
        _write(
            agent,
            is_disabled=True,
            disabled_reason=f"Version {submission.number} forfeited every match of {most} duels in a row.",
            quarantined_at=timezone.now(),
            quarantined_number=submission.number,
        )
        # Builds and validations continue, because a new version ends the quarantine. In the order of `_stop`.
        unrated_duels_cancel([agent], code=CancelCode.QUARANTINED, reason=PAUSED)
        _withdraw(_running([agent]))
        agent_quarantined(agent, submission)
    logger.warning("%s of %s is quarantined: %s", agent, agent.environment, agent.disabled_reason)
    return True


def _write(agent: Agent, **fields: object) -> None:
    for name, value in fields.items():
        setattr(agent, name, value)
    agent.save(update_fields=list(fields))


def _agents_with_jobs(owner: User, **condition: object) -> set[int]:
    """Return the keys of a person's agents with such jobs. The account of anonymous clients has very many agents."""
    found: set[int] = set()
    for kind in PHASES:
        jobs = kind.objects.filter(submission__agent__owner=owner, **condition)
        found |= set(jobs.order_by().values_list("submission__agent", flat=True))
    return found


def _tested(owner: User) -> set[int]:
    promotions = Promotion.objects.filter(candidate__agent__owner=owner, state=PromotionState.TESTING)
    return set(promotions.order_by().values_list("candidate__agent", flat=True))


def _running(agents: Collection[Agent] | QuerySet[Agent]) -> QuerySet[Participant]:
    rows = Participant.objects.filter(submission__agent__in=agents, withdrawn_at=None)
    return rows.filter(tournament__state=TournamentState.RUNNING).select_related(
        "tournament", "submission__agent__owner"
    )


def _stop(agents: Collection[Agent], code: CancelCode) -> None:
    """Cancel all work for locked agents: results of running jobs are refused, and nothing of it is rated.

    The order is the same as in `_quarantine`, so that two transactions never wait for each other: tests, challenges,
    then tournaments.
    """
    for kind in PHASES:
        jobs = kind.objects.filter(submission__agent__in=agents, state__in=OPEN)
        for job in jobs.order_by("pk"):
            job_cancel_if_open(job=job, code=code, reason=SAID[code])
    for agent in agents:
        promotions_review(agent=agent)
    unrated_duels_cancel(agents, code=CancelCode.PLAYER_BARRED, reason=BARRED)
    _withdraw(_running(agents))


def _withdraw(rows: QuerySet[Participant], *, by_owner: bool = False) -> int:
    """Withdraw participants and return how many. by_owner: whether the owner asked for it.

    Their duels that have not begun are cancelled. In an organiser's tournament those that have begun go on, unless an
    organiser has barred the agent or its owner.
    Participants come before duels, each by key, so that two withdrawals of opponents never wait for each other.
    """
    duels: dict[int, tuple[Duel, str, bool]] = {}
    left: dict[int, Tournament] = {}
    count = 0
    for row in rows.order_by("pk"):
        if not row.tournament.is_automatic and not _held(row.tournament):
            # It has just ended, and its participants keep their places.
            continue
        count += Participant.objects.filter(pk=row.pk, withdrawn_at=None).update(
            withdrawn_at=timezone.now(), left_after=_left_after(row.tournament)
        )
        plays = Q(player_1=row.submission_id) | Q(player_2=row.submission_id)
        why = _why_left(row.tournament, by_owner=by_owner)
        open_duels = Duel.objects.filter(plays, tournament=row.tournament_id, state__in=OPEN)
        goes_on = not row.tournament.is_automatic and not _is_barred(row.submission.agent)
        if goes_on:
            open_duels = open_duels.filter(state=JobState.QUEUED, started_at=None)
        duels |= {duel.pk: (duel, why, goes_on) for duel in open_duels}
        left[row.tournament_id] = row.tournament
    for _, (duel, why, goes_on) in sorted(duels.items()):
        if not goes_on:
            job_cancel_if_open(job=duel, code=CancelCode.PLAYER_LEFT, reason=why)
            continue
        # A worker may have begun it a moment ago.
        with suppress(StaleJob):
            job_cancel(job=duel, code=CancelCode.PLAYER_LEFT, reason=why)
    # The others' standings change, and this may have been the last open duel. The ledger comes after the duels,
    # because a worker that finishes a duel locks the duel while it waits for the ledger.
    for tournament in sorted(left.values(), key=lambda row: (row.environment_id, row.pk)):
        ledger_change(
            environment_id=tournament.environment_id, kind=LedgerChange.Kind.WITHDRAWAL, tournament=tournament
        )
    return count


def _is_barred(agent: Agent) -> bool:
    return agent.is_disabled or not agent.owner.is_active


def _why_left(tournament: Tournament, *, by_owner: bool) -> str:
    """Return why a duel is not played, for people."""
    where = "ladder" if tournament.is_ladder else "edition" if tournament.is_automatic else "tournament"
    return f"A player has withdrawn from the {where}." if by_owner else f"A player was taken out of the {where}."


def _held(tournament: Tournament) -> bool:
    """Lock a tournament's row, as each of its steps does; return whether it still runs."""
    running = Tournament.objects.filter(pk=tournament.pk, state=TournamentState.RUNNING)
    return running.select_for_update(no_key=True).values_list("pk").first() is not None


def _left_after(tournament: Tournament) -> int | None:
    """Return the round in which a participant leaves an organiser's tournament, before its duels are cancelled.

    None when no duel is open: then the tournament manager determines it, because it knows whether the tournament is
    over.
    """
    if tournament.is_automatic or not tournament.duels.filter(state__in=OPEN).exists():
        return None
    return last_round(tournament)


def _go_on(agents: Collection[Agent], code: CancelCode) -> None:
    """Repeat the work of locked agents that was cancelled with this code. Duels stay cancelled."""
    submissions = Submission.objects.filter(agent__in=agents, deleted_at=None).select_related("agent__environment")
    # Ordered by environment, because an evaluation locks its environment until the transaction ends.
    for submission in submissions.order_by("agent__environment_id", "pk"):
        job, publication = decisive_job(submission), submission.latest_publication
        # Work that cannot continue, e.g. without its image, stays cancelled, as its page says.
        with suppress(Refused):
            if _was_stopped(job, code) and isinstance(job, Evaluation):
                evaluation_again(submission=submission)
            elif _was_stopped(job, code):
                submission_rebuild(submission=submission)
        with suppress(Refused):
            if publication is not None and _was_stopped(publication, code):
                publication_again(publication=publication)


def _was_stopped(job: Job | None, code: CancelCode) -> bool:
    return job is not None and job.cancel_code == code
