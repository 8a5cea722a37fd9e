"""Which images and containers on an engine are removed as leftovers."""

from __future__ import annotations

import contextlib
import time
from functools import partial
from typing import Any

import docker
import pytest
from django.conf import LazySettings
from docker.errors import APIError, ImageNotFound, NotFound

from arena_kit.image.calls import base_image_id, engine
from arena_kit.image.leftovers import REQUIREMENTS_SECONDS, Needed, sweep_containers, sweep_images
from arena_kit.image.limits import INSTALL_SECONDS

NOTHING = Needed(frozenset(), frozenset(), frozenset())


class Engine:
    """A fake engine that lists these images."""

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
    sweep_images(made, "p", lambda: needed)
    left: list[str] = made.left()
    return left


OLD = REQUIREMENTS_SECONDS + 60


def test_only_images_of_this_arena_that_are_not_needed_are_removed() -> None:
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
        image("taken over", "p:s1", submission="1", build="1", prefix="p-two"),
        image("requirements of another", "p-requirements:x", age=OLD, requirements="p-requirements:x", prefix="p-two"),
        needed=needed,
    )

    assert left == [
        "named", "playing", "building", "other arena", "other untagged", "old untagged", "base", "taken over",
        "requirements of another",
    ]  # fmt: skip


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


@pytest.mark.docker
def test_containers_of_dead_builds_go_and_those_of_other_arenas_and_of_players_stay(
    monkeypatch: pytest.MonkeyPatch, settings: LazySettings
) -> None:
    mine, other = (f"{settings.PLAYER_IMAGE_PREFIX}-sweep{suffix}" for suffix in ("", "-two"))
    with engine() as client:
        base = base_image_id(client, settings.PLAYER_BASE_IMAGE)
        made = {
            name: _container(client, base, labels)
            for name, labels in {
                "mine": {"arena.builder": mine},
                "running": {"arena.builder": mine, "arena.build": "7"},
                "killed": {"arena.builder": mine, "arena.build": "8"},
                "other": {"arena.builder": other},
                "player": {"arena.builder": "", "arena.prefix": mine},
            }.items()
        }
        try:
            # Only build 7 still runs.
            needed = partial(Needed, frozenset(), frozenset(), frozenset({"7"}))
            sweep_containers(client, mine, needed)
            assert _there(client, made) == ["mine", "running", "other", "player"]

            now = time.time()
            monkeypatch.setattr(time, "time", lambda: now + 2 * INSTALL_SECONDS + 60)
            sweep_containers(client, mine, needed)
            assert _there(client, made) == ["running", "other", "player"]
        finally:
            for container in made.values():
                with contextlib.suppress(NotFound):
                    client.api.remove_container(container, force=True)


def _container(client: docker.DockerClient, image_id: str, labels: dict[str, str]) -> str:
    return str(client.api.create_container(image_id, command=["none"], labels=labels)["Id"])


def _there(client: docker.DockerClient, made: dict[str, str]) -> list[str]:
    there = {found["Id"] for found in client.api.containers(all=True)}
    return [name for name, container in made.items() if container in there]
