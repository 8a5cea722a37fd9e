"""The promotion gate: which version plays, what the test's end does, and what takes a test its sense."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from pytest_django import DjangoCaptureOnCommitCallbacks

from arena_kit.environment.records import DuelRecord, Fault, MatchRecord, Outcome
from arena_kit.ranking.sequential import SequentialTest, pairs_to_decide
from core.duels.services import duel_succeed
from core.errors import Refused
from core.jobs.artifacts import DuelArtifacts
from core.jobs.control import job_cancel
from core.jobs.lifecycle import job_claim, job_fail
from core.models import (
    Agent,
    CancelCode,
    Duel,
    Environment,
    JobFault,
    JobState,
    LedgerEntry,
    Notice,
    Promotion,
    PromotionState,
    Submission,
    Validation,
)
from core.moderation.services import agent_disable, user_ban
from core.operations.reaper import look
from core.submissions.existing import submission_delete
from core.submissions.phases import validation_succeed
from core.submissions.promotions import MOST_DUELS, promotions_decide
from core.submissions.versions import submission_activate, submission_bench
from core.tests import factories
from core.tests.concurrency import at_once
from core.tournaments.strikes import duel_void

pytestmark = [pytest.mark.django_db, pytest.mark.slow]
TESTING, ACTIVATED, BENCHED, CHOICE, CANCELLED = PromotionState
RESULTS = {
    4: (Outcome.PLAYER_1, Outcome.PLAYER_1),
    2: (Outcome.PLAYER_1, Outcome.PLAYER_2),
    0: (Outcome.PLAYER_2, Outcome.PLAYER_2),
}


@pytest.fixture
def environment() -> Environment:
    row = factories.environment()
    row.has_gate, row.test_cap = True, 30
    row.save()
    return row


@pytest.fixture
def agent(environment: Environment) -> Agent:
    return factories.agent(factories.user("alice"), environment, "kim")


def validated(agent: Agent) -> Submission:
    """The next version of an agent, validated by the service."""
    row = factories.submission(agent)
    factories.build(row)
    again(row)
    row.refresh_from_db()
    return row


def again(submission: Submission) -> None:
    validation = factories.validation(submission, JobState.RUNNING)
    validation = Validation.objects.select_related("submission__agent__environment").get(pk=validation.pk)
    validation_succeed(validation=validation, artifacts=DuelArtifacts(2, "", "", ""), log="")


def record(pairs: list[int], *, is_forfeited: bool = False) -> DuelRecord:
    fault = (Fault.PLAYER, 0, "player_died") if is_forfeited else (Fault.NONE, None, "")
    outcomes = [outcome for points in pairs for outcome in RESULTS[points]]
    matches = tuple(
        MatchRecord(number, 7, (0, 1), (), outcome, (0.0, 0.0), *fault)
        for number, outcome in enumerate(outcomes, start=1)
    )
    return DuelRecord("tic-tac-toe-v1", 7, ("new", "old"), matches)


def claimed(duel: Duel) -> Duel:
    found = job_claim(kind=Duel, job_id=duel.pk, worker="w")
    assert found is not None
    return found


def end(duel: Duel, pairs: list[int], *, is_forfeited: bool = False) -> None:
    """Let a duel end as the runner ends it: with the pair that decides its test."""
    assert duel.test is not None
    played = record(pairs[: pairs_to_decide(SequentialTest(**duel.test), pairs)], is_forfeited=is_forfeited)
    artifacts = DuelArtifacts(len(played.matches), "", "", "")
    duel_succeed(duel=claimed(duel), record=played, artifacts=artifacts, log="")


def fail(duel: Duel) -> None:
    job_fail(job=claimed(duel), fault=JobFault.PLATFORM, code="engine_unavailable", error="No engine.")


def playing(agent: Agent) -> int | None:
    """The version that plays for an agent."""
    row = Submission.objects.active().filter(agent=agent).order_by("-number").first()
    return None if row is None else row.number


def test_a_new_version_is_benched_until_its_test_is_over(agent: Agent) -> None:
    validated(agent)
    assert not Promotion.objects.exists()
    new = validated(agent)
    promotion = Promotion.objects.get()
    duel = promotion.duels.get()
    assert (promotion.candidate, promotion.incumbent.number, promotion.state) == (new, 1, TESTING)
    assert (duel.player_1, duel.player_2.number, duel.match_count, duel.state) == (new, 1, 60, JobState.QUEUED)
    assert duel.test == promotion.test == {
        "elo0": 0.0, "elo1": 50.0, "alpha": 0.05, "beta": 0.05, "cap": 30, "scale": "normalised Elo",
    }  # fmt: skip
    assert playing(agent) == 1


@pytest.mark.parametrize(
    ("pairs", "is_forfeited", "state", "plays", "words"),
    [
        ([4] * 30, False, ACTIVATED, 2, "Of 32 matches it won 32, drew 0 and lost 0. The test accepts after 16 pairs"),
        ([0] * 30, False, BENCHED, 1, "version 1 keeps playing. Of 26 matches it won 0, drew 0 and lost 26."),
        ([0] * 30, True, BENCHED, 1, "lost 26, 26 of them by forfeit"),
        (
            [4, 2, 0] * 10,
            False,
            CHOICE,
            1,
            "undecided: version 1 keeps playing unless the owner chooses version 2.",
        ),
    ],
)
def test_the_test_decides_who_plays(
    agent: Agent, pairs: list[int], is_forfeited: bool, state: PromotionState, plays: int, words: str
) -> None:
    validated(agent), validated(agent)
    end(Duel.objects.get(), pairs, is_forfeited=is_forfeited)
    assert promotions_decide() == 1
    promotion = Promotion.objects.get()
    assert (promotion.state, playing(agent)) == (state, plays)
    assert words in promotion.verdict
    assert promotions_decide() == 0
    assert not LedgerEntry.objects.exists()
    with pytest.raises(Refused, match="not rated"):
        duel_void(duel=Duel.objects.get(), reason="", user=None)


def test_the_lookout_decides_what_a_worker_that_died_has_left(
    agent: Agent, django_capture_on_commit_callbacks: DjangoCaptureOnCommitCallbacks
) -> None:
    validated(agent), validated(agent)
    # Nothing is sent: the messages of this transaction are lost.
    with django_capture_on_commit_callbacks(execute=False):
        end(Duel.objects.get(), [4] * 30)
    assert playing(agent) == 1
    look()
    assert playing(agent) == 2


def test_what_the_arena_fails_is_played_again_and_then_left_to_the_owner(agent: Agent) -> None:
    validated(agent), validated(agent)
    for number in range(1, MOST_DUELS + 1):
        assert Promotion.objects.get().state == TESTING
        duel = Duel.objects.get(number=number)
        fail(duel)
        promotions_decide()
    promotion = Promotion.objects.get()
    assert (promotion.state, promotion.duels.count(), playing(agent)) == (CHOICE, MOST_DUELS, 1)
    assert "No engine." in promotion.verdict


def test_a_void_try_is_followed_by_one_that_counts(agent: Agent) -> None:
    validated(agent), validated(agent)
    fail(Duel.objects.get())
    promotions_decide()
    end(Duel.objects.get(number=2), [4] * 30)
    promotions_decide()
    assert (Promotion.objects.get().state, playing(agent)) == (ACTIVATED, 2)


def test_an_organiser_who_cancels_the_duel_leaves_the_choice_to_the_owner(agent: Agent) -> None:
    validated(agent), validated(agent)
    job_cancel(job=Duel.objects.get(), code=CancelCode.BY_ORGANISER, reason="Too long.")
    promotions_decide()
    assert (Promotion.objects.get().state, playing(agent)) == (CHOICE, 1)


def test_a_newer_version_is_tested_in_place_of_the_one_under_test(agent: Agent) -> None:
    versions = [validated(agent) for _ in range(3)]
    old, new = Promotion.objects.order_by("pk")
    assert (old.state, old.verdict, old.duels.get().state) == (
        CANCELLED, "Version 3 is tested in its place.", JobState.CANCELLED,
    )  # fmt: skip
    assert (new.state, new.candidate, new.incumbent) == (TESTING, versions[2], versions[0])
    assert playing(agent) == 1


def test_an_older_version_that_was_built_more_slowly_does_not_take_the_place_of_a_newer_one(agent: Agent) -> None:
    validated(agent)
    slow = factories.submission(agent)
    factories.build(slow)
    newest = validated(agent)
    again(slow)
    assert list(Promotion.objects.order_by("pk").values_list("candidate", "state")) == [
        (newest.pk, TESTING),
        (slow.pk, CANCELLED),
    ]
    assert Duel.objects.count() == 1
    end(Duel.objects.get(), [4] * 30)
    promotions_decide()
    assert playing(agent) == 3


def test_a_version_that_is_validated_again_is_not_tested_again(agent: Agent) -> None:
    first, new = validated(agent), validated(agent)
    end(Duel.objects.get(), [0] * 30)
    promotions_decide()
    for version in (new, first):
        again(version)
    assert (Promotion.objects.count(), Duel.objects.count(), playing(agent)) == (1, 1, 1)


def deleted(versions: list[Submission]) -> None:
    submission_delete(submission=versions[0])


def candidate_deleted(versions: list[Submission]) -> None:
    submission_delete(submission=versions[1])


def disabled(versions: list[Submission]) -> None:
    agent_disable(agent=versions[0].agent, reason="")


def banned(versions: list[Submission]) -> None:
    user_ban(user=versions[0].agent.owner, reason="")


@pytest.mark.parametrize(
    ("event", "state", "words", "is_benched"),
    [
        (deleted, ACTIVATED, "without a result, because version 1", False),
        (candidate_deleted, CANCELLED, "deleted", True),
        (disabled, CHOICE, "may not take part", True),
        (banned, CHOICE, "may not take part", True),
    ],
)
def test_a_test_that_lost_its_sense_ends_at_once(
    agent: Agent, event: Callable[[list[Submission]], None], state: PromotionState, words: str, is_benched: bool
) -> None:
    event([validated(agent), validated(agent)])
    promotion = Promotion.objects.get()
    assert (promotion.state, promotion.duels.get().state) == (state, JobState.CANCELLED)
    assert words in promotion.verdict
    assert promotion.candidate.is_benched == is_benched


def test_the_owner_chooses_which_version_plays(agent: Agent) -> None:
    versions = [validated(agent) for _ in range(2)]
    for submission in versions:
        with pytest.raises(Refused, match=r"tested"):
            submission_bench(submission=submission)
    with pytest.raises(Refused, match="being tested"):
        submission_activate(submission=versions[1])
    end(Duel.objects.get(), [4, 2, 0] * 10)
    promotions_decide()

    submission_activate(submission=versions[1])
    promotion = Promotion.objects.get()
    assert (promotion.state, playing(agent)) == (ACTIVATED, 2)
    assert promotion.verdict.endswith("Its owner let it play.")
    submission_activate(submission=versions[0])
    assert playing(agent) == 1
    with pytest.raises(Refused, match="hide the whole agent"):
        submission_bench(submission=versions[0])
    submission_activate(submission=versions[1])
    submission_bench(submission=versions[1])
    assert playing(agent) == 1


def test_choosing_an_older_version_ends_the_test_of_a_newer_one(agent: Agent) -> None:
    versions = [validated(agent) for _ in range(2)]
    end(Duel.objects.get(), [4] * 30)
    promotions_decide()
    validated(agent)
    submission_activate(submission=versions[0])
    assert list(Promotion.objects.values_list("state", flat=True).order_by("pk")) == [ACTIVATED, CANCELLED]
    assert not Duel.objects.filter(state=JobState.QUEUED).exists()
    assert playing(agent) == 1


def test_what_is_not_validated_cannot_be_chosen(agent: Agent) -> None:
    with pytest.raises(Refused, match="built and validated"):
        submission_activate(submission=factories.submission(agent))


def test_of_a_quarantined_agent_the_new_version_is_the_way_out(agent: Agent) -> None:
    crashed, new = validated(agent), factories.submission(agent)
    factories.build(new)
    validation = factories.validation(new, JobState.RUNNING)
    # While it is being validated: the worker knows the agent as it was.
    Agent.objects.filter(pk=agent.pk).update(
        is_disabled=True, quarantined_at=factories.NOON, quarantined_number=crashed.number
    )
    validation_succeed(validation=validation, artifacts=DuelArtifacts(2, "", "", ""), log="")
    assert not Promotion.objects.exists()
    assert playing(agent) == 2


def test_owners_are_told_that_a_version_is_tested_before_it_plays(agent: Agent) -> None:
    first, second = validated(agent), validated(agent)
    # Built again while it is tested.
    validation_succeed(
        validation=factories.validation(second, JobState.RUNNING), artifacts=DuelArtifacts(2, "", "", ""), log=""
    )
    texts = list(Notice.objects.filter(kind="VALIDATED").order_by("pk").values_list("text", flat=True))
    says = [text.partition("validated. ")[2] for text in texts]
    assert says == [
        "It may play from now on.",
        f"It is first tested against version {first.number}.",
        "It does not play because it is benched.",
    ]


def test_without_a_gate_nothing_is_tested(environment: Environment, agent: Agent) -> None:
    Environment.objects.update(has_gate=False)
    agent = Agent.objects.select_related("environment", "owner").get()
    validated(agent), validated(agent)
    assert (playing(agent), Promotion.objects.count()) == (2, 0)


@pytest.mark.both_databases
@pytest.mark.django_db(transaction=True)
def test_workers_that_decide_at_once_decide_once(agent: Agent) -> None:
    validated(agent), validated(agent)
    fail(Duel.objects.get())
    assert sum(at_once(*[promotions_decide] * 4)) == 0
    assert Duel.objects.count() == 2
    end(Duel.objects.get(number=2), [4] * 30)
    assert sorted(at_once(*[promotions_decide] * 4)) == [0, 0, 0, 1]


@pytest.mark.parametrize(
    ("who", "build", "state", "plays"),
    [
        (1, JobState.RUNNING, TESTING, 1),
        (1, JobState.FAILED, CANCELLED, 1),
        (0, JobState.RUNNING, TESTING, None),
        (0, JobState.FAILED, ACTIVATED, 2),
    ],
)
def test_after_a_fault_of_the_arena_a_version_that_is_built_again_is_waited_for(
    agent: Agent, who: int, build: JobState, state: PromotionState, plays: int | None
) -> None:
    versions = [validated(agent), validated(agent)]
    fail(Duel.objects.get())
    factories.build(versions[who], build)
    promotions_decide()
    assert (Promotion.objects.get().state, Duel.objects.count(), playing(agent)) == (state, 1, plays)
