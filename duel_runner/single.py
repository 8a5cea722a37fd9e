"""Starts the player of a job in which one version is asked for single moves."""

from __future__ import annotations

from collections.abc import Callable

from arena_kit.errors import PlatformFault
from arena_kit.log_context import bind
from arena_kit.sandbox.base import Container
from core.jobs.fetching import images_fetch
from core.jobs.lease import Lease
from core.models import Submission
from duel_runner.workplace import workplace_of_this_worker


def player_start(submission: Submission, lease: Lease) -> Callable[[], Container]:
    """Return a function that starts the player of a version here, on no core of its own. Raises PlatformFault."""
    if not submission.launched_image:
        raise PlatformFault(f"{submission} has no image. Build it again first.", code="image_missing")
    images_fetch(submission, lease=lease)
    workplace = workplace_of_this_worker()

    def launch() -> Container:
        slot = workplace.players.slot(workplace.launch(submission, None))
        bind(container_id=slot.container_id)
        return slot

    return launch
