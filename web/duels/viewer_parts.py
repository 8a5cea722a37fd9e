"""The parts around the states of a match on its page: values, times, and the list of moves."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.contrib.auth.models import AnonymousUser

from arena_kit.environment.records import MatchRecord
from arena_kit.environment.replay_file.views import FrameView
from core.duels.replays import Names
from core.models import Duel, PlayedJob, User
from web.analyses.parts import analysis_view
from web.analyses.playout_parts import playouts_view
from web.duels.output_parts import output_view
from web.duels.time_parts import times_view

Context = dict[str, Any]


@dataclass(frozen=True, slots=True)
class ValueBar:
    """The bar under the board. told: by state, player 1's share in percent (None if unknown) and a sentence."""

    share: int | None
    sentence: str
    told: Sequence[tuple[int | None, str]]


def valued(job: PlayedJob, record: MatchRecord, names: Names, position: int, *, last: int, may_go_on: bool) -> Context:
    """Return what a match's positions are worth, by a solver and by playouts. Raises NotStored.

    position, last: numbers of the state that is shown and of the last one. may_go_on: whether everyone may see the
    match, so that agents may play on from it.
    """
    if not isinstance(job, Duel) or not job.is_over:
        return {}
    analysis = analysis_view(job, record, names)
    playouts = playouts_view(job, record, names, last=last) if may_go_on else None
    context: Context = {"analysis": analysis, "playouts": playouts, "may_go_on": may_go_on}
    told: Sequence[tuple[int | None, str]] = ()
    if playouts is not None:
        context["playout_here"], told = round(position * playouts.step, 1), playouts.told
    if analysis is not None and analysis.story is not None and analysis.graph is not None:
        context["here"], told = round(position * analysis.graph.step, 1), analysis.told
    if told:
        context["bar"] = ValueBar(*told[position], told)
    return context


def timed(states: list[FrameView], names: Names, position: int, *, person: int | None) -> Context:
    """Return how long the moves of a match took. person: the player who is a person, if there is one."""
    times = times_view(states, names, person=person)
    if times is None:
        return {"moves": [(state, "") for state in states]}
    here = round((position - 1) * times.step, 2)
    return {"times": times, "time_here": here, "moves": list(zip(states, times.by_ply, strict=True))}


def printed(
    job: PlayedJob, number: int, states: list[FrameView], names: Names, position: int, viewer: User | AnonymousUser
) -> Context:
    """Return what the viewer's own agents printed in a match that is over."""
    output = output_view(job, number, states, names, viewer) if job.is_over else None
    return {} if output is None else {"output": output, "printed_here": output.told.get(states[position].ply, "")}
