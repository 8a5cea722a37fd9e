"""The parts around the states of a match on its page: values, times, and the list of moves."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.contrib.auth.models import AnonymousUser

from arena_kit.environment.records import MatchRecord
from arena_kit.environment.replay_file.views import FrameView
from core.duels.replays import Names
from core.models import Duel, PlayedJob, Sitting, User
from web.analyses.parts import MistakeMark, analysis_view
from web.analyses.playout_parts import playouts_view
from web.duels.output_parts import output_view
from web.duels.time_parts import times_view

Context = dict[str, Any]


@dataclass(frozen=True, slots=True)
class ValueBar:
    """The bar beside the board. told: by state, player 1's share in percent (None if unknown) and a sentence."""

    share: int | None
    sentence: str
    told: Sequence[tuple[int | None, str]]


def valued(
    job: PlayedJob, record: MatchRecord, names: Names, position: int, *, last: int, may_play_out: bool
) -> Context:
    """Return what a match's positions are worth, by a solver and by playouts. Raises NotStored.

    position, last: numbers of the state that is shown and of the last one. may_play_out: whether everyone may see the
    match of a duel, so that agents may play on from it.
    """
    if not isinstance(job, Duel | Sitting) or not job.is_over:
        return {}
    analysis = analysis_view(job, record, names)
    playouts = playouts_view(job, record, names, last=last) if may_play_out and isinstance(job, Duel) else None
    context: Context = {"analysis": analysis, "playouts": playouts, "may_play_out": may_play_out}
    context["marks"] = {} if analysis is None else analysis.marks
    told: Sequence[tuple[int | None, str]] = ()
    if playouts is not None:
        context["playout_here"], told = round(position * playouts.step, 1), playouts.told
    if analysis is not None and analysis.story is not None and analysis.graph is not None:
        context["here"], told = round(position * analysis.graph.step, 1), analysis.told
    if told:
        context["bar"] = ValueBar(*told[position], told)
    return context


def timed(
    states: list[FrameView], names: Names, position: int, *, person: int | None, marks: Mapping[int, MistakeMark]
) -> Context:
    """Return the moves of a match, with the time and the mark of each. person: the player who is one, if any."""
    times = times_view(states, names, person=person)
    took = [""] * len(states) if times is None else times.by_ply
    moves = [(state, time, marks.get(state.ply)) for state, time in zip(states, took, strict=True)]
    if times is None:
        return {"moves": moves}
    return {"times": times, "time_here": round((position - 1) * times.step, 2), "moves": moves}


def printed(
    job: PlayedJob, number: int, states: list[FrameView], names: Names, position: int, viewer: User | AnonymousUser
) -> Context:
    """Return what the viewer's own agents printed in a match that is over."""
    output = output_view(job, number, states, names, viewer) if job.is_over else None
    return {} if output is None else {"output": output, "printed_here": output.told.get(states[position].ply, "")}
