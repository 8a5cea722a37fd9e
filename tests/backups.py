"""An arena to back up, what it is made of, and what can be done to a backup."""

from __future__ import annotations

import io
import json
import tarfile
from collections.abc import Callable
from datetime import timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

from django.apps import apps
from django.core import serializers
from django.core.files.storage import default_storage
from django.core.management import call_command
from django.db import connection

from core.append_only import unprotected
from core.assignments.services import Wanted, assignment_save, extend, mark_by_hand
from core.courses.services import members_add
from core.courses.teams import member_move, team_create
from core.models import Agent, Assignment, Course, Duel, Environment, Recording
from core.tests import factories
from core.tests.factories import NOON
from tests.samples import FIRST, LAST, tic_tac_toe, upload
from web.tests import played, scored

WEEK = timedelta(days=7)


def arena() -> Duel:
    """Uploads, a validation, two played duels and one that waits, an evaluation with records and a recorded episode;
    a course with a team, which has an agent, and marks by hand."""
    environment = tic_tac_toe()
    first, last = upload(environment, "first", FIRST), upload(environment, "last", LAST)
    played.play_validation(first)
    tournament = played.edition([first, last], environment)
    duel = played.play(played.waiting_duel(tournament, first, last), faults_of_2={3})
    played.play(played.waiting_duel(tournament, last, first))
    played.waiting_duel(tournament, first, last)
    task = scored.environment()
    row = scored.evaluation(scored.submission(first.agent.owner, task, "balancer"), scored.scores_around(200, 20))
    scored.recording(scored.with_files(row), Recording.Choice.BEST, video=b"video")
    _course(environment, last.agent)
    return duel


def _course(environment: Environment, baseline: Agent) -> None:
    course, student = Course.objects.create(slug="robots", name="Robots"), factories.user("bea")
    members_add(course=course, people=[student])
    team = team_create(course=course, name="blue", people=list(course.members.all()))
    factories.ready(factories.agent(team.account, environment, "azure"))
    week = Assignment(course=course, environment=environment, name="Week 1", opens_at=NOON, due_at=NOON + WEEK)
    assignment_save(assignment=week, wanted=[Wanted(baseline, 50, 10)])
    extend(assignment=week, members=[student.memberships.get()], due_at=NOON + 2 * WEEK)
    mark_by_hand(assignment=week, user=student, marks=Decimal(5), reason="She helped.", by=baseline.owner)
    member_move(member=student.memberships.get(), team=None)


def rows() -> dict[str, Any]:
    """Every row of the arena; django-q's own come and go."""
    models = [model for model in apps.get_models() if model._meta.app_label in ("core", "auth", "admin")]
    return {model._meta.label: serializers.serialize("json", model._default_manager.order_by("pk")) for model in models}


def files() -> dict[str, bytes]:
    found, folders = {}, [""]
    for folder in folders:
        inner, names = default_storage.listdir(folder)
        folders += [f"{folder}{name}/" for name in inner]
        for name in names:
            with default_storage.open(f"{folder}{name}") as file:
                found[f"{folder}{name}"] = file.read()
    return found


def state() -> tuple[dict[str, Any], dict[str, bytes]]:
    return rows(), files()


def run(*arguments: str | Path) -> str:
    output = io.StringIO()
    call_command(str(arguments[0]), *map(str, arguments[1:]), stdout=output, stderr=output)
    return output.getvalue()


def start_anew() -> None:
    """As after `migrate` on a new machine."""
    with unprotected(connection):
        call_command("flush", interactive=False, verbosity=0)
    for name in files():
        default_storage.delete(name)


def rewritten(path: Path, change: Callable[[dict[str, bytes]], object]) -> Path:
    """A backup that was tampered with; `change` gets the content by name."""
    with tarfile.open(path) as tar:
        parts = {member.name: extracted.read() for member in tar if (extracted := tar.extractfile(member))}
    change(parts)
    with tarfile.open(path, "w") as tar:
        for name, data in parts.items():
            header = tarfile.TarInfo(name)
            header.size = len(data)
            tar.addfile(header, io.BytesIO(data))
    return path


def changing_manifest(**fields: Any) -> Callable[[Path], object]:
    def change(parts: dict[str, bytes]) -> None:
        parts["manifest.json"] = json.dumps({**json.loads(parts["manifest.json"]), **fields}).encode()

    return lambda path: rewritten(path, change)


def cut_short(path: Path) -> None:
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def lose_the_end(path: Path) -> None:
    rewritten(path, lambda parts: parts.pop("manifest.json"))


def lose_a_file(path: Path) -> None:
    rewritten(path, lambda parts: parts.pop(next(name for name in parts if name.endswith("records.zip"))))


def change_a_file(path: Path) -> None:
    data = path.read_bytes()
    with tarfile.open(path) as tar:
        place = next(member.offset_data for member in tar if member.name.endswith("records.zip"))
    path.write_bytes(data[:place] + bytes([data[place] ^ 1]) + data[place + 1 :])


def change_the_database(path: Path) -> None:
    def change(parts: dict[str, bytes]) -> None:
        parts["database"] = parts["database"][:-1] + b"?"

    rewritten(path, change)


def add_a_file(path: Path) -> None:
    def change(parts: dict[str, bytes]) -> None:
        manifest = parts.pop("manifest.json")
        parts["files/../../evil"] = b"foreign"
        parts["manifest.json"] = manifest

    rewritten(path, change)


def add_a_link(path: Path) -> None:
    with tarfile.open(path) as tar:
        members = [(member, tar.extractfile(member)) for member in tar.getmembers()]
        parts = [(member, file.read() if file else b"") for member, file in members]
    with tarfile.open(path, "w") as tar:
        link = tarfile.TarInfo("files/link")
        link.type, link.linkname = tarfile.SYMTYPE, "/etc/passwd"
        tar.addfile(link)
        for member, data in parts:
            tar.addfile(member, io.BytesIO(data))


def write_something_else(path: Path) -> None:
    path.write_bytes(b"no tar at all" * 100)


DAMAGES: dict[str, tuple[Callable[[Path], object], str]] = {
    "cut short": (cut_short, "complete backup|incomplete"),
    "without its end": (lose_the_end, "incomplete"),
    "without a file": (lose_a_file, r"records\.zip is missing from this backup"),
    "with a changed file": (change_a_file, r"records\.zip has changed"),
    "with a changed database": (change_the_database, "database has changed"),
    "with a foreign file": (add_a_file, r"evil is in this backup, but not in its manifest"),
    "with a link": (add_a_link, "something that is not a file"),
    "something else": (write_something_else, "not a complete backup"),
    "of a newer format": (changing_manifest(format=2), "has format 2"),
    "with a foreign manifest": (changing_manifest(parts=[]), "manifest .* cannot be read"),
    "of another database": (changing_manifest(database="oracle"), "backup is for oracle"),
    "of a newer arena": (changing_manifest(migrations={"core": ["9999_future"]}), r"newer arena \(core\.9999_future"),
    "gone": (Path.unlink, "gone does not exist"),
}
