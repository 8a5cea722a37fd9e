"""The facts that a replay file states about a match or an episode besides its states."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from arena_kit.environment.episodes import EpisodeRecord
from arena_kit.environment.records import Fault, MatchRecord, Outcome
from arena_kit.environment.replay import ReplayStep, replay, replay_episode
from arena_kit.environment.spec import EnvironmentSpec
from arena_kit.text import plain_line

Played = MatchRecord | EpisodeRecord
"""The records that can be replayed: a match, or an episode of an environment with one seat."""


YOU = "You"
"""The name of a player for the person who is that player."""


@dataclass(frozen=True, slots=True)
class ReplayAgent:
    """A player of the match. agent_id: its name for programs. name: its name for people. version: None if unknown."""

    agent_id: str
    name: str
    version: int | None = None


@dataclass(frozen=True, slots=True)
class ReplayFacts:
    """Where a replay comes from.

    match_id: its name, e.g. `duel-12-match-3`. agents: by player. start_time, end_time: ISO 8601, or None if unknown;
    a duel plays many matches side by side, so on the site they are the duel's.
    """

    match_id: str
    agents: tuple[ReplayAgent, ...]
    start_time: str | None = None
    end_time: str | None = None

    @property
    def names(self) -> tuple[str, ...]:
        """The players' names, without characters that turn or hide the text around them."""
        return tuple(plain_line(agent.name) or f"player {number}" for number, agent in enumerate(self.agents, start=1))

    @property
    def keys(self) -> tuple[str, ...]:
        """A different id for every player: where several share an agent, `:1`, `:2` and so on are added."""
        ids = [plain_line(agent.agent_id) or "player" for agent in self.agents]
        if len(set(ids)) == len(ids):
            return tuple(ids)
        return tuple(f"{name}:{number}" for number, name in enumerate(ids, start=1))


def states(spec: EnvironmentSpec, record: Played, *, observe: bool = False) -> Iterator[ReplayStep]:
    """Play a match or an episode again and yield its states. Raises ReplayMismatch."""
    if isinstance(record, EpisodeRecord):
        return replay_episode(spec, record, observe=observe)
    return replay(spec, record, observe=observe)


def seats_of(record: Played) -> tuple[int, ...]:
    """Return the player on each seat."""
    return (0,) if isinstance(record, EpisodeRecord) else record.seats


def scores_of(record: Played) -> tuple[float, ...]:
    """Return the scores by player."""
    return (record.score,) if isinstance(record, EpisodeRecord) else record.scores


def ending(record: Played, names: tuple[str, ...]) -> str:
    """Return how a match or an episode ended, as a sentence without a full stop."""
    if isinstance(record, EpisodeRecord):
        return f"Score {record.score:g} in {record.length} step{'' if record.length == 1 else 's'}"
    if record.fault is Fault.PLAYER and record.faulty_player is not None:
        loser, winner = names[record.faulty_player], names[1 - record.faulty_player]
        return f"{does(loser, 'forfeit')}, {'you win' if winner == YOU else does(winner, 'win')}"
    if record.outcome is Outcome.DRAW:
        return "Draw"
    return does(names[0] if record.outcome is Outcome.PLAYER_1 else names[1], "win")


def in_one_sentence(parts: Iterable[str]) -> str:
    """Return what players do at the same time, as one sentence."""
    return "; ".join(parts).replace(f"; {YOU} ", f"; {YOU.lower()} ")


def does(name: str, verb: str) -> str:
    """Return a name and what it does. verb: in its plain form, which YOU takes."""
    return f"{name} {verb}" if name == YOU else f"{name} {'has' if verb == 'have' else f'{verb}s'}"
