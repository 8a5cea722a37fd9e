"""The random example player as a person's own agent, for those who have not written one yet."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable

from django.conf import settings
from django.core.files.uploadedfile import SimpleUploadedFile

from arena_kit.examples import make_archive, names
from core.errors import Refused
from core.models import Agent, Environment, Submission, User
from core.submissions.services import NO_LABELS, Labels, agent_create

EXAMPLE = "random"
"""The example player that plays nearly every environment without training."""
LABELS = Labels(algorithm="Random actions")
MOST_CHARACTERS = 45
"""A name without its number has at most this many letters, of the 50 that an agent may have."""


def takes_example(environment: Environment) -> bool:
    """Return whether the random example can be uploaded to an environment."""
    is_open = environment.is_active and environment.is_available
    return is_open and environment.takes_players and not environment.is_app and EXAMPLE in names(environment.slug)


def example_upload(
    *, owner: User, environment: Environment, tell: Callable[[str], None] = lambda _: None
) -> Submission:
    """Upload the random example as a private agent of a person, as a form with its zip does; see `agent_create`.

    Asked twice, it is the same submission, which `tell` says. Raises Refused and QuotaExceeded as `agent_create`, and
    Refused for an environment that the example does not play.
    """
    if environment.is_active and environment.is_available and not takes_example(environment):
        raise Refused(f"There is no random example for {environment}.", field="archive", code="no_example")
    archive = make_archive(EXAMPLE, environment.slug, store=settings.DATA_DIR / "examples")
    return agent_create(
        owner=owner,
        environment=environment,
        name=_free_name(owner, environment, hashlib.sha256(archive).hexdigest()),
        is_public=False,
        archive=SimpleUploadedFile("player.zip", archive, content_type="application/zip"),
        # Only boards of scores show how an agent learned.
        labels=LABELS if environment.is_scored else NO_LABELS,
        tell=tell,
    )


def _free_name(owner: User, environment: Environment, sha256: str) -> str:
    """Return `random-USERNAME` in the letters of an agent's name, numbered if another agent has that name.

    It is `random-player` where the user name has no Latin letter or digit. sha256: of the example; the person's own
    agent that began with it is found again.
    """
    own_part = re.sub(r"[^A-Za-z0-9_-]+", "-", owner.username).strip("-_")
    base = f"{EXAMPLE}-{own_part or 'player'}"[:MOST_CHARACTERS].rstrip("-_")
    namesakes = Agent.objects.filter(environment=environment, name__istartswith=base)
    taken = {name.lower() for name in namesakes.values_list("name", flat=True)}
    twins = Submission.objects.filter(agent__in=namesakes.filter(owner=owner), number=1, archive_sha256=sha256)
    own = set(twins.filter(deleted_at=None, agent__is_public=False).values_list("agent__name", flat=True))
    number, name = 1, base
    while name not in own and name.lower() in taken:
        number, name = number + 1, f"{base}-{number + 1}"
    return name
