"""Judges what never reaches a sandbox: archives, requirements, and texts that people type or players print."""

from __future__ import annotations

import io
import tempfile
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path

from arena_kit.tests.upload.test_archive import zip_of
from arena_kit.upload.archive import inspect_archive, read_text, unpack_archive
from arena_kit.upload.compiling import check_python_compiles
from arena_kit.upload.kinds import is_compiled
from arena_kit.upload.requirements import RequirementsRefused, read_requirements
from arena_kit.upload.zip_safety import ArchiveRefused
from tests.hostile.archives import ARCHIVES
from tests.hostile.arena import Report
from tests.hostile.cases import Case
from tests.hostile.host import planted

ACCEPTED, REFUSED, HARMLESS = "accepted", "refused", "harmless"
NOWHERE = "-"
DANGERS = ("<script", "<img", "<iframe", "<b>", '="javascript:', '="data:', "SECRET_KEY =", "django-insecure")


def judge_upload(case: Case) -> Report:
    """Judge an archive, requirements or a text; nothing of it may appear on this host."""
    begun = time.monotonic()
    before = planted()
    with tempfile.TemporaryDirectory(prefix="arena-") as name:
        root = Path(name)
        got = CHECKS[case.check](case.text) if case.kind == "text" else check_archive(archive_of(case), root / "player")
        dirt = [f"{path} was planted" for path in planted() if path not in before]
        dirt += list(outside(root, got))
    problems = [] if got in case.verdict else [f"the verdict is {got}, not {' or '.join(case.verdict)}"]
    return Report(case, NOWHERE, got, tuple(problems), tuple(dirt), time.monotonic() - begun)


def archive_of(case: Case) -> io.BytesIO:
    if case.kind == "archive":
        return ARCHIVES[case.name]()
    files = case.files or {"requirements.txt": case.text}
    return zip_of(*((name, text.encode()) for name, text in files.items()))


def check_archive(file: io.BytesIO, folder: Path) -> str:
    """What the site and the builder make of an upload: the code of its refusal, or accepted, and then unpacked."""
    try:
        report = inspect_archive(file)
        check_python_compiles(file)
        read_requirements(report, lambda name: read_text(file, name))
        unpack_archive(file, folder)
    except (ArchiveRefused, RequirementsRefused) as refusal:
        return refusal.code
    return ACCEPTED


def outside(root: Path, got: str) -> Iterator[str]:
    """What an archive left in or beside the folder that it may use."""
    for path in root.rglob("*"):
        if is_compiled(path.relative_to(root).as_posix()):
            yield f"{path.name} was unpacked, and Python would load it in the place of a source"
        if got != ACCEPTED:
            yield f"{path.name} was unpacked although the archive was refused"
        elif path.is_symlink() or not (path.is_dir() or path.is_file()):
            yield f"{path.name} is not a plain file"
        elif path.is_file() and path.stat().st_mode & 0o7777 != 0o644:
            yield f"{path.name} has the mode {path.stat().st_mode:o}"


def agent_name(text: str) -> str:
    from web.submissions.forms import AgentForm

    return REFUSED if "name" in AgentForm({"name": text}).errors else ACCEPTED


def user_name(text: str) -> str:
    from django.core.exceptions import ValidationError

    from core.models import User

    try:
        User(username=text).clean_fields(exclude=["password", "email"])
    except ValidationError:
        return REFUSED
    return ACCEPTED


def markdown(text: str) -> str:
    from web.templatetags.arena import markdown

    return seen(markdown(text))


def log(text: str) -> str:
    """On the page of an agent's version, where logs, warnings and titles stand."""
    from django.template.loader import render_to_string

    submission = {"pk": 1, "number": 1, "created_at": datetime.now(UTC), "warnings": [text]}
    version = {"submission": submission, "status": {"label": text, "tone": "bad"}, "phases": []}
    page = render_to_string(
        "web/submissions/version.html",
        {"version": version | {"log": {"title": text, "text": text}}, "can_see_source": True},
    )  # fmt: skip
    return seen(page) if page.count("alert(1)") or "SECRET_KEY" in page else "missing"


def seen(html: str) -> str:
    dangers = [danger for danger in DANGERS if danger in html.replace("&lt;", "(")]
    return f"dangerous: {' '.join(dangers)}" if dangers else HARMLESS


CHECKS: dict[str, Callable[[str], str]] = {
    "agent_name": agent_name, "user_name": user_name, "markdown": markdown, "log": log,
}  # fmt: skip
