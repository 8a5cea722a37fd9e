"""Which of the images on an engine are swept."""

from __future__ import annotations

import time
from typing import Any

from docker.errors import APIError, ImageNotFound

from builder.leftovers import REQUIREMENTS_SECONDS, Needed, sweep_engine

NOTHING = Needed(frozenset(), frozenset(), frozenset())


class Engine:
    """Stands for an engine that lists these images."""

    def __init__(self, *images: dict[str, Any]) -> None:
        self._images = list(images)
        self.images = self.api = self
        self.stuck: set[str] = set()

    def __call__(self) -> list[dict[str, Any]]:
        return self._images

    def remove(self, name: str) -> None:
        if name in self.stuck:
            raise APIError("conflict")
        for image in self._images:
            if name in {image["Id"], *image["RepoTags"]}:
                image["RepoTags"] = [tag for tag in image["RepoTags"] if tag != name]
                image["Gone"] = not image["RepoTags"]
                return
        raise ImageNotFound("gone")

    def left(self) -> list[str]:
        return [image["Id"] for image in self._images if not image.get("Gone")]


def image(name: str, *tags: str, age: float = 0, **labels: str) -> dict[str, Any]:
    named = {f"arena.{label}": value for label, value in labels.items()}
    return {"Id": name, "RepoTags": list(tags), "Labels": named or None, "Created": time.time() - age}


def swept(*images: dict[str, Any], needed: Needed = NOTHING, stuck: str = "") -> list[str]:
    made: Any = Engine(*images)
    made.stuck = {stuck}
    sweep_engine(made, "p", lambda: needed)
    left: list[str] = made.left()
    return left


OLD = REQUIREMENTS_SECONDS + 60


def test_only_images_of_this_arena_that_nobody_needs_are_removed() -> None:
    needed = Needed(frozenset({"p:named"}), frozenset({"7"}), frozenset({"8"}))

    left = swept(
        image("unnamed", "p:s1", submission="1", build="1"),
        image("named", "p:named", submission="1", build="2"),
        image("playing", "p:s7", submission="7", build="3"),
        image("building", "p:s8", submission="1", build="8"),
        image("other arena", "p-two:s1", submission="1", build="1"),
        image("other untagged", submission="1", build="1", prefix="p-two"),
        image("old untagged", submission="1", build="1"),
        image("untagged", submission="1", build="1", prefix="p"),
        image("base", "p:base", age=OLD),
        needed=needed,
    )

    assert left == ["named", "playing", "building", "other arena", "other untagged", "old untagged", "base"]


def test_requirements_go_a_day_later_when_nothing_stands_on_them() -> None:
    def requirements(name: str, age: float) -> dict[str, Any]:
        tag = f"p-requirements:{name}"
        return image(name, tag, age=age, requirements=tag, prefix="p")

    def images() -> list[dict[str, Any]]:
        player = image("player", "p:named", submission="1", build="1", requirements="p-requirements:used")
        in_use = image("stuck", "p:stuck", submission="2", build="2", requirements="p-requirements:held")
        rest = [requirements("used", OLD), requirements("held", OLD), requirements("new", 60), requirements("old", OLD)]
        return [player, in_use, *rest, image("replaced", age=OLD, prefix="p", requirements="p-requirements:old")]

    named = frozenset({"p:named"})
    left = ["player", "stuck", "used", "held", "new"]

    assert swept(*images(), needed=Needed(named, frozenset(), frozenset()), stuck="p:stuck") == left
    during_a_build = swept(*images(), needed=Needed(named, frozenset(), frozenset({"5"})), stuck="p:stuck")
    assert during_a_build == [*left, "old", "replaced"]
