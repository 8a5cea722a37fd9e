"""The lineup of an agent's versions: which plays, which are benched, and the results of their promotions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from django.db.models import Prefetch

from core.lookup import ByKey
from core.models import Agent, Duel, Promotion, PromotionState, Submission


@dataclass(frozen=True, slots=True)
class Lineup:
    """The role of a version within its agent.

    word, tone: of its badge; empty for a version that neither plays nor is benched. plays: for its agent, unless the
    agent is resting. promotion, duel: its last promotion and that promotion's last duel. asks: whether an undecided
    test has left its owner a choice that is still open. can_activate, can_bench: whether its owner may do so.
    """

    word: str = ""
    tone: str = "calm"
    plays: bool = False
    promotion: Promotion | None = None
    duel: Duel | None = None
    asks: bool = False
    can_activate: bool = False
    can_bench: bool = False

    @property
    def is_tested(self) -> bool:
        """Return whether its test is running."""
        return self.promotion is not None and self.promotion.state == PromotionState.TESTING


USABLE = ByKey(
    lambda agent: (
        Submission.objects.validated().filter(agent=agent).order_by("-number").values_list("pk", "number", "is_benched")
    )
)


def lineups_of(agent: Agent, submissions: Sequence[Submission]) -> dict[int, Lineup]:
    """Return the lineups of an agent's versions by key, for an environment of duels. Three queries."""
    rows = USABLE(agent.pk)
    active = [(pk, number) for pk, number, is_benched in rows if not is_benched]
    newest, newest_number = active[0] if active else (None, 0)
    duels = Prefetch("duels", Duel.objects.defer("log", "verification").order_by("number"))
    tests = Promotion.objects.filter(candidate__agent=agent).select_related("candidate", "incumbent")
    promotions = {row.candidate_id: row for row in tests.prefetch_related(duels).order_by("pk")}
    beaten = {row.incumbent_id for row in promotions.values() if row.state == PromotionState.TESTING}
    return {
        row.pk: _lineup(
            row,
            promotions.get(row.pk),
            plays=row.pk == newest and not agent.is_disabled and agent.owner.is_active,
            rests=agent.is_resting,
            is_newer=row.number > newest_number,
            is_usable=any(row.pk == pk for pk, *_ in rows),
            # A version is needed if a test is about it, or if it is the last one that can play.
            is_needed=row.pk in beaten or [row.pk] == [pk for pk, _ in active],
        )
        for row in submissions
    }


def _lineup(
    row: Submission,
    promotion: Promotion | None,
    *,
    plays: bool,
    rests: bool,
    is_newer: bool,
    is_usable: bool,
    is_needed: bool,
) -> Lineup:
    state = None if promotion is None else promotion.state
    is_free = is_usable and state != PromotionState.TESTING
    if state == PromotionState.TESTING:
        word, tone = "Being tested", "busy"
    elif plays:
        word, tone = ("Hidden", "calm") if rests else ("Plays", "good")
    else:
        word, tone = "Benched" if row.is_benched else "", "calm"
    return Lineup(
        word="" if row.deleted_at else word,
        tone=tone,
        plays=plays,
        promotion=promotion,
        duel=None if promotion is None else max(promotion.duels.all(), key=lambda duel: duel.number, default=None),
        asks=is_free and is_newer and state == PromotionState.CHOICE,
        can_activate=is_free and not plays,
        can_bench=is_free and not row.is_benched and not is_needed,
    )
