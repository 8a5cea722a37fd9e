"""The driver of lots: whatever happens in between, every job is finished once, and nothing is left on the cluster."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from arena_kit.cluster.client import JobRefused
from arena_kit.cluster.lots.driver import GONE_AFTER_LISTS, UNREADABLE_AFTER, Driver
from arena_kit.cluster.manifest import CLAIM, Tenant
from arena_kit.tests.cluster.doubles import ClusterDouble, Row, RowsDouble

TENANT = Tenant(id="demo", namespace="arena-players", referee_image="registry/arena@sha256:" + "a" * 64)


class World:
    """An arena with some jobs, a cluster and drivers, and a clock that the test moves."""

    def __init__(self, rows: int = 1, *, jobs_max: int = 4) -> None:
        self.now = 0.0
        self.cluster = ClusterDouble()
        self.table = [Row(number) for number in range(1, rows + 1)]
        self.jobs_max = jobs_max
        self.drivers = [self.driver(1), self.driver(2)]

    def driver(self, owner: int) -> Driver:
        return Driver(RowsDouble(self.table, owner), self.cluster, TENANT, self.jobs_max, lambda: self.now)

    def tick(self, number: int = 0) -> None:
        self.now += 5.0
        self.drivers[number].tick()

    def end_jobs(self) -> None:
        for name in list(self.cluster.made):
            self.cluster.end(name, [result_of(name)])


def result_of(name: str) -> str:
    """Return what the lot of a Job prints: the numbers of its row and of its step."""
    _, _, row, _, _, step = name.split("-")
    return f"result {row} {step}"


@pytest.fixture
def world() -> World:
    return World()


def only(world: World) -> Row:
    (row,) = world.table
    return row


def test_a_lot_is_started_followed_and_finished(world: World) -> None:
    world.tick()
    (name,) = world.cluster.made
    assert name.startswith("arena-duel-1-1-")
    world.cluster.run(name)
    world.tick()
    assert only(world).results == []
    world.end_jobs()
    world.tick()
    assert len(only(world).results) == 1
    assert not world.cluster.made
    assert not world.drivers[0].claimed


def test_a_claim_may_play_a_second_lot(world: World) -> None:
    only(world).lots = 2
    world.tick()
    world.end_jobs()
    world.tick()
    assert only(world).results == []
    world.tick()
    (name,) = world.cluster.made
    assert name.endswith("-2")
    world.end_jobs()
    world.tick()
    assert len(only(world).results) == 1
    assert not world.cluster.made


def test_a_job_whose_creation_was_not_answered_is_made_once(world: World) -> None:
    world.cluster.loses_answers = True
    world.tick()
    world.tick()
    assert world.cluster.created == 1


def test_a_job_that_vanishes_is_tried_again_and_then_the_platforms_fault(world: World) -> None:
    world.tick()
    for _ in range(GONE_AFTER_LISTS):
        world.cluster.remove(next(iter(world.cluster.made)))
        world.tick()
    assert only(world).faults == ["job_gone"]


def test_a_pod_that_was_taken_away_is_played_again(world: World) -> None:
    world.tick()
    world.cluster.disrupt(next(iter(world.cluster.made)))
    world.tick()
    assert only(world).faults == ["pod_disrupted"]
    world.tick()
    world.end_jobs()
    world.tick()
    assert len(only(world).results) == 1


def test_a_driver_that_dies_leaves_its_job_to_the_others(world: World) -> None:
    world.tick(0)
    world.drivers[0] = world.driver(3)
    world.drivers[1].rows.expire()  # type: ignore[attr-defined]
    assert len(world.cluster.made) == 1
    RowsDouble(world.table, 1).expire()
    world.tick(1)
    # The old Job goes, and the other driver's comes.
    assert [job["metadata"]["labels"][CLAIM] for job in world.cluster.made.values()] == [only(world).claim]


def test_a_stopped_driver_leaves_nothing(world: World) -> None:
    world.tick()
    world.drivers[0].stop()
    assert not world.cluster.made
    assert only(world).faults == ["worker_stopped"]


@pytest.mark.parametrize(("code", "asks_again_soon"), [("no_capacity", True), ("pod_refused", False)])
def test_after_a_refused_job_the_others_wait(code: str, asks_again_soon: bool) -> None:
    world = World(rows=8, jobs_max=4)
    world.cluster.refusal = JobRefused("exceeded quota: players", code=code)
    world.tick()
    assert faults(world) == 1
    world.tick()
    assert faults(world) == 1
    world.tick()
    assert faults(world) == (2 if asks_again_soon else 1)
    world.now += 60
    world.cluster.refusal = None
    world.tick()
    assert len(world.cluster.made) == 4


def test_a_pod_that_its_node_refuses_is_explained_by_the_newest_event_and_others_wait() -> None:
    world = World(rows=2, jobs_max=1)
    world.tick()
    (name,) = world.cluster.made
    world.cluster.set_pod(name, {"phase": "Pending"})
    told = {"reason": "FailedCreatePodSandBox", "message": "no runtime for gvisor", "lastTimestamp": "2026"}
    world.cluster.events_of[f"{name}-pod"] = [told]
    while not faults(world):
        assert world.now < 100
        world.tick()
    assert only_faults(world) == ["pod_refused"]


def test_after_a_lot_whose_program_a_node_cannot_start_the_others_wait() -> None:
    world = World(rows=2, jobs_max=1)
    world.tick()
    refused = {"name": "referee", "state": {"terminated": {"reason": "StartError", "exitCode": 128}}}
    world.cluster.set_pod(next(iter(world.cluster.made)), {"phase": "Failed", "containerStatuses": [refused]})
    world.tick()
    assert only_faults(world) == ["pod_refused"]
    assert not world.cluster.made
    world.now += 60
    world.tick()
    assert world.cluster.made


def only_faults(world: World) -> list[str]:
    return [code for row in world.table for code in row.faults]


def faults(world: World) -> int:
    return sum(len(row.faults) for row in world.table)


def test_an_api_that_is_listed_but_takes_no_job_costs_no_attempt() -> None:
    world = World(rows=8, jobs_max=4)
    world.cluster.takes_nothing = True
    for _ in range(50):
        world.tick()
    assert faults(world) == 0
    assert len(world.drivers[0].claimed) == 1
    assert world.drivers[0].trouble
    world.cluster.takes_nothing = False
    world.tick()
    world.tick()
    assert len(world.cluster.made) == 4
    assert not world.drivers[0].trouble


def test_leases_are_renewed_while_a_slow_api_answers(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    world = World(rows=4, jobs_max=4)
    renewed: list[float] = []
    driver = world.drivers[0]
    renew = driver.rows.renew

    def noted(claims: Sequence[str]) -> frozenset[str]:
        renewed.append(world.now)
        return renew(claims)

    monkeypatch.setattr(driver.rows, "renew", noted)
    for name in ("create", "log"):
        call = getattr(world.cluster, name)

        def slow(*values: Any, call: Callable[..., Any] = call, **named: Any) -> Any:
            world.now += 10.0
            return call(*values, **named)

        monkeypatch.setattr(world.cluster, name, slow)
    world.tick()
    world.end_jobs()
    world.tick()
    assert all(len(row.results) == 1 for row in world.table)
    assert max(later - before for before, later in pairwise(renewed)) <= 15.0


def test_the_lots_of_a_silent_node_do_not_hold_up_a_tick(monkeypatch: pytest.MonkeyPatch) -> None:
    world = World(rows=4, jobs_max=4)
    world.tick()
    for name in world.cluster.made:
        world.cluster.run(name)
    world.cluster.is_unreadable = True
    asked: list[str] = []
    log = world.cluster.log

    def noted(pod: str, *, last: int | None = None) -> list[str] | None:
        asked.append(pod)
        return log(pod, last=last)

    monkeypatch.setattr(world.cluster, "log", noted)
    world.tick()
    assert len(asked) == 1


def test_a_lot_that_cannot_be_followed_holds_up_no_other() -> None:
    world = World(rows=2)
    world.tick()
    one, other = world.cluster.made
    world.end_jobs()
    world.cluster.pods_of[one][0]["status"]["containerStatuses"] = [{"state": {}}]
    world.tick()
    assert world.table[0].faults == ["internal_error"]
    assert len(world.table[1].results) == 1
    assert other not in world.cluster.made


def test_a_log_that_stays_unreadable_is_a_lost_result(world: World) -> None:
    world.tick()
    world.end_jobs()
    world.cluster.is_unreadable = True
    for _ in range(UNREADABLE_AFTER):
        assert only(world).faults == []
        world.tick()
    assert only(world).faults == ["result_lost"]


@pytest.mark.parametrize("driver", [0, 1], ids=["its own driver", "another driver"])
def test_a_job_whose_claim_is_lost_is_deleted(world: World, driver: int) -> None:
    world.tick()
    only(world).claim = ""
    only(world).results.append("cancelled")
    world.tick(driver)
    assert not world.cluster.made


class Season(RuleBasedStateMachine):
    """Everything that can happen, in any order."""

    @initialize(rows=st.integers(1, 6), jobs_max=st.integers(1, 3))
    def begin(self, rows: int, jobs_max: int) -> None:
        self.world = World(rows, jobs_max=jobs_max)
        self.world.table[0].lots = 2

    @rule(driver=st.integers(0, 1))
    def tick(self, driver: int) -> None:
        self.world.tick(driver)

    @rule(away=st.booleans(), loses=st.booleans(), unreadable=st.booleans(), full=st.booleans())
    def api(self, away: bool, loses: bool, unreadable: bool, full: bool) -> None:
        cluster = self.world.cluster
        cluster.is_away, cluster.loses_answers, cluster.is_unreadable = away, loses, unreadable
        cluster.refusal = JobRefused("exceeded quota", code="no_capacity") if full else None

    @rule(data=st.data(), what=st.sampled_from(("run", "end", "disrupt", "remove")))
    def happen(self, data: st.DataObject, what: str) -> None:
        cluster = self.world.cluster
        if not cluster.made:
            return
        name = data.draw(st.sampled_from(sorted(cluster.made)))
        if what == "end":
            cluster.end(name, [result_of(name)])
        else:
            getattr(cluster, what)(name)

    @rule(driver=st.integers(0, 1), told=st.booleans())
    def kill(self, driver: int, told: bool) -> None:
        """A driver ends; told: in good order, otherwise its leases run out later."""
        owner = self.world.drivers[driver].rows._owner  # type: ignore[attr-defined]
        if told:
            self.world.drivers[driver].stop()
        else:
            RowsDouble(self.world.table, owner).expire()
        self.world.drivers[driver] = self.world.driver(owner + 2)

    @rule(seconds=st.integers(1, 900))
    def wait(self, seconds: int) -> None:
        self.world.now += seconds

    @invariant()
    def no_result_is_doubled(self) -> None:
        if hasattr(self, "world"):
            assert all(len(row.results) <= 1 for row in self.world.table)

    @invariant()
    def a_claim_has_one_job(self) -> None:
        """That of a step that is over may go a little later than the next one's comes."""
        if hasattr(self, "world"):
            rows = {row.claim: row for row in self.world.table if row.claim}
            live = [(job["metadata"]["labels"][CLAIM], name) for name, job in self.world.cluster.made.items()]
            over = {(claim, name) for claim, name in live if claim in rows and int(name[-1]) <= len(rows[claim].steps)}
            claims = Counter(claim for claim, name in live if (claim, name) not in over)
            assert not claims or max(claims.values()) == 1

    def teardown(self) -> None:
        """When all is well again, every job is finished once and nothing is left over."""
        if not hasattr(self, "world"):
            return
        self.api(False, False, False, False)
        for _ in range(100):
            for driver in (0, 1):
                self.world.tick(driver)
            self.world.end_jobs()
            if all(row.results for row in self.world.table) and not self.world.cluster.made:
                break
        assert [len(row.results) for row in self.world.table] == [1] * len(self.world.table)
        assert not self.world.cluster.made
        assert not any(driver.claimed for driver in self.world.drivers)


TestSeason = Season.TestCase
TestSeason.settings = settings(max_examples=30, stateful_step_count=40, deadline=None)


def test_drivers_of_two_clusters_share_the_rows_and_one_takes_over_what_the_other_has_lost() -> None:
    table = [Row(number) for number in range(1, 7)]
    here, there = ClusterDouble(), ClusterDouble()
    clock = [0.0]

    def driver(cluster: ClusterDouble, owner: int) -> Driver:
        return Driver(RowsDouble(table, owner), cluster, TENANT, 3, lambda: clock[0])

    def tick(driver: Driver) -> None:
        clock[0] += 5.0
        driver.tick()

    def play(cluster: ClusterDouble) -> None:
        for name in list(cluster.made):
            cluster.run(name)
            cluster.end(name, [result_of(name)])

    first, second = driver(here, 1), driver(there, 2)
    tick(first)
    tick(second)
    # Neither takes the Jobs of the other one for its own, or for nobody's.
    tick(first)
    tick(second)
    assert (len(here.made), len(there.made)) == (3, 3)
    assert not set(here.made) & set(there.made)
    # The first driver and its cluster go down; its leases end.
    RowsDouble(table, 1).expire()
    for _ in range(4):
        play(there)
        tick(second)
    assert [len(row.results) for row in table] == [1] * 6
    assert (len(here.made), len(there.made)) == (3, 0)
    # A driver that comes back with the cluster finds Jobs that no row knows any more.
    back = driver(here, 3)
    tick(back)
    tick(back)
    assert not here.made
    assert [len(row.results) for row in table] == [1] * 6
