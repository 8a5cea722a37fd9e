"""Baselines of tournaments: agents that play without taking a rank, a seed or a place."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from core.courses.organisers import agents_of_organisers
from core.errors import Refused
from core.models import Agent, Course, Environment, Submission, Tournament

MOST_NAMED = 8
"""The most agents that a refusal names."""


def baselines_named(names: Iterable[str], environment: Environment, course: Course | None) -> list[Agent]:
    """Return the agents with these names that can be baselines of a tournament. Raises Refused."""
    wanted = {name.strip().casefold(): name.strip() for name in names if name.strip()}
    if not wanted:
        return []
    playing = Submission.objects.active().filter(agent__environment=environment)
    rows = agents_of_organisers(course).filter(pk__in=playing.values("agent"))
    can = {row.name.casefold(): row for row in rows}
    if missing := [name for name in wanted if name not in can]:
        known = [row.name for row in can.values()]
        more = f" and {len(known) - MOST_NAMED} more" if len(known) > MOST_NAMED else ""
        choose = f"Choose from {', '.join(known[:MOST_NAMED])}{more}." if known else "Upload one first."
        raise Refused(
            f"“{wanted[missing[0]]}” is no agent of the site or the course’s teachers that may play. {choose}",
            field="baselines",
        )
    return [can[name] for name in wanted]


def baselines_set(*, tournament: Tournament, agents: Sequence[Agent]) -> None:
    """Let these agents play in a planned tournament without a rank. The caller holds its row. Raises Refused."""
    registered = tournament.registrations.filter(agent__in=agents).select_related("agent").first()
    if registered is not None:
        raise Refused(f"{registered.agent} is registered: withdraw it first, or leave it out.", field="baselines")
    tournament.baselines.set(agents)
