"""The texts of notices about versions and agents. Call each in the transaction in which its event happens."""

from __future__ import annotations

from core.links import agent_address
from core.models import (
    Agent,
    Build,
    Evaluation,
    Job,
    JobFault,
    NoticeKind,
    Promotion,
    PromotionState,
    Submission,
    TournamentState,
    Validation,
)
from core.notices.services import listed, notify
from core.submissions.visibility import error_shown


def version_validated(submission: Submission, promotion: Promotion | None = None) -> None:
    """Tell the owner that a version is validated, and what comes next. promotion: the test that was started for it."""
    agent = submission.agent
    if agent.environment.is_scored:
        next_step = "It is being evaluated now."
    elif promotion is not None:
        next_step = f"It is first tested against version {promotion.incumbent.number}."
    elif submission.is_benched:
        next_step = "It does not play because it is benched."
    else:
        next_step = "It may play from now on."
    notify(
        user=agent.owner,
        kind=NoticeKind.VALIDATED,
        title=f"{submission} is validated",
        text=f"Version {submission.number} of {agent} in {agent.environment} is built and validated. {next_step}",
        address=agent_address(agent),
    )


def version_failed(job: Job) -> None:
    """Tell the owner why a build, validation or evaluation failed; other jobs and trials cause no notice."""
    match job:
        case Build():
            what = "could not be built"
        case Validation():
            what = "did not pass its validation"
        case Evaluation():
            what = "could not be evaluated"
        case _:
            return
    submission = job.submission
    if submission.is_trial:
        return
    agent = submission.agent
    hint = (
        "The fault is the arena's, not your version's, and its organisers can see why. It does not count as an upload."
        if job.fault == JobFault.PLATFORM
        else "Its log is on the agent's page. Upload a new version once you have found the cause."
    )
    cups = [str(row.tournament) for row in agent.registrations.filter(tournament__state=TournamentState.PLANNED)]
    if cups and not Submission.objects.active().filter(agent=agent).exists():
        hint += f"\n\n{agent} is registered for {listed(cups)}, and has no version that can take part."
    # An error of a player may reveal hidden seeds, so even the owner sees only what `error_shown` allows.
    why = error_shown(job, agent.owner, can_see_source=True)
    notify(
        user=agent.owner,
        kind=NoticeKind.VALIDATION,
        title=f"{submission} {what}",
        text=f"Version {submission.number} of {agent} in {agent.environment} {what}.\n\n{why}\n\n{hint}",
        address=agent_address(agent),
    )


def agent_quarantined(agent: Agent, submission: Submission) -> None:
    """Tell the owner that the arena has paused an agent."""
    notify(
        user=agent.owner,
        kind=NoticeKind.QUARANTINE,
        title=f"{agent.name} is paused",
        text=f"{agent.name} in {agent.environment} is paused. {agent.disabled_reason}\n\n"
        "It does not play until you upload a new version; once that version is validated, the agent plays again "
        f"automatically. Its page has the duels of version {submission.number} and their output. If you think that "
        "the arena is at fault, tell the organisers: they can let it play again.",
        address=agent_address(agent),
    )


def agent_renamed(agent: Agent, before: str) -> None:
    """Tell the owner that an organiser has renamed an agent. before: its name until now."""
    notify(
        user=agent.owner,
        # As all that organisers do to an account and its things.
        kind=NoticeKind.ACCESS,
        title=f"{before} is now called {agent.name}",
        text=f"An organiser has renamed your agent {before} in {agent.environment}: it is now called {agent.name}, and "
        "has another address. Ask them if you wonder why.",
        address=agent_address(agent),
    )


def promotion_decided(promotion: Promotion) -> None:
    """Tell the owner the result of a version's test; a cancelled test causes no notice."""
    if promotion.state in (PromotionState.TESTING, PromotionState.CANCELLED):
        return
    agent = promotion.candidate.agent
    notify(
        user=agent.owner,
        kind=NoticeKind.PROMOTION_DECIDED,
        title=f"{promotion.candidate} is {promotion.get_state_display()}",
        text=promotion.verdict,
        address=agent_address(agent),
    )
