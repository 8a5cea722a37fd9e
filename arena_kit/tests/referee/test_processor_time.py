"""Which time each player is charged when both share a core."""

from __future__ import annotations

import pytest

from arena_kit.referee.processor_time import Processor


class Player:
    """A player whose processor time the test sets."""

    def __init__(self, index: int, cpu: float | None = 0.0) -> None:
        self.index, self.cpu, self.throttled = index, cpu, 0

    def cpu_seconds(self) -> float | None:
        return self.cpu

    def throttle(self) -> None:
        self.throttled += 1


class Table:
    """Two players on one core, and a clock."""

    def __init__(self, *, one_core: bool = True, knows: bool = True) -> None:
        start = 0.0 if knows else None
        self.now, self.honest, self.rival = 0.0, Player(0, start), Player(1, start)
        self.processor = Processor((self.honest, self.rival), one_core=one_core, clock=lambda: self.now)
        for player in (0, 1):
            self.processor.started(player)

    def move(self, seconds: float, *, own: float = 0.0, rival: float = 0.0) -> tuple[float, float]:
        """Let the honest player move while both use the processor; return its charge and its own use."""
        self.processor.asked(0)
        self.now += seconds
        for player, used in ((self.honest, own), (self.rival, rival)):
            if player.cpu is not None:
                player.cpu += used
        return self.processor.answered(0, seconds, is_idle=True)


def test_a_player_alone_is_charged_what_the_referee_sees() -> None:
    assert Table().move(0.5, own=0.4) == pytest.approx((0.5, 0.4))


def test_what_the_rival_took_of_the_core_is_not_charged() -> None:
    assert Table().move(1.0, own=0.5, rival=0.5) == pytest.approx((0.5, 0.5))


def test_a_player_that_sleeps_is_charged_for_it() -> None:
    assert Table().move(3.0, own=0.0, rival=0.1)[0] == pytest.approx(2.9)


def test_no_player_is_charged_less_than_its_own_processor_time() -> None:
    assert Table().move(1.0, own=0.8, rival=0.7)[0] == pytest.approx(0.8)


def test_more_threads_than_cores_are_never_charged_more_than_the_time_that_passed() -> None:
    assert Table().move(1.0, own=4.0)[0] == 1.0


def test_on_cores_of_their_own_the_rival_is_no_excuse() -> None:
    table = Table(one_core=False)
    assert table.move(1.0, own=0.5, rival=1.0)[0] == 1.0
    assert table.processor.excused(0) == 0.0


def test_where_the_host_cannot_tell_time_is_what_the_referee_sees() -> None:
    table = Table(knows=False)
    assert table.move(1.0) == (1.0, 0.0)
    assert table.processor.excused(0) == 0.0
    assert table.rival.throttled == 0


def test_every_move_has_its_own_reading() -> None:
    table = Table()
    table.move(1.0, own=0.5, rival=0.5)
    assert table.move(1.0, own=1.0) == pytest.approx((1.0, 1.0))


def test_a_late_player_is_excused_for_what_its_rival_takes() -> None:
    table = Table()
    table.processor.asked(0)
    table.now, table.rival.cpu = 1.0, 0.75
    assert table.processor.excused(0) == 0.75


def test_a_fresh_container_of_the_rival_has_a_clock_of_its_own() -> None:
    table = Table()
    table.processor.asked(0)
    table.now, table.rival.cpu = 1.0, 500.0
    table.processor.started(1)
    table.now, table.rival.cpu = 2.0, 500.25
    assert table.processor.excused(0) == pytest.approx(0.25)


def test_what_happened_before_a_pause_is_forgiven() -> None:
    table = Table()
    table.processor.asked(0)
    table.now, table.rival.cpu = 5.0, 5.0
    table.processor.forgiven()
    assert table.processor.excused(0) == 0.0


def out_of_turn(table: Table, seconds: float, used: float) -> None:
    """Let the rival answer at once, use the processor without a question for `seconds`, and be asked again."""
    table.processor.asked(1)
    table.processor.answered(1, 0.0, is_idle=True)
    table.now += seconds
    assert table.rival.cpu is not None
    table.rival.cpu += used
    table.processor.asked(1)


def test_a_player_that_burns_the_core_out_of_turn_is_throttled_once() -> None:
    table = Table()
    for _ in range(5):
        out_of_turn(table, 0.2, 0.1)
    assert (table.rival.throttled, table.honest.throttled) == (1, 0)


def test_a_fresh_container_of_a_burner_is_throttled_at_once() -> None:
    table = Table()
    for _ in range(5):
        out_of_turn(table, 0.2, 0.1)
    table.processor.started(1)
    assert table.rival.throttled == 2


@pytest.mark.parametrize(("seconds", "used"), [(10.0, 1.0), (0.02, 0.02)])
def test_a_little_work_out_of_turn_is_no_fault(seconds: float, used: float) -> None:
    table = Table()
    for _ in range(5):
        out_of_turn(table, seconds, used)
    assert table.rival.throttled == 0


def test_thinking_while_asked_is_no_burning() -> None:
    table = Table()
    table.processor.asked(1)
    table.processor.answered(1, 0.0, is_idle=False)
    table.now, table.rival.cpu = 10.0, 10.0
    table.processor.asked(1)
    assert table.rival.throttled == 0
