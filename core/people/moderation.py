"""Who takes part no more: agents disabled or quarantined, people banned. It holds at once, also for what waits or runs.

Out of a running edition a submission is withdrawn: its open duels are cancelled, and those it has played count for
nobody's standing there, so that everybody else has met the same opponents. They stay in the ledger and in the
ratings: they were played. In a tournament of organisers what they have played counts as its format says, and an owner
may withdraw, too.
"""

from __future__ import annotations

import logging
from collections.abc import Collection
from contextlib import suppress

from django.conf import settings
from django.db import transaction
from django.db.models import F, Max, Q, QuerySet
from django.utils import timezone

from core.duels.challenges import challenge_duels_cancel, challenged_agents
from core.errors import Refused
from core.evaluations.services import OPEN, agent_lock, evaluation_again
from core.jobs.bells import TOURNAMENT_TASK, wake
from core.jobs.lifecycle import job_cancel_if_open
from core.models import (
    Agent,
    CancelCode,
    Duel,
    Evaluation,
    Job,
    LedgerEntry,
    Participant,
    Promotion,
    PromotionState,
    Submission,
    Tournament,
    TournamentState,
    User,
)
from core.notices.news import agent_quarantined
from core.people.crashes import crash_streak, crashed_in
from core.submissions.phase_selectors import decisive_job
from core.submissions.phases import publication_again
from core.submissions.promotions import promotion_pass, promotions_review
from core.submissions.services import PHASES, submission_rebuild
from core.tournaments.rounds import GONE, last_round

logger = logging.getLogger(__name__)

SAID = {
    CancelCode.AGENT_DISABLED: "Its agent was disabled.",
    CancelCode.OWNER_BANNED: "Its owner's account was closed.",
}
"""What people read of work that is stopped and may go on later."""
BARRED = "One of its players takes part in nothing any more."
PAUSED = "One of its players was paused for crashing."


def agent_disable(*, agent: Agent, reason: str) -> None:
    """Take an agent out of everything, also of what waits or runs. Its results stay."""
    with transaction.atomic():
        locked = agent_lock(agent.pk)
        _write(locked, is_disabled=True, disabled_reason=reason[:200], quarantined_at=None, quarantined_number=None)
        _stop([locked], CancelCode.AGENT_DISABLED)
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
        _go_on([locked], CancelCode.AGENT_DISABLED)
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
        playing |= set(challenged_agents(locked.agents.all()))
        _stop([agent_lock(pk) for pk in sorted(working | playing | _tested(locked))], CancelCode.OWNER_BANNED)
    user.refresh_from_db()


def user_unban(*, user: User) -> None:
    """Open an account again: what the ban has stopped goes on, but for duels; sessions stay ended. Raises Refused."""
    with transaction.atomic():
        locked = User.objects.select_for_update(no_key=True).get(pk=user.pk)
        if locked.is_active:
            raise Refused("The account is open.")
        User.objects.filter(pk=user.pk).update(is_active=True, ban_reason="")
        stopped = _agents_with_jobs(locked, cancel_code=CancelCode.OWNER_BANNED)
        _go_on([agent_lock(pk) for pk in sorted(stopped)], CancelCode.OWNER_BANNED)
    user.refresh_from_db()


def quarantine_where_due(*, tournament: Tournament) -> list[Agent]:
    """Quarantine whoever has crashed in too many duels in a row; return the agents that this call has caught.

    Safe to call at any time, any number of times, by several workers at once: each agent is quarantined once.
    """
    if not settings.QUARANTINE_AFTER:
        return []
    return [row.agent for row in crashed_in(tournament) if _quarantine(row)]


def participants_withdraw_barred(*, tournament: Tournament) -> None:
    """Withdraw from a running edition whoever may not play: also those who were barred while it was being made.

    Who had left after the end of a tournament that goes on once more keeps the place, see `rounds.drawn_again_leave`.
    """
    if tournament.is_automatic:
        # Drawn whole: its players are kept to its end.
        barred = Q(submission__agent__is_disabled=True) | Q(submission__agent__owner__is_active=False)
    else:
        barred = GONE & Q(left_after=None)
    rows = tournament.participants.filter(barred, withdrawn_at=None)
    if rows.exists():
        with transaction.atomic():
            _withdraw(rows.select_related("tournament"))


def participant_withdraw(*, participant: Participant, user: User) -> None:
    """Take one's own agent out of a running tournament of organisers, for good. Raises Refused, saying why not."""
    with transaction.atomic():
        agent = agent_lock(participant.submission.agent_id)
        if agent.owner_id != user.pk:
            raise Refused("Only the owner of an agent may withdraw it.", code="not_yours")
        tournament = Tournament.objects.get(pk=participant.tournament_id)
        if tournament.is_automatic:
            raise Refused("What the arena plays by itself is not withdrawn from.", code="automatic")
        if not _withdraw(_running([agent]).filter(pk=participant.pk), by_owner=True):
            raise Refused(f"{agent} does not take part any more: it has left, or the tournament is over.", code="over")


def _quarantine(submission: Submission) -> bool:
    most: int = settings.QUARANTINE_AFTER
    # Where a ladder goes on for months many have crashed once.
    if crash_streak(submission, most=most) < most:
        return False
    with transaction.atomic():
        agent = agent_lock(submission.agent_id)
        submission.agent = agent
        # Again, now that nobody else can change it.
        if agent.is_disabled or crash_streak(submission, most=most) < most:
            return False
        newer = Submission.objects.valid().filter(agent=agent, number__gt=submission.number, is_benched=False)
        why = f"Version {submission.number}, which it was tested against, crashed in {most} duels in a row."
        if newer.exists() or promotion_pass(agent=agent, why=why):
            # The agent has a better one already, which plays from the next edition on.
            _withdraw(_running([agent]).filter(submission=submission))
            return False
        _write(
            agent,
            is_disabled=True,
            disabled_reason=f"Version {submission.number} forfeited every match of {most} duels in a row.",
            quarantined_at=timezone.now(),
            quarantined_number=submission.number,
        )
        # Not its builds and validations: a new version is its way out. In the order of `_stop`.
        challenge_duels_cancel([agent], code=CancelCode.QUARANTINED, reason=PAUSED)
        _withdraw(_running([agent]))
        agent_quarantined(agent, submission)
    logger.warning("%s of %s is quarantined: %s", agent, agent.environment, agent.disabled_reason)
    return True


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


def _tested(owner: User) -> set[int]:
    promotions = Promotion.objects.filter(candidate__agent__owner=owner, state=PromotionState.TESTING)
    return set(promotions.order_by().values_list("candidate__agent", flat=True))


def _running(agents: Collection[Agent] | QuerySet[Agent]) -> QuerySet[Participant]:
    rows = Participant.objects.filter(submission__agent__in=agents, withdrawn_at=None)
    return (
        rows.filter(tournament__state=TournamentState.RUNNING)
        .select_related("tournament")
        .defer("tournament__standing")
    )


def _stop(agents: Collection[Agent], code: CancelCode) -> None:
    """Cancel all work for locked agents: a worker that is at it is refused, and nothing of it is rated.

    In one order, as `_quarantine`: of tests, of challenges, then of tournaments; else two might wait for each other.
    """
    for kind in PHASES:
        jobs = kind.objects.filter(submission__agent__in=agents, state__in=OPEN)
        for job in jobs.order_by("pk"):
            job_cancel_if_open(job=job, code=code, reason=SAID[code])
    for agent in agents:
        promotions_review(agent=agent)
    challenge_duels_cancel(agents, code=CancelCode.PLAYER_BARRED, reason=BARRED)
    _withdraw(_running(agents))


def _withdraw(rows: QuerySet[Participant], *, by_owner: bool = False) -> int:
    """Withdraw participants and return how many. by_owner: whether they asked for it.

    Participants first, then duels, each by key: of two who withdraw opponents at once none waits for the other.
    """
    duels: dict[int, tuple[Duel, str]] = {}
    count = 0
    for row in rows.order_by("pk"):
        if not row.tournament.is_automatic and not _held(row.tournament):
            # It has ended a moment ago: whoever leaves now keeps the place.
            continue
        count += Participant.objects.filter(pk=row.pk, withdrawn_at=None).update(
            withdrawn_at=timezone.now(), left_after=_left_after(row.tournament)
        )
        plays = Q(player_1=row.submission_id) | Q(player_2=row.submission_id)
        why = _why_left(row.tournament, by_owner=by_owner)
        open_duels = Duel.objects.filter(plays, tournament=row.tournament_id, state__in=OPEN)
        duels |= {duel.pk: (duel, why) for duel in open_duels}
        # The others' standings change, and it may have been the last that was missing.
        wake("tournament", TOURNAMENT_TASK, row.tournament.environment_id)
    for _, (duel, why) in sorted(duels.items()):
        job_cancel_if_open(job=duel, code=CancelCode.PLAYER_LEFT, reason=why)
    return count


def _why_left(tournament: Tournament, *, by_owner: bool) -> str:
    """Why a duel is not played, for people."""
    where = "ladder" if tournament.is_ladder else "edition" if tournament.is_automatic else "tournament"
    return f"A player has withdrawn from the {where}." if by_owner else f"A player was taken out of the {where}."


def _held(tournament: Tournament) -> bool:
    """Hold a tournament's row, as each of its steps does; return whether it still runs."""
    running = Tournament.objects.filter(pk=tournament.pk, state=TournamentState.RUNNING)
    return running.select_for_update(no_key=True).values_list("pk").first() is not None


def _left_after(tournament: Tournament) -> int | None:
    """The round in which somebody leaves a tournament of organisers, before their duels are cancelled.

    None where nothing is open: then the manager, which knows whether it is over, finds it out.
    """
    if tournament.is_automatic or not tournament.duels.filter(state__in=OPEN).exists():
        return None
    return last_round(tournament)


def _go_on(agents: Collection[Agent], code: CancelCode) -> None:
    """Do again what was cancelled with this code, of locked agents. Duels stay cancelled: their edition goes on."""
    submissions = Submission.objects.filter(agent__in=agents, deleted_at=None).select_related("agent__environment")
    # What is evaluated again holds its environment until all is done.
    for submission in submissions.order_by("agent__environment_id", "pk"):
        job, publication = decisive_job(submission), submission.latest_publication
        # What cannot go on, e.g. for an image that is gone, stays cancelled, as its page says.
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
