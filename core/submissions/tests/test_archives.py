"""Archives on their way into the store: what a cut connection, a killed process and a form sent twice leave behind."""

from __future__ import annotations

import io
import os
import time
import zipfile
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

from core.files.uploads import uploads_sweep
from core.models import Environment, Submission, User
from core.submissions import services
from core.submissions.services import agent_create, submission_create
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


def test_hidden_files_and_secrets_are_not_stored_and_their_sender_is_told(
    alice: User, environment: Environment
) -> None:
    def sent() -> SimpleUploadedFile:
        file = io.BytesIO()
        with zipfile.ZipFile(file, "w") as packed:
            for name in ("player.py", ".env", "kaggle.json", "._player.py"):
                packed.writestr(zipfile.ZipInfo(name), FIRST if name == "player.py" else "SECRET=1")
        return SimpleUploadedFile("player.zip", file.getvalue())

    told: list[str] = []
    made = agent_create(
        owner=alice, environment=environment, name="newcomer", is_public=True, archive=sent(), tell=told.append
    )
    with made.archive.open("rb") as file, zipfile.ZipFile(file) as archive:
        assert archive.testzip() is None
        assert archive.namelist()[0] == "player.py"
        assert not {".env", "kaggle.json", "._player.py"} & set(archive.namelist())
    assert any("passwords or tokens are left out: .env, kaggle.json." in note for note in told)
    again = submission_create(agent=made.agent, archive=sent())
    assert again == made


def test_the_sweep_deletes_old_archives_that_no_row_names_and_no_others(alice: User, environment: Environment) -> None:
    submission = send(alice, environment)
    storage, named = submission.archive.storage, str(submission.archive.name)
    unnamed, fresh = (storage.save(f"archives/{name}.zip", ContentFile(b"zip")) for name in ("unnamed", "fresh"))
    long_ago = time.time() - timedelta(days=31).total_seconds()
    for name in (named, unnamed):
        os.utime(Path(storage.path(name)), (long_ago, long_ago))

    assert uploads_sweep(Submission, "archive", "archives", now=timezone.now()) == 1

    assert [storage.exists(name) for name in (named, unnamed, fresh)] == [True, False, True]
