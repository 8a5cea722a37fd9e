"""Versions of what everyone may see of an environment, an agent, a duel: while one stays, so does what a stranger sees.

A version is made from the rows themselves, so no writer has to remember to raise it. That of an environment is read
once a second, however many visitors there are.
"""

from __future__ import annotations

import json
import re
from hashlib import sha256
from typing import NamedTuple

from django.db.models import Max
from django.utils import timezone

from core.cache.answers import cached
from core.jobs.states import OPEN
from core.lookup import moment_read
from core.models import Duel, Evaluation, Submission
from core.watching.lookups import (
    ACTS,
    AGENT,
    AGENT_BY_KEY,
    COURSES,
    DUEL,
    ENVIRONMENTS,
    EVALUATION,
    FITS,
    OPEN_DUELS,
    PERSON,
    PLAYED_BY,
    PLAYERS,
    SITTINGS,
    SUMS,
    TOURNAMENT,
    TOURNAMENTS,
    VERSIONS,
    WINDOWS,
)

STILL_SECONDS, LIST_SECONDS, MOVING_SECONDS = 300.0, 5.0, 1.0
"""How long what is shown may be kept: while nothing moves, a list over all environments then, while something moves."""


class Shown(NamedTuple):
    """The version of what is shown, and for how many seconds it may be kept."""

    version: str
    seconds: float


class _Around(NamedTuple):
    """An environment. names: the version of what its duels show of it and its agents. boards: that of all its pages."""

    names: str
    boards: str
    is_moving: bool


def now_shown() -> Shown:
    """Return the version of what may change at any time: it is kept for a second."""
    return Shown("", MOVING_SECONDS)


def everything_shown() -> Shown:
    """Return the version of lists over all environments.

    What lists show beside it, such as the text about an agent, may be a few seconds old.
    """
    found = cached("shown:*", _Around, _everything)
    return Shown(found.boards, MOVING_SECONDS if found.is_moving else LIST_SECONDS)


def environment_shown(slug: str) -> Shown | None:
    """Return the version of an environment's boards, tournaments and agents; None if there is no such environment."""
    found = _around(slug)
    return found and Shown(found.boards, MOVING_SECONDS if found.is_moving else STILL_SECONDS)


def agent_shown(slug: str, name: str) -> Shown | None:
    """Return the version of an agent's page; None if there is no such agent. Four queries beside the environment's."""
    around, rows = environment_shown(slug), AGENT(slug, name.lower())
    if around is None or not rows:
        return None
    return _of_agent(around, rows[0][0], [rows, SITTINGS(rows[0][0])])


def agent_duels_shown(agent: str) -> Shown | None:
    """Return the version of the list of an agent's duels. agent: its key, as an address has it."""
    rows = AGENT_BY_KEY(int(agent)) if re.fullmatch("[0-9]{1,9}", agent) else []
    around = environment_shown(rows[0][0]) if rows else None
    return around and _of_agent(around, rows[0][1], rows)


def _of_agent(around: Shown, key: int, facts: object) -> Shown:
    versions, is_playing = VERSIONS(key), bool(OPEN_DUELS(key))
    is_moving = is_playing or any(any(row[-3:]) for row in versions)
    return _both(around, [facts, versions, is_playing], is_moving=is_moving)


def tournament_shown(key: int) -> Shown | None:
    """Return the version of a tournament; None if there is no such tournament."""
    rows = TOURNAMENT(key)
    return environment_shown(rows[0][0]) if rows else None


def user_shown(username: str) -> Shown | None:
    """Return the version of a person's public page; None if there is no such person."""
    rows = PERSON(username)
    if not rows:
        return None
    around = [found for (slug,) in PLAYED_BY(rows[0][0]) if (found := environment_shown(slug))]
    seconds = min((found.seconds for found in around), default=STILL_SECONDS)
    return _both(Shown("".join(found.version for found in around), seconds), rows, is_moving=False)


def duel_shown(duel_id: int) -> Shown | None:
    """Return the version of a duel and its matches; None if there is no such duel.

    An open duel and one that waits for an analysis are kept for a second. Two queries beside the environment's.
    """
    rows = DUEL(duel_id)
    players = PLAYERS(*rows[0][:2]) if rows else []
    around = _around(players[0][0]) if players else None
    if around is None:
        return None
    is_moving = rows[0][2] in OPEN or bool(rows[0][3])
    return _both(Shown(around.names, STILL_SECONDS), [rows, players], is_moving=is_moving)


def evaluation_shown(evaluation_id: int) -> Shown | None:
    """Return the version of an evaluation; None if there is no such evaluation."""
    rows = EVALUATION(evaluation_id)
    around = environment_shown(rows[0][0]) if rows else None
    return around and _both(around, rows, is_moving=rows[0][1] in OPEN or bool(rows[0][2]))


def _both(around: Shown, facts: object, *, is_moving: bool) -> Shown:
    seconds = MOVING_SECONDS if is_moving else around.seconds
    return Shown(_digest([around.version, facts]), seconds)


def _around(slug: str) -> _Around | None:
    found = cached(f"shown:{slug}", _Around, lambda: _of(slug))
    return found if found.boards else None


def _everything() -> _Around:
    around = _of(None)
    newest = [model._default_manager.aggregate(newest=Max("pk")) for model in (Submission, Duel, Evaluation)]
    is_moving = around.is_moving or any(
        model._default_manager.filter(state__in=OPEN).exists() for model in (Duel, Evaluation)
    )
    return _Around(around.names, _digest([around.boards, newest]), is_moving)


def _of(slug: str | None) -> _Around:
    """Return the versions of an environment, empty without one, or of all, and whether anything of them is moving.

    Eleven queries.
    """
    rows = ENVIRONMENTS(slug)
    if not rows:
        return _Around("", "", False)
    fits, environments = [row[: len(FITS)] for row in rows], [row[len(FITS) :] for row in rows]
    key = None if slug is None else environments[0][0]
    tournaments, now = TOURNAMENTS(key), timezone.now()
    begun = [[bool(at) and moment_read(at) <= now for at in times] for times in WINDOWS(key)]
    agents, former_names, *results = (sums(key) for sums in SUMS)
    is_moving = (
        any(running for _, running, *_ in tournaments)
        or any((rated or 0) > (fitted or 0) for rated, fitted, *_ in fits)
        or any(kind == "APP" for _, kind, *_ in environments)
    )
    names = _digest([environments, agents, former_names, ACTS(), COURSES()])
    return _Around(names, _digest([names, fits, tournaments, begun, results]), is_moving)


def _digest(facts: object) -> str:
    return sha256(json.dumps(facts, default=str).encode()).hexdigest()[:16]
