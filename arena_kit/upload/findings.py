"""Everything that an upload would be refused for, and what its author may want to know, without an upload.

Errors are the refusals of an upload, in its words. Warnings come from reading the source: they refuse only what a site
chooses, and they protect nothing, as source can hide what it does.
"""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import IO, Any

from arena_kit.upload.archive import inspect_archive, inspect_contents, read_text
from arena_kit.upload.compiling import sources_read
from arena_kit.upload.pythons import Version, choose_python, read_wanted_python, written
from arena_kit.upload.requirements import Requirements, RequirementsRefused, read_requirements
from arena_kit.upload.zip_safety import LIMITS, ArchiveLimits, ArchiveRefused, UploadRefused, check_portable

THIS_PYTHON: tuple[Version, ...] = ((sys.version_info.major, sys.version_info.minor),)
NOT_COMPILED = "The files are first compiled when the version is validated: they are for Python {}, and this is {}."
UNREAD = frozenset({"not_compiled", "not_read"})
"""Codes for files that were not read. A site that refuses some warnings refuses these files too."""
NOT_READ = "The Python files are too large or too deeply nested to be read for warnings."


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that is found. code: typed reason. file, line: where, if it is about one file or one line of it."""

    code: str
    message: str
    file: str = ""
    line: int | None = None


@dataclass(frozen=True, slots=True)
class Findings:
    """The findings in a submission. Each error by itself would have it refused; a warning does not."""

    errors: tuple[Finding, ...] = ()
    warnings: tuple[Finding, ...] = ()

    @property
    def is_valid(self) -> bool:
        return not self.errors

    def as_json(self) -> dict[str, Any]:
        """Return {valid, errors, warnings}, as the API answers."""
        errors, warnings = ([dataclasses.asdict(item) for item in items] for items in (self.errors, self.warnings))
        return {"valid": self.is_valid, "errors": errors, "warnings": warnings}

    @classmethod
    def of(cls, document: dict[str, Any]) -> Findings:
        """Return what `as_json` made a document of."""
        return cls(
            tuple(Finding(**item) for item in document["errors"]),
            tuple(Finding(**item) for item in document["warnings"]),
        )


def archive_findings(
    file: IO[bytes],
    path: str,
    *,
    warns: bool = True,
    is_whole: bool = True,
    pythons: Sequence[Version] = THIS_PYTHON,
    limits: ArchiveLimits = LIMITS,
    is_copied: bool = False,
    refuses: Collection[str] = (),
) -> Findings:
    """Return what is found in an archive. The first error is the one that an upload names.

    path: where another process can open the file. warns: whether warnings are looked for. is_whole: whether everything
    is decompressed; otherwise only the requirements and the Python files are.
    pythons: the versions of Python that the arena has base images for, the default first. Nothing of the submission
    runs; its Python files are parsed in limited processes. is_copied: as in `sources_read`.
    refuses: codes of warnings that are errors on this site.
    """
    try:
        report = (inspect_archive if is_whole else inspect_contents)(file, limits)
        check_portable(report.names)
    except ArchiveRefused as refusal:
        return Findings(_errors(refusal))
    errors: list[Finding] = []
    notes = [Finding("files", note) for note in report.notes]
    version, requirements = pythons[0], Requirements(())
    try:
        python = choose_python(read_wanted_python(report, lambda name: read_text(file, name, limits)), pythons)
        version = python.version
        notes += [Finding("python", python.note)] if python.note else []
        requirements = read_requirements(report, lambda name: read_text(file, name, limits))
        notes += [Finding("requirements", note) for note in requirements.notes]
    except (ArchiveRefused, RequirementsRefused) as refusal:
        errors += _errors(refusal)
    if version > THIS_PYTHON[0]:
        notes.append(Finding("not_compiled", NOT_COMPILED.format(written(version), written(THIS_PYTHON[0]))))
        return _findings(errors, notes, warns=warns, refuses=refuses)
    try:
        found = sources_read(
            path,
            limits,
            has_requirements=bool(requirements.lines),
            python=version if warns or refuses else None,
            is_copied=is_copied,
        )
    except ArchiveRefused as refusal:
        # First, as in a build, which compiles before it reads the requirements.
        return _findings([*_errors(refusal), *errors], notes, warns=warns, refuses=())
    notes += [Finding("not_read", NOT_READ)] if found is None else [Finding(**item) for item in found]
    return _findings(errors, notes, warns=warns, refuses=refuses)


def _findings(errors: list[Finding], notes: list[Finding], *, warns: bool, refuses: Collection[str]) -> Findings:
    refused = {*refuses, *UNREAD} if refuses else set()
    others = [one for one in notes if one.code not in refused] if warns else []
    return Findings((*errors, *(one for one in notes if one.code in refused)), tuple(others))


def _errors(refusal: UploadRefused) -> tuple[Finding, ...]:
    return tuple(Finding(one.code, one.sentence, one.file, one.line) for one in (refusal, *refusal.others))
