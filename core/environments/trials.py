"""Folders of environments that organisers upload: each is tried in a container before it can go live.

Its code runs in no process of the site before a superuser has put it live: here it is unpacked and read as text alone.
"""

from __future__ import annotations

import hashlib
import tempfile
from pathlib import Path
from typing import BinaryIO, cast

from django.conf import settings
from django.core.files.uploadedfile import UploadedFile
from django.db import transaction

from arena_kit.environment.outside.report import Report, report_from
from arena_kit.environment.registry import all_specs
from arena_kit.environment.spec import EnvironmentSpec
from arena_kit.upload.environment_folder import folder_unpacked
from arena_kit.upload.zip_safety import ArchiveRefused
from core.errors import Refused
from core.files.uploads import upload_stored
from core.jobs.artifacts import files_stored
from core.jobs.lifecycle import job_enqueue, job_fail, job_succeed
from core.models import Environment, EnvironmentKind, EnvironmentTrial, JobFault, User
from core.people.audit_log import Operator, audit_record
from core.people.rights import may

UPLOADING = "core.add_environmenttrial"
"""The right to upload folders of environments, which superusers give."""
REFUSED = "environment_refused"


def environment_upload(
    *, owner: User, archive: UploadedFile[bytes], operator: Operator | None = None
) -> EnvironmentTrial:
    """Store the folder of an environment, and let it be tried. Raises Refused.

    operator: who sends it, for the audit log.
    """
    if not may(owner, UPLOADING):
        raise Refused("Environments are uploaded by organisers to whom a superuser gave that right.", code="not_yours")
    if settings.SANDBOX == "kubernetes":
        raise Refused("The pods of a cluster do not have environments of organisers.", code="not_in_pods")
    file = cast(BinaryIO, archive.file)
    try:
        with folder_unpacked(file) as (_, spec):
            environment = environment_of(spec)
    except ArchiveRefused as refusal:
        raise Refused(str(refusal), field="archive", code=refusal.code) from None
    file.seek(0)
    sha256 = hashlib.sha256(file.read()).hexdigest()
    with upload_stored(EnvironmentTrial, archive) as stored, transaction.atomic():
        trial = EnvironmentTrial.objects.create(
            archive=stored.name,
            archive_sha256=sha256,
            slug=spec.slug,
            version=spec.version,
            environment=environment,
            uploaded_by=owner,
        )
        job_enqueue(job=trial)
        if operator is not None:
            audit_record(operator=operator, action="upload", row=trial)
    return trial


def environment_of(spec: EnvironmentSpec) -> Environment | None:
    """Return the environment that a folder is for; None for a new one.

    Raises Refused where another kind of environment has its name.
    """
    for other in all_specs():
        if {spec.slug, spec.public_id}.isdisjoint((other.slug, other.public_id)):
            continue
        if not other.is_outside:
            raise Refused(f"An environment of the arena is called {spec.slug!r} already.", field="archive")
        if other.slug != spec.slug or other.gymnasium is not None:
            # Its place is not a folder of its own, or its names would be taken.
            raise Refused(f"Another environment, in {other.file.name}, has the name {spec.slug!r}.", field="archive")
    row = Environment.objects.filter(slug=spec.slug).first()
    if row is not None and (row.is_added or row.kind != EnvironmentKind.RULES):
        raise Refused(f"Another environment is called {spec.slug!r} already.", field="archive")
    return row


def trial_end(*, trial: EnvironmentTrial, report: Report, log: str) -> None:
    """Store what came of a folder: one with trouble is refused. Raises StaleJob and StoreFailed."""
    with tempfile.TemporaryDirectory(prefix="arena-report-") as folder:
        path = Path(folder) / "report.json"
        path.write_text(report.to_json(), encoding="utf-8")
        with files_stored(job=trial, files={"report": path}) as names:
            if report.trouble:
                fault, error = JobFault.PLAYER, report.trouble
                job_fail(job=trial, fault=fault, code=REFUSED, error=error, log=log, report=names["report"])
            else:
                job_succeed(job=trial, log=log, report=names["report"])


def trial_report(trial: EnvironmentTrial) -> Report | None:
    """Return the report on a folder; None before it was tried."""
    if not trial.report:
        return None
    try:
        with trial.report.open("rb") as file:
            return report_from(file.read().decode())
    except (OSError, ValueError):
        return None
