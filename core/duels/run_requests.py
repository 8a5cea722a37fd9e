"""The requests of programs: which players it names, and whether its caller may let them meet."""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import asdict, dataclass
from typing import Any
from uuid import UUID

from django.db.models import Q

from arena_kit.upload.image_reference import is_image_name
from core.courses.sight import belongs, courses_closed, seen
from core.duels.challenge_selectors import active_version, rival_obstacle
from core.errors import Refused
from core.models import Environment, JobState, Submission, SubmissionForm, User
from core.models.agent import SubmissionQuerySet
from core.models.run import KEY_CHARACTERS
from core.people.rights import may

UNKNOWN, NOT_READY, NOT_YOURS, KEY_TAKEN = "unknown", "not_ready", "not_yours", "key_taken"
"""Codes of refusals that a program tells apart; every other one is a wrong request."""
OTHERS = "core.change_duel"
"""The right to let agents of other people play."""
DEFAULT_SECONDS, MOST_SECONDS = 300, 3600
MOST_MATCHES = 1000
MOST_SEED = 2**31
WORDS_CHARACTERS = 4000
"""The most characters of what a caller says of a player in its own words."""
NO_FOREIGN = "Images of other places and code_url are not read: upload the agent, or submit its image as a version."
IMAGE = re.compile(r"(?:[^\s@]+@)?(?P<digest>sha256:[0-9a-f]{64})")


@dataclass(frozen=True, slots=True)
class RunPlayer:
    """One side of a run. name: the caller's id for it. version: `submission:ID`, `agent:ID`, or an image.

    label, metadata: the caller's own words, which are kept and returned.
    """

    name: str
    version: str
    label: str = ""
    metadata: tuple[tuple[str, str], ...] = ()

    @property
    def words(self) -> dict[str, Any]:
        """The caller's words, as a run keeps them."""
        return {"version": self.label, "metadata": dict(self.metadata)}


@dataclass(frozen=True, slots=True)
class RunRequest:
    """A duel, or an evaluation in an environment with one seat, that a program asks for.

    key: the caller's id for it. environment: a slug or an id. seconds: its time, waiting included; 0 means the default.
    match_count: matches, or episodes. seed: None for a random one, as it must be for an evaluation.
    """

    key: str
    environment: str
    players: tuple[RunPlayer, ...]
    seconds: int = 0
    match_count: int = 1
    seed: int | None = None

    @property
    def sha256(self) -> str:
        """The hash by which the same request is known again."""
        return hashlib.sha256(json.dumps(asdict(self), sort_keys=True).encode()).hexdigest()


def request_check(request: RunRequest) -> None:
    """Raise Refused for what is wrong with a request by itself."""
    _text(request.key, "key")
    _text(request.environment, "environment")
    if len(request.players) not in (1, 2):
        raise Refused(f"A match has exactly 2 agents, not {len(request.players)}.", field="players")
    for place, player in enumerate(request.players):
        _text(player.name, f"players[{place}].name")
        words = [player.label, *(text for pair in player.metadata for text in pair)]
        if sum(map(len, words)) > WORDS_CHARACTERS or not all(word.isprintable() for word in words):
            raise Refused(
                f"Version and metadata of an agent have at most {WORDS_CHARACTERS} characters together, without "
                "controls.",
                field=f"players[{place}].metadata",
            )
    if len({player.name for player in request.players}) < len(request.players):
        raise Refused("The two agents need different ids.", field="players[1].name")
    if not 0 <= request.seconds <= MOST_SECONDS:
        raise Refused(f"A time is at most {MOST_SECONDS} seconds; 0 means {DEFAULT_SECONDS}.", field="seconds")
    if not 1 <= request.match_count <= MOST_MATCHES:
        raise Refused(f"A run has 1 to {MOST_MATCHES} matches.", field="match_count")
    if request.seed is not None and not 0 <= request.seed < MOST_SEED:
        raise Refused(f"A seed is below {MOST_SEED}.", field="seed")


def environment_find(name: str, caller: User) -> Environment:
    """Return an environment that plays runs now, by slug or id; Pong and tic_tac_toe are names too. Raises Refused."""
    written = Q(slug__iexact=name.replace("_", "-")) | Q(env_id__iexact=name)
    found = seen(Environment.objects.filter(written), caller).order_by("pk")
    environment = next((row for row in found if name in (row.slug, row.env_id)), found.first())
    if environment is None:
        raise Refused(
            "There is no such environment; /api/v1/environments/ lists them.", field="environment", code=UNKNOWN
        )
    if environment.is_app:
        why = f"{environment} is an application: its tasks are asked for as rollouts."
        raise Refused(why, field="environment", code=NOT_READY)
    if environment.closed_because:
        raise Refused(environment.closed_because, field="environment", code=NOT_READY)
    return environment


def players_find(request: RunRequest, environment: Environment, caller: User) -> tuple[Submission, ...]:
    """Return the versions that a request names, as many as the environment has sides, if its caller may let them play.

    Raises Refused.
    """
    sides = 1 if environment.is_scored else 2
    if len(request.players) != sides:
        why = (
            f"A match of {environment} has exactly {sides} agent{'s' if sides > 1 else ''}, not {len(request.players)}."
        )
        raise Refused(why, field="players")
    if environment.is_scored:
        return (_alone(request, environment, caller),)
    first, second = (
        _player(player.version, environment, caller, field=f"players[{place}].version")
        for place, player in enumerate(request.players)
    )
    if first == second:
        raise Refused("A version cannot play against itself: name two.", field="players[1].version")
    if not may(caller, OTHERS) and caller.pk not in (first.agent.owner_id, second.agent.owner_id):
        raise Refused("None of these agents is yours: only organisers may let others' agents meet.", code=NOT_YOURS)
    return first, second


def _alone(request: RunRequest, environment: Environment, caller: User) -> Submission:
    """Return the version that a request names where agents do not meet. Raises Refused."""
    if request.seed is not None:
        raise Refused(f"{environment} is played on the arena's public seeds: leave the seed out.", field="seed")
    submission = _player(request.players[0].version, environment, caller, field="players[0].version")
    if not may(caller, OTHERS) and submission.agent.owner_id != caller.pk:
        raise Refused("This agent is not yours: only organisers may let others' agents play.", code=NOT_YOURS)
    return submission


def _player(version: str, environment: Environment, caller: User, *, field: str) -> Submission:
    submission = _named(version, caller, field)
    agent = submission.agent
    if agent.environment_id != environment.pk:
        raise Refused(f"{submission} plays {agent.environment}, not {environment}.", field=field)
    if agent.owner_id != caller.pk and not may(caller, OTHERS):
        newest = active_version(agent)
        if why := rival_obstacle(agent, newest):
            raise Refused(why, field=field, code=NOT_READY)
        if submission != newest:
            raise Refused(
                f"Of others' agents only the active version plays, here {newest}.", field=field, code=NOT_YOURS
            )
    if not Submission.objects.valid().filter(pk=submission.pk).exclude(form=SubmissionForm.SCRIPT).exists():
        why = f"{submission} may not play: it is not built and validated, or it is disabled or deleted."
        raise Refused(f"{why} Its page says more.", field=field, code=NOT_READY)
    return submission


def _named(version: str, caller: User, field: str) -> Submission:
    rows = Submission.objects.exclude(belongs(Submission, courses_closed(caller)))
    rows = rows.select_related("agent__environment", "agent__owner")
    kind, _, value = version.partition(":")
    found: Submission | None = None
    if kind == "submission" and value:
        found = rows.filter(_identified(value)).first()
    elif kind == "agent" and value.isascii() and value.isdigit() and len(value) < 19:
        found = rows.playing_for(int(value)).first()
    elif image := IMAGE.fullmatch(version):
        found = _newest(rows.filter(_has_image(image["digest"])), caller)
        if found is None:
            raise Refused(f"This arena has no image with this digest. {NO_FOREIGN}", field=field, code=UNKNOWN)
    elif is_image_name(version):
        found = _newest(rows.filter(image_name=version), caller)
        if found is None:
            raise Refused(f"No version was submitted as the image {version}. {NO_FOREIGN}", field=field, code=UNKNOWN)
    else:
        raise Refused(
            "Name a version as submission:ID, an agent as agent:ID, or an image that this arena has, by its digest or "
            "by the name with which it was submitted. "
            f"{NO_FOREIGN}",
            field=field,
        )
    if found is None:
        raise Refused("This arena has no such version that plays.", field=field, code=UNKNOWN)
    return found


def _newest(rows: SubmissionQuerySet, caller: User) -> Submission | None:
    """Return the caller's newest version among some that may play, or one that may not, or else that of others."""
    rows = rows.filter(deleted_at=None).order_by("-pk")
    own = rows.filter(agent__owner=caller)
    return own.valid().first() or own.first() or rows.valid().first() or rows.first()


def _has_image(digest: str) -> Q:
    """Select the versions that this arena has built as this image, or of this submitted image."""
    theirs = Q(form=SubmissionForm.IMAGE, builds__state=JobState.SUCCEEDED, builds__base_digest=digest)
    return Q(image_digest=digest) | Q(pk__in=Submission.objects.filter(theirs).values("pk"))


def _identified(value: str) -> Q:
    if value.isascii() and value.isdigit() and len(value) < 19:
        return Q(pk=int(value))
    try:
        return Q(public_id=UUID(value))
    except ValueError:
        return Q(pk=None)


def _text(text: str, field: str) -> None:
    if not text or len(text) > KEY_CHARACTERS or not text.isprintable():
        raise Refused(f"Send a text of 1 to {KEY_CHARACTERS} characters, without controls.", field=field)
