"""The repository follows the arena's rows: what is private, deleted, banned or renamed goes, what is missing comes."""

from __future__ import annotations

from io import StringIO
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command
from django.test import Client
from django.urls import reverse
from pytest_django.fixtures import Settings

from core.models import Agent, Alarm, JobState, Publication, Rating, Submission, User
from core.moderation.services import user_ban, user_unban
from core.submissions.existing import submission_delete
from core.submissions.publishing import publications_ensure
from core.tests import factories
from core.tests.working import bells, run
from publisher import tasks
from publisher.pages import MARK
from publisher.tests.publishing import publish_all, published_to, version
from publisher.tests.samples import Remote

# The lease of a running job writes from another thread, which sees only committed rows.
pytestmark = pytest.mark.django_db(transaction=True)

AGENT = "tic-tac-toe/ann-agent"


@pytest.fixture
def remote(settings: Settings, tmp_path: Path) -> Remote:
    return published_to(settings, tmp_path)


@pytest.fixture
def agent(remote: Remote) -> Agent:
    return factories.agent(factories.user("ann", team="Reds"), factories.environment(), "ann-agent", is_public=True)


def refresh() -> None:
    """Refresh the repository, and publish what that has queued."""
    tasks.repository_refresh()
    publish_all()


def test_the_backlog_is_published_and_pages_name_it(remote: Remote, agent: Agent) -> None:
    old, new = version(agent, old=""), version(agent, LICENSE="")
    version(factories.agent(agent.owner, agent.environment, "secret"))
    Rating.objects.create(
        submission=new, value=1512.4, low=1480.0, high=1544.0, live=1500.0, duel_count=1, match_count=10
    )
    tasks.repository_refresh()
    publish_all()
    assert remote.paths() == [f"{AGENT}/LICENSE.py", f"{AGENT}/player.py"]
    assert not old.publications.exists()

    tasks.repository_refresh()
    assert remote.subjects()[0] == "Update the pages"
    page = remote.text("tic-tac-toe/README.md")
    assert r"| [ann\-agent](ann-agent/) | 2 | ann | Reds | 1512 \(1480 to 1544\) | none |" in page
    assert "secret" not in page
    assert "| 1 |" in remote.text("README.md")
    count = len(remote.subjects())
    tasks.repository_refresh()
    assert len(remote.subjects()) == count, "without a difference there is no commit"


@pytest.mark.nightly
def test_a_page_that_people_wrote_is_left_alone(remote: Remote, agent: Agent) -> None:
    version(agent)
    refresh()
    remote.commit_beside("README.md", "# Our own words\n")
    tasks.repository_refresh()
    assert remote.text("README.md") == "# Our own words\n"
    assert remote.text("tic-tac-toe/README.md").startswith(MARK)


def test_what_an_organiser_makes_private_is_removed_and_comes_back(
    remote: Remote, agent: Agent, settings: Settings
) -> None:
    version(agent)
    refresh()
    tasks.repository_refresh()
    organiser = factories.user("org", is_staff=True, is_superuser=True)
    client = Client()
    client.force_login(organiser)
    address = reverse("web:organise_change_agent", args=[agent.pk])
    form = {"name": agent.name, "description": "", "opponents": agent.opponents}
    client.post(address, form)
    agent.refresh_from_db()
    assert not agent.is_public
    assert ("publish", "repository_refresh", 0) in bells()

    tasks.repository_refresh()
    assert remote.subjects()[0] == f"Remove {AGENT}"
    assert remote.paths() == ["README.md"]
    job = Publication.objects.get()
    assert (job.state, job.url, job.removed_at is not None) == (JobState.SUCCEEDED, "", True)

    client.post(address, {**form, "is_public": "on"})
    refresh()
    assert f"{AGENT}/player.py" in remote.paths()


def test_a_deleted_version_makes_way_for_the_one_before(remote: Remote, agent: Agent) -> None:
    version(agent, first="")
    refresh()
    second = version(agent, second="")
    refresh()
    submission_delete(submission=second)
    tasks.repository_refresh()
    assert not any(path.startswith(AGENT) for path in remote.paths())
    publish_all()
    assert f"{AGENT}/first.py" in remote.paths()


@pytest.mark.nightly
def test_the_agents_of_a_closed_account_are_removed_until_it_is_opened(remote: Remote, agent: Agent) -> None:
    version(agent)
    refresh()
    user_ban(user=agent.owner, reason="Copied agents.")
    tasks.repository_refresh()
    assert remote.paths() == []
    user_unban(user=User.objects.get(pk=agent.owner_id))
    refresh()
    assert f"{AGENT}/player.py" in remote.paths()


@pytest.mark.nightly
def test_a_renamed_agent_moves_and_its_old_name_is_free(remote: Remote, agent: Agent) -> None:
    version(agent, mine="")
    refresh()
    Agent.objects.filter(pk=agent.pk).update(name="zed")
    other = factories.agent(factories.user("bob"), agent.environment, "ann-agent", is_public=True)
    version(other, his="")
    refresh()
    refresh()
    names = {path for path in remote.paths() if not path.endswith("README.md")}
    assert names == {
        f"{AGENT}/his.py", f"{AGENT}/player.py", "tic-tac-toe/zed/mine.py", "tic-tac-toe/zed/player.py",
    }  # fmt: skip


def test_a_worker_that_dies_after_the_push_costs_no_second_commit(
    remote: Remote, agent: Agent, monkeypatch: pytest.MonkeyPatch
) -> None:
    row = version(agent)
    job = Publication.objects.create(submission=row)

    def dies(**_: object) -> None:
        raise OSError("killed before the row was written")

    with monkeypatch.context() as patch:
        patch.setattr(tasks, "job_succeed", dies)
        run(job)
    assert len(remote.subjects()) == 1
    Publication.objects.update(not_before=None)
    run(job)
    job.refresh_from_db()
    assert (job.state, job.attempt, len(remote.subjects())) == (JobState.SUCCEEDED, 2, 1)


def test_a_repository_that_cannot_be_kept_raises_an_alarm_that_settles(
    remote: Remote, agent: Agent, settings: Settings, tmp_path: Path
) -> None:
    settings.PUBLISHER_REMOTE = str(tmp_path / "nowhere.git")
    version(agent)
    tasks.repository_refresh()
    alarm = Alarm.objects.get(key=tasks.ALARM)
    assert alarm.settled_at is None
    assert "publisher_check" in alarm.message
    assert not Publication.objects.exists(), "nothing is queued for a repository that does not answer"

    settings.PUBLISHER_REMOTE = str(remote.folder)
    tasks.repository_refresh()
    alarm.refresh_from_db()
    assert alarm.settled_at is not None


def test_the_check_says_what_to_do_and_publishes_what_has_failed(
    remote: Remote, agent: Agent, settings: Settings, tmp_path: Path
) -> None:
    row: Submission = version(agent)
    factories.publication(row, JobState.FAILED, fault="PLATFORM")
    assert publications_ensure() == 0
    settings.PUBLISHER_REMOTE = str(tmp_path / "nowhere.git")
    with pytest.raises(CommandError, match="NO, repository_missing: .* There is no such repository"):
        call_command("publisher_check", stdout=StringIO())

    settings.PUBLISHER_REMOTE = str(remote.folder)
    said = StringIO()
    call_command("publisher_check", "--publish", stdout=said)
    assert "1 publication queued." in said.getvalue()
    assert remote.git("for-each-ref") == ""
    publish_all()
    assert f"{AGENT}/player.py" in remote.paths()
