"""Disables and quarantines agents, and bans people. Each takes effect at once, also on waiting and running work.

A submission is withdrawn from a running edition: its open duels are cancelled, and its played duels no longer count for
standings there, so that all others have met the same opponents. They stay in the ledger and in the ratings. In an
organiser's tournament played duels count as its format decides, and owners may withdraw too; a duel that has begun is
then played to its end, or an owner could take back a duel that is being lost.
"""

from __future__ import annotations

import logging
from collections.abc import Collection
from contextlib import suppress

from django.conf import settings
from django.db import transaction
from django.db.models import Max
from django.utils import timezone

from core.duels.challenges import unrated_agents, unrated_duels_cancel
from core.errors import Refused
from core.evaluations.services import evaluation_again
from core.jobs.apart import apart
from core.jobs.control import job_cancel_if_open
from core.jobs.locks import agent_lock
from core.jobs.phase_selectors import decisive_job
from core.jobs.states import OPEN
from core.models import (
    Agent,
    CancelCode,
    Evaluation,
    Job,
    LedgerEntry,
    LetterKind,
    Promotion,
    PromotionState,
    Rollout,
    Submission,
    Tournament,
    User,
)
from core.moderation.crashes import crash_streak, crashed_in
from core.moderation.withdrawals import participants_withdraw, playing_rows
from core.notices.letters import letter_write
from core.people.access import BY_ORGANISER, access_changed, access_end, access_told
from core.ratings.services import rank_give_up
from core.submissions.existing import WORK, submission_rebuild
from core.submissions.notices import agent_quarantined
from core.submissions.promotions import promotion_pass, promotions_review
from core.submissions.publishing import publication_again, repository_review

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
    """Close an account: sessions end, tokens are revoked, its agents no longer take part. Raises Refused."""
    with transaction.atomic():
        locked = User.objects.select_for_update(no_key=True).get(pk=user.pk)
        if not locked.is_active:
            raise Refused("The account is already closed.")
        if user.email_confirmed_at is not None:
            letter_write(kind=LetterKind.CLOSED, email=user.email)
        if user.is_team:
            # While it is open, or its people would not be told. They read no reason when they log in.
            access_told(
                user=user, title=f"Your team {user} was closed", text=f"Reason: {reason.rstrip('.')}. {BY_ORGANISER}"
            )
        access_end(user=user)
        User.objects.filter(pk=user.pk).update(is_active=False, ban_reason=reason[:200])
        # Nothing new can begin, because uploads lock the owner's row.
        working = _agents_with_jobs(locked, state__in=OPEN)
        playing = set(playing_rows(locked.agents.all()).values_list("submission__agent", flat=True))
        playing |= set(unrated_agents(locked.agents.all()))
        _stop([agent_lock(pk) for pk in sorted(working | playing | _tested(locked))], CancelCode.OWNER_BANNED)
        for rollout in Rollout.objects.filter(batch__owner=locked, state__in=OPEN).order_by("pk"):
            job_cancel_if_open(job=rollout, code=CancelCode.OWNER_BANNED, reason=SAID[CancelCode.OWNER_BANNED])
        for sitting in locked.sittings.filter(state__in=OPEN).order_by("pk"):
            job_cancel_if_open(job=sitting, code=CancelCode.OWNER_BANNED, reason=SAID[CancelCode.OWNER_BANNED])
        repository_review()
    user.refresh_from_db()


def user_unban(*, user: User) -> None:
    """Open an account again, without sessions and tokens: stopped work continues, except duels. Raises Refused."""
    with transaction.atomic():
        locked = User.objects.select_for_update(no_key=True).get(pk=user.pk)
        if locked.is_active:
            raise Refused("The account is not closed.")
        if locked.is_deleted:
            raise Refused("Its owner has deleted this account, so it cannot be opened again.")
        User.objects.filter(pk=user.pk).update(is_active=True, ban_reason="")
        user.refresh_from_db()
        what = f"your team {user}" if user.is_team else "your account"
        access_changed(user=user, title=f"The organisers opened {what} again")
        stopped = _agents_with_jobs(locked, cancel_code=CancelCode.OWNER_BANNED)
        _go_on([agent_lock(pk) for pk in sorted(stopped)], CancelCode.OWNER_BANNED)
        repository_review()
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
            participants_withdraw(playing_rows([agent]).filter(submission=submission))
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
        participants_withdraw(playing_rows([agent]))
        agent_quarantined(agent, submission)
    logger.warning("%s of %s is quarantined: %s", agent, agent.environment, agent.disabled_reason)
    return True


def _write(agent: Agent, **fields: object) -> None:
    for name, value in fields.items():
        setattr(agent, name, value)
    agent.save(update_fields=list(fields))
    if agent.is_disabled:
        rank_give_up(agent=agent)


def _agents_with_jobs(owner: User, **condition: object) -> set[int]:
    """Return the keys of a person's agents with such jobs. The account of anonymous clients has very many agents."""
    found: set[int] = set()
    for kind in WORK:
        jobs = kind._base_manager.filter(submission__agent__owner=owner, **condition)
        found |= set(jobs.order_by().values_list("submission__agent", flat=True))
    return found


def _tested(owner: User) -> set[int]:
    promotions = Promotion.objects.filter(candidate__agent__owner=owner, state=PromotionState.TESTING)
    return set(promotions.order_by().values_list("candidate__agent", flat=True))


def _stop(agents: Collection[Agent], code: CancelCode) -> None:
    """Cancel all work for locked agents: results of running jobs are refused, and nothing of it is rated.

    The order is the same as in `_quarantine`, so that two transactions never wait for each other: tests, challenges,
    then tournaments.
    """
    for kind in WORK:
        jobs = kind._base_manager.filter(submission__agent__in=agents, state__in=OPEN)
        for job in jobs.order_by("pk"):
            job_cancel_if_open(job=job, code=code, reason=SAID[code])
    for agent in agents:
        promotions_review(agent=agent)
    unrated_duels_cancel(agents, code=CancelCode.PLAYER_BARRED, reason=BARRED)
    participants_withdraw(playing_rows(agents))


def _go_on(agents: Collection[Agent], code: CancelCode) -> None:
    """Repeat the work of locked agents that was cancelled with this code. Duels stay cancelled."""
    submissions = Submission.objects.filter(agent__in=agents, deleted_at=None).select_related("agent__environment")
    # Ordered by environment, because an evaluation locks its environment until the transaction ends.
    for submission in submissions.order_by("agent__environment_id", "pk"):
        job, publication = decisive_job(submission), submission.latest_publication
        # Work that cannot continue, e.g. without its image, stays cancelled, as its page shows.
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
