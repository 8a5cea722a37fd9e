"""The example agents of the demo, uploaded as a person would upload them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
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


def examples_upload(
    owner: User, environments: Sequence[Environment], say: Callable[[str], None] = lambda _: None
) -> list[Submission]:
    """Upload the example players that are missing to every environment; return the new submissions.

    Those that learn first are left out, so that the first leaderboard comes soon.
    """
    return list(_upload(owner, {environment: game_players(environment.slug) for environment in environments}, say))


def game_players(environment: str) -> list[str]:
    """Return the names of the example players of a game that need no training."""
    return [name for name in names(environment) if not EXAMPLES.get(name, Example()).weights]


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


def scored_upload(owner: User, environments: Sequence[Environment], say: Callable[[str], None]) -> list[Submission]:
    """Like `examples_upload`, for environments that are ranked by score. Agents that learn are trained, which `say` is
    told."""
    return list(_upload(owner, {environment: SCORED.get(environment.env_id, ()) for environment in environments}, say))


def _upload(
    owner: User, players: Mapping[Environment, Sequence[str]], say: Callable[[str], None]
) -> Iterator[Submission]:
    for environment, wanted in players.items():
        for player in wanted:
            if _is_here(environment, player):
                continue
            if EXAMPLES.get(player, Example()).weights:
                say(f"{player.replace('_', '-')} learns {environment} ...")
            # The trained weights are kept with the demo's data.
            archive = make_archive(player, environment.slug, train=True, store=settings.DATA_DIR / "examples")
            yield _create(owner, environment, player, archive)


def _is_here(environment: Environment, player: str) -> bool:
    return Agent.objects.filter(environment=environment, name__iexact=player.replace("_", "-")).exists()


def _create(owner: User, environment: Environment, player: str, archive: bytes) -> Submission:
    submission = agent_create(
        owner=owner,
        environment=environment,
        name=player.replace("_", "-"),
        is_public=True,
        archive=SimpleUploadedFile("player.zip", archive, content_type="application/zip"),
    )
    opponents_set(agent=submission.agent, opponents=Opponents.EVERYONE)
    return submission
