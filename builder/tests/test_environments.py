"""The builder tries uploaded folders of environments."""

from __future__ import annotations

from pathlib import Path

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from pytest_django.fixtures import Settings

from arena_kit.tests.environment.edited import nim, zipped
from core.environments.trials import environment_upload, trial_report
from core.models import EnvironmentTrial, JobFault, JobState
from core.tests import applications
from core.tests.working import run

pytestmark = pytest.mark.django_db(transaction=True)


def tried(folder: Path) -> EnvironmentTrial:
    trial = environment_upload(owner=applications.organiser(), archive=SimpleUploadedFile("folder.zip", zipped(folder)))
    run(trial)
    trial.refresh_from_db()
    return trial


@pytest.mark.parametrize("walls", [pytest.param("docker", marks=pytest.mark.docker), "process"])
def test_an_uploaded_folder_gets_its_verdict(walls: str, settings: Settings, tmp_path: Path) -> None:
    settings.SANDBOX = walls
    good = tried(nim(tmp_path))
    report = trial_report(good)
    assert (good.state, good.error) == (JobState.SUCCEEDED, "")
    assert report is not None
    assert len(report.shown) > 3
    assert walls == "process" or "containers" in good.log
    bad = tried(nim(tmp_path, "bad", begins="raise RuntimeError('no board')"))
    assert (bad.state, bad.fault, bad.error_code) == (JobState.FAILED, JobFault.PLAYER, "environment_refused")
    assert "RuntimeError: no board" in bad.error


def test_a_zip_that_is_gone_is_the_arenas_fault(settings: Settings, tmp_path: Path) -> None:
    settings.SANDBOX = "process"
    trial = environment_upload(
        owner=applications.organiser(), archive=SimpleUploadedFile("folder.zip", zipped(nim(tmp_path)))
    )
    trial.archive.storage.delete(str(trial.archive.name))
    run(trial)
    trial.refresh_from_db()
    assert (trial.state, trial.fault, trial.error_code) == (JobState.QUEUED, JobFault.PLATFORM, "archive_missing")
