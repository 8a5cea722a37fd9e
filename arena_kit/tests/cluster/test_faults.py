"""A driver over HTTP while everything fails now and then: nothing is lost, doubled or left over."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from arena_kit.cluster.client import ApiCluster, JobRefused
from arena_kit.cluster.lots.driver import Driver
from arena_kit.cluster.manifest import CLAIM, Tenant
from arena_kit.cluster.manifest import TENANT as TENANT_LABEL
from arena_kit.ranking.standings import DuelResult, Standing, standings
from arena_kit.tests.cluster.api import ClusterApi, Fault
from arena_kit.tests.cluster.doubles import ClusterDouble, Row, RowsDouble

pytest.importorskip("kubernetes")
TENANT = Tenant(id="demo", namespace="arena-players", referee_image="registry/arena@sha256:" + "a" * 64)
FOREIGN = "arena-duel-1-1-other-1"


class Season:
    """Jobs of an arena, played by two drivers, with a share of everything failing.

    rate: of the requests that fail, of the pods that are lost, and of the steps at which a driver is killed.
    """

    def __init__(self, seed: int, rows: int, rate: float, *, jobs_max: int) -> None:
        self.dice, self.rate, self.jobs_max = random.Random(seed), rate, jobs_max
        self.cluster, self.now = ClusterDouble(), 0.0
        self.table = [Row(number, lots=1 + (number % 7 == 0)) for number in range(1, rows + 1)]
        self.api = ClusterApi(self.cluster, self.fault, page=500 if rows > 100 else 2)
        self.counted: Counter[str] = Counter()
        self.drivers: dict[int, Driver] = {}
        self.kubeconfig = ""
        self.cluster.create({"metadata": {"name": FOREIGN, "labels": {TENANT_LABEL: "other", CLAIM: "other"}}})

    @contextmanager
    def begun(self, folder: Path) -> Iterator[None]:
        with self.api.served(folder) as self.kubeconfig:
            for owner in (1, 2):
                self.start(owner)
            yield

    def start(self, owner: int) -> None:
        api = ApiCluster(TENANT, kubeconfig=self.kubeconfig)
        rows = RowsDouble(self.table, owner)
        self.drivers[owner] = Driver(rows, api, TENANT, self.jobs_max, lambda: self.now)

    def fault(self) -> Fault | None:
        if self.dice.random() >= self.rate:
            return None
        fault = self.dice.choice(list(Fault))
        self.counted[fault.name.lower()] += 1
        return fault

    def step(self) -> None:
        """Let some time pass: the cluster plays, a driver ticks or is killed."""
        self.now += 5.0
        if self.dice.random() < 0.5:
            self.api.do_late()
        with self.api.lock:
            self._play()
            is_full = self.dice.random() < self.rate
            self.cluster.refusal = JobRefused("exceeded quota: lots", code="no_capacity") if is_full else None
        owner = self.dice.choice(list(self.drivers))
        if self.dice.random() < self.rate:
            self.counted["driver killed"] += 1
            del self.drivers[owner]
            RowsDouble(self.table, owner).expire()
            self.start(max([owner, *self.drivers]) + 1)
        else:
            self.drivers[owner].tick()
        assert FOREIGN in self.cluster.made
        assert all(len(row.results) <= 1 for row in self.table)

    def _play(self) -> None:
        for name in list(self.cluster.made):
            if name == FOREIGN:
                continue
            if self.dice.random() < self.rate:
                what = self.dice.choice(("disrupt", "remove", "forget"))
                self.counted[f"pod: {what}"] += 1
                if what == "forget":
                    # Its node is gone with the log.
                    self.cluster.end(name, [])
                    self.cluster.logs.pop(f"{name}-pod")
                else:
                    getattr(self.cluster, what)(name)
            elif name not in self.cluster.pods_of:
                self.cluster.run(name)
            elif self.dice.random() < 0.7:
                _, _, row, _, _, step = name.split("-")
                self.cluster.end(name, [f"result {row} {step}"])

    def is_over(self) -> bool:
        return all(row.results for row in self.table) and set(self.cluster.made) == {FOREIGN} and not self.api.late

    def standings(self) -> list[Standing]:
        """Return the table of all results: row N is a duel between two of twenty players, which one of them has won."""
        return standings(range(20), (_played(row.number) for row in self.table for _ in row.results))

    def run(self, *, most_steps: int) -> None:
        """Play until all is over; then without faults, until nothing is left."""
        for _ in range(most_steps):
            if self.is_over():
                break
            self.step()
        self.rate = 0.0
        for _ in range(400):
            self.step()
            if self.is_over() and not any(driver.claimed for driver in self.drivers.values()):
                return


def _played(number: int) -> DuelResult:
    one, other = number % 20, (number // 20 + number + 1) % 20
    points = (2, 0) if number % 3 else (0, 2)
    return DuelResult(number, (one, other), points, (float(points[0]), float(points[1])))


@pytest.mark.slow
@pytest.mark.parametrize("seed", [1, pytest.param(2, marks=pytest.mark.nightly)])
def test_whatever_fails_every_job_is_played_once_and_nothing_is_left(seed: int, tmp_path: Path) -> None:
    season = Season(seed, 6, 0.2, jobs_max=3)
    with season.begun(tmp_path):
        season.run(most_steps=60)
    assert [len(row.results) for row in season.table] == [1] * 6
    assert set(season.cluster.made) == {FOREIGN}
    assert FOREIGN not in season.api.deleted


@pytest.mark.nightly
def test_a_thousand_duels_while_three_in_a_hundred_of_everything_fail_have_the_same_standings(
    tmp_path: Path,
) -> None:
    calm = Season(7, 1000, 0.0, jobs_max=50)
    with calm.begun(tmp_path):
        calm.run(most_steps=1000)
    season = Season(7, 1000, 0.03, jobs_max=50)
    with season.begun(tmp_path):
        season.run(most_steps=3000)
    results = Counter(len(row.results) for row in season.table)
    faults = Counter(code for row in season.table for code in row.faults)
    lost, doubled = results[0], sum(results.values()) - results[0] - results[1]
    print(f"\ninjected {dict(season.counted)}; faults {dict(faults)}; lost {lost}, doubled {doubled},"
          f" Jobs left over {len(season.cluster.made) - 1}")  # fmt: skip
    assert (lost, doubled, set(season.cluster.made)) == (0, 0, {FOREIGN})
    assert sum(season.counted.values()) > 100
    assert season.standings() == calm.standings()
