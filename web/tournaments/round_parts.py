"""Rounds of a tournament in words: which one is played, how many there are, and the meetings of one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from arena_kit.ranking.formats import Meeting, Stage, StageKind, play_off
from core.tournaments.brackets import Drawn
from core.tournaments.selectors import EditionProgress
from web.site.requests import whole_number
from web.tournaments.bracket_parts import bracket_columns

ALL_AT_ONCE = "The meetings of all rounds are played at the same time, in any order."


@dataclass(frozen=True, slots=True)
class ShownRound:
    """The meetings of one round outside brackets, by stage.

    numbers: of all such rounds. count: how many there will be. about: what a round is here, in a sentence.
    """

    number: int
    count: int
    numbers: tuple[int, ...]
    stages: tuple[tuple[Stage, Sequence[Meeting]], ...]
    about: str


def running_words(drawn: Drawn, count: int) -> str:
    """Return a sentence on what is played now. count: of the rounds that there will be."""
    if drawn.round is None:
        return "All rounds drawn so far have been played."
    if any(meeting.is_open for stage in _grouped(drawn) if _is_cut(stage) for meeting in stage.meetings):
        return "The groups are over. Equals play for the last places that qualify."
    if is_all_at_once(drawn):
        meetings = [meeting for stage in _grouped(drawn) for meeting in stage.meetings]
        decided = sum(not meeting.is_open for meeting in meetings)
        where = "in the groups " if len(_grouped(drawn)) > 1 else ""
        verb = "is" if decided == 1 else "are"
        return f"{decided} of the {len(meetings)} meetings {where}{verb} decided. {ALL_AT_ONCE}"
    said = f"Round {drawn.round} of {count} is being played"
    names = [
        column.name
        for stage in drawn.outline.stages
        if stage.key == "knock-out" and stage.rounds
        for column in bracket_columns(drawn, stage)
        if column.round == drawn.round
    ]
    return f"{said}: the {names[0][0].lower()}{names[0][1:]}." if names else f"{said}."


def evaluated_words(progress: EditionProgress) -> str:
    """Return a sentence on what is played now where agents play alone."""
    verb = "has" if progress.done == 1 else "have"
    return f"{progress.done} of the {progress.total} agents {verb} been evaluated."


def is_all_at_once(drawn: Drawn) -> bool:
    """Return whether a stage is played in which no round waits for another."""
    return any(meeting.is_open for stage in _grouped(drawn) for meeting in stage.meetings)


def shown_round(drawn: Drawn, asked: str, count: int) -> ShownRound | None:
    """Return the requested round outside brackets, else the current one, else the last; None without any.

    asked: what the address says. count: of the rounds that there will be.
    """
    rounds: dict[int, list[tuple[Stage, Sequence[Meeting]]]] = {}
    for stage in drawn.outline.stages:
        for meetings in stage.rounds if stage.kind != StageKind.BRACKET else ():
            rounds.setdefault(meetings[0].round, []).append((stage, meetings))
    if not rounds:
        return None
    number = whole_number(asked)
    number = drawn.round if number is None else number
    chosen = number if number in rounds else max(rounds)
    assert chosen is not None
    grouped = bool(_grouped(drawn))
    return ShownRound(
        chosen,
        # The rounds of a knock-out after the groups are in its bracket.
        max(rounds) if grouped else count,
        tuple(sorted(rounds)),
        tuple(rounds[chosen]),
        "Agents that share a rank at the cut of their group meet once more."
        if any(_is_cut(stage) for stage, _ in rounds[chosen])
        else f"In a round each agent plays at most one meeting. {ALL_AT_ONCE}"
        if grouped
        else "In a round each agent plays at most one meeting. Each round is drawn from the results before it.",
    )


def _is_cut(stage: Stage) -> bool:
    return stage.key.startswith(play_off.KEY)


def _grouped(drawn: Drawn) -> list[Stage]:
    return [stage for stage in drawn.outline.stages if stage.kind == StageKind.ALL_PLAY_ALL]
