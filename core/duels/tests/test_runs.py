"""Runs of programs: who may ask for what, keys that are played once, quotas, turns, and what ends a run."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest
from django.utils import timezone
from pytest_django.fixtures import Settings

from core.duels.run_requests import KEY_TAKEN, NOT_READY, NOT_YOURS, UNKNOWN, RunPlayer, RunRequest, environment_find
from core.duels.run_selectors import run_result, run_rows, run_states
from core.duels.runs import run_cancel, run_start, runs_expire
from core.errors import QuotaExceeded, Refused
from core.evaluations.selectors import practice_list
from core.evaluations.services import standing_decide
from core.jobs.lifecycle import from_now
from core.jobs.lines import line
from core.models import (
    Agent,
    AuditEntry,
    CancelCode,
    Duel,
    Evaluation,
    JobState,
    Run,
    Submission,
    SubmissionForm,
    TokenScope,
    User,
)
from core.moderation.services import agent_disable, user_ban
from core.people.audit_log import Operator
from core.people.tokens import token_create, token_find
from core.submissions.cancels import phase_cancel
from core.tests import factories
from core.tests.concurrency import at_once
from core.tests.factories import Cast

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("midday")]


@pytest.fixture
def cast() -> Cast:
    return factories.cast()


@pytest.fixture
def players(cast: Cast) -> tuple[Submission, Submission]:
    """Alice's agent, and Bob's, which is rated."""
    game = factories.environment()
    mine = factories.ready(factories.agent(cast.alice, game, "anna"))
    rival = factories.ready(factories.agent(cast.bob, game, "bert"))
    factories.rating(rival, 1500, rank=1, worst_rank=1)
    return mine, rival


def asked(*versions: Submission | str, key: str = "match-1", seconds: int = 0) -> RunRequest:
    named = [one if isinstance(one, str) else f"submission:{one.pk}" for one in versions]
    players = tuple(RunPlayer(f"agent-{place}", version) for place, version in enumerate(named, start=1))
    return RunRequest(key, Agent.objects.get(name="anna").environment.slug, players, seconds)


def start(caller: User, request: RunRequest) -> Run:
    return run_start(caller=caller, request=request, now=timezone.now())[0]


def played(run: Run, **result: object) -> Run:
    factories.moved(Duel.objects.filter(run=run), JobState.SUCCEEDED, **result)
    return run_rows(run.caller).get(pk=run.pk)


@pytest.mark.parametrize("name", ["tic-tac-toe", "Tic-Tac-Toe", "tic_tac_toe", "TIC_TAC_TOE", "tic-tac-toe-v1"])
def test_an_environment_has_one_name_however_it_is_written(players: tuple[Submission, Submission], name: str) -> None:
    assert environment_find(name, players[0].agent.owner) == players[0].agent.environment


def test_a_run_is_an_unrated_duel_in_the_line_of_all(cast: Cast, players: tuple[Submission, Submission]) -> None:
    run = start(cast.alice, asked(*players))
    duel = run.duel
    assert (duel.player_1, duel.player_2, duel.match_count, duel.tournament) == (*players, 1, None)
    assert duel.reason == "A program of alice asked for it."
    assert list(line(Duel)) == [duel]
    before, after = (Run.objects.filter(expires_at__gt=from_now(timedelta(seconds=one))) for one in (240, 300))
    assert (before.get(), after.first()) == (run, None)


@pytest.mark.parametrize("form", ["agent", "public", "digest", "image", "their own image"])
def test_versions_have_several_names(cast: Cast, players: tuple[Submission, Submission], form: str) -> None:
    mine, rival = players
    Submission.objects.filter(pk=mine.pk).update(image_digest="sha256:" + "a" * 64)
    theirs = "sha256:" + "b" * 64
    if form == "their own image":
        Submission.objects.filter(pk=mine.pk).update(form=SubmissionForm.IMAGE)
        mine.builds.update(base_digest=theirs)
        # Others are built on a base image of the same name.
        rival.builds.update(base_digest=theirs)
    # A later version that failed to build is not the one that an image names.
    failed = factories.submission(mine.agent, image_digest="sha256:" + "a" * 64, form=SubmissionForm.IMAGE)
    factories.build(failed, base_digest=theirs)
    factories.validation(failed, JobState.FAILED)
    names = {
        "their own image": f"registry.example.org/alice/player:v1@{theirs}",
        "agent": f"agent:{mine.agent_id}",
        "public": f"submission:{mine.public_id}",
        "digest": "sha256:" + "a" * 64,
        "image": "registry:5000/anna@sha256:" + "a" * 64,
    }
    assert start(cast.alice, asked(names[form], rival)).duel.player_1 == mine


def test_a_key_is_played_once_for_each_caller(cast: Cast, players: tuple[Submission, Submission]) -> None:
    first = start(cast.alice, asked(*players))
    assert run_start(caller=cast.alice, request=asked(*players), now=timezone.now()) == (first, False)
    assert start(cast.olga, asked(*players)) != first, "Keys of two callers are two keys."
    with pytest.raises(Refused) as refused:
        start(cast.alice, asked(*players, seconds=5))
    assert refused.value.code == KEY_TAKEN


@pytest.mark.django_db(transaction=True)
def test_two_requests_at_once_with_the_same_key_are_one_run(cast: Cast, players: tuple[Submission, Submission]) -> None:
    runs = at_once(*[lambda: start(cast.alice, asked(*players)).pk] * 2)
    assert len(set(runs)) == 1
    assert Duel.objects.count() == 1


REFUSALS = {
    "no players": "exactly 2 agents",
    "same names": "need different ids",
    "no key": "1 to 200 characters",
    "late": "at most 3600 seconds",
    "code_url": "Images of other places and code_url are not read",
    "foreign image": "has no image with this digest",
    "unknown version": "no such version",
    "unknown game": "no such environment",
    "one seat": "has exactly 1 agent, not 2",
    "one player": "has exactly 2 agents, not 1",
    "closed": "is closed",
    "itself": "against itself",
    "elsewhere": "plays",
    "of others": "None of these agents is yours",
    "old of another": "only the active version",
    "rests": "is hidden",
    "unrated": "no rating yet",
    "not built": "not built and validated",
}
CODES = {
    "foreign image": UNKNOWN,
    "unknown version": UNKNOWN, "unknown game": UNKNOWN, "closed": NOT_READY,
    "of others": NOT_YOURS, "old of another": NOT_YOURS, "rests": NOT_READY, "unrated": NOT_READY,
    "not built": NOT_READY,
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSALS)
def test_what_is_refused(cast: Cast, players: tuple[Submission, Submission], case: str) -> None:  # noqa: C901  (a case each)
    mine, rival = players
    caller, request = cast.alice, asked(mine, rival)
    match case:
        case "no players":
            request = asked()
        case "same names":
            request = RunRequest("k", request.environment, (request.players[0], request.players[0]))
        case "no key":
            request = asked(mine, rival, key="")
        case "late":
            request = asked(mine, rival, seconds=3601)
        case "code_url":
            request = asked("https://example.org/agent.zip", rival)
        case "foreign image":
            request = asked(f"docker.io/library/python@sha256:{'0' * 64}", rival)
        case "unknown version":
            request = asked("submission:999", rival)
        case "unknown game":
            request = RunRequest("k", "chess-on-mars", request.players)
        case "one seat":
            request = RunRequest("k", factories.task().slug, request.players)
        case "one player":
            request = asked(mine)
        case "closed":
            mine.agent.environment.is_active = False
            mine.agent.environment.save()
        case "itself":
            request = asked(mine, mine)
        case "elsewhere":
            other = factories.ready(factories.agent(cast.alice, factories.environment("connect-four-v1"), "ada"))
            request = asked(mine, other)
        case "of others":
            caller = cast.charlie
            factories.rating(mine, 1500, rank=2, worst_rank=2)
        case "old of another":
            factories.ready(rival.agent)
        case "rests":
            Agent.objects.filter(pk=rival.agent_id).update(is_resting=True)
        case "unrated":
            request = asked(mine, factories.ready(factories.agent(cast.bob, mine.agent.environment, "fresh")))
        case "not built":
            request = asked(factories.submission(mine.agent), rival)
    with pytest.raises(Refused, match=REFUSALS[case]) as refused:
        start(caller, request)
    assert refused.value.code == CODES.get(case, "refused")
    assert not Run.objects.exists()


@pytest.fixture
def alone(cast: Cast) -> Submission:
    """Alice's agent in an environment with one seat, with three public seeds."""
    game = factories.task(practice=3)
    made = factories.ready(factories.agent(cast.alice, game, "anna"))
    factories.evaluation(made)
    return made


def test_a_run_with_one_seat_is_an_evaluation_on_public_seeds_that_counts_for_nothing(
    cast: Cast, alone: Submission
) -> None:
    run = start(cast.alice, replace(asked(alone), match_count=2))
    evaluation = Evaluation.every.get(run=run)
    assert evaluation.seed_list == practice_list(evaluation.environment)
    assert (evaluation.episode_count, run.names, list(line(Evaluation))) == (2, ("agent-1",), [evaluation])
    # Neither boards nor pages nor the agent's own list know it.
    standing = Evaluation.objects.get()
    assert standing.is_current
    assert (alone.latest_evaluation, list(alone.evaluations.all())) == (standing, [standing])
    assert run_result(run) is None
    factories.moved(
        Evaluation.every.filter(run=run), JobState.SUCCEEDED, score=7.5, episodes=[(1, 7.0, 9, 0.1), (2, 8.0, 11, 0.1)],
        episodes_done=2,
    )  # fmt: skip
    standing_decide(agent=alone.agent)
    assert Evaluation.objects.get(is_current=True) == standing
    found = run_rows(cast.alice).get()
    result = run_result(found)
    assert result is not None
    assert (result.winner, result.steps, [(side.name, side.score, side.errors) for side in result.sides]) == (
        "", 20, [("agent-1", 7.5, 0)],
    )  # fmt: skip
    assert run_states([run.pk])[run.pk].matches_done == 2


def test_a_player_that_fails_alone_has_played_and_lost(cast: Cast, alone: Submission) -> None:
    run = start(cast.alice, asked(alone))
    rows = Evaluation.every.filter(run=run)
    factories.moved(rows, JobState.FAILED, error_code="player_error", public_error="It raised an error.")
    result = run_result(run_rows(cast.alice).get())
    assert result is not None
    assert (run_states([run.pk])[run.pk].state, result.sides[0].errors, result.sides[0].error) == (
        JobState.SUCCEEDED, 1, "It raised an error.",
    )  # fmt: skip


def test_a_run_with_one_seat_ends_by_its_caller_and_by_its_time(cast: Cast, alone: Submission) -> None:
    first, second = (start(cast.alice, asked(alone, key=key)) for key in "ab")
    assert run_cancel(run=first)
    Run.objects.filter(pk=second.pk).update(expires_at=from_now(timedelta(seconds=-1)))
    assert runs_expire() == 1
    states = run_states([first.pk, second.pk])
    assert [states[run.pk].cancel_code for run in (first, second)] == [CancelCode.BY_OWNER, CancelCode.TIME_OVER]
    assert states[second.pk].is_timed_out


def test_what_is_refused_with_one_seat(cast: Cast, alone: Submission) -> None:
    request = asked(alone)
    for caller, wrong, words in (
        (cast.alice, replace(request, match_count=4), "has 3 public seeds"),
        (cast.alice, replace(request, seed=1), "leave the seed out"),
        (cast.alice, replace(request, players=()), "exactly 2 agents"),
        (cast.bob, request, "no rating|not yours|rests|may not"),
    ):
        with pytest.raises(Refused, match=words):
            start(caller, wrong)
    assert not Run.objects.exists()
    assert start(cast.olga, request).caller == cast.olga


def test_organisers_let_any_two_agents_meet(cast: Cast, players: tuple[Submission, Submission]) -> None:
    assert start(cast.olga, asked(*players)).caller == cast.olga


def test_runs_and_challenges_share_a_quota(
    cast: Cast, players: tuple[Submission, Submission], settings: Settings
) -> None:
    settings.QUOTAS = {**settings.QUOTAS, "challenges_per_day": 2}
    factories.challenged(*players)
    start(cast.alice, asked(*players))
    start(cast.alice, asked(*players))  # the same key costs nothing
    with pytest.raises(QuotaExceeded, match="This run needs one duel") as refused:
        start(cast.alice, asked(*players, key="match-2"))
    assert refused.value.retry_after_seconds is not None


def test_a_caller_with_many_runs_waits_behind_one_with_few(cast: Cast, players: tuple[Submission, Submission]) -> None:
    mine, rival = players
    many = [start(cast.olga, asked(mine, rival, key=f"m{number}")).duel for number in range(3)]
    few = start(cast.alice, asked(mine, rival)).duel
    assert list(line(Duel)) == [many[0], few, *many[1:]]


@pytest.mark.parametrize("way", ["caller", "time", "disabled", "banned"])
def test_what_cancels_a_run(cast: Cast, players: tuple[Submission, Submission], way: str) -> None:
    run = start(cast.alice, asked(*players))
    match way:
        case "caller":
            assert run_cancel(run=run)
            assert not run_cancel(run=run), "It is over."
        case "time":
            assert runs_expire() == 0
            Run.objects.update(expires_at=from_now(-timedelta(seconds=1)))
            assert runs_expire() == 1
        case "disabled":
            agent_disable(agent=players[1].agent, reason="It burns.")
        case "banned":
            user_ban(user=cast.bob, reason="Spam.")
    state = run_states([run.pk])[run.pk]
    codes = {"caller": CancelCode.BY_OWNER, "time": CancelCode.TIME_OVER}
    assert (state.state, state.cancel_code) == (JobState.CANCELLED, codes.get(way, CancelCode.PLAYER_BARRED))
    assert state.is_over
    assert state.is_timed_out == (way == "time")
    assert run_result(run_rows(cast.alice).get()) is None


def test_an_open_run_keeps_nobody_from_cancelling_a_build(cast: Cast, players: tuple[Submission, Submission]) -> None:
    start(cast.alice, asked(*players))
    build = factories.build(players[0], JobState.QUEUED)
    phase_cancel(job=build, operator=Operator(AuditEntry.Channel.SITE, "alice"))
    build.refresh_from_db()
    assert build.state == JobState.CANCELLED


def test_a_result_names_the_players_as_the_caller_did(cast: Cast, players: tuple[Submission, Submission]) -> None:
    run = start(cast.alice, asked(*players))
    result = run_result(
        played(run, outcome="PLAYER_2", player_1_errors=1, draws=0, player_1_score=-1.0, player_2_score=1.0)
    )
    assert result is not None
    assert (result.winner, result.draws, result.seconds) == ("agent-2", 0, 5.0)
    assert [(side.name, side.score, side.errors) for side in result.sides] == [
        ("agent-1", -1.0, 1),
        ("agent-2", 1.0, 0),
    ]
    assert run_states([run.pk, 999]).keys() == {run.pk}


def test_a_token_opens_one_door(cast: Cast) -> None:
    now = timezone.now()
    _, api = token_create(owner=cast.alice, name="api", now=now, days=1)
    row, executor = token_create(owner=cast.alice, name="grpc", now=now, days=1, scope=TokenScope.EXECUTOR)
    assert token_find(executor, now=now) is None
    assert token_find(api, now=now, scope=TokenScope.EXECUTOR) is None
    assert token_find(executor, now=now, scope=TokenScope.EXECUTOR) == row
