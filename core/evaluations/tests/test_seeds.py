"""Lists of seeds: public ones, hidden ones, and the final phase."""

from __future__ import annotations

import hashlib
from uuid import uuid4

import pytest

from arena_kit.environment.episodes import seeds_sha256
from core.errors import Refused
from core.evaluations.seeds import final_phase_start, seed_lists_ensure
from core.evaluations.selectors import practice_list, ranking_list
from core.evaluations.services import evaluation_create
from core.evaluations.standing import standing
from core.evaluations.tests.evaluated import fail, running, succeed
from core.jobs.lifecycle import job_claim
from core.jobs.states import StaleJob
from core.models import Environment, Evaluation, JobState, SeedPurpose
from core.tests import factories

pytestmark = pytest.mark.django_db


@pytest.fixture
def task() -> Environment:
    return factories.task(episodes=4)


def test_a_task_gets_its_lists_once() -> None:
    task = factories.task(episodes=4)
    before = list(task.seed_lists.values_list("purpose", "seeds"))

    factories.task(episodes=4)
    seed_lists_ensure(environment=task)

    assert sorted(purpose for purpose, _ in before) == [SeedPurpose.PRACTICE, SeedPurpose.RANKING]
    assert list(task.seed_lists.values_list("purpose", "seeds")) == before


def test_a_game_gets_none() -> None:
    assert not factories.environment().seed_lists.exists()


def test_hidden_seeds_are_drawn_anew_for_every_list() -> None:
    lists = [ranking_list(factories.task(slug, episodes=50)) for slug in ("cart-pole", "frozen-lake")]

    drawn = [seed for found in lists if found for seed in found.seeds]
    assert len(set(drawn)) == 100
    assert all(0 <= seed < 2**48 for seed in drawn)
    # They are too many to be tried: half of them need the highest bit.
    assert max(drawn) > 2**46
    assert all(found is not None and not found.is_public for found in lists)


def test_no_hidden_seed_is_alone(task: Environment) -> None:
    """Trying the hash of one seed of 48 bits takes hours, of two it takes for ever."""
    task.episodes_per_evaluation = 1
    task.save()

    final_phase_start(environment=task, by=None)

    final = ranking_list(task)
    assert final is not None
    assert len(final.seeds) == 2


def test_the_public_list_follows_its_row(task: Environment) -> None:
    practice = practice_list(task)
    assert practice is not None
    assert (practice.seeds, practice.is_public) == ([1, 2], True)

    task.matches_per_validation = 5
    seed_lists_ensure(environment=task)

    longer = practice_list(task)
    assert longer is not None
    assert longer.seeds == [1, 2, 3, 4, 5]
    assert ranking_list(task) == task.seed_lists.get(purpose=SeedPurpose.RANKING)


def test_everyone_can_check_that_seeds_were_drawn_before_they_were_used(task: Environment) -> None:
    ranking = ranking_list(task)
    assert ranking is not None

    text = "\n".join(map(str, ranking.seeds)) + "\n"
    assert ranking.sha256 == hashlib.sha256(text.encode()).hexdigest()
    assert seeds_sha256([3, 14]) == hashlib.sha256(b"3\n14\n").hexdigest()


# --- The final phase -------------------------------------------------------------------------------------


def test_a_final_phase_draws_new_seeds_once_and_reveals_those_before(task: Environment) -> None:
    olga = factories.user("olga")
    before = ranking_list(task)
    assert before is not None

    final_phase_start(environment=task, by=olga)

    final = ranking_list(task)
    assert final is not None
    assert (final.purpose, final.created_by, final.is_public, len(final.seeds)) == (SeedPurpose.FINAL, olga, False, 4)
    assert not set(final.seeds) & set(before.seeds)
    before.refresh_from_db()
    assert before.is_public
    with pytest.raises(Refused, match="has begun already"):
        final_phase_start(environment=task, by=olga)
    assert task.seed_lists.filter(purpose=SeedPurpose.FINAL).get() == final


def test_a_game_has_no_final_phase() -> None:
    with pytest.raises(Refused, match="not ranked by score"):
        final_phase_start(environment=factories.environment(), by=None)


def test_a_final_phase_evaluates_everyones_newest_valid_version(task: Environment) -> None:
    alice = factories.user("alice")
    anna, berta, clara, dora, emma = (
        factories.agent(alice, task, name) for name in ("anna", "berta", "clara", "d", "e")
    )
    factories.evaluation(factories.ready(anna))
    newest = factories.ready(anna)
    kept = factories.ready(berta)
    factories.build(factories.submission(berta), JobState.FAILED)
    factories.ready(clara)
    clara.is_disabled = True
    clara.save()
    factories.script_evaluation(factories.script(dora))
    factories.submission(emma)

    evaluations = final_phase_start(environment=task, by=None)

    assert [evaluation.submission for evaluation in evaluations] == [newest, kept]
    assert {evaluation.seed_list for evaluation in evaluations} == {ranking_list(task)}
    assert {evaluation.state for evaluation in evaluations} == {JobState.QUEUED}


def test_a_final_phase_cancels_what_would_not_count_and_leaves_scripts_alone(task: Environment) -> None:
    alice = factories.user("alice")
    player, script = factories.ready(factories.agent(alice, task)), factories.script(factories.agent(alice, task))
    played = running(player)
    waiting = factories.evaluation(player, JobState.QUEUED)
    script_waits = evaluation_create(submission=script)
    elsewhere = factories.evaluation(
        factories.ready(factories.agent(alice, factories.task("frozen-lake"))), JobState.QUEUED
    )

    final_phase_start(environment=task, by=None)

    states = Evaluation.objects.in_bulk([played.pk, waiting.pk, script_waits.pk, elsewhere.pk])
    assert [row.state for row in states.values()] == ["CANCELLED", "CANCELLED", "QUEUED", "QUEUED"]
    assert states[waiting.pk].error == "The final phase has begun: it is evaluated on new seeds."
    with pytest.raises(StaleJob):
        succeed(played)


def claim_last(task: Environment) -> Evaluation:
    claimed = job_claim(kind=Evaluation, job_id=task.evaluations.latest("pk").pk, worker="worker-1")
    assert claimed is not None
    return claimed


def test_the_board_keeps_an_old_score_until_the_new_one_is_there(task: Environment) -> None:
    agent = factories.agent(factories.user("alice"), task)
    old = succeed(running(factories.ready(agent)))
    final_phase_start(environment=task, by=None)
    assert standing(task).get() == old

    new = succeed(claim_last(task), [1.0, 2.0, 3.0, 4.0])

    assert standing(task).get() == new


def test_failing_on_the_new_seeds_is_no_way_to_keep_a_score_on_the_old_ones(task: Environment) -> None:
    succeed(running(factories.ready(factories.agent(factories.user("alice"), task))))
    final_phase_start(environment=task, by=None)

    fail(claim_last(task))

    assert not standing(task).exists()


def test_who_is_not_evaluated_on_the_new_seeds_leaves_the_board_and_scripts_stay(task: Environment) -> None:
    alice = factories.user("alice")
    invalid = succeed(running(factories.ready(factories.agent(alice, task)))).submission
    factories.build(invalid, JobState.FAILED)
    script = factories.script_evaluation(factories.script(factories.agent(alice, task)))

    assert final_phase_start(environment=task, by=None) == []

    assert standing(task).get() == script


def test_what_comes_after_the_final_phase_has_begun_is_played_on_its_seeds(task: Environment) -> None:
    final_phase_start(environment=task, by=None)

    late = evaluation_create(submission=factories.ready(factories.agent(factories.user("alice"), task)))

    assert late.seed_list == task.seed_lists.get(purpose=SeedPurpose.FINAL)
    assert late.episode_count == 4


def test_a_zombies_result_on_the_old_seeds_is_refused(task: Environment) -> None:
    played = running(factories.ready(factories.agent(factories.user("alice"), task)))
    Evaluation.objects.filter(pk=played.pk).update(claim_token=uuid4())
    final_phase_start(environment=task, by=None)

    with pytest.raises(StaleJob):
        succeed(played)
    assert not standing(task).exists()
