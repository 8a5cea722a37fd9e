"""A worker's containers between duels are reused, prepared, replaced when lost, limited and removed."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from arena_kit.referee.wire import Kind
from arena_kit.sandbox import warm
from arena_kit.sandbox.base import Container, Launch, PlayerDidNotStart, SandboxError
from arena_kit.sandbox.host import PlayerHost
from arena_kit.sandbox.warm import WarmPlayers
from arena_kit.tests.arenas import FIRST_VALID, LABEL, Arena, greet, loader_of, until

pytestmark = [
    pytest.mark.parametrize("arena", ["process"], indirect=True),
    pytest.mark.slow,
]  # a pool accepts any kind of host
LOADED = "import os\nprint('loaded by', os.environ['ARENA_CONTAINER'])\n" + FIRST_VALID


@pytest.fixture
def now() -> list[float]:
    return [0.0]


@pytest.fixture
def pool(now: list[float]) -> Iterator[list[WarmPlayers]]:
    """Make pools that are closed at the end of the test."""
    made: list[WarmPlayers] = []
    yield made
    for players in made:
        players.close()


@pytest.fixture
def players(arena: Arena, namespaces: None, pool: list[WarmPlayers], now: list[float]) -> WarmPlayers:
    pool.append(WarmPlayers(arena.sandbox, capacity=2, idle_seconds=60, clock=lambda: now[0]))
    return pool[0]


def play(players: WarmPlayers, launch: Launch) -> str:
    """Play a duel of one move; return the name of the container."""
    slot: Container = players.slot(launch)
    assert greet(slot)[0].kind is Kind.ACTION
    slot.close()
    return slot.log().split("loaded by ")[1].split()[0]


def same_image(arena: Arena, launch: Launch) -> Launch:
    """Return a launch of the same player under another name."""
    return arena.prepare("", image=launch.image)


def test_the_next_duel_of_a_player_finds_its_container_ready(arena: Arena, players: WarmPlayers) -> None:
    first = arena.prepare(LOADED)
    names = [play(players, first), play(players, same_image(arena, first)), play(players, same_image(arena, first))]
    assert names == [first.name] * 3


def test_both_sides_of_self_play_sit_in_containers_of_their_own(arena: Arena, players: WarmPlayers) -> None:
    first = arena.prepare(LOADED)
    second = same_image(arena, first)
    slots = [players.slot(first), players.slot(second)]
    assert [greet(slot)[0].kind for slot in slots] == [Kind.ACTION] * 2
    for slot in slots:
        slot.close()
    assert len({play(players, same_image(arena, first)) for _ in range(2)}) == 1


def has_begun(players: WarmPlayers) -> None:
    """Wait until all prepared containers begin to start, because a duel does not wait for one that has not."""
    assert until(lambda: all(one.running() or one.done() for row in players._starting.values() for one in row))


def test_what_is_prepared_is_used_and_nothing_twice(arena: Arena, players: WarmPlayers) -> None:
    first = arena.prepare(LOADED)
    players.prepare([[first]])
    players.prepare([])
    has_begun(players)
    assert play(players, same_image(arena, first)) == f"{first.name}-0"
    again = same_image(arena, first)
    players.prepare([[again], [again]])
    assert play(players, again) == f"{first.name}-0"


def test_a_player_of_several_duels_is_made_ready_once(arena: Arena, players: WarmPlayers) -> None:
    first, second = (arena.prepare(LOADED) for _ in range(2))
    for _ in range(3):
        players.prepare([[first, second], [second, first]])
    has_begun(players)
    names = {play(players, same_image(arena, launch)) for launch in (first, second)}
    assert names == {f"{first.name}-0", f"{second.name}-1"}
    assert len(list(arena.channels.iterdir())) == 2


def test_what_cannot_be_forked_is_not_kept_ready(arena: Arena, players: WarmPlayers) -> None:
    top = "import threading, time; threading.Thread(target=time.sleep, args=(600,), daemon=True).start()\n"
    cold = arena.prepare(top + LOADED)
    players.prepare([[cold]])
    assert until(lambda: list(arena.channels.iterdir()) != [])
    assert until(lambda: list(arena.channels.iterdir()) == [])


def test_a_player_that_cannot_be_loaded_is_reported_when_it_is_to_play(arena: Arena, players: WarmPlayers) -> None:
    broken = arena.prepare("import a_missing_module")
    # A start that fails beside another duel is tried again before the player is at fault.
    players.prepare([[broken]])
    with pytest.raises(PlayerDidNotStart) as caught:
        players.slot(broken)
    assert "a_missing_module" in caught.value.log


def test_a_container_that_was_lost_while_it_waited_is_replaced(arena: Arena, players: WarmPlayers) -> None:
    first = arena.prepare(LOADED)
    play(players, first)
    host = players._idle[0].host
    assert isinstance(host, PlayerHost)
    assert arena.sandbox.reap(LABEL, frozenset) >= 1
    assert until(lambda: not host.box.is_alive())
    second = same_image(arena, first)
    assert play(players, second) == second.name


def test_a_player_that_was_ended_while_it_waited_is_not_blamed(arena: Arena, players: WarmPlayers) -> None:
    # When the host's memory runs out, the kernel ends the largest process, which is one with a loaded player.
    first = arena.prepare(LOADED)
    play(players, first)
    os.kill(loader_of(players._idle[0].host)[0], signal.SIGKILL)
    second = same_image(arena, first)
    assert play(players, second) == second.name


def test_the_longest_unused_make_room(arena: Arena, players: WarmPlayers) -> None:
    launches = [arena.prepare(LOADED) for _ in range(3)]
    for launch in launches:
        play(players, launch)
    again = [same_image(arena, launch) for launch in launches]
    assert play(players, again[2]) == launches[2].name
    assert play(players, again[1]) == launches[1].name
    assert play(players, again[0]) == again[0].name


def test_what_waits_too_long_is_removed(arena: Arena, players: WarmPlayers, now: list[float]) -> None:
    play(players, arena.prepare(LOADED))
    now[0] = 59
    assert players.close_idle() == 0
    now[0] = 61
    assert players.close_idle() == 1
    assert list(arena.channels.iterdir()) == []


def test_nothing_is_kept_while_memory_is_short(
    arena: Arena, players: WarmPlayers, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    figures = tmp_path / "meminfo"
    figures.write_text("MemTotal: 1000 kB\nMemAvailable: 100 kB\n")
    monkeypatch.setattr(warm, "MEMORY_FIGURES", figures)
    first = arena.prepare(LOADED)
    assert play(players, first) == first.name
    again = same_image(arena, first)
    assert play(players, again) == again.name


def test_closing_leaves_nothing_and_takes_nothing_back(arena: Arena, players: WarmPlayers) -> None:
    play(players, arena.prepare(LOADED))
    taken = players.slot(arena.prepare(LOADED))
    players.prepare([[arena.prepare(LOADED)]])
    players.close()
    taken.close()
    assert list(arena.channels.iterdir()) == []


def test_without_capacity_every_duel_has_a_container_of_its_own(arena: Arena, pool: list[WarmPlayers]) -> None:
    pool.append(WarmPlayers(arena.sandbox, capacity=0, idle_seconds=60))
    launches = [arena.prepare(LOADED)]
    launches.append(same_image(arena, launches[0]))
    pool[0].prepare([launches])
    for launch in launches:
        slot = pool[0].slot(launch)
        assert greet(slot)[0].kind is Kind.ACTION
        slot.close()
    pool[0].close()
    assert list(arena.channels.iterdir()) == []


def test_a_platform_that_cannot_start_a_player_says_so(arena: Arena, players: WarmPlayers) -> None:
    missing = Launch("folder:/nonexistent", "arena-none", arena.prepare(FIRST_VALID).limits, {})
    players.prepare([[missing]])
    with pytest.raises(SandboxError) as caught:
        players.slot(missing)
    assert caught.value.code == "image_missing"
