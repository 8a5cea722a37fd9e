"""Images pushed to a real registry and pulled by digest, also when it is killed meanwhile or refuses."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import docker
import pytest

from arena_kit.image.calls import engine as connect
from arena_kit.image.errors import BuilderUnavailable
from arena_kit.image.leftovers import Needed
from arena_kit.image.manifests import sweep_registry
from arena_kit.image.registry import Registry, RegistryFailed
from arena_kit.tests.image.lying_registry import Lie, LyingRegistry
from arena_kit.tests.image.registries import RegistryServer, registry_server, scratch, tiny_image

pytestmark = [pytest.mark.docker, pytest.mark.registry]
PREFIX = f"rl-arena-test-{os.getpid()}-registry"
ZERO = f"sha256:{'0' * 64}"


class NotWanted(Exception):
    """The job was cancelled."""


@pytest.fixture(scope="module")
def client() -> Iterator[docker.DockerClient]:
    with connect() as made:
        yield made
        for image in made.api.images():
            for tag in image["RepoTags"] or ():
                if tag.startswith(f"{PREFIX}:"):
                    made.images.remove(tag, force=True)
        made.images.remove(scratch(made), force=True)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RegistryServer]:
    with registry_server(tmp_path_factory.mktemp("registry")) as made:
        yield made


@pytest.fixture(scope="module")
def make(client: docker.DockerClient, tmp_path_factory: pytest.TempPathFactory) -> Callable[..., tuple[str, str]]:
    """Make an image with a file of its own; return its name and its content id."""

    def made(tag: str, **labels: str) -> tuple[str, str]:
        name = f"{PREFIX}:{tag}"
        return name, tiny_image(client, tmp_path_factory.mktemp("image"), name, **labels)

    return made


Make = Callable[..., tuple[str, str]]


def names(client: docker.DockerClient, content_id: str) -> list[str]:
    """All names of an image, also those by digest."""
    attributes = client.images.get(content_id).attrs
    return [*attributes["RepoTags"], *attributes["RepoDigests"]]


def is_here(client: docker.DockerClient, content_id: str) -> bool:
    return content_id in {image["Id"] for image in client.api.images()}


def killing(server: RegistryServer) -> Callable[[], None]:
    """Kill the registry at the first news of a transfer."""

    def kill() -> None:
        if server.process.poll() is None:
            server.kill()

    return kill


def test_an_image_comes_back_by_its_digest_with_one_name_and_the_same_content_until_no_row_needs_it(
    client: docker.DockerClient, server: RegistryServer, make: Make
) -> None:
    name, content_id = make("s1-b1-a")
    registry = server.registry

    digest = registry.push(client, name)
    assert names(client, content_id) == [name]
    assert registry.has(client, digest)
    assert not registry.has(client, ZERO)
    client.images.remove(name)
    assert not is_here(client, content_id)

    registry.pull(client, digest, image=name, content_id=content_id)
    assert names(client, content_id) == [name]
    # Several workers of a host may pull the same image.
    registry.pull(client, digest, image=name, content_id=content_id)
    assert names(client, content_id) == [name]

    needed = Needed(frozenset(), frozenset(), frozenset(), last_build=1)
    assert sweep_registry(client, registry, lambda: replace(needed, images=frozenset({name}))) == 0
    assert registry.has(client, digest)
    assert sweep_registry(client, registry, lambda: needed) == 1
    assert not registry.has(client, digest)


def test_what_a_pull_must_not_bring_is_refused_and_leaves_nothing(
    client: docker.DockerClient, server: RegistryServer, make: Make
) -> None:
    name, content_id = make("s1-b2-a")
    other, other_id = make("s1-b3-a")
    registry = server.registry
    digest = registry.push(client, name)
    client.images.remove(name)

    def code(**change: Any) -> str:
        arguments: dict[str, Any] = {"image": name, "content_id": content_id, "digest": digest, **change}
        with pytest.raises(RegistryFailed) as caught:
            registry.pull(client, **arguments)
        assert not is_here(client, content_id)
        return caught.value.code

    assert code(digest=ZERO) == "image_missing"
    assert code(digest="latest") == "image_missing"
    assert code(content_id=ZERO) == "image_differs"
    assert code(most_bytes=1) == "image_too_large"
    assert code(seconds=-1.0) == "registry_too_slow"
    with pytest.raises(RegistryFailed, match="is not a digest in the registry"):
        registry.pull_reference(client, f"registry.example.org/arena/players@{digest}")
    with pytest.raises(RegistryFailed, match="is not a digest in the registry"):
        registry.pull_reference(client, f"{registry.repository}:s1-b2-a")
    assert names(client, other_id) == [other]


def test_a_cancelled_transfer_ends(client: docker.DockerClient, server: RegistryServer, make: Make) -> None:
    name, content_id = make("s1-b4-a")

    def no_more() -> None:
        raise NotWanted

    with pytest.raises(NotWanted):
        server.registry.push(client, name, still_wanted=no_more)
    assert names(client, content_id) == [name]


def test_a_wrong_password_is_a_fault_with_a_code_of_its_own(
    client: docker.DockerClient, server: RegistryServer, make: Make
) -> None:
    name, content_id = make("s1-b5-a")
    digest = server.registry.push(client, name)
    wrong = Registry(server.registry.repository, server.registry.user, "wrong horse")

    for act in (
        lambda: wrong.check(client),
        lambda: wrong.push(client, name),
        lambda: wrong.pull(client, digest, image=name, content_id=content_id),
        lambda: sweep_registry(client, wrong, lambda: Needed(frozenset(), frozenset(), frozenset())),
    ):
        with pytest.raises(RegistryFailed) as caught:
            act()
        assert caught.value.code == "registry_refused"
        assert "wrong horse" not in f"{caught.value} {wrong}"
    assert names(client, content_id) == [name]


def test_a_registry_killed_in_a_push_or_a_pull_costs_an_attempt_and_no_image(
    client: docker.DockerClient, server: RegistryServer, make: Make
) -> None:
    name, content_id = make("s1-b6-a")
    registry = server.registry
    try:
        with pytest.raises(RegistryFailed) as caught:
            registry.push(client, name, still_wanted=killing(server))
        assert caught.value.code == "registry_unavailable"
        assert names(client, content_id) == [name]
        with pytest.raises(RegistryFailed) as caught:
            registry.check(client)
        assert caught.value.code == "registry_unavailable"

        server.start()
        digest = registry.push(client, name)
        client.images.remove(name)
        with pytest.raises(BuilderUnavailable) as failed:
            registry.pull(client, digest, image=name, content_id=content_id, still_wanted=killing(server))
        assert failed.value.code == "registry_unavailable"
        assert not is_here(client, content_id)
    finally:
        if server.process.poll() is not None:
            server.start()
    registry.pull(client, digest, image=name, content_id=content_id)
    assert names(client, content_id) == [name]


@pytest.mark.nightly
def test_manifests_that_no_row_needs_are_removed_and_their_disk_is_freed(
    client: docker.DockerClient, make: Make, tmp_path: Path
) -> None:
    with registry_server(tmp_path / "own") as own:
        tags = ["s1-b1-a0", "s1-b2-a0", "s2-b3-a0", "s3-b4-a0", "s4-b9-a0", "kept-by-hand"]
        digests = {tag: own.registry.push(client, make(tag)[0]) for tag in tags}
        needed = Needed(frozenset({f"{PREFIX}:s1-b2-a0"}), frozenset({"2"}), frozenset({"4"}), last_build=5)
        before = own.stored_bytes()

        assert sweep_registry(client, own.registry, lambda: needed) == 1
        left = {tag for tag, digest in digests.items() if own.registry.has(client, digest)}
        assert left == set(tags) - {"s1-b1-a0"}
        assert sweep_registry(client, own.registry, lambda: needed) == 0
        own.kill()
        own.garbage_collect()
        assert own.stored_bytes() < before


def test_a_registry_that_lets_nothing_be_removed_is_named(
    client: docker.DockerClient, make: Make, tmp_path: Path
) -> None:
    with registry_server(tmp_path / "fast", removable=False) as own:
        nothing = Needed(frozenset(), frozenset(), frozenset(), last_build=5)
        assert sweep_registry(client, own.registry, lambda: nothing) == 0
        digest = own.registry.push(client, make("s1-b1-f0")[0])
        with pytest.raises(RegistryFailed, match="does not let anything be removed"):
            sweep_registry(client, own.registry, lambda: nothing)
        assert own.registry.has(client, digest)


def test_a_base_image_that_is_named_by_its_digest_is_pulled_where_it_is_missing(
    client: docker.DockerClient, server: RegistryServer, make: Make
) -> None:
    name, content_id = make("base")
    digest = server.registry.push(client, name)
    client.images.remove(name)
    pinned = server.registry.reference(digest)
    server.registry.fetch_pinned(client, "rl-arena-base")
    server.registry.fetch_pinned(client, f"registry.example.org/base@{digest}")

    server.registry.fetch_pinned(client, pinned)

    assert client.images.get(pinned).id == content_id
    client.images.remove(pinned)


@pytest.mark.nightly
@pytest.mark.parametrize("lie", [Lie.OTHER_MANIFEST, Lie.OTHER_BYTES, Lie.HALF, Lie.SLOW])
def test_a_registry_that_lies_or_is_slow_brings_no_other_image(
    lie: Lie, client: docker.DockerClient, server: RegistryServer, make: Make
) -> None:
    name, content_id = make(f"s1-b7-{lie.name.lower()}")
    other, _ = make(f"s1-b8-{lie.name.lower()}")
    digest = server.registry.push(client, name)
    liar = LyingRegistry(server.port)
    liar.manifest = server.registry.push(client, other)
    client.images.remove(name)
    with liar.served() as port:
        registry = replace(server.registry, repository=f"127.0.0.1:{port}/{server.registry.path}")
        liar.lie = lie
        with pytest.raises(BuilderUnavailable) as caught:
            registry.pull(client, digest, image=name, content_id=content_id, seconds=5.0)
        assert caught.value.code == ("registry_too_slow" if lie is Lie.SLOW else "registry_failed")
        assert not is_here(client, content_id)
        liar.lie = Lie.NOTHING
        registry.pull(client, digest, image=name, content_id=content_id)
    assert names(client, content_id) == [name]


@pytest.mark.nightly
def test_a_registry_that_is_full_is_named_and_the_image_stays_here(
    client: docker.DockerClient, server: RegistryServer, make: Make
) -> None:
    name, content_id = make("s1-b9-a")
    liar = LyingRegistry(server.port)
    with liar.served() as port:
        registry = replace(server.registry, repository=f"127.0.0.1:{port}/{server.registry.path}")
        liar.lie = Lie.FULL
        with pytest.raises(RegistryFailed) as caught:
            registry.push(client, name)
        assert caught.value.code == "registry_failed"
        assert registry.host in str(caught.value)
        assert names(client, content_id) == [name]
        liar.lie = Lie.NOTHING
        assert registry.has(client, registry.push(client, name))
