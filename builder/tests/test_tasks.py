"""A build on a real engine: its row afterwards, and the effect of the operator's scanner."""

from __future__ import annotations

import hashlib
import json
import sys

import pytest
from django.conf import LazySettings
from django.core.files.base import ContentFile

from arena_kit.image.calls import base_image_id, engine
from arena_kit.tests.image.archives import archive
from core.models import Build, JobFault, JobState, Submission
from core.tests import factories
from core.tests.working import run

pytestmark = [pytest.mark.docker, pytest.mark.django_db(transaction=True)]


@pytest.fixture
def submission(settings: LazySettings) -> Submission:
    settings.SANDBOX = "docker"
    row = factories.submission(factories.agent(factories.user("alice"), factories.environment()))
    row.archive.save("archive.zip", ContentFile(archive().getvalue()))
    return row


def built(submission: Submission) -> Build:
    job = Build.objects.create(submission=submission)
    run(job)
    job.refresh_from_db()
    submission.refresh_from_db()
    return job


def test_a_build_stores_digests_and_a_bill_of_materials(submission: Submission, settings: LazySettings) -> None:
    job = built(submission)

    assert (job.state, job.error) == (JobState.SUCCEEDED, "")
    with engine() as client:
        assert submission.image_digest == base_image_id(client, submission.image)
        assert job.base_digest == base_image_id(client, settings.PLAYER_BASE_IMAGE)
        labels = client.images.get(submission.image).labels
    assert (labels["arena.submission"], labels["arena.build"]) == (str(submission.pk), str(job.pk))
    assert job.requirements_digest == ""
    with job.sbom.open() as file:
        document = json.load(file)
    assert document["metadata"]["component"]["version"] == submission.image_digest
    with submission.archive.open() as file:
        digest = hashlib.sha256(file.read()).hexdigest()
    assert document["components"][-1]["hashes"] == [{"alg": "SHA-256", "content": digest}]


def test_a_player_is_launched_by_its_digest_so_that_a_moved_tag_changes_nothing(submission: Submission) -> None:
    built(submission)

    assert submission.launched_image == submission.image_digest
    assert submission.launched_image.startswith("sha256:")
    submission.image, submission.image_digest = "folder:/players/s1", ""
    assert submission.launched_image == "folder:/players/s1"


def test_an_image_that_the_scanner_refuses_fails_the_build_and_is_removed(
    submission: Submission, settings: LazySettings
) -> None:
    code = "import sys; print(sys.argv[2]); raise SystemExit(1)"
    settings.BUILD_SCAN_COMMAND = [sys.executable, "-c", code]

    job = built(submission)

    assert job.claim_token is not None
    image = f"{settings.PLAYER_IMAGE_PREFIX}:s{submission.pk}-b{job.pk}-{job.claim_token.hex}"
    assert (job.state, job.fault, job.error_code) == (JobState.FAILED, JobFault.PLAYER, "scan_refused")
    assert job.error == f"The scan refused the image: {image}"
    assert submission.image == ""
    with engine() as client:
        assert client.images.list(image) == []


def test_a_scanner_in_trouble_gives_the_job_back(submission: Submission, settings: LazySettings) -> None:
    settings.BUILD_SCAN_COMMAND = ["/no/such/scanner"]

    job = built(submission)

    assert (job.state, job.fault, job.error_code) == (JobState.QUEUED, JobFault.PLATFORM, "scan_failed")


def test_a_scanner_that_is_content_changes_nothing(submission: Submission, settings: LazySettings) -> None:
    settings.BUILD_SCAN_COMMAND = [sys.executable, "-c", "print('all is well')"]

    assert built(submission).state == JobState.SUCCEEDED
