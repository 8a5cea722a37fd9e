"""What a host keeps of the images that a registry has."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from pathlib import Path

import docker
import pytest

from arena_kit.image.cache import ImageCache
from arena_kit.image.calls import engine as connect
from arena_kit.image.layer import commit_layer, folder_layer
from arena_kit.tests.image.registries import scratch

pytestmark = pytest.mark.docker
PREFIX = f"rl-arena-test-{os.getpid()}-cache"
SIZE = 100_000


@pytest.fixture
def client() -> Iterator[docker.DockerClient]:
    with connect() as made:
        yield made
        for image in made.api.images():
            for tag in image["RepoTags"] or ():
                if tag.startswith(f"{PREFIX}:"):
                    made.images.remove(tag, force=True)
        made.images.remove(scratch(made), force=True)


def image(client: docker.DockerClient, folder: Path, tag: str, parent: str, *, prefix: str = PREFIX) -> str:
    """An image of a submission with one large file of its own."""
    (folder / tag).mkdir()
    (folder / tag / "weights").write_bytes(os.urandom(SIZE))
    labels = {"arena.prefix": prefix, "arena.submission": "1"}
    return commit_layer(client, parent, folder_layer(folder / tag, tag), tag=f"{PREFIX}:{tag}", labels=labels)


def test_what_was_used_longest_ago_goes_and_what_is_needed_stays(client: docker.DockerClient, tmp_path: Path) -> None:
    cache = ImageCache(tmp_path / "marks", PREFIX)
    parent = scratch(client)
    made = {tag: image(client, tmp_path, tag, parent) for tag in ("old", "older", "seated", "only-here", "new")}
    made["other"] = image(client, tmp_path, "other", parent, prefix="another-arena")
    for ago, tag in enumerate(("new", "old", "seated", "only-here", "older")):
        cache.use(made[tag])
        os.utime(tmp_path / "marks" / made[tag], (time.time() + 9000 - ago * 1000,) * 2)

    def evict(limit: int, *, spared: float = -20_000.0) -> set[str]:
        cache.evict(client, most_bytes=limit, keep=lambda: frozenset({made["only-here"]}), spared_seconds=spared)
        there = {one["Id"] for one in client.api.images()}
        return {tag for tag, image_id in made.items() if image_id in there}

    container = client.containers.create(made["seated"], ["none"])
    try:
        assert evict(10 * SIZE) == set(made)
        # All have been used within the last half hour.
        assert evict(0, spared=1800.0) == set(made)
        assert evict(4 * SIZE + SIZE // 2) == set(made) - {"older"}
        assert evict(3 * SIZE + SIZE // 2) == set(made) - {"older", "old"}
        assert evict(0) == {"seated", "only-here", "other"}
    finally:
        container.remove()
    assert evict(0) == {"only-here", "other"}


def test_layers_that_images_share_count_once(client: docker.DockerClient, tmp_path: Path) -> None:
    shared = image(client, tmp_path, "shared", scratch(client))
    made = [image(client, tmp_path, tag, shared) for tag in ("a", "b", "c")]
    cache = ImageCache(tmp_path / "marks", PREFIX)
    # The engine tells in whole seconds when an image was built.
    for later, image_id in enumerate(made, start=1):
        cache.use(image_id)
        os.utime(tmp_path / "marks" / image_id, (time.time() + 1000 * later,) * 2)

    assert cache.evict(client, most_bytes=5 * SIZE, keep=frozenset, spared_seconds=-9000) == 0
    assert cache.evict(client, most_bytes=4 * SIZE - 1, keep=frozenset, spared_seconds=-9000) > 0
    assert made[2] in {one["Id"] for one in client.api.images()}


def test_a_folder_that_cannot_be_written_keeps_nothing_from_playing(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    ImageCache(tmp_path / "file" / "marks", PREFIX).use("sha256:0")
