"""Results by id, and deleting submissions."""

from __future__ import annotations

import pytest
from django.test import Client
from django.utils import timezone

from core.evaluations.services import evaluation_create
from core.models import Environment, Evaluation, JobFault, JobState, Submission
from core.tests import factories
from core.tests.factories import Cast
from web.api.authentication import HOW_TO_GET_ONE
from web.api.tests.conftest import Program
from web.api.tests.sending import SUBMIT, script
from web.tests import scored

pytestmark = pytest.mark.django_db
RAISED = "Episode 3: The player raised an exception: ValueError: saw [0.01, 0.02]"


@pytest.fixture
def submission(cast: Cast, cart_pole: Environment) -> Submission:
    return factories.submission(factories.agent(cast.alice, cart_pole, "balance"))


def evaluated(made: Submission, scores: list[float], state: JobState = JobState.SUCCEEDED) -> Evaluation:
    """Return an evaluation queued after the build."""
    row = scored.evaluation(made, scores, state)
    Evaluation.objects.filter(pk=row.pk).update(created_at=timezone.now())
    return row


def results(client: Client, submission: Submission) -> dict[str, object]:
    answers = [
        client.get(f"{address}{submission.public_id}{slash}")
        for address in ("/api/results/", "/submissions/")
        for slash in ("", "/")
    ]
    assert {response.status_code for response in answers} == {200}
    assert len({response.content for response in answers}) == 1
    answer: dict[str, object] = answers[0].json()
    return answer


@pytest.mark.slow
def test_a_submission_goes_from_pending_to_completed(client: Client, submission: Submission) -> None:
    build = factories.build(submission, JobState.QUEUED)
    answer = results(client, submission)
    assert answer == {
        "id": str(submission.public_id),
        "status": "pending",
        "score": None,
        "env_id": "CartPole-v1",
        "algorithm": "",
        "created_at": answer["created_at"],
        "error": None,
    }
    build.delete()
    factories.build(submission, JobState.RUNNING)
    assert results(client, submission)["status"] == "processing"
    submission.builds.all().delete()
    factories.build(submission)
    assert results(client, submission)["status"] == "pending"
    factories.validation(submission)
    evaluation = evaluation_create(submission=submission)
    assert results(client, submission)["status"] == "pending"
    evaluation.delete()
    evaluated(submission, [1.0], JobState.RUNNING)
    assert (results(client, submission)["status"], results(client, submission)["score"]) == ("processing", None)
    Evaluation.objects.all().delete()
    evaluated(submission, [20.0, 30.0])
    assert (results(client, submission)["status"], results(client, submission)["score"]) == ("completed", 25.0)


def test_a_completed_submission_stays_so_while_it_is_evaluated_again(
    client: Client, cast: Cast, cart_pole: Environment
) -> None:
    made = scored.submission(cast.alice, cart_pole, "balance")
    evaluated(made, [20.0])
    evaluation_create(submission=made)
    assert (results(client, made)["status"], results(client, made)["score"]) == ("completed", 20.0)


def test_why_it_failed_is_for_its_owner(client: Client, cast: Cast, program: Program, submission: Submission) -> None:
    factories.build(submission, JobState.FAILED, fault=JobFault.PLAYER, error="step.py does not fit: line 7")
    for person, error in (
        (None, "The owner can read why."),
        (cast.bob, "The owner can read why."),
        (cast.alice, "step.py does not fit: line 7"),
        (cast.olga, "step.py does not fit: line 7"),
    ):
        answer = results(program(person), submission)
        assert (answer["status"], answer["error"], answer["score"]) == ("failed", error, None)


def test_what_a_player_saw_of_hidden_seeds_is_told_to_staff_alone(
    cast: Cast, program: Program, cart_pole: Environment
) -> None:
    made = scored.submission(cast.alice, cart_pole, "balance")
    evaluated(made, [1.0], JobState.FAILED)
    assert results(program(cast.alice), made)["error"] == "The player raised an exception."
    assert results(program(cast.olga), made)["error"] == RAISED


def test_who_sent_an_anonymous_script_reads_why_it_failed(
    client: Client, cart_pole: Environment, open_to_all: None
) -> None:
    client.post(SUBMIT, script())
    submission = Submission.objects.get()
    submission.builds.all().delete()
    factories.build(submission, JobState.FAILED, fault=JobFault.PLAYER, error="no score: it printed\nhello")
    assert results(client, submission)["error"] == "no score: it printed\nhello"


@pytest.mark.parametrize("asked", ["1f0c2a9b-0000-4000-8000-000000000000", "7", "x" * 3000, "%00", "%F0%9F%8E%B2"])
def test_an_unknown_id_is_not_found(db: None, client: Client, asked: str) -> None:
    for address in (f"/api/results/{asked}", f"/submissions/{asked}/"):
        response = client.get(address)
        assert (response.status_code, response.json()) == (404, {"detail": "Submission not found"})


def test_only_the_owner_and_staff_delete(cast: Cast, program: Program, submission: Submission) -> None:
    address = f"/submissions/{submission.public_id}"
    body = {"user_id": "alice", "algorithm": "Custom", "env_id": "CartPole-v1", "agent_file": "agent.py"}
    stranger = program(None).delete(address, body, content_type="application/json")
    assert (stranger.status_code, stranger.json()) == (401, {"detail": HOW_TO_GET_ONE})
    other = program(cast.bob).delete(address)
    assert (other.status_code, other.json()) == (403, {"detail": "Only the owner of a submission may delete it."})
    assert not Submission.objects.exclude(deleted_at=None).exists()
    assert program(cast.alice).delete(f"{address}/", body, content_type="application/json").status_code == 204
    assert Submission.objects.exclude(deleted_at=None).exists()
    assert program(cast.alice).get(address).status_code == 404
    assert program(cast.alice).delete(address).status_code == 404


def test_an_anonymous_submission_is_deleted_by_staff_alone(
    cast: Cast, program: Program, cart_pole: Environment, open_to_all: None
) -> None:
    program(None).post(SUBMIT, script())
    address = f"/submissions/{Submission.objects.get().public_id}"
    assert [program(one).delete(address).status_code for one in (None, cast.alice, cast.olga)] == [401, 403, 204]
