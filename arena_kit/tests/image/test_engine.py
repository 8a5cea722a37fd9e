from __future__ import annotations

import gc
import warnings
from pathlib import Path

import pytest

from arena_kit.image.engine import LIMITS, NoEngine, connect, missing_limits


@pytest.mark.slow
def test_without_an_engine_one_sentence_says_so_and_no_socket_stays_open(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path / 'missing.sock'}")
    # Garbage of earlier tests is collected first, so that it does not count.
    gc.collect()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        with pytest.raises(NoEngine, match=r"No Docker engine answers: .* socket\.$"):
            connect()
        gc.collect()
    assert [warning for warning in caught if issubclass(warning.category, ResourceWarning)] == []


@pytest.mark.docker
def test_the_engine_of_this_host_is_found_and_keeps_all_limits() -> None:
    client = connect()
    try:
        assert client.ping()
        assert missing_limits(client.info()) == []
    finally:
        client.close()


def test_limits_that_an_engine_does_not_keep_are_named() -> None:
    good = {**dict.fromkeys(LIMITS, True), "SecurityOptions": ["name=apparmor", "name=seccomp,profile=default"]}
    assert missing_limits(good) == []
    assert missing_limits({**good, "SwapLimit": False}) == ["swap"]
    assert missing_limits({**good, "SecurityOptions": None}) == ["kernel calls"]
    assert missing_limits({}) == [*LIMITS.values(), "kernel calls"]
