"""The example agents of the demo, uploaded as a person would upload them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from django.conf import settings
from django.core.files.uploadedfile import SimpleUploadedFile

from arena_kit.examples import EXAMPLES, Example, make_archive, names
from core.models import Agent, Environment, Opponents, Submission, Tournament, TournamentState, User
from core.sittings.services import opponents_set
from core.submissions.existing import submission_rebuild
from core.submissions.services import agent_create
from core.tournaments.services import tournament_cancel

SCORED = {
    "CartPole-v1": ("dummy", "random", "cem"),
    "FrozenLake-v1": ("dummy", "random", "q_learning"),
}
"""The agents of environments that the demo ranks by score; those that learn need only seconds."""


def examples_upload(owner: User, environments: Sequence[Environment], say: Callable[[str], None]) -> int:
    """Upload the missing example players of every environment; return how many.

    say: gets a sentence about each player that is trained first, and one about the uploads of all.
    """
    count = 0
    for environment in environments:
        for player in players_of(environment):
            name = player.replace("_", "-")
            if Agent.objects.filter(environment=environment, name__iexact=name).exists():
                continue
            if EXAMPLES.get(player, Example()).weights:
                say(f"{name} learns {environment} ...")
            # The trained weights are kept with the demo's data.
            archive = make_archive(
                player, environment.slug, train=True, quiet=True, store=settings.DATA_DIR / "examples"
            )
            upload = SimpleUploadedFile("player.zip", archive, content_type="application/zip")
            submission = agent_create(owner=owner, environment=environment, name=name, is_public=True, archive=upload)
            opponents_set(agent=submission.agent, opponents=Opponents.EVERYONE)
            count += 1
    where = ", ".join(map(str, environments))
    say(f"Example agents of {where}: {f'{count} uploaded' if count else 'already uploaded'}.")
    return count


def players_of(environment: Environment) -> Sequence[str]:
    """Return the example players for an environment; of a game only those without training, which are ready at once."""
    if environment.is_scored:
        return SCORED.get(environment.env_id, ())
    return [name for name in names(environment.slug) if not EXAMPLES.get(name, Example()).weights]


def images_follow_sandbox(note: Path, sandbox: str) -> int:
    """Rebuild everything when the sandbox has changed since the last start; return the number of submissions.

    note: the file that remembers the sandbox. The image of one sandbox is useless to the other.
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
