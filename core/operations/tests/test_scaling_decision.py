from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from core.operations.scaling.decision import Decision, Host, Policy, Work, decide, wanted_hosts

POLICY = Policy(minimum=0, maximum=4, target_seconds=600, slots=2, youngest_seconds=3000, oldest_seconds=6000)
BUSY = [Work(waiting=40, running=0, seconds=120.0)]
IDLE = [Work(waiting=0, running=0, seconds=120.0)]


def host(name: str, *, age: float = 4000, ready: bool = True, jobs: int = 0) -> Host:
    return Host(name, age, ready, jobs)


def decided(
    work: list[Work], hosts: list[Host], policy: Policy = POLICY, *, fixed: int = 0, before: int | None = None,
    hours: float = 0.0, leaving: int = 0,
) -> Decision:  # fmt: skip
    return decide(work, hosts, policy, leaving=leaving, fixed_slots=fixed, wanted_before=before, hours_used=hours)


def test_as_many_hosts_are_wanted_as_do_the_work_in_time() -> None:
    # 40 jobs of 2 minutes in 10 minutes take 8 slots.
    assert wanted_hosts(BUSY, POLICY, fixed_slots=0) == 4
    assert wanted_hosts(BUSY, POLICY, fixed_slots=5) == 2
    # Short jobs count as a minute each.
    assert wanted_hosts([Work(waiting=40, running=0, seconds=0.5)], POLICY, fixed_slots=0) == 2
    assert decided(BUSY, []) == Decision(4, 4, (), "40 open jobs want 4 of 0 to 4 hosts; there are 0.")


def test_a_number_changes_only_when_two_looks_want_it() -> None:
    assert decided(BUSY, [], before=0).create == 0
    assert decided(BUSY, [], before=3).create == 3
    assert decided(IDLE, [host("a")], before=1).drain == ()
    assert decided(IDLE, [host("a")], before=0).drain == ("a",)


def test_idle_hosts_go_first_and_none_before_its_hour_is_used() -> None:
    hosts = [host("busy", age=5900, jobs=1), host("young", age=100), host("old", age=5000), host("new", ready=False)]
    assert decided(IDLE, hosts).drain == ("old", "busy")


def test_a_host_that_is_too_old_is_replaced_as_soon_as_there_is_room() -> None:
    old = host("a", age=6001)
    decision = decided(BUSY, [old, host("b"), host("c")])
    assert (decision.create, decision.drain) == (1, ("a",))
    decision = decided(BUSY, [old, host("b"), host("c"), host("d")])
    assert (decision.create, decision.drain) == (0, ("a",))


def test_hosts_that_cannot_be_removed_count() -> None:
    decision = decided(BUSY, [host("a")], leaving=2)
    assert decision.create == 1
    assert decision.reason.endswith("there are 1. On their way out: 2.")
    assert decided(BUSY, [host("a")], leaving=5).create == 0


def test_no_host_is_created_beyond_the_hours_of_a_day() -> None:
    policy = Policy(maximum=4, hours_per_day=10)
    assert decided(BUSY, [], policy, hours=9.9).create == 4
    decision = decided(BUSY, [], policy, hours=10.0)
    assert decision.create == 0
    assert decision.reason.endswith("The 10 hours of a day are used up.")


hosts_strategy = st.lists(
    st.builds(Host, st.uuids().map(str), st.floats(0, 10_000), st.booleans(), st.integers(0, 3)),
    max_size=8,
    unique_by=lambda one: one.name,
)
work_strategy = st.lists(st.builds(Work, st.integers(0, 300), st.integers(0, 10), st.floats(0, 3600)), max_size=3)


@given(
    work_strategy, hosts_strategy, st.integers(0, 8), st.none() | st.integers(0, 6), st.integers(0, 3),
    st.integers(0, 6),
)  # fmt: skip
def test_the_number_of_hosts_keeps_its_bounds(
    work: list[Work], hosts: list[Host], fixed: int, before: int | None, minimum: int, leaving: int
) -> None:
    policy = Policy(minimum, 5, 600, 2, 0, 3000, 6000)
    decision = decided(work, hosts, policy, fixed=fixed, before=before, leaving=leaving)
    left = len(hosts) - len(decision.drain)
    by_name = {one.name: one for one in hosts}

    assert policy.minimum <= decision.wanted <= policy.maximum
    assert decision.create == 0 or len(hosts) + leaving + decision.create <= policy.maximum
    room = max(0, policy.maximum - len(hosts) - leaving)
    assert left + decision.create >= min(policy.minimum, left + room)
    assert len(set(decision.drain)) == len(decision.drain)
    assert all(by_name[name].is_ready for name in decision.drain)
    # What is drained without being too old was there long enough, and leaves no fewer than any of two looks wants.
    spare = [by_name[name] for name in decision.drain if by_name[name].age_seconds <= policy.oldest_seconds]
    assert all(one.age_seconds >= policy.youngest_seconds for one in spare)
    if spare:
        assert left >= decision.wanted
