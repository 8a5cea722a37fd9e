"""Real players that move at once: in local processes and containers, forked from a player that was loaded once."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from arena_kit.environment.registry import get_spec
from arena_kit.referee.play import PlayedDuel, run_duel
from arena_kit.referee.recheck.duels import recheck_record
from arena_kit.sandbox.warm import WarmPlayers
from arena_kit.tests.arenas import LIMITS, Arena
from arena_kit.tests.duels import outline
from arena_kit.tests.playing import player

PONG = get_spec("pong")
EXAMPLES = Path(__file__).parents[3] / "example_players"
STATEFUL = """
import os
matches = 0
print("loaded by", os.environ.get("ARENA_CONTAINER"))

class Player:
    def __init__(self, train_mode):
        self.moves = 0
    def start(self, state, valid_actions):
        global matches
        matches += 1
        self.moves = 0
        return self.step(state, valid_actions, 0.0)
    def step(self, state, valid_actions, prev_reward):
        # Every match is played in another rhythm, so a count that outlived a duel would show in the record.
        self.moves += 1
        return (self.moves // (1 + matches % 5)) % 3
    def end(self, state, prev_reward):
        pass
"""


def duel(
    players: WarmPlayers, arena: Arena, sources: tuple[str, str], *, parallel: int, matches: int = 4
) -> PlayedDuel:
    return run_duel(
        PONG,
        lambda index: players.slot(arena.prepare(sources[index])),
        names=("one", "two"),
        seed=7,
        match_count=matches,
        parallel_matches=parallel,
        limits=LIMITS,
        clock=time.monotonic,
    )


@pytest.mark.slow
@pytest.mark.containers_nightly
def test_forks_of_stateful_players_play_the_same_duel_again(arena: Arena, namespaces: None) -> None:
    launches = [arena.prepare(STATEFUL), arena.prepare(STATEFUL)]
    players = WarmPlayers(arena.sandbox, capacity=2, idle_seconds=60, clock=time.monotonic)
    try:
        played = [
            run_duel(
                PONG,
                lambda index: players.slot(arena.prepare("", image=launches[index].image)),
                names=("one", "two"),
                seed=7,
                match_count=2,
                parallel_matches=2,
                limits=LIMITS,
                clock=time.monotonic,
            )
            for _ in range(2)
        ]
    finally:
        players.close()

    first, second = (each.record for each in played)
    assert first.summary.errors == (0, 0)
    assert outline(first) == outline(second)
    assert recheck_record(PONG, first) == []
    # The second duel is played by a fork of the same loaded player.
    loaders = [each.player_logs[0].split("loaded by ")[1].split()[0] for each in played]
    assert loaders[0] == loaders[1]


@pytest.mark.containers_nightly
def test_a_fault_in_a_half_chosen_step_costs_one_match_of_real_players(arena: Arena, namespaces: None) -> None:
    failing = player(init="self.count = 0", start="self.count = 0", step="self.count += 1\nassert self.count < 20")
    players = WarmPlayers(arena.sandbox, capacity=2, idle_seconds=60, clock=time.monotonic)
    try:
        played = duel(players, arena, (failing, (EXAMPLES / "pong_aim/player.py").read_text()), parallel=2, matches=2)
    finally:
        players.close()

    assert [match.error_code for match in played.record.matches] == ["player_raised"] * 2
    for match in played.record.matches:
        assert match.faulty_player == 0
        assert match.move_counts == (20, 21)
        assert len(match.actions) == 40
    assert recheck_record(PONG, played.record) == []


@pytest.mark.nightly
def test_the_examples_play_at_full_speed_with_many_matches_at_once(arena: Arena, namespaces: None) -> None:
    aim, follow = ((EXAMPLES / name / "player.py").read_text() for name in ("pong_aim", "pong_follow"))
    players = WarmPlayers(arena.sandbox, capacity=2, idle_seconds=60, clock=time.monotonic)
    try:
        played = duel(players, arena, (aim, follow), parallel=8, matches=8)
    finally:
        players.close()

    record = played.record
    assert record.summary.errors == (0, 0)
    assert record.summary.wins[0] > record.summary.wins[1]
    assert recheck_record(PONG, record) == []


@pytest.mark.parametrize("arena", [pytest.param("docker", marks=pytest.mark.docker)], indirect=True)
def test_time_of_both_players_is_measured(arena: Arena, namespaces: None) -> None:
    busy = player(step="sum(range(3000))")
    players = WarmPlayers(arena.sandbox, capacity=2, idle_seconds=60, clock=time.monotonic)
    try:
        (match,) = duel(players, arena, (busy, busy), parallel=1, matches=1).record.matches
    finally:
        players.close()
    assert match.error_code == ""
    # Both thought at the same time, each for every step.
    assert min(match.thinking_seconds) > min(match.slowest_move_seconds) > 0
    assert min(match.cpu_seconds) > 0
