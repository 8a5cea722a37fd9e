"""Archives on their way into the store: what a cut connection, a killed process and a form sent twice leave behind."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from types import SimpleNamespace

import pytest
from django.core.files.base import ContentFile
from django.core.files.uploadedfile import SimpleUploadedFile
from django.db import OperationalError, transaction
from django.utils import timezone

from core.models import Environment, Submission, User
from core.submissions import services
from core.submissions.services import agent_create
from core.submissions.uploads import archives_sweep
from tests.samples import FIRST, zip_of

pytestmark = pytest.mark.django_db


def send(alice: User, environment: Environment, name: str = "newcomer") -> Submission:
    file = SimpleUploadedFile("player.zip", zip_of(FIRST), content_type="application/zip")
    return agent_create(owner=alice, environment=environment, name=name, is_public=False, archive=file)


def test_an_archive_stays_if_only_the_answer_to_the_commit_is_lost(
    alice: User, environment: Environment, monkeypatch: pytest.MonkeyPatch
) -> None:
    @contextmanager
    def cut_after_commit() -> Iterator[None]:
        before = Submission.objects.count()
        with transaction.atomic():
            yield
        if Submission.objects.count() > before:
            raise OperationalError("server closed the connection unexpectedly")

    cut = SimpleNamespace(atomic=cut_after_commit, on_commit=transaction.on_commit)
    monkeypatch.setattr(services, "transaction", cut)
    with pytest.raises(OperationalError):
        send(alice, environment)
    monkeypatch.undo()

    submission = Submission.objects.get()
    assert submission.archive.storage.exists(str(submission.archive.name))


def test_the_sweep_deletes_old_archives_that_no_row_names_and_no_others(alice: User, environment: Environment) -> None:
    submission = send(alice, environment)
    storage, named = submission.archive.storage, str(submission.archive.name)
    unnamed, fresh = (storage.save(f"archives/{name}.zip", ContentFile(b"zip")) for name in ("unnamed", "fresh"))
    long_ago = time.time() - timedelta(days=31).total_seconds()
    for name in (named, unnamed):
        os.utime(Path(storage.path(name)), (long_ago, long_ago))

    assert archives_sweep(now=timezone.now()) == 1

    assert [storage.exists(name) for name in (named, unnamed, fresh)] == [True, False, True]
