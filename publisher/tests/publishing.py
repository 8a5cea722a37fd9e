"""Agents and versions whose source can be published."""

from __future__ import annotations

from pathlib import Path

from django.core.files.uploadedfile import SimpleUploadedFile
from pytest_django.fixtures import Settings

from core.models import Agent, Publication, Submission
from core.tests import factories
from core.tests.working import run
from publisher.tests.samples import Remote, new_remote, zip_of


def published_to(settings: Settings, folder: Path) -> Remote:
    """Make an empty remote repository the one of the settings."""
    settings.DATA_DIR = folder / "data"
    settings.PUBLISHER_REMOTE = str(folder / "remote.git")
    settings.PUBLISHER_WEB_URL = "https://code.example/arena/"
    return new_remote(folder / "remote.git")


def version(agent: Agent, **files: str) -> Submission:
    """Return a new validated version of these files, which is not published yet."""
    submission = factories.ready(agent)
    data = zip_of({f"{name}.py": content for name, content in files.items()}).getvalue()
    submission.archive.save("archive.zip", SimpleUploadedFile("archive.zip", data))
    return submission


def publish_all() -> None:
    """Carry out all waiting publications."""
    for job in Publication.objects.filter(state="QUEUED").order_by("pk"):
        run(job)
