"""Tournaments of agents that play alone, at which several people and workers act at the same moment."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest

from core.editions.disqualifying import participant_disqualify
from core.editions.progress import tournament_begin, tournament_step
from core.editions.tests.planned import planned
from core.editions.tests.samples import LATER, players
from core.editions.tests.scored import claimed, fresh, score, score_all, scored, step
from core.errors import Refused
from core.evaluations.tests.evaluated import succeed
from core.jobs.states import OPEN, StaleJob
from core.models import Environment, Evaluation, Participant, SeedList, Submission, Tournament, TournamentState
from core.moderation.services import agent_disable
from core.moderation.withdrawals import participant_withdraw
from core.tests import factories
from core.tests.concurrency import at_once
from core.tournaments.services import tournament_cancel, tournament_pause
from core.tournaments.voiding import evaluation_void

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.both_databases]
LEAVES: dict[str, Callable[[Participant], object]] = {
    "withdraw": lambda row: participant_withdraw(participant=row, user=row.submission.agent.owner),
    "disable": lambda row: agent_disable(agent=row.submission.agent, reason="Cheats."),
    "disqualify": lambda row: participant_disqualify(participant=row, reason="Cheats."),
}
ACTS: dict[str, Callable[[Tournament], object]] = {
    "cancel": lambda cup: tournament_cancel(tournament=fresh(cup), reason="The hall is closed."),
    "pause": lambda cup: tournament_pause(tournament=fresh(cup)),
    "step": lambda cup: tournament_step(fresh(cup), now=LATER),
}


def tried(act: Callable[[], object]) -> bool:
    try:
        act()
    except (Refused, StaleJob):
        return False
    return True


@pytest.fixture
def task() -> Environment:
    return factories.task(episodes=4)


def participants(cup: Tournament, rows: Sequence[Submission]) -> list[Participant]:
    related = ("submission__agent__owner", "tournament")
    return [cup.participants.select_related(*related).get(submission=row) for row in rows]


@pytest.mark.parametrize("act", ACTS)
def test_participants_leave_while_an_organiser_or_a_worker_acts(task: Environment, act: str) -> None:
    cup, rows = scored(task, 6)
    claimed(cup, rows[0])
    leave = [
        lambda row=row, do=do: tried(lambda: do(row))
        for row, do in zip(participants(cup, rows), [*LEAVES.values()] * 2, strict=True)
    ]

    at_once(*leave, lambda: tried(lambda: ACTS[act](cup)))

    gone = cup.participants.exclude(withdrawn_at=None).values("submission")
    assert not Evaluation.every.filter(tournament=cup, submission__in=gone, state__in=OPEN).exists()


def test_it_begins_once(task: Environment) -> None:
    cup = planned(players(task, 3), "score")
    done = at_once(*[lambda: tried(lambda: tournament_begin(fresh(cup), now=LATER))] * 3)
    assert done.count(True) == 1
    assert Evaluation.every.filter(tournament=cup).count() == 3
    assert SeedList.objects.filter(tournament=cup).count() == 1


def test_it_is_evaluated_again_once(task: Environment) -> None:
    cup, rows = scored(task)
    assert score_all(cup, rows, [1.0, 2.0, 3.0]).state == TournamentState.FINISHED
    row, *_ = participants(cup, rows)
    done = at_once(
        *[lambda: tried(lambda: evaluation_void(participant=row, reason="Hot."))] * 2,
        lambda: tried(lambda: tournament_step(fresh(cup), now=LATER)),
        lambda: tried(lambda: tournament_step(fresh(cup), now=LATER)),
    )
    assert done[:2].count(True) == 1
    assert step(cup).state == TournamentState.RUNNING
    assert Evaluation.every.filter(tournament=cup, state__in=OPEN).count() == 1
    assert Evaluation.every.filter(tournament=cup).exclude(void_because="").count() == 1


@pytest.mark.parametrize("leave", LEAVES)
def test_a_participant_leaves_while_its_result_comes_in(task: Environment, leave: str) -> None:
    cup, rows = scored(task)
    for row in rows[1:]:
        score(cup, row, 1.0)
    job = claimed(cup, rows[0])
    one, *_ = participants(cup, rows)
    at_once(
        lambda: tried(lambda: succeed(job)),
        lambda: tried(lambda: LEAVES[leave](one)),
        lambda: tried(lambda: tournament_step(fresh(cup), now=LATER)),
    )
    assert step(step(cup)).state == TournamentState.FINISHED
