"""A built package that is stored is the same when it is read."""

from __future__ import annotations

import json

import pytest

from arena_kit.rollout.packages.compose import HealthCheck, Service
from arena_kit.rollout.packages.manifest import Export, Login
from arena_kit.rollout.worlds.built import BuiltPackage, BuiltService
from arena_kit.rollout.worlds.stored import built_as_json, built_of

BUILT = BuiltPackage(
    "a" * 64, "shop",
    (BuiltService(
        Service("web", "base:python", files="services/web", command=("python3", "x"), entrypoint=(), ports=(80,),
                environment={"A": "1"}, after=("db",), health=HealthCheck(("true",), retries=3), tmpfs={"/tmp": 1}),
        "sha256:1", {"PYTHONPATH": "/p"}, "1000:1000", "registry/shop@sha256:1",
    ),),
    (Export("web", "csv", "/export", ("dump", "all")),), 1 << 20, ("http://web:80",), {"audit": ("at",)}, 3,
    {"a.csv": b"a\n1\n"}, "d" * 64, "http://web:80/", (Login("clerk", "/login", {"label=Name": "x"}),),
    "2026", {"u": b"1"}, front=True,
)  # fmt: skip


def test_a_package_is_the_same_after_it_was_stored() -> None:
    stored = json.loads(json.dumps(built_as_json(BUILT)))
    assert "fresh" not in stored
    assert built_of(stored, fresh=BUILT.fresh, uploads=BUILT.uploads) == BUILT


@pytest.mark.parametrize(
    "found", [{}, {"schema": 2}, {"schema": 1}, {"schema": 1, "sha256": 1, "slug": "", "services": 3}]
)
def test_what_cannot_be_read_is_said_so(found: dict[str, object]) -> None:
    with pytest.raises(ValueError, match=r"cannot be read|reads the schema"):
        built_of(found, fresh={})
