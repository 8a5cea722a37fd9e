"""Reads what a site answers into records. A field that is missing or of another type raises SiteError."""

from __future__ import annotations

from arena_kit.client.answers import (
    AgentLine,
    Arena,
    Board,
    Challenge,
    ChallengeDuel,
    Comparison,
    DuelLine,
    Environment,
    Job,
    NewToken,
    Phase,
    Place,
    Version,
)
from arena_kit.client.fields import Fields
from arena_kit.environment.records import Fault, MatchRecord, Outcome


def arena_of(data: object) -> Arena:
    return Fields(data, "the site's description").read(Arena)


def token_of(data: object) -> NewToken:
    found = Fields(data, "the token")
    return found.read(NewToken, expires_at=found.line("expires_at") if found.has("expires_at") else "")


def environment_of(data: object) -> Environment:
    return Fields(data, "the environment").read(Environment)


def agent_of(found: Fields) -> AgentLine:
    return found.read(AgentLine)


def comparison_of(data: object) -> Comparison:
    found = Fields(data, "the comparison")
    parts = [found.part(name) for name in ("same_opponents", "own_duels", "same_seeds") if found.has(name)]
    sentences = [found.line("sentence"), *(part.line("sentence") for part in parts)]
    return Comparison(tuple(dict.fromkeys(sentences)), found.data)


def version_of(data: object) -> Version:
    found = Fields(data, "the version")
    agent = found.part("agent")
    return found.read(
        Version,
        agent_id=agent.whole("id"),
        agent=agent.line("name"),
        owner=agent.line("owner"),
        phases=tuple(one.read(Phase) for one in found.parts("phases")),
        error=found.text("error"),
        notes=found.lines("notes") if found.has("notes") else (),
    )


def job_of(data: object) -> Job:
    found = Fields(data, "the job")
    wait = found.part("wait") if found.has("wait") else None
    return found.read(
        Job,
        error=found.text("error"),
        wait=wait.line("sentence") if wait else "",
        is_stuck=wait.flag("is_stuck") if wait else False,
    )


def leaderboard_of(data: object, environment: str) -> Board:
    """Read a leaderboard by ratings."""
    found = Fields(data, "the leaderboard")
    places = []
    for row in found.parts("results"):
        version = row.part("submission")
        agent = version.part("agent")
        places.append(_place(row, agent.line("name"), version.whole("number"), agent.line("owner"), "value"))
    return Board(environment, False, found.whole("count"), tuple(places), found.data)


def scores_of(data: object, environment: str) -> Board:
    """Read a board by scores."""
    found = Fields(data, "the board")
    places = []
    for row in found.parts("results"):
        owner = row.line("user_label") or row.line("owner")
        note = "" if row.flag("is_verified") else "self-reported"
        places.append(_place(row, row.line("agent"), row.whole("number"), owner, "score", note))
    return Board(environment, True, found.whole("count"), tuple(places), found.data)


def _place(row: Fields, agent: str, number: int, owner: str, value: str, note: str = "") -> Place:
    low, high = ("low", "high") if value == "value" else ("score_low", "score_high")
    return Place(
        rank=row.whole("rank") if row.has("rank") else None,
        agent=agent,
        number=number,
        owner=owner,
        value=row.number(value),
        low=row.number(low) if row.has(low) else None,
        high=row.number(high) if row.has(high) else None,
        note=note,
    )


def challenge_of(data: object) -> Challenge:
    found = Fields(data, "the challenge")
    return found.read(Challenge, duels=tuple(_challenge_duel(line) for line in found.parts("duels")))


def _challenge_duel(line: Fields) -> ChallengeDuel:
    opponent, result = line.part("opponent"), line.part("result")
    return line.read(
        ChallengeDuel,
        opponent=f"{opponent.part('agent').line('name')}, version {opponent.whole('number')}",
        **{name: result.whole(name) for name in ("won", "drawn", "lost")},
    )


def duel_of(data: object) -> DuelLine:
    found = Fields(data, "the duel")
    one, two = (found.part(name).part("agent") for name in ("player_1", "player_2"))
    return found.read(
        DuelLine,
        rules=found.line("environment_version"),
        players=(one.line("name"), two.line("name")),
        owners=(one.line("owner"), two.line("owner")),
    )


def match_of(data: object) -> MatchRecord:
    """Read the record of a match; players are counted from 1 in the answer and from 0 in the record."""
    found = Fields(data, "the match")
    faulty = found.whole("faulty_player") - 1 if found.has("faulty_player") else None
    try:
        outcome, fault = Outcome(found.line("outcome")), Fault(found.line("fault"))
    except ValueError:
        outcome, fault = Outcome.NONE, Fault.NONE
    return MatchRecord(
        number=found.whole("number"),
        seed=found.whole("seed"),
        seats=tuple(player - 1 for player in found.wholes("seats")),
        actions=found.wholes("actions"),
        outcome=outcome,
        scores=found.numbers("scores"),
        fault=fault,
        faulty_player=faulty,
        error_code=found.line("error_code"),
        error=found.text("error"),
        # Sites from before there were openings do not say it.
        opening_count=found.whole("opening_count") if found.has("opening_count") else 0,
    )
