"""Who takes part no more: agents disabled or quarantined, people banned. It holds at once, also for what waits or runs.

Out of a running edition a submission is withdrawn: its open duels are cancelled, and those it has played count for
nobody's standing there, so that everybody else has met the same opponents. They stay in the ledger and in the
ratings: they were played.
"""

from __future__ import annotations

import logging
from collections.abc import Collection
from contextlib import suppress

from django.conf import settings
from django.core.mail import send_mail
from django.db import transaction
from django.db.models import F, Max, Q, QuerySet
from django.utils import timezone

from core.errors import Refused
from core.models import (
    Agent,
    Duel,
    Evaluation,
    Job,
    JobState,
    LedgerEntry,
    Participant,
    Submission,
    Tournament,
    TournamentState,
    User,
)
from core.queues import TOURNAMENT_TASK, wake
from core.selectors.crashes import crash_streak, crashed_in
from core.selectors.phases import decisive_job
from core.services.agents import PHASES, submission_rebuild
from core.services.evaluations import OPEN, agent_lock, evaluation_again
from core.services.jobs import job_cancel_if_open
from core.services.phases import publication_again

logger = logging.getLogger(__name__)

DISABLED = "Its agent was disabled."
BANNED = "Its owner's account was closed."
WITHDRAWN = "A player was taken out of the edition."


def agent_disable(*, agent: Agent, reason: str) -> None:
    """Take an agent out of everything, also of what waits or runs. Its results stay."""
    with transaction.atomic():
        locked = agent_lock(agent.pk)
        _write(locked, is_disabled=True, disabled_reason=reason[:200], quarantined_at=None, quarantined_number=None)
        _stop([locked], DISABLED)
    agent.refresh_from_db()


def agent_enable(*, agent: Agent) -> None:
    """Let an agent take part again, disabled or quarantined: its crashes are forgiven, what was stopped goes on."""
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
        _go_on([locked], DISABLED)
    agent.refresh_from_db()


def user_ban(*, user: User, reason: str) -> None:
    """Close an account: its sessions end, its tokens are refused, its agents take part in nothing. Raises Refused."""
    with transaction.atomic():
        locked = User.objects.select_for_update(no_key=True).get(pk=user.pk)
        if not locked.is_active:
            raise Refused("The account is closed already.")
        User.objects.filter(pk=user.pk).update(
            is_active=False, ban_reason=reason[:200], session_epoch=F("session_epoch") + 1
        )
        # Nothing new can begin: uploads hold the owner's row.
        working = _agents_with_jobs(locked, state__in=OPEN)
        playing = set(_running(locked.agents.all()).values_list("submission__agent", flat=True))
        _stop([agent_lock(pk) for pk in sorted(working | playing)], BANNED)
    user.refresh_from_db()


def user_unban(*, user: User) -> None:
    """Open an account again: what the ban has stopped goes on, but for duels; sessions stay ended. Raises Refused."""
    with transaction.atomic():
        locked = User.objects.select_for_update(no_key=True).get(pk=user.pk)
        if locked.is_active:
            raise Refused("The account is open.")
        User.objects.filter(pk=user.pk).update(is_active=True, ban_reason="")
        stopped = _agents_with_jobs(locked, state=JobState.CANCELLED, error=BANNED)
        _go_on([agent_lock(pk) for pk in sorted(stopped)], BANNED)
    user.refresh_from_db()


def quarantine_where_due(*, tournament: Tournament) -> list[Agent]:
    """Quarantine whoever has crashed in too many rated duels in a row; return the agents that this call has caught.

    Safe to call at any time, any number of times, by several workers at once: each agent is quarantined once.
    """
    if not settings.QUARANTINE_AFTER:
        return []
    return [row.agent for row in crashed_in(tournament) if _quarantine(row)]


def participants_withdraw_barred(*, tournament: Tournament) -> None:
    """Withdraw from a running edition whoever may not play: also those who were barred while it was being made."""
    barred = Q(submission__agent__is_disabled=True) | Q(submission__agent__owner__is_active=False)
    rows = tournament.participants.filter(barred, withdrawn_at=None)
    if rows.exists():
        with transaction.atomic():
            _withdraw(rows.select_related("tournament"))


def _quarantine(submission: Submission) -> bool:
    most: int = settings.QUARANTINE_AFTER
    with transaction.atomic():
        agent = agent_lock(submission.agent_id)
        submission.agent = agent
        # Again, now that nobody else can change it.
        if agent.is_disabled or crash_streak(submission, most=most) < most:
            return False
        newer = Submission.objects.valid().filter(agent=agent, number__gt=submission.number)
        if newer.exists():
            # The agent has a better one already, which plays from the next edition on.
            _withdraw(_running([agent]).filter(submission=submission))
            return False
        _write(
            agent,
            is_disabled=True,
            disabled_reason=f"Version {submission.number} forfeited every match of {most} rated duels in a row.",
            quarantined_at=timezone.now(),
            quarantined_number=submission.number,
        )
        # Not its builds and validations: a new version is its way out.
        _withdraw(_running([agent]))
        transaction.on_commit(lambda: _tell_owner(agent, submission), robust=True)
    logger.warning("%s of %s is quarantined: %s", agent, agent.environment, agent.disabled_reason)
    return True


def _tell_owner(agent: Agent, submission: Submission) -> None:
    owner = agent.owner
    if owner.is_system or not owner.email:
        return
    send_mail(
        f"{settings.SITE_NAME}: {agent.name} is paused",
        f"Hello {owner.username},\n\n"
        f"{agent.name} in {agent.environment} is paused. {agent.disabled_reason}\n\n"
        "It takes part in no duel until you upload a new version: once that one is validated, the agent is back by "
        f"itself. The duels of version {submission.number} and what it printed are on the agent's page. If you think "
        "that the arena is to blame, tell the organisers: they can let it play again.\n",
        None,
        [owner.email],
    )


def _write(agent: Agent, **fields: object) -> None:
    for name, value in fields.items():
        setattr(agent, name, value)
    agent.save(update_fields=list(fields))


def _agents_with_jobs(owner: User, **condition: object) -> set[int]:
    """Keys of a person's agents with such jobs. The account of anonymous clients has very many agents."""
    found: set[int] = set()
    for kind in PHASES:
        jobs = kind.objects.filter(submission__agent__owner=owner, **condition)
        found |= set(jobs.order_by().values_list("submission__agent", flat=True))
    return found


def _running(agents: Collection[Agent] | QuerySet[Agent]) -> QuerySet[Participant]:
    rows = Participant.objects.filter(submission__agent__in=agents, withdrawn_at=None)
    return rows.filter(tournament__state=TournamentState.RUNNING).select_related("tournament")


def _stop(agents: Collection[Agent], reason: str) -> None:
    """Cancel all work for locked agents: a worker that is at it is refused, and nothing of it is rated."""
    for kind in PHASES:
        jobs = kind.objects.filter(submission__agent__in=agents, state__in=OPEN)
        for job in jobs.order_by("pk"):
            job_cancel_if_open(job=job, reason=reason)
    _withdraw(_running(agents))


def _withdraw(rows: QuerySet[Participant]) -> None:
    """Participants first, then duels, each by key: of two who withdraw opponents at once none waits for the other."""
    duels: dict[int, Duel] = {}
    for row in rows.order_by("pk"):
        Participant.objects.filter(pk=row.pk, withdrawn_at=None).update(withdrawn_at=timezone.now())
        plays = Q(player_1=row.submission_id) | Q(player_2=row.submission_id)
        duels |= Duel.objects.filter(plays, tournament=row.tournament_id, state__in=OPEN).in_bulk()
        # The others' standings change, and it may have been the last that was missing.
        wake("tournament", TOURNAMENT_TASK, row.tournament.environment_id)
    for _, duel in sorted(duels.items()):
        job_cancel_if_open(job=duel, reason=WITHDRAWN)


def _go_on(agents: Collection[Agent], reason: str) -> None:
    """Do again what was cancelled for this reason, of locked agents. Duels stay cancelled: their edition goes on."""
    for submission in Submission.objects.filter(agent__in=agents, deleted_at=None).select_related("agent__environment"):
        job, publication = decisive_job(submission), submission.latest_publication
        # What cannot go on, e.g. for an image that is gone, stays cancelled, as its page says.
        with suppress(Refused):
            if _was_stopped(job, reason) and isinstance(job, Evaluation):
                evaluation_again(submission=submission)
            elif _was_stopped(job, reason):
                submission_rebuild(submission=submission)
        with suppress(Refused):
            if publication is not None and _was_stopped(publication, reason):
                publication_again(publication=publication)


def _was_stopped(job: Job | None, reason: str) -> bool:
    return job is not None and job.state == JobState.CANCELLED and job.error == reason
