"""Judges an archive as a site does when it is uploaded: the same checks in the same order, with the same words."""

from __future__ import annotations

from dataclasses import dataclass
from typing import IO

from arena_kit.upload.archive import ArchiveReport, inspect_archive, inspect_contents, read_text
from arena_kit.upload.compiling import check_python_compiles
from arena_kit.upload.inspection import inspect_apart
from arena_kit.upload.requirements import Requirements, RequirementsRefused, read_requirements
from arena_kit.upload.zip_safety import ArchiveRefused, check_portable


@dataclass(frozen=True, slots=True)
class Admitted:
    """An archive that a site would take. notes: sentences for the owner."""

    report: ArchiveReport
    requirements: Requirements

    @property
    def notes(self) -> tuple[str, ...]:
        return (*self.report.notes, *self.requirements.notes)


def too_large(most_bytes: int) -> str:
    """Return the sentence for an upload above a limit."""
    size = f"{most_bytes // 2**20} MiB" if most_bytes % 2**20 == 0 else f"{most_bytes / 2**20:.1f} MiB"
    return f"The file is larger than {size}."


def contents_admit(
    file: IO[bytes],
    *,
    environment: str,
    takes_scripts: bool,
    takes_players: bool = True,
    is_script: bool = False,
    takes_images: bool = False,
) -> ArchiveReport:
    """Check the table of contents of an archive, and whether the environment takes its form. Raises ArchiveRefused.

    environment: its name. is_script: submission.py will be run, whatever else the archive contains. takes_images:
    whether the site takes players as container images.
    """
    report = inspect_contents(file)
    check_portable(report.names)
    if report.is_image and not is_script and not takes_images:
        raise ArchiveRefused(
            f"{environment} takes no container images here: the zip needs player.py at its root.",
            code="image_not_taken",
        )
    if (is_script or report.is_script) and not takes_scripts:
        raise ArchiveRefused(
            f"{environment} accepts no scripts: the zip needs player.py at its root, not {report.entry_point}.",
            code="script_not_taken",
        )
    if not (is_script or report.is_script or takes_players):
        raise ArchiveRefused(
            f"{environment} accepts only scripts, which report their score themselves: upload submission.py, not "
            f"{report.entry_point}.",
            code="player_not_taken",
        )
    return report


def archive_admit(file: IO[bytes], *, environment: str, takes_scripts: bool) -> Admitted:
    """Check a whole archive as an upload is checked. Raises ArchiveRefused.

    What takes longer than a site waits is checked here without that limit, as the site's build does it.
    """
    contents_admit(file, environment=environment, takes_scripts=takes_scripts)
    is_inspected = inspect_apart(file, sender="")
    try:
        report = inspect_archive(file)
        if not is_inspected:
            check_python_compiles(file)
        return Admitted(report, read_requirements(report, lambda name: read_text(file, name)))
    except RequirementsRefused as refusal:
        raise ArchiveRefused(str(refusal), code=refusal.code) from None
