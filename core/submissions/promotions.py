"""The promotion gate: a new version plays the active one of its agent under a sequential test before it takes over.

All decisions about an agent's versions are made under the lock of its row. The end of a duel only wakes the function
that decides; if that message is lost, the reaper finds the promotion.
"""

from __future__ import annotations

import logging
import secrets
from dataclasses import dataclass

from django.db import transaction
from django.db.models import Exists, OuterRef, Q, QuerySet
from django.utils import timezone

from arena_kit.ranking.sequential import SequentialState, SequentialTest
from core.duels.services import duel_new, duels_enqueue
from core.duels.stopping import version_test
from core.jobs.apart import apart
from core.jobs.control import job_cancel_if_open
from core.jobs.locks import agent_lock
from core.jobs.messages import TOURNAMENT_TASK, task_request
from core.jobs.states import OPEN
from core.models import (
    Agent,
    Build,
    CancelCode,
    Duel,
    JobState,
    Promotion,
    PromotionState,
    Submission,
    Validation,
)
from core.submissions.notices import promotion_decided

logger = logging.getLogger(__name__)
MOST_DUELS = 3
"""Maximum number of attempts when the arena itself fails; after that the owner decides."""


@dataclass(frozen=True, slots=True)
class _Decision:
    """The outcome of a promotion and its reason; TESTING asks for a first duel, or another after a platform fault."""

    state: PromotionState
    why: str = ""


def promotion_begin(*, agent: Agent, submission: Submission) -> Promotion | None:
    """Bench a version that was just validated and start its test against the agent's active version.

    Call it in the transaction of the validation. agent: the version's, as read under its lock. Returns None when the
    version may play at once: without a gate, without an active version to beat, after a newer version that plays
    anyway, and for a quarantined agent. A version that was validated before keeps its place.
    """
    environment = agent.environment
    validations = submission.validations.filter(state=JobState.SUCCEEDED)
    if not environment.has_gate or environment.seats != 2 or agent.is_quarantined or validations.count() > 1:
        return None
    others = Submission.objects.validated().filter(agent=agent, is_benched=False).exclude(pk=submission.pk)
    incumbent = others.order_by("-number").first()
    if incumbent is None or incumbent.number > submission.number:
        return None
    submission.is_benched = True
    submission.save(update_fields=["is_benched"])
    test = version_test(environment).as_json
    promotion = Promotion.objects.create(candidate=submission, incumbent=incumbent, test=test)
    *outdated, newest = _testing().filter(candidate__agent=agent).order_by("candidate__number")
    for row in outdated:
        _end(row, PromotionState.CANCELLED, f"Version {newest.candidate.number} is tested in its place.")
    # The build of an older version may have taken longer.
    if newest == promotion and not environment.closed_because:
        _play(promotion)
    return promotion


def promotions_decide() -> int:
    """Decide all promotions whose duel is over; return how many. Safe at any time, and for several callers at once."""
    waits_or_runs = Duel.objects.filter(promotion=OuterRef("pk"), state__in=OPEN)
    over = Promotion.objects.filter(~Exists(waits_or_runs), state=PromotionState.TESTING)
    return sum(_decide_apart(number) for number in list(over.values_list("pk", flat=True)))


def _decide_apart(number: int) -> bool:
    """Like `promotion_decide`; an error does not stop the others."""
    with apart(f"Promotion {number}"):
        return promotion_decide(promotion_id=number)
    return False


def promotion_decide(*, promotion_id: int) -> bool:
    """Decide a promotion whose test is over, or repeat a duel that the arena failed; return whether it ended."""
    agents = Promotion.objects.filter(pk=promotion_id).values_list("candidate__agent", flat=True)
    with transaction.atomic():
        agent = agent_lock(agents.get())
        # Read under the lock, so that only one caller decides it.
        promotion = _testing().filter(pk=promotion_id).first()
        return promotion is not None and _follow(promotion, agent)


def promotions_review(*, agent: Agent) -> None:
    """Decide an agent's promotions that are no longer useful, because a version was deleted or the agent disabled.

    Call it in the same transaction, with the agent locked.
    """
    for promotion in _testing().filter(candidate__agent=agent):
        _follow(promotion, agent)


def promotion_stop(*, agent: Agent, why: str) -> None:
    """End the test of a locked agent's newest version, if there is one, because of its owner's choice."""
    for promotion in _testing().filter(candidate__agent=agent):
        _end(promotion, PromotionState.CANCELLED, why)


def promotion_pass(*, agent: Agent, why: str) -> bool:
    """Let a locked agent's version play before the end of its test; return whether there was a test."""
    promotions = list(_testing().filter(candidate__agent=agent))
    for promotion in promotions:
        _end(promotion, PromotionState.ACTIVATED, why)
    return bool(promotions)


def _testing() -> QuerySet[Promotion]:
    related = ("candidate__agent__environment", "incumbent")
    return Promotion.objects.filter(state=PromotionState.TESTING).select_related(*related)


def _play(promotion: Promotion) -> None:
    test = SequentialTest(**promotion.test)
    candidate, incumbent = promotion.candidate, promotion.incumbent
    duels_enqueue(
        duels=[
            duel_new(
                promotion=promotion,
                number=promotion.duels.count() + 1,
                player_1=candidate,
                player_2=incumbent,
                seed=secrets.randbelow(2**31),
                match_count=2 * test.cap,
                reason=f"Version {candidate.number} has to show that it is better than version {incumbent.number}.",
                test=test,
            )
        ]
    )


def _follow(promotion: Promotion, agent: Agent) -> bool:
    verdict = _verdict(promotion, agent)
    if verdict is None:
        return False
    if verdict.state == PromotionState.TESTING:
        _play(promotion)
        return False
    _end(promotion, verdict.state, verdict.why)
    return True


def _verdict(promotion: Promotion, agent: Agent) -> _Decision | None:
    """Return the outcome of a promotion; None while there is something to wait for."""
    candidate, incumbent = promotion.candidate, promotion.incumbent
    if candidate.deleted_at is not None:
        return _Decision(PromotionState.CANCELLED, "It was deleted before its test was over.")
    if agent.is_disabled or not agent.owner.is_active:
        return _Decision(
            PromotionState.CHOICE,
            "Its test was stopped, because the agent may not take part at the moment.",
        )
    if incumbent.deleted_at is not None or incumbent.is_benched:
        return _nobody_to_beat(incumbent)
    duel = promotion.duels.order_by("-number").first()
    if duel is None:
        # Its environment was closed when it was made.
        return None if agent.environment.closed_because else _again(candidate, incumbent)
    if not duel.is_over:
        return None
    if duel.state == JobState.SUCCEEDED:
        return _of_test(duel, candidate, incumbent)
    if duel.state == JobState.CANCELLED:
        return _Decision(PromotionState.CHOICE, f"The organisers have stopped its test. {duel.error}".strip())
    if agent.environment.closed_because:
        return None
    if promotion.duels.count() >= MOST_DUELS:
        return _Decision(
            PromotionState.CHOICE,
            f"The arena could not play its test in {MOST_DUELS} attempts: {duel.error}",
        )
    return _again(candidate, incumbent)


def _of_test(duel: Duel, candidate: Submission, incumbent: Submission) -> _Decision:
    new, old = f"version {candidate.number}", f"version {incumbent.number}"
    found = duel.test_result or {}
    won, lost = duel.player_1_wins + duel.player_2_errors, duel.player_2_wins + duel.player_1_errors
    forfeited = f", {duel.player_1_errors} of them by forfeit" if duel.player_1_errors else ""
    course = f"Of {duel.matches_done} matches it won {won}, drew {duel.draws} and lost {lost}{forfeited}."
    state, says = {
        SequentialState.ACCEPTED_H1: (PromotionState.ACTIVATED, f"It is better than {old} and plays in its place."),
        SequentialState.ACCEPTED_H0: (
            PromotionState.BENCHED,
            f"It did not show that it is better: {old} keeps playing.",
        ),
    }.get(
        found.get("state", ""),
        (
            PromotionState.CHOICE,
            f"The test was undecided: {old} keeps playing unless the owner chooses {new}.",
        ),
    )
    return _Decision(state, f"{says} {course} {found.get('sentence', '')}".strip())


def _nobody_to_beat(incumbent: Submission) -> _Decision:
    return _Decision(
        PromotionState.ACTIVATED,
        f"It plays without a result, because version {incumbent.number}, its opponent in the test, no longer plays.",
    )


def _again(candidate: Submission, incumbent: Submission) -> _Decision | None:
    """Return the outcome after a duel that the arena failed: another duel if both versions can still play."""
    ready = set(Submission.objects.validated().filter(pk__in=(candidate.pk, incumbent.pk)).values_list("pk", flat=True))
    missing = [version for version in (candidate, incumbent) if version.pk not in ready]
    if not missing:
        return _Decision(PromotionState.TESTING)
    being_built = Q(submission__in=missing, state__in=OPEN)
    if Build.objects.filter(being_built).exists() or Validation.objects.filter(being_built).exists():
        return None
    if candidate in missing:
        return _Decision(PromotionState.CANCELLED, "It can no longer play: its last build or validation failed.")
    return _nobody_to_beat(incumbent)


def _end(promotion: Promotion, state: PromotionState, verdict: str) -> None:
    """Store the verdict on a promotion of a locked agent and put it into effect."""
    promotion.state, promotion.verdict, promotion.decided_at = state, verdict, timezone.now()
    promotion.save(update_fields=["state", "verdict", "decided_at"])
    for duel in promotion.duels.filter(state__in=OPEN).order_by("pk"):
        job_cancel_if_open(job=duel, code=CancelCode.TEST_OVER, reason=verdict)
    if state == PromotionState.ACTIVATED:
        Submission.objects.filter(pk=promotion.candidate_id).update(is_benched=False)
        task_request("tournament", TOURNAMENT_TASK, promotion.candidate.agent.environment_id)
    promotion_decided(promotion)
