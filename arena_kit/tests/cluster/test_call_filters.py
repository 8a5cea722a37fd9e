"""The list of kernel calls in a pod, which process 1 of a player's container sets itself."""

from __future__ import annotations

import ctypes

import pytest

from arena_kit.cluster.call_filters import ARCHITECTURES, SOCKET_CALLS, TARGET, rules, source
from arena_kit.sandbox.inside.player_server.call_filters import FILTERS


def test_no_call_makes_or_names_a_socket() -> None:
    names = {name for _, name, comparisons in rules() if not comparisons}
    assert not names & SOCKET_CALLS
    assert {name for _, name, _ in rules()} & SOCKET_CALLS == {"socketpair"}


def test_every_kind_of_machine_has_a_filter() -> None:
    assert FILTERS.keys() == ARCHITECTURES.keys()


def test_the_filters_are_what_libseccomp_makes_of_the_list() -> None:
    try:
        ctypes.CDLL("libseccomp.so.2")
    except OSError:
        pytest.skip("libseccomp is not installed")
    assert TARGET.read_text() == source()
