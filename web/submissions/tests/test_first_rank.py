"""What an owner sees between an upload and the version's first rank: why it failed, or how far its first edition is."""

from __future__ import annotations

from dataclasses import replace

import pytest
from django.test import Client
from pytest_django.asserts import assertContains, assertNotContains

from arena_kit.environment.registry import get_spec
from core.jobs.artifacts import artifacts_stored
from core.jobs.lifecycle import job_claim
from core.models import Duel, Environment, JobState, Submission, Tournament, Validation
from core.submissions.phases import validation_fail
from core.tests import factories
from core.tests.factories import Cast
from web.conftest import As
from web.tests import played

pytestmark = pytest.mark.django_db
MOVES = 'hx-trigger="every 1s"'
PAGE = "/environments/tic-tac-toe/agents/anna/"


@pytest.fixture
def anna(cast: Cast, environment: Environment) -> Submission:
    return factories.submission(factories.agent(cast.alice, environment, "anna"))


def failed(submission: Submission) -> Validation:
    """A validation whose second match the player forfeits after two moves, as a worker stores it."""
    factories.build(submission)
    rules = submission.agent.environment.spec_id
    waiting = Validation.objects.create(submission=submission, environment_version=rules, seed=7, match_count=2)
    claimed = job_claim(kind=Validation, job_id=waiting.pk, worker="worker-1")
    assert claimed is not None
    record = played.random_duel(get_spec(rules), ("anna v1", "anna v1"), 2, faults_of_1={2})
    # The referee keeps the sentence in the record, and the traceback in the log of the player.
    record = replace(record, matches=tuple(replace(one, error=one.error.partition("\n")[0]) for one in record.matches))
    logs = (f"[match 2] KeyError: 'nine'\n{played.TRACE}\n", "")
    with artifacts_stored(job=claimed, record=record, player_logs=logs, digests=("", "")) as artifacts:
        error = f"Match 2: {played.SENTENCE}"
        validation_fail(validation=claimed, artifacts=artifacts, code="player_raised", error=error, log="Played.")
    return waiting


def test_the_traceback_stands_under_the_sentence_with_the_move(anna: Submission, cast: Cast, visit: As) -> None:
    validation = failed(anna)
    page = visit(cast.alice).get(PAGE)
    assertContains(
        page, f'<a href="/validations/{validation.pk}/matches/2/?ply=2">match 2, after 2 moves</a>', html=True
    )
    assertContains(page, "secret_move = plan[&quot;nine&quot;]")
    assertContains(page, "<strong>player.py, line 9, in step</strong>")
    factories.ready(anna.agent)
    for stranger in (None, cast.bob):
        assertNotContains(visit(stranger).get(PAGE), "secret_move")
        assertNotContains(visit(stranger).get(PAGE), "match 2, after")
    validation.refresh_from_db()
    validation.records.storage.delete(str(validation.records.name))
    assertContains(visit(cast.alice).get(PAGE), "Match 2: The player raised")


def test_the_page_follows_a_version_until_it_has_a_rank(cast: Cast, environment: Environment, client: Client) -> None:
    alone = played.ready(factories.agent(cast.alice, environment, "anna"))
    assertNotContains(client.get(PAGE), MOVES)
    rival = played.ready(factories.agent(cast.bob, environment, "berta"))
    assertContains(client.get(PAGE), MOVES)

    edition = played.edition([alone, rival], environment)
    duels = [played.waiting_duel(edition, alone, rival, 2) for _ in range(2)]
    played.play(duels[0])
    page = client.get(PAGE)
    assertContains(page, "It plays for its first rank in")
    assertContains(page, "1 of 2 duels are over.")
    assertContains(page, MOVES)
    assertContains(page, "Version 1 plays")

    factories.rating(alone, 1612, rank=1, low=1500, high=1700)
    page = client.get(PAGE)
    assertContains(page, "<dd>1st <span class='interval'>of 1, likely 1st to 2nd</span></dd>", html=True)
    assertNotContains(page, "It plays for its first rank in")
    assertContains(page, MOVES)
    factories.moved(Duel.objects.filter(pk=duels[1].pk), JobState.CANCELLED)
    Tournament.objects.update(state="FINISHED", ended_at=factories.NOON)
    assertNotContains(client.get(PAGE), MOVES)
