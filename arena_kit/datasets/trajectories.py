"""A data set of matches as data sets of Minari, one a seat: what the seat saw, did and got at each of its turns.

Needs Minari and pyarrow, of the extra `datasets`. Observations are not part of a data set of matches: every match is
played again from its seed and actions, which also checks it.
"""

from __future__ import annotations

import json
import os
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import IO, Any, cast

from arena_kit.datasets.lines import NotADataset, read_dataset
from arena_kit.environment.adapters.exports.seated_match import (
    action_array,
    action_space,
    observation_array,
    observation_space,
)
from arena_kit.environment.protocol import MissingExtra
from arena_kit.environment.record_archive import ArtifactDamaged, match_read
from arena_kit.environment.records import Fault, MatchRecord
from arena_kit.environment.replay import ReplayMismatch, ReplayStep, replay
from arena_kit.environment.spec import EnvironmentSpec
from arena_kit.errors import parts_needed

NAMESPACE = "arena"
PLACE = "MINARI_DATASETS_PATH"
"""Minari's own variable: the folder of its data sets."""
ABOUT = ("duel", "players", "names")
"""The fields of a line that are not part of a match's record."""


@dataclass(frozen=True, slots=True)
class Written:
    """The written data sets. ids: of the data sets, one a seat. left_out: matches with a forfeit, or that do not
    replay."""

    ids: tuple[str, ...]
    matches: int
    left_out: int


def write_minari(source: IO[bytes], folder: Path, spec: EnvironmentSpec) -> Written:
    """Write the lines of a data set as Minari's data sets into a folder; spec: the rules of the data set.

    An episode is a match as one seat lived it: a step from each of its turns to the next, whose reward is the sum of
    what came between. The opening is not part of it. Its `options` name the duel, the match and the player, whose
    owner the licence asks to name. Raises NotADataset and MissingExtra.
    """
    try:
        import minari
        import pyarrow  # noqa: F401  (Minari's format for one machine needs it)
    except ImportError:
        raise MissingExtra("Minari's data sets need Minari.", hint=f"To get it, {parts_needed('datasets')}.") from None
    ids, counts = [], (0, 0)
    for seat in range(spec.seats):
        source.seek(0)
        lines = read_dataset(source)
        header = next(lines)
        if header["environment"] != spec.id:
            raise NotADataset(f"These are matches of {header['environment']}, not of {spec.id}.")
        episodes = _Episodes(lines, spec, seat)
        ids.append(f"{NAMESPACE}/{spec.id}/seat-{seat + 1}-v0")
        with _placed(folder), warnings.catch_warnings():
            # They advise to name an environment of Gymnasium, which a seat among others is not.
            warnings.simplefilter("ignore", UserWarning)
            minari.create_dataset_from_buffers(
                ids[-1],
                # Minari takes any iterable, and a list would hold all of them in memory.
                cast(Any, iter(episodes)),
                observation_space=observation_space(spec),
                action_space=action_space(spec),
                algorithm_name="agents of many people",
                author=str(header["site"]),
                author_email=str(header["site"]),
                code_permalink=str(header["site"]),
                description=f"Rated matches of {spec.name} at {header['site']}, {header['made_at']}, by the rules "
                f"{spec.id}, as seat {seat + 1} played them. Licence {header['licence']}: name the players, which are "
                "in the options of each episode.",
                data_format="arrow",
            )
        counts = (episodes.matches, episodes.left_out)
    return Written(tuple(ids), *counts)


class _Episodes:
    """The episodes of one seat; counts the matches while they are taken."""

    def __init__(self, lines: Iterator[dict[str, Any]], spec: EnvironmentSpec, seat: int) -> None:
        self._lines, self._spec, self._seat = lines, spec, seat
        self.matches = self.left_out = 0

    def __iter__(self) -> Iterator[Any]:
        for line in self._lines:
            record = _record(line)
            try:
                states = [] if record.fault is not Fault.NONE else list(replay(self._spec, record, observe=True))
            except ReplayMismatch:
                states = []
            episode = self._episode(states, record, line) if states else None
            if episode is None:
                self.left_out += 1
                continue
            self.matches += 1
            yield episode

    def _episode(self, states: list[ReplayStep], record: MatchRecord, line: dict[str, Any]) -> Any:
        """Return a match as this seat lived it; None if it never acted."""
        from minari.data_collector import EpisodeBuffer

        spec, seat = self._spec, self._seat
        begun = sum(state.is_opening for state in states)
        turns = [place for place in range(begun, len(states)) if seat in states[place].to_move]
        if not turns:
            return None
        seen = [*turns, len(states) - 1]
        actions = [dict(states[place + 1].moves)[seat] for place in turns]
        rewards = [sum(state.rewards[seat] for state in states[start + 1 : end + 1]) for start, end in pairwise(seen)]
        last = [False] * (len(turns) - 1)
        player = record.seats[seat]
        infos = {}
        if spec.action is None:
            infos["action_mask"] = [_mask(spec, states[place], seat) for place in seen]
        return EpisodeBuffer(
            seed=record.seed,
            options={
                "duel": line["duel"],
                "match": record.number,
                "player": line["players"][player],
                "name": line["names"][player],
                "rival": line["players"][1 - player],
            },
            observations=[observation_array(spec, states[place].observations[seat].observation) for place in seen],
            actions=[action_array(spec, action) for action in actions],
            rewards=rewards,
            terminations=[*last, not states[-1].truncated],
            truncations=[*last, states[-1].truncated],
            infos=infos or None,
        )


def _mask(spec: EnvironmentSpec, state: ReplayStep, seat: int) -> list[int]:
    """Return a 1 for every action that a seat may play in a state; all 0 where it does not act."""
    valid = set(state.observations[seat].valid_actions) if seat in state.to_move else set()
    return [int(action in valid) for action in range(spec.action_count)]


def _record(line: dict[str, Any]) -> MatchRecord:
    """Return the record of a line. Raises NotADataset."""
    fields = {name: value for name, value in line.items() if name not in ABOUT}
    try:
        return match_read(json.dumps(fields), line["number"])
    except (ArtifactDamaged, KeyError):
        raise NotADataset("A match of this data set is damaged.") from None


@contextmanager
def _placed(folder: Path) -> Iterator[None]:
    """Let Minari write into a folder: it reads the place from a variable."""
    before = os.environ.get(PLACE)
    os.environ[PLACE] = str(folder)
    try:
        yield
    finally:
        if before is None:
            os.environ.pop(PLACE)
        else:
            os.environ[PLACE] = before
