"""A build that goes on after it was handed back must not touch the results of the next attempt."""

from __future__ import annotations

from pathlib import Path

import pytest
from django.conf import LazySettings
from django.core.files.base import ContentFile

from arena_kit.tests.image.archives import archive
from builder.tasks import build_image
from core.jobs.lease import Lease
from core.jobs.lifecycle import job_claim, job_give_back_stopped
from core.jobs.states import StaleJob
from core.models import Build
from core.tests import factories


def claimed(job: Build, worker: str) -> Build:
    found = job_claim(kind=Build, job_id=job.pk, worker=worker)
    assert found is not None
    return found


@pytest.mark.django_db
def test_a_late_build_touches_nothing_of_the_one_that_took_its_place(settings: LazySettings, tmp_path: Path) -> None:
    settings.SANDBOX, settings.DATA_DIR = "process", tmp_path
    submission = factories.submission(factories.agent(factories.user("alice"), factories.environment()))
    submission.archive.save("archive.zip", ContentFile(archive().getvalue()))
    job = Build.objects.create(submission=submission)
    late = claimed(job, "worker-1")
    handed_back = Build.objects.get(pk=job.pk)
    job_give_back_stopped(job=handed_back)
    Build.objects.update(not_before=None)
    good = claimed(job, "worker-2")
    assert good.attempt == late.attempt
    build_image(good, Lease(good))
    submission.refresh_from_db()
    mark = Path(submission.image.removeprefix("folder:")) / "mark"
    mark.touch()

    with pytest.raises(StaleJob):
        build_image(late, Lease(late))

    assert mark.exists()
    image = submission.image
    submission.refresh_from_db()
    assert submission.image == image
