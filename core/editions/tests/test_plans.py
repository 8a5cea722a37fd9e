"""The plan of a tournament as rows: what a step writes, and what may be struck."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from arena_kit.ranking.formats import Outline
from core.editions.progress import plan_of, tournament_step
from core.editions.services import advance
from core.editions.tests.planned import begun, play_on
from core.editions.tests.samples import LATER, edition, play, players
from core.errors import Refused
from core.models import JobState, Plan, PlanMeeting, PlanRow, PlanStage, Submission, Tournament
from core.tests import factories
from core.tournaments.plan_selectors import plan_outline
from core.tournaments.plans import plan_save
from core.tournaments.strikes import duel_void

pytestmark = [pytest.mark.django_db, pytest.mark.slow]


@pytest.fixture
def six() -> list[Submission]:
    return players(factories.environment(), 6)


def rows(model: Any) -> dict[int, dict[str, Any]]:
    return {row["id"]: row for row in model.objects.values()}


def differing(before: dict[int, Any], after: dict[int, Any]) -> int:
    return sum(before.get(key) != after.get(key) for key in before.keys() | after.keys())


def kept(tournament: Tournament) -> tuple[Outline, int | None]:
    row = Plan.objects.get(tournament=tournament)
    return plan_outline(row), row.round


def worked_out(tournament: Tournament) -> tuple[Outline, int | None]:
    plan = plan_of(tournament)
    return Outline(plan.stages, plan.table, plan.notes), plan.round


@pytest.mark.parametrize(
    "kind",
    [
        "swiss",
        "double-elimination",
        *(pytest.param(kind, marks=pytest.mark.nightly) for kind in ("round-robin", "single-elimination")),
    ],
)
def test_rows_hold_all_that_the_format_has_worked_out(six: list[Submission], kind: str) -> None:
    tournament = begun(six, kind)
    play_on(tournament, until=2)
    assert kept(tournament) == worked_out(tournament)
    play_on(tournament)
    assert kept(tournament) == worked_out(tournament)


def test_after_a_result_only_its_meeting_and_lines_of_the_table_are_written(six: list[Submission]) -> None:
    tournament = begun(six, "round-robin")
    meetings, lines, version = rows(PlanMeeting), rows(PlanRow), Plan.objects.get().version
    assert len(meetings) == 15
    play(tournament.duels.order_by("number")[0])
    tournament_step(tournament, now=LATER)

    assert differing(meetings, rows(PlanMeeting)) == 1
    assert differing(lines, rows(PlanRow)) > 0
    assert set(rows(PlanMeeting)) == set(meetings)
    assert Plan.objects.get().version == version + 1
    tournament_step(tournament, now=LATER)
    assert Plan.objects.get().version == version + 1, "nothing has changed"


def test_stages_and_meetings_that_a_plan_has_no_more_go(six: list[Submission]) -> None:
    tournament = begun(six, "groups-knock-out", groups=2, advance=2)
    assert PlanStage.objects.count() > 1
    plan = plan_of(tournament)
    shorter = replace(plan, stages=plan.stages[:1])
    assert plan_save(tournament=tournament, planned=shorter)
    assert [stage.key for stage in PlanStage.objects.all()] == [plan.stages[0].key]
    assert set(PlanMeeting.objects.values_list("stage__key", flat=True)) == {plan.stages[0].key}
    assert not plan_save(tournament=tournament, planned=shorter)


def test_only_a_result_can_be_struck_and_only_once(six: list[Submission]) -> None:
    environment = six[0].agent.environment
    advance(environment, now=LATER)
    duel = edition(environment).duels.filter(state=JobState.QUEUED)[0]
    with pytest.raises(Refused, match="no result that could be void"):
        duel_void(duel=duel, reason="The clock was wrong.", user=None)
    play(duel)
    duel.refresh_from_db()
    duel_void(duel=duel, reason="The clock was wrong.", user=None)
    with pytest.raises(Refused, match="already void"):
        duel_void(duel=edition(environment).duels.get(pk=duel.pk), reason="Twice.", user=None)
