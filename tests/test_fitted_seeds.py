"""Hidden seeds cannot be fitted: the best of every episode of earlier uploads is no better than the best upload."""

from __future__ import annotations

import itertools
import random
import sys
from dataclasses import dataclass
from typing import Any

import pytest
from django.test import Client

from arena_kit.environment.episodes import secret_order
from arena_kit.tests.threaded import ThreadedContainer
from core.jobs.lease import Lease
from core.jobs.lifecycle import job_claim
from core.models import Environment, Evaluation, JobState, SeedPurpose, Submission
from core.tests import factories
from duel_runner import evaluating, tasks

pytestmark = pytest.mark.django_db(transaction=True)
EPISODES, VARIANTS = 100, 9
SECRETS = itertools.count(1)
LEFT, DOWN, RIGHT, UP = range(4)
CRUDE = {0: LEFT, 1: UP, 2: UP, 3: UP, 4: LEFT, 6: LEFT, 8: UP, 9: DOWN, 10: LEFT, 13: RIGHT, 14: DOWN}
"""An action for every field of FrozenLake that can be stood on."""


def policy(variant: int) -> dict[int, int]:
    """The crude policy with one field changed, as its owner's next upload would have it."""
    draw = random.Random(variant)
    return {**CRUDE, draw.choice([0, 4, 8, 9, 13, 14]): draw.randrange(4)} if variant else CRUDE


class Follower:
    """Plays by a policy, or by another in every episode, whose number it reads in its caller's frame."""

    policies: tuple[dict[int, int], ...] = ()
    chosen: dict[int, int] | None = None
    """Which policy to follow in which episode."""

    def __init__(self, train_mode: bool) -> None:
        self.policy = self.policies[0]

    def start(self, state: Any, valid_actions: Any) -> int:
        number = sys._getframe(1).f_locals["match"]
        if self.chosen is not None:
            self.policy = self.policies[self.chosen[number]]
        return self.policy[state.item()]

    def step(self, state: Any, valid_actions: Any, prev_reward: float) -> int:
        return self.policy[state.item()]

    def end(self, state: Any, prev_reward: float) -> None: ...


@dataclass
class Bench:
    """What a worker plays on, with the player in a thread."""

    make: type[Follower]
    core: int | None = None
    name: str = "thread"

    @property
    def players(self) -> Bench:
        return self

    @property
    def sandbox(self) -> Bench:
        return self

    def launch(self, *_: object) -> None: ...

    def slot(self, _: object) -> ThreadedContainer:
        return ThreadedContainer(self.make)


@pytest.fixture
def task() -> Environment:
    environment = factories.task("frozen-lake", episodes=EPISODES)
    environment.seed_lists.exclude(purpose=SeedPurpose.PRACTICE).update(seeds=list(range(1000, 1000 + EPISODES)))
    return environment


@pytest.fixture
def submission(task: Environment) -> Submission:
    return factories.ready(factories.agent(factories.user("anna"), task, "skater"))


def evaluated(submission: Submission, make: type[Follower], monkeypatch: pytest.MonkeyPatch) -> Evaluation:
    monkeypatch.setattr(evaluating, "workplace_of_this_worker", lambda: Bench(make))
    # Secrets as good as any, but the same in every run of this test.
    row = factories.evaluation(submission, JobState.QUEUED, order_secret=f"{next(SECRETS):064x}")
    claimed = job_claim(kind=Evaluation, job_id=row.pk, worker="worker-1")
    assert claimed is not None
    tasks.evaluate(claimed, Lease(claimed))
    row.refresh_from_db()
    assert row.state == JobState.SUCCEEDED, row.error
    return row


@pytest.mark.slow
def test_until_the_seeds_are_revealed_only_staff_is_told_of_single_episodes(
    submission: Submission, monkeypatch: pytest.MonkeyPatch
) -> None:
    evaluation = evaluated(submission, type("Crude", (Follower,), {"policies": (CRUDE,)}), monkeypatch)
    owner, staff = Client(), Client()
    owner.force_login(submission.agent.owner)
    staff.force_login(factories.user("zoe", is_staff=True, is_superuser=True))
    page, api = f"/evaluations/{evaluation.pk}/", f"/api/v1/evaluations/{evaluation.pk}/"

    for client in (owner, Client()):
        html = client.get(page).content.decode()
        assert "Distribution of scores" in html
        assert "the results of single episodes are hidden" in html
        assert not [word for word in ('id="episodes"', "formation-plot", evaluation.order_secret) if word in html]
        assert client.get(f"{api}episodes/").status_code == 403
        shown = client.get(api).json()
        assert shown["order_secret"] is None
        assert sum(shown["distribution"]["counts"]) == EPISODES
        assert not {"episodes", "scores"} & shown.keys()
    assert staff.get(f"{api}episodes/").json()["count"] == EPISODES
    assert 'id="episodes"' in staff.get(page).content.decode()

    assert evaluation.seed_list is not None
    evaluation.seed_list.revealed_at = evaluation.created_at
    evaluation.seed_list.save()
    first = owner.get(f"{api}episodes/").json()
    episodes = first["results"] + owner.get(first["next"]).json()["results"]
    assert [one["seed"] for one in episodes] == evaluation.seed_list.seeds
    assert owner.get(api).json()["order_secret"] == evaluation.order_secret
    assert evaluation.order_secret in owner.get(page).content.decode()


def test_the_episode_that_a_player_meets_first_is_the_first_of_the_secret_order(
    submission: Submission, monkeypatch: pytest.MonkeyPatch
) -> None:
    stays, leaves = dict.fromkeys(CRUDE, UP), dict.fromkeys(CRUDE, DOWN)
    first = {"policies": (stays, leaves), "chosen": {number: int(number == 1) for number in range(1, EPISODES + 1)}}
    row = evaluated(submission, type("First", (Follower,), first), monkeypatch)

    left = [number for number, _, length, *_ in row.episodes if length < 100]
    assert left == [secret_order(row.order_secret, EPISODES)[0] + 1]
    assert left != [1]


@pytest.mark.nightly
def test_the_best_of_every_episode_of_nine_uploads_is_no_better_than_the_best_of_them(
    submission: Submission, monkeypatch: pytest.MonkeyPatch
) -> None:
    policies = tuple(map(policy, range(VARIANTS)))
    variants = [
        evaluated(submission, type("Variant", (Follower,), {"policies": (one,)}), monkeypatch) for one in policies
    ]
    scores = [{number: score for number, score, *_ in row.episodes} for row in variants]
    best = {number: max(range(VARIANTS), key=lambda k: scores[k][number]) for number in scores[0]}

    fitted = evaluated(submission, type("Fitted", (Follower,), {"policies": policies, "chosen": best}), monkeypatch)

    fit = sum(max(one[number] for one in scores) for number in best) / EPISODES
    singles = [row.score or 0.0 for row in variants]
    assert max(singles) < fit - 0.1, "the seeds leave nothing to be fitted"
    assert fitted.score is not None
    assert fitted.score < max(singles) + 0.05, (singles, fit, fitted.score)
