"""The example agents of the demo, uploaded the way a person would."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from django.core.files.uploadedfile import SimpleUploadedFile

from core.models import Agent, Environment, Submission, User
from core.services.agents import agent_create, submission_rebuild

EXAMPLE_PLAYERS = ("dummy", "random", "minimax", "deep_search")


@dataclass(frozen=True, slots=True)
class Example:
    """An example player, zipped."""

    name: str
    archive: bytes


def examples_upload(owner: User, environments: Sequence[Environment], examples: Sequence[Example]) -> list[Submission]:
    """Upload what is not there yet; return the new submissions."""
    return list(_upload(owner, environments, examples))


def examples_read(make_archive: Callable[[str], bytes]) -> list[Example]:
    """Zip the example players with the given function, which takes a player's name."""
    return [Example(name.replace("_", "-"), make_archive(name)) for name in EXAMPLE_PLAYERS]


def images_follow_sandbox(note: Path, sandbox: str) -> int:
    """Build everything again when the sandbox is another than last time; return how many submissions.

    note: the file that remembers the sandbox. An image of one sandbox means nothing to the other.
    """
    previous = note.read_text().strip() if note.exists() else sandbox
    rebuilt = 0
    if previous != sandbox:
        for submission in Submission.objects.filter(deleted_at=None):
            submission_rebuild(submission=submission)
            rebuilt += 1
    note.write_text(f"{sandbox}\n")
    return rebuilt


def _upload(owner: User, environments: Sequence[Environment], examples: Sequence[Example]) -> Iterator[Submission]:
    for environment in environments:
        for example in examples:
            if Agent.objects.filter(environment=environment, name__iexact=example.name).exists():
                continue
            archive = SimpleUploadedFile(f"{example.name}.zip", example.archive, content_type="application/zip")
            yield agent_create(owner=owner, environment=environment, name=example.name, is_public=True, archive=archive)
