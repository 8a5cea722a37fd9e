"""The example agents of the demo, uploaded the way a person would."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from django.core.files.uploadedfile import SimpleUploadedFile

from core.models import Agent, Environment, Submission, Tournament, TournamentState, User
from core.services.agents import agent_create, submission_rebuild
from core.services.tournaments import tournament_cancel
from example_players.package import make_archive, names


def examples_upload(owner: User, environments: Sequence[Environment]) -> list[Submission]:
    """Upload the example players that are not there yet to every environment; return the new submissions."""
    return list(_upload(owner, environments))


def images_follow_sandbox(note: Path, sandbox: str) -> int:
    """Build everything again when the sandbox is another than last time; return how many submissions.

    note: the file that remembers the sandbox. An image of one sandbox means nothing to the other.
    """
    previous = note.read_text().strip() if note.exists() else sandbox
    rebuilt = 0
    if previous != sandbox:
        for tournament in Tournament.objects.filter(state=TournamentState.RUNNING):
            tournament_cancel(tournament=tournament, reason="The sandbox has changed.")
        for submission in Submission.objects.filter(deleted_at=None):
            submission_rebuild(submission=submission)
            rebuilt += 1
    note.write_text(f"{sandbox}\n")
    return rebuilt


def _upload(owner: User, environments: Sequence[Environment]) -> Iterator[Submission]:
    for environment in environments:
        for player in names(environment.slug):
            name = player.replace("_", "-")
            if Agent.objects.filter(environment=environment, name__iexact=name).exists():
                continue
            archive = SimpleUploadedFile("player.zip", make_archive(player), content_type="application/zip")
            yield agent_create(owner=owner, environment=environment, name=name, is_public=True, archive=archive)
