from __future__ import annotations

from pathlib import Path

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from pytest_django.fixtures import Settings

from arena_kit.environment.registry import get_spec
from core.environments.services import environment_sync
from core.jobs.control import job_cancel
from core.jobs.worker import Performed, step
from core.models import Agent, CancelCode, Environment, JobFault, JobState, Publication, Submission, User
from core.tests.working import run
from publisher.tests.samples import Remote, new_remote, zip_of

# The lease of a running job writes from another thread, which sees only committed rows.
pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def remote(settings: Settings, tmp_path: Path) -> Remote:
    settings.DATA_DIR = tmp_path / "data"
    settings.PUBLISHER_REMOTE = str(tmp_path / "remote.git")
    settings.PUBLISHER_WEB_URL = "https://code.example/arena/"
    return new_remote(tmp_path / "remote.git")


@pytest.fixture
def environment() -> Environment:
    row, _ = environment_sync(spec=get_spec("connect-four"))
    return row


@pytest.fixture
def agent(environment: Environment) -> Agent:
    owner = User.objects.create(email="ann@arena.example", username="Ann\n Lee")
    return Agent.objects.create(environment=environment, owner=owner, name="deep-four", is_public=True)


def submission(agent: Agent, number: int = 1, **files: str) -> Submission:
    data = zip_of({f"{name}.py": content for name, content in files.items()}).getvalue()
    return Submission.objects.create(
        agent=agent,
        number=number,
        archive=SimpleUploadedFile("archive.zip", data),
        archive_sha256="0" * 64,
        archive_bytes=len(data),
    )


def publish(row: Submission) -> Publication:
    job = Publication.objects.create(submission=row)
    run(job)
    job.refresh_from_db()
    return job


def test_a_public_submission_gets_a_page(remote: Remote, agent: Agent) -> None:
    job = publish(submission(agent, search="depth = 3\n"))

    assert (job.state, job.fault, job.error) == (JobState.SUCCEEDED, JobFault.NONE, "")
    commit = remote.git("rev-parse", "main").strip()
    assert job.url == f"https://code.example/arena/blob/{commit}/connect-four/deep-four/player.py"
    assert remote.subjects() == ["Publish deep-four v1 for Connect Four by Ann Lee"]
    assert remote.text("connect-four/deep-four/search.py") == "depth = 3\n"
    assert job.log.endswith(f"Published as {commit}.")


def test_without_pages_there_is_no_link(remote: Remote, agent: Agent, settings: Settings) -> None:
    settings.PUBLISHER_WEB_URL = ""
    job = publish(submission(agent))
    assert (job.state, job.url) == (JobState.SUCCEEDED, "")


def test_an_agent_that_is_not_public_any_more_stays_unpublished(remote: Remote, agent: Agent) -> None:
    row = submission(agent)
    Agent.objects.update(is_public=False)
    job = publish(row)
    assert (job.state, job.error) == (JobState.CANCELLED, "The agent is not public.")
    assert remote.git("for-each-ref") == ""


def test_a_late_old_version_does_not_replace_a_newer_one(remote: Remote, agent: Agent) -> None:
    old = submission(agent, 1, old="")
    publish(submission(agent, 2, new=""))
    job = publish(old)
    assert (job.state, job.error) == (JobState.CANCELLED, "A newer version is already published.")
    assert remote.paths() == ["connect-four/deep-four/new.py", "connect-four/deep-four/player.py"]


def test_an_archive_that_cannot_be_published_is_the_owners_to_mend(remote: Remote, agent: Agent) -> None:
    row = submission(agent)
    row.archive.save("archive.zip", SimpleUploadedFile("a.zip", zip_of({"git~1/config": "[core]"}).getvalue()))
    job = publish(row)
    assert (job.state, job.fault, job.error_code) == (JobState.FAILED, JobFault.PLAYER, "git_folder")
    assert job.error == "git~1/config belongs to a git repository of its own."


def test_a_missing_remote_is_tried_again_until_attempts_are_used_up(
    remote: Remote, agent: Agent, settings: Settings, tmp_path: Path
) -> None:
    settings.PUBLISHER_REMOTE = f"file://ann:secret-token@{tmp_path}/nowhere.git"
    job = publish(submission(agent))
    assert (job.state, job.fault, job.error_code) == (JobState.QUEUED, JobFault.PLATFORM, "repository_missing")
    for _ in range(settings.JOB_MAX_ATTEMPTS - 1):
        Publication.objects.update(not_before=None)
        run(job)
    job.refresh_from_db()
    assert (job.state, job.fault, job.attempt) == (JobState.FAILED, JobFault.PLATFORM, settings.JOB_MAX_ATTEMPTS)
    assert "secret-token" not in job.error + job.log


def test_a_missing_archive_is_the_platforms_fault(remote: Remote, agent: Agent) -> None:
    row = submission(agent)
    row.archive.storage.delete(str(row.archive.name))
    job = publish(row)
    assert (job.state, job.fault, job.error_code) == (JobState.QUEUED, JobFault.PLATFORM, "archive_missing")


def test_a_bell_that_is_answered_twice_or_late_does_nothing(remote: Remote, agent: Agent) -> None:
    job = publish(submission(agent))
    cancelled = Publication.objects.create(submission=job.submission)
    job_cancel(job=cancelled, code=CancelCode.BY_ORGANISER, reason="Not wanted.")
    assert step("publish") is Performed.NOTHING

    assert len(remote.subjects()) == 1
    assert set(Publication.objects.values_list("state", "attempt")) == {
        (JobState.SUCCEEDED, 1),
        (JobState.CANCELLED, 0),
    }
