"""What changes while a push is under way: the source that arrives all the same does not stay in the repository."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pytest
from django.utils import timezone
from pytest_django.fixtures import Settings

from core.jobs.control import job_cancel
from core.models import Agent, CancelCode, JobState, Publication
from core.moderation.services import user_ban
from core.submissions.existing import submission_delete
from core.submissions.publishing import publications_ensure, repository_review
from core.tests import factories
from core.tests.working import requested, run
from publisher import tasks
from publisher.catalogue import publications_gone
from publisher.git import GitError
from publisher.repository import Repository
from publisher.tests.publishing import publish_all, published_to, version
from publisher.tests.samples import Remote

pytestmark = pytest.mark.django_db(transaction=True)

AGENT = "tic-tac-toe/ann-agent"
REVIEW = ("publish", "repository_refresh", 0)


@pytest.fixture
def remote(settings: Settings, tmp_path: Path) -> Remote:
    return published_to(settings, tmp_path)


@pytest.fixture
def agent(remote: Remote) -> Agent:
    return factories.agent(factories.user("ann"), factories.environment(), "ann-agent", is_public=True)


@pytest.fixture
def pushing(monkeypatch: pytest.MonkeyPatch) -> Callable[[Callable[[], object]], None]:
    """Have something happen between the last look at the claim and the push."""

    def meanwhile(act: Callable[[], object]) -> None:
        push = Repository._push

        def late(self: Repository, what: str) -> None:
            monkeypatch.setattr(Repository, "_push", push)
            act()
            push(self, what)

        monkeypatch.setattr(Repository, "_push", late)

    return meanwhile


def delete(publication: Publication) -> None:
    submission_delete(submission=publication.submission)


def ban(publication: Publication) -> None:
    user_ban(user=publication.submission.agent.owner, reason="Copied agents.")


def make_private(publication: Publication) -> None:
    Agent.objects.update(is_public=False)


@pytest.mark.parametrize("act", [delete, ban, make_private])
def test_what_must_not_be_seen_any_more_is_removed_although_it_arrives(
    act: Callable[[Publication], None], remote: Remote, agent: Agent, pushing: Callable[[Callable[[], object]], None]
) -> None:
    job = Publication.objects.create(submission=version(agent, mine=""))
    pushing(lambda: act(job))
    run(job)
    assert f"{AGENT}/mine.py" in remote.paths()
    assert requested().count(REVIEW) >= 1
    tasks.repository_refresh()
    assert remote.paths() == []


def test_a_push_that_arrives_after_the_repository_was_reviewed_is_found(
    remote: Remote, agent: Agent, pushing: Callable[[Callable[[], object]], None]
) -> None:
    version(factories.agent(agent.owner, agent.environment, "other", is_public=True))
    tasks.repository_refresh()
    publish_all()
    tasks.repository_refresh()
    job = Publication.objects.create(submission=version(agent, mine=""))
    job.refresh_from_db()

    def die() -> None:
        # The review of another host sees nothing to remove, the push arrives, and its worker is killed.
        raise GitError("Killed.")

    pushing(die)
    run(job)
    job.refresh_from_db()
    assert (job.state, job.folder) == (JobState.QUEUED, AGENT)
    submission_delete(submission=job.submission)
    tasks.repository_refresh()
    job.refresh_from_db()
    assert job.removed_at is None, "its push may still arrive"

    remote.commit_beside(f"{AGENT}/mine.py", "secret = 1\n")
    Publication.objects.filter(pk=job.pk).update(ended_at=timezone.now() - timedelta(hours=1))
    tasks.repository_refresh()
    assert f"{AGENT}/mine.py" not in remote.paths()
    job.refresh_from_db()
    assert (job.state, job.removed_at is not None) == (JobState.CANCELLED, True)


def test_a_version_whose_push_never_happened_is_not_shown(
    remote: Remote, agent: Agent, pushing: Callable[[Callable[[], object]], None]
) -> None:
    version(agent)
    tasks.repository_refresh()
    publish_all()
    job = Publication.objects.create(submission=version(agent, second=""))

    def fail() -> None:
        raise GitError("The repository is away.")

    pushing(fail)
    run(job)
    tasks.repository_refresh()
    job.refresh_from_db()
    assert (job.state, job.folder, job.url) == (JobState.QUEUED, AGENT, "")
    assert f"{AGENT}/player.py" in remote.paths(), "the version before stays"
    assert r"| [ann\-agent](ann-agent/) | 1 |" in remote.text("tic-tac-toe/README.md")


def test_a_cancelled_push_is_not_published_again_when_its_folder_was_removed(
    remote: Remote, agent: Agent, pushing: Callable[[Callable[[], object]], None]
) -> None:
    job = Publication.objects.create(submission=version(agent))
    claimed = Publication.objects.get(pk=job.pk)

    def stop() -> None:
        claimed.refresh_from_db()
        job_cancel(job=claimed, code=CancelCode.BY_ORGANISER, reason="Not this one.")
        Agent.objects.update(is_public=False)

    pushing(stop)
    run(job)
    Publication.objects.update(ended_at=timezone.now() - timedelta(hours=1))
    tasks.repository_refresh()
    assert remote.paths() == []
    Agent.objects.update(is_public=True)
    assert publications_ensure() == 0


def test_a_folder_that_another_agent_is_pushing_to_is_left_until_that_is_over(
    remote: Remote, agent: Agent, pushing: Callable[[Callable[[], object]], None]
) -> None:
    version(agent, mine="")
    tasks.repository_refresh()
    publish_all()
    Agent.objects.filter(pk=agent.pk).update(name="zed", is_public=False)
    other = factories.agent(factories.user("bob"), agent.environment, "ann-agent", is_public=True)
    job = Publication.objects.create(submission=version(other, his=""))
    seen: list[bool] = []

    def review() -> None:
        seen.extend([row.folder == AGENT for row in publications_gone()])

    pushing(review)
    run(job)
    assert seen == []
    tasks.repository_refresh()
    assert {path for path in remote.paths() if path.startswith(AGENT)} == {f"{AGENT}/his.py", f"{AGENT}/player.py"}
    assert Publication.objects.filter(submission__agent=agent).exclude(removed_at=None).count() == 1


def test_an_older_version_is_not_queued_while_a_newer_one_is_in_the_repository(remote: Remote, agent: Agent) -> None:
    version(agent)
    newer = version(agent)
    tasks.repository_refresh()
    publish_all()
    assert Publication.objects.get().submission == newer
    # Its new build failed, so that the version before is the newest that works.
    factories.build(newer, JobState.FAILED, fault="PLATFORM")
    repository_review()
    tasks.repository_refresh()
    publish_all()
    assert Publication.objects.count() == 1
