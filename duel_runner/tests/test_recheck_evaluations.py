"""Checks of finished evaluations: differences between record, row and seed list raise an alarm."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from pytest_django.fixtures import Settings

from arena_kit.environment.adapters.gymnasium import GymnasiumEnvironment
from arena_kit.environment.episodes import EvaluationArchive, EvaluationRecord, write_evaluation
from arena_kit.environment.registry import get_spec
from arena_kit.errors import PlatformFault
from arena_kit.tests.episodes import evaluation_record, with_episode
from core.assignments.tests.rows import assignment, course
from core.environments.services import environment_sync
from core.evaluations.selectors import ranking_list
from core.evaluations.services import episode_row, evaluation_create, evaluation_succeed, script_succeed
from core.jobs.artifacts import EvaluationArtifacts, evaluation_stored
from core.jobs.lifecycle import job_claim
from core.models import Alarm, Duel, Environment, Evaluation, JobState, RecheckVerdict, SeedList, SubmissionForm
from core.tests import factories
from duel_runner.recheck import sample
from duel_runner.recheck.evaluations import evaluation_recheck
from duel_runner.recheck.sample import results_recheck
from duel_runner.tests.commands import recheck

pytestmark = [pytest.mark.django_db, pytest.mark.slow]
EPISODES = 6


@pytest.fixture
def environment() -> Environment:
    """Return CartPole with a short list of hidden seeds."""
    spec = replace(get_spec("cart-pole"), episodes_per_evaluation=EPISODES)
    return environment_sync(spec=spec)[0]


@pytest.fixture
def evaluation(environment: Environment) -> Evaluation:
    return finished(environment, "anna")


def finished(environment: Environment, name: str, *, form: SubmissionForm = SubmissionForm.PLAYER) -> Evaluation:
    """Finish an evaluation as a worker does: with random play, or with a script that reports 500."""
    submission = factories.ready(factories.agent(factories.user(f"owner-of-{name}"), environment, name))
    submission.form = form
    submission.save()
    waiting = evaluation_create(submission=submission)
    evaluation = job_claim(kind=Evaluation, job_id=waiting.pk, worker="worker-1")
    assert evaluation is not None
    if evaluation.seed_list is None:
        script_succeed(
            evaluation=evaluation, score=500, metrics=[], episode_count=9, artifacts=EvaluationArtifacts(), log=""
        )
        return Evaluation.objects.get(pk=evaluation.pk)
    record = evaluation_record(get_spec("cart-pole"), evaluation.seed_list.seeds)
    with evaluation_stored(job=evaluation, record=record, player_log="", digest="") as artifacts:
        rows = [episode_row(episode) for episode in record.episodes]
        evaluation_succeed(
            evaluation=evaluation, episodes=rows, runtime=record.runtime, artifacts=artifacts, log="played"
        )
    return Evaluation.objects.get(pk=evaluation.pk)


def rewrite(evaluation: Evaluation, change: Callable[[EvaluationRecord], EvaluationRecord]) -> None:
    """Replace the stored record by a different valid one."""
    with evaluation.records.open("rb") as file:
        record = EvaluationArchive(file).record()
    with evaluation.records.storage.open(str(evaluation.records.name), "wb") as stored:
        write_evaluation(change(record), stored)


def test_an_evaluation_as_it_was_played_verifies(evaluation: Evaluation) -> None:
    recheck = evaluation_recheck(evaluation)

    evaluation.refresh_from_db()
    assert recheck.mismatches == []
    assert (evaluation.verdict, evaluation.verified_at is None) == (RecheckVerdict.VERIFIED, False)
    assert evaluation.verification == (
        "6 episodes were played again from their seeds and actions: seeds, actions, lengths, ends and scores of every "
        "episode. Hash, result and list of seeds agree."
    )
    assert not Alarm.objects.exists()


def lose(evaluation: Evaluation) -> None:
    evaluation.records.storage.delete(str(evaluation.records.name))


def damage(evaluation: Evaluation) -> None:
    with evaluation.records.storage.open(str(evaluation.records.name), "wb") as file:
        file.write(b"PK")


def update(**fields: Any) -> Callable[[Evaluation], object]:
    return lambda _: Evaluation.objects.update(**fields)


def with_better_row(evaluation: Evaluation) -> None:
    rows = [[number, score + 1, length, seconds] for number, score, length, seconds in evaluation.episodes]
    Evaluation.objects.update(episodes=rows)


def with_easier_seeds(evaluation: Evaluation) -> None:
    """Replace the seed list and make row and record fit it; only the published hash stays."""
    assert evaluation.seed_list is not None
    easy = list(range(1, 1 + EPISODES))
    SeedList.objects.filter(pk=evaluation.seed_list.pk).update(seeds=easy)
    rewrite(evaluation, lambda _: evaluation_record(get_spec("cart-pole"), easy))


TROUBLES: dict[str, tuple[Callable[[Evaluation], object], str]] = {
    "record gone": (lose, "The records of this evaluation are no longer stored."),
    "record damaged": (damage, "The records of this evaluation are damaged"),
    "nothing recorded": (
        lambda one: rewrite(one, lambda record: replace(record, episodes=())),
        "The evaluation's row says episode_count 6, its record 0.",
    ),
    "an episode with a better score": (
        lambda one: rewrite(one, lambda record: with_episode(record, 2, lambda e: {"score": e.score + 100})),
        "Episode 2: its score is ",
    ),
    "another play": (
        lambda one: rewrite(
            one, lambda record: evaluation_record(get_spec("cart-pole"), [e.seed for e in record.episodes], chance=7)
        ),
        "The record's hash is ",
    ),
    "other versions": (
        lambda one: rewrite(one, lambda record: replace(record, runtime="gymnasium 0.1")),
        "The evaluation's row says runtime 'gymnasium ",
    ),
    "easier seeds": (with_easier_seeds, "The seeds of its list do not match the published hash."),
    "a better mean": (update(score=500.0), "The evaluation's row says score 500.0, its record "),
    "a better interval": (update(score_low=499.0), "The evaluation's row says score_low 499.0, its record "),
    "better episodes": (with_better_row, "The episodes of the evaluation's row differ from its record."),
    "more episodes": (update(episode_count=7), "The evaluation's row says episode_count 7, its record 6."),
    "another hash": (update(record_sha256="0" * 64), "The record's hash is "),
}


@pytest.mark.parametrize("trouble", TROUBLES)
def test_what_does_not_fit_raises_an_alarm(
    trouble: str, evaluation: Evaluation, caplog: pytest.LogCaptureFixture
) -> None:
    make, sentence = TROUBLES[trouble]
    make(evaluation)

    recheck = evaluation_recheck(Evaluation.objects.get(pk=evaluation.pk))

    evaluation.refresh_from_db()
    assert any(sentence in str(mismatch) for mismatch in recheck.mismatches), recheck.mismatches
    assert evaluation.verdict == RecheckVerdict.MISMATCH
    assert str(recheck.mismatches[0]) in evaluation.verification
    alarm = Alarm.objects.get()
    assert (alarm.key, alarm.settled_at) == (f"evaluation-{evaluation.pk}-does-not-verify", None)
    assert alarm.address == f"/evaluations/{evaluation.pk}/"
    assert alarm.message.startswith(f"The record of evaluation {evaluation.pk}, evaluation of anna v1, does not verify")
    assert [record.levelname for record in caplog.records] == ["ERROR"]


def test_an_alarm_about_an_evaluation_of_a_tournament_leads_to_the_tournament(evaluation: Evaluation) -> None:
    cup = factories.planned(evaluation.environment, format="score")
    Evaluation.objects.update(tournament=cup, score=500.0)
    evaluation_recheck(Evaluation.every.get())
    assert Alarm.objects.get().address == f"/environments/{cup.environment.slug}/editions/{cup.edition}/"


def test_those_of_assignments_are_checked_and_their_alarms_lead_there(
    evaluation: Evaluation, settings: Settings
) -> None:
    week = assignment(course(), evaluation.environment)
    Evaluation.objects.update(assignment=week, score=500.0)
    settings.RECHECK_SAMPLE = 1.0
    results_recheck()
    assert Evaluation.every.get().verdict == RecheckVerdict.MISMATCH
    assert Alarm.objects.get().address == f"/courses/robots/assignments/{week.pk}/"


def test_no_verdict_tells_a_hidden_seed(evaluation: Evaluation, environment: Environment) -> None:
    seeds = ranking_list(environment)
    assert seeds is not None
    rewrite(evaluation, lambda record: replace(record, episodes=record.episodes[::-1]))
    rewrite(evaluation, lambda record: with_episode(record, 2, lambda _: {"seed": 5, "score": 1.0}))

    recheck = evaluation_recheck(evaluation)

    said = " ".join([*map(str, recheck.mismatches), Alarm.objects.get().message, evaluation.verification])
    assert "its seed is not the one at its place in the list" in said
    assert [seed for seed in seeds.seeds if str(seed) in said] == []


def test_an_evaluation_that_verifies_again_settles_its_alarm(evaluation: Evaluation) -> None:
    Evaluation.objects.update(score=500.0)
    evaluation_recheck(Evaluation.objects.get(pk=evaluation.pk))
    Evaluation.objects.update(score=evaluation.score)

    evaluation_recheck(Evaluation.objects.get(pk=evaluation.pk))

    assert Alarm.objects.get().settled_at is not None
    assert Evaluation.objects.get(pk=evaluation.pk).verdict == RecheckVerdict.VERIFIED


def test_what_was_played_with_other_versions_cannot_be_checked_and_raises_no_alarm(evaluation: Evaluation) -> None:
    """As after an upgrade of Gymnasium: row, record and hash come from the version before."""
    rewrite(evaluation, lambda record: replace(record, runtime="gymnasium 0.1"))
    Evaluation.objects.update(runtime="gymnasium 0.1", record_sha256="")

    with pytest.raises(PlatformFault, match="It was played with gymnasium 0.1, but this machine has gymnasium "):
        evaluation_recheck(Evaluation.objects.get(pk=evaluation.pk))

    evaluation.refresh_from_db()
    assert (evaluation.verdict, evaluation.verified_at is None) == (RecheckVerdict.UNCHECKABLE, False)
    assert evaluation.verification.startswith("It was played with gymnasium 0.1")
    assert not Alarm.objects.exists()


def test_both_kinds_are_sampled_and_scripts_are_not(
    environment: Environment, evaluation: Evaluation, settings: Settings
) -> None:
    players = [factories.ready(factories.agent(factories.user(f"p{n}"), factories.environment())) for n in range(2)]
    duel = factories.tournament(players).duels.get()
    script = finished(environment, "scripted", form=SubmissionForm.SCRIPT)
    settings.RECHECK_SAMPLE = 1.0

    results_recheck()

    assert Evaluation.objects.get(pk=evaluation.pk).verdict == RecheckVerdict.VERIFIED
    assert Evaluation.objects.get(pk=script.pk).verified_at is None
    # Made by a factory, without records.
    assert Duel.objects.get(pk=duel.pk).verdict == RecheckVerdict.MISMATCH


@pytest.mark.parametrize(("share", "per_run", "checked"), [(0.0, 20, 0), (1.0, 20, 3), (1.0, 2, 2), (0.5, 20, 2)])
def test_a_share_is_checked_up_to_the_most_of_a_run(
    share: float,
    per_run: int,
    checked: int,
    environment: Environment,
    settings: Settings,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name in ("anna", "berta", "clara"):
        finished(environment, name)
    settings.RECHECK_SAMPLE = share
    monkeypatch.setattr(sample, "MOST_PER_RUN", per_run)

    results_recheck()

    assert Evaluation.objects.filter(verdict=RecheckVerdict.VERIFIED).count() == checked


def test_a_run_whose_time_is_up_begins_no_further_check(
    environment: Environment, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("anna", "berta"):
        finished(environment, name)
    settings.RECHECK_SAMPLE = 1.0
    monkeypatch.setattr(sample, "SECONDS", -1.0)

    results_recheck()

    assert not Evaluation.objects.exclude(verified_at=None).exists()


def test_what_breaks_a_check_does_not_break_the_next(
    environment: Environment, evaluation: Evaluation, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = finished(environment, "berta")
    settings.RECHECK_SAMPLE = 1.0
    monkeypatch.setattr(GymnasiumEnvironment, "reset", lambda *_: 1 / 0)

    results_recheck()

    for row in Evaluation.objects.filter(pk__in=(evaluation.pk, other.pk)):
        assert (row.verdict, row.verification) == (
            RecheckVerdict.UNCHECKABLE,
            "The check failed because of an error inside the arena.",
        )


# --- The command -------------------------------------------------------------------------------------------


def test_the_command_says_what_it_checked_of_every_episode(evaluation: Evaluation) -> None:
    code, said = recheck(evaluation)
    lines = said.splitlines()

    assert code == 0
    number, score, length, _ = evaluation.episodes[4]
    assert lines[4] == f"Episode {number}: ok, {score:g} in {length} steps"
    assert lines[6:] == [
        f"Evaluation {evaluation.pk}: evaluation of anna v1, cart-pole-v1, {get_spec('cart-pole').runtime}",
        f"Score {evaluation.score!r}",
        f"sha256 {evaluation.record_sha256}",
        f"Verified: {Evaluation.objects.get(pk=evaluation.pk).verification}",
    ]


def test_the_command_says_what_is_wrong_and_fails(evaluation: Evaluation) -> None:
    rewrite(evaluation, lambda record: with_episode(record, 2, lambda _: {"score": 500.0}))

    code, said = recheck(evaluation)
    lines = said.splitlines()

    assert code == 1
    assert any(line.startswith("MISMATCH Episode 2: its score is 500.0, not ") for line in lines)
    assert not any(line.startswith("Episode 2: ok") for line in lines)
    assert lines[-1].startswith("DOES NOT VERIFY: ")


def test_the_command_checks_what_the_arena_played_to_its_end_alone(
    environment: Environment, evaluation: Evaluation
) -> None:
    script = finished(environment, "scripted", form=SubmissionForm.SCRIPT)
    waiting = evaluation_create(submission=evaluation.submission)
    Evaluation.objects.filter(pk=evaluation.pk).update(environment_version="cart-pole-v0")
    assert waiting.state == JobState.QUEUED
    for number, sentence in (
        (waiting.pk, "has no result to check: it is waiting"),
        (script.pk, "is a run of a script, which reports its score itself"),
        (987654, "There is no evaluation 987654"),
        (evaluation.pk, "cannot be checked: The rules of this evaluation, cart-pole-v0, are no longer"),
    ):
        with pytest.raises(CommandError, match=sentence) as refused:
            call_command("recheck", "evaluation", str(number))
        assert refused.value.returncode == 2
