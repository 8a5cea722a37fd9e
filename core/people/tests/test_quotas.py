"""What people may use, counted from what they have used."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from pytest_django.fixtures import Settings

from core.addresses import network_of
from core.errors import QuotaExceeded, Refused
from core.models import Agent, Environment, JobFault, JobState, QuotaName, Submission, User
from core.people.quota_selectors import Quota, quota_limit, quota_list, quota_lists
from core.people.quotas import address_digest
from core.people.services import anonymous_ensure
from core.submissions.clients import client_submit
from core.submissions.existing import submission_delete
from core.submissions.services import agent_create, submission_create
from core.tests import factories
from tests.samples import FIRST, archive

pytestmark = [
    pytest.mark.django_db,
    pytest.mark.usefixtures("archives_are_believed", "midday"),
    pytest.mark.both_databases,
]
EVENING = datetime(2026, 3, 1, 22, 30, tzinfo=UTC)


def limited(settings: Settings, **numbers: int) -> None:
    settings.QUOTAS = {**settings.QUOTAS, **numbers}


def packed(number: int) -> SimpleUploadedFile:
    """Different numbers are different archives of equal size."""
    return archive(f"# {number:04}\n{FIRST}")


def upload(owner: User, environment: Environment, name: str = "", number: int = 0) -> Submission:
    return agent_create(
        owner=owner,
        environment=environment,
        name=name or f"agent-{number}",
        is_public=False,
        archive=packed(number),
    )


def again(agent: Agent, number: int) -> Submission:
    return submission_create(agent=agent, archive=packed(number))


def refused(action: Any, *arguments: Any) -> QuotaExceeded:
    with pytest.raises(QuotaExceeded) as caught:
        action(*arguments)
    return caught.value


def quota(owner: User, environment: Environment, name: QuotaName, *, now: datetime | None = None) -> Quota:
    listed = quota_list(owner, environment, now=now or datetime.now(UTC))
    return next(row for row in listed if row.name == name)


# --- Which number holds ------------------------------------------------------------------------------------


def test_a_person_s_number_goes_before_the_environment_s_and_that_before_the_settings(
    settings: Settings, alice: User, environment: Environment
) -> None:
    def limit() -> int | None:
        return quota_limit(QuotaName.UPLOADS_PER_DAY, owner=alice, environment=environment)

    limited(settings, uploads_per_day=20)
    assert limit() == 20
    environment.quota_uploads_per_day = 7
    assert limit() == 7
    alice.quota_uploads_per_day = 50
    assert limit() == 50
    alice.quota_uploads_per_day = 0
    assert limit() is None
    alice.quota_uploads_per_day = 1
    alice.is_quota_exempt = True
    assert limit() is None


def test_no_upload_is_larger_than_the_site_takes(settings: Settings, alice: User, environment: Environment) -> None:
    settings.MAX_UPLOAD_BYTES = 1000
    for number, expected in ((None, 1000), (10, 10), (5000, 1000), (0, 1000)):
        environment.quota_upload_bytes = number
        assert quota_limit(QuotaName.UPLOAD_BYTES, owner=alice, environment=environment) == expected


def test_without_limits_nothing_is_said_but_how_large_a_file_may_be(alice: User, environment: Environment) -> None:
    assert [row.name for row in quota_list(alice, environment, now=EVENING)] == [QuotaName.UPLOAD_BYTES]


# --- Uploads a day -----------------------------------------------------------------------------------------


def test_the_upload_above_the_quota_is_told_when_the_next_day_begins(
    settings: Settings, alice: User, environment: Environment
) -> None:
    limited(settings, uploads_per_day=2)
    first = upload(alice, environment, number=1)
    again(first.agent, 2)

    refusal = refused(upload, alice, environment, "third", 3)

    assert str(refusal).startswith("Daily submission quota exceeded: the 2 uploads a day to Tic-tac-toe are used up.")
    assert refusal.code == "quota_uploads_per_day"
    assert 0 < (refusal.retry_after_seconds or 0) <= 24 * 3600
    assert refused(again, first.agent, 4).code == "quota_uploads_per_day"
    assert Submission.objects.count() == 2


def test_the_quota_is_of_one_person_in_one_environment(
    settings: Settings, alice: User, environment: Environment
) -> None:
    limited(settings, uploads_per_day=1)
    upload(alice, environment, number=1)
    upload(factories.user("bob"), environment, number=2)
    upload(alice, factories.environment("connect-four"), number=3)
    assert Submission.objects.count() == 3


def test_a_new_day_begins_at_midnight_in_utc(settings: Settings, alice: User, environment: Environment) -> None:
    limited(settings, uploads_per_day=3)
    row = factories.submission(factories.agent(alice, environment))
    Submission.objects.filter(pk=row.pk).update(created_at=EVENING)

    today = quota(alice, environment, QuotaName.UPLOADS_PER_DAY, now=EVENING + timedelta(hours=1))
    tomorrow = quota(alice, environment, QuotaName.UPLOADS_PER_DAY, now=EVENING + timedelta(hours=2))

    assert (today.used, today.left, today.resets_at) == (1, 2, datetime(2026, 3, 2, tzinfo=UTC))
    assert (tomorrow.used, tomorrow.left) == (0, 3)


@pytest.mark.parametrize("kind", ["build", "validation"])
def test_what_the_arena_failed_on_is_not_charged(
    settings: Settings, alice: User, environment: Environment, kind: str
) -> None:
    limited(settings, uploads_per_day=2)
    row = factories.submission(factories.agent(alice, environment))
    if kind == "validation":
        factories.build(row)
    getattr(factories, kind)(row, JobState.FAILED, fault=JobFault.PLATFORM)
    assert quota(alice, environment, QuotaName.UPLOADS_PER_DAY).used == 0

    getattr(factories, kind)(row, JobState.FAILED)
    assert quota(alice, environment, QuotaName.UPLOADS_PER_DAY).used == 1


def test_what_organisers_stopped_is_not_charged_but_what_its_owner_deletes_is(
    settings: Settings, alice: User, environment: Environment
) -> None:
    limited(settings, uploads_per_day=5)
    stopped, deleted = (factories.submission(factories.agent(alice, environment)) for _ in range(2))
    factories.build(stopped, JobState.CANCELLED)
    factories.build(deleted, JobState.QUEUED)
    submission_delete(submission=deleted)
    assert quota(alice, environment, QuotaName.UPLOADS_PER_DAY).used == 1


def test_who_makes_the_arena_fail_cannot_upload_for_ever(
    settings: Settings, alice: User, environment: Environment
) -> None:
    limited(settings, uploads_per_day=2)
    for _ in range(4):
        row = factories.submission(factories.agent(alice, environment))
        factories.build(row, JobState.FAILED, fault=JobFault.PLATFORM)
    assert quota(alice, environment, QuotaName.UPLOADS_PER_DAY).left == 0


def test_the_same_archive_again_is_never_charged_nor_refused(
    settings: Settings, alice: User, environment: Environment
) -> None:
    limited(settings, uploads_per_day=1, active_agents=1, concurrent_jobs=1)
    first = upload(alice, environment, "mine", 1)

    assert upload(alice, environment, "mine", 1) == first
    assert again(first.agent, 1) == first
    assert quota(alice, environment, QuotaName.UPLOADS_PER_DAY).used == 1


def test_what_is_refused_for_another_reason_is_not_charged(
    settings: Settings, alice: User, environment: Environment
) -> None:
    limited(settings, uploads_per_day=2)
    upload(alice, environment, "mine", 1)
    with pytest.raises(Refused, match="already exists"):
        upload(factories.user("bob"), environment, "Mine", 2)
    with pytest.raises(Refused, match="You have an agent of this name"):
        upload(alice, environment, "mine", 2)
    assert quota(alice, environment, QuotaName.UPLOADS_PER_DAY).used == 1


# --- Agents, storage, work, size ---------------------------------------------------------------------------


def test_an_agent_whose_versions_are_deleted_makes_room_until_it_gets_a_new_one(
    settings: Settings, alice: User, environment: Environment
) -> None:
    limited(settings, active_agents=1)
    first = upload(alice, environment, "first", 1)
    refusal = refused(upload, alice, environment, "second", 2)
    assert (refusal.code, refusal.retry_after_seconds) == ("quota_active_agents", None)
    again(first.agent, 3)

    for row in first.agent.submissions.all():
        submission_delete(submission=row)
    upload(alice, environment, "second", 2)

    assert refused(again, first.agent, 4).code == "quota_active_agents"


def test_an_agent_that_organisers_disabled_takes_no_place_and_a_quarantined_one_does(
    settings: Settings, alice: User, environment: Environment
) -> None:
    limited(settings, active_agents=5)
    disabled, paused = (factories.agent(alice, environment) for _ in range(2))
    for agent in (disabled, paused):
        factories.submission(agent)
    Agent.objects.filter(pk=disabled.pk).update(is_disabled=True)
    Agent.objects.filter(pk=paused.pk).update(is_disabled=True, quarantined_at=EVENING, quarantined_number=1)
    assert quota(alice, environment, QuotaName.ACTIVE_AGENTS).used == 1


def test_storage_is_what_is_not_deleted(settings: Settings, alice: User, environment: Environment) -> None:
    first = upload(alice, environment, "first", 1)
    size = first.archive_bytes
    limited(settings, storage_bytes=2 * size - 1)

    refusal = refused(again, first.agent, 2)
    assert (refusal.code, refusal.retry_after_seconds) == ("quota_storage_bytes", None)

    submission_delete(submission=first)
    again(first.agent, 2)
    assert quota(alice, environment, QuotaName.STORAGE_BYTES).used == size


def test_an_upload_may_be_smaller_in_one_environment_than_on_the_site(alice: User, environment: Environment) -> None:
    environment.quota_upload_bytes = 20
    assert refused(upload, alice, environment).code == "quota_upload_bytes"


def test_versions_in_progress_are_counted_not_their_jobs(
    settings: Settings, alice: User, environment: Environment
) -> None:
    limited(settings, concurrent_jobs=1)
    first = upload(alice, environment, "first", 1)
    refusal = refused(upload, alice, environment, "second", 2)
    assert (refusal.code, refusal.retry_after_seconds) == ("quota_concurrent_jobs", 30)

    factories.moved(first.builds.all(), JobState.SUCCEEDED)
    validation = factories.validation(first, JobState.QUEUED)
    assert quota(alice, environment, QuotaName.CONCURRENT_JOBS).used == 1
    factories.moved(type(validation).objects.all(), JobState.SUCCEEDED, matches_done=validation.match_count)
    upload(alice, environment, "second", 2)


def test_an_evaluation_that_the_arena_wants_anew_is_not_its_owner_s_work_in_progress(
    settings: Settings, alice: User
) -> None:
    limited(settings, concurrent_jobs=3)
    task = factories.task()
    old, new = (factories.ready(factories.agent(alice, task)) for _ in range(2))
    factories.evaluation(old)
    factories.evaluation(old, JobState.QUEUED)
    factories.evaluation(new, JobState.QUEUED)
    assert quota(alice, task, QuotaName.CONCURRENT_JOBS).used == 1


def test_all_environments_are_asked_about_in_as_many_queries_as_one(
    settings: Settings, alice: User, environment: Environment, django_assert_num_queries: Any
) -> None:
    limited(settings, uploads_per_day=9, active_agents=9, storage_bytes=10**6, concurrent_jobs=9)
    others = [environment, factories.environment("connect-four"), factories.task()]
    for row in others:
        for _ in range(3):
            factories.build(factories.submission(factories.agent(alice, row)), JobState.QUEUED)
    with django_assert_num_queries(6):
        lists = quota_lists(alice, others, now=datetime.now(UTC))
    assert [[row.used for row in quotas] for _, quotas in lists] == [[3, 3, 12, 3, None]] * 3


# --- Anonymous clients -------------------------------------------------------------------------------------


def submit(task: Environment, address: str, number: int) -> Submission:
    return client_submit(
        owner=None,
        environment=task,
        archive=packed(number),
        algorithm="Custom",
        user_label="me",
        public_id=None,
        is_script=False,
        mode="zip",
        address=address,
    )


def test_anonymous_clients_are_counted_by_address(settings: Settings) -> None:
    limited(settings, uploads_per_day=1, active_agents=1)
    task = factories.task()
    submit(task, "192.0.2.1", 1)
    assert refused(submit, task, "192.0.2.1", 2).code == "quota_uploads_per_day"
    submit(task, "192.0.2.2", 3)
    assert not Submission.objects.filter(address_digest__contains="192").exists()


def test_all_anonymous_clients_together_have_a_quota(settings: Settings) -> None:
    settings.QUOTAS_ANONYMOUS = {"uploads_per_day": 2, "storage_bytes": 0}
    task = factories.task()
    for number in range(2):
        submit(task, f"192.0.2.{number}", number)
    assert "of all anonymous clients" in str(refused(submit, task, "192.0.2.9", 9))

    account = anonymous_ensure()
    account.quota_uploads_per_day = 3
    account.quota_storage_bytes = sum(row.archive_bytes for row in Submission.objects.all())
    account.save()
    assert refused(submit, task, "192.0.2.9", 9).code == "quota_storage_bytes"


def test_an_address_is_kept_as_a_hash_that_is_another_one_every_day() -> None:
    digest = address_digest("192.0.2.1", now=EVENING)
    assert digest == address_digest("192.0.2.1", now=EVENING + timedelta(hours=1))
    assert digest != address_digest("192.0.2.1", now=EVENING + timedelta(hours=2))
    assert digest != address_digest("192.0.2.2", now=EVENING)
    assert len(digest) == 32


@pytest.mark.parametrize(
    ("address", "network"),
    [
        ("192.0.2.1", "192.0.2.1"),
        ("::ffff:192.0.2.1", "192.0.2.1"),
        ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::"),
        ("2001:db8:1:2:ffff::1", "2001:db8:1:2::"),
        ("nonsense", "nonsense"),
    ],
)
def test_of_ipv6_a_visitor_has_a_whole_network(address: str, network: str) -> None:
    assert network_of(address) == network
