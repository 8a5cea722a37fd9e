"""Images are read whole in their registry before an engine pulls them: size, platform, digests."""

from __future__ import annotations

import gzip
import hashlib
import json
from collections.abc import Iterator
from typing import Any

import pytest

from arena_kit.image.errors import BuildFailed
from arena_kit.image.remote_layers import RemoteImage, look_at

DOCKER = "application/vnd.docker.image.rootfs.diff.tar.gzip"


class Double:
    """A double of a registry's manifests: what it holds, by digest."""

    def __init__(self) -> None:
        self.held: dict[str, bytes] = {}
        self.tags: dict[str, str] = {}

    def hold(self, content: bytes | dict[str, Any]) -> str:
        data = content if isinstance(content, bytes) else json.dumps(content).encode()
        digest = f"sha256:{hashlib.sha256(data).hexdigest()}"
        self.held[digest] = data
        return digest

    def image(self, *layers: bytes, kind: str = DOCKER, machine: str = "amd64", **more: object) -> str:
        described = [{"mediaType": kind, "digest": self.hold(layer), **more} for layer in layers]
        config = {"digest": self.hold({"os": "linux", "architecture": machine})}
        return self.hold({"config": config, "layers": described})

    def digest(self, tag: str) -> str | None:
        return self.tags.get(tag)

    def read(self, digest: str, kind: str) -> Iterator[bytes] | None:
        assert kind in ("manifests", "blobs")
        data = self.held.get(digest)
        return None if data is None else iter([data[:7], data[7:]])


def look(double: Double, name: str, most_bytes: int = 1 << 20) -> RemoteImage:
    return look_at(
        double, name, system="linux", machine="amd64", most_bytes=most_bytes, seconds=60.0  # type: ignore[arg-type]
    )  # fmt: skip


def refused(double: Double, name: str, code: str, most_bytes: int = 1 << 20) -> None:
    with pytest.raises(BuildFailed) as failure:
        look(double, name, most_bytes)
    assert failure.value.code == code, failure.value


def test_a_tag_becomes_the_digest_for_this_platform_and_layers_are_counted_unpacked() -> None:
    double = Double()
    here = double.image(gzip.compress(bytes(50_000)), gzip.compress(b"a") + gzip.compress(b"bc"))
    there = double.image(gzip.compress(b""), machine="arm64")
    double.tags["v1"] = double.hold(
        {
            "manifests": [
                {"digest": digest, "platform": {"os": "linux", "architecture": machine}}
                for digest, machine in ((there, "arm64"), (here, "amd64"))
            ]
        }
    )
    assert look(double, "v1") == look(double, here) == RemoteImage(here, 50_003)
    refused(double, there, "image_platform")
    refused(double, double.hold({"manifests": [{"digest": there, "platform": None}]}), "image_platform")


def test_a_layer_that_grows_when_it_is_unpacked_is_refused_at_the_limit() -> None:
    double = Double()
    bomb = gzip.compress(bytes(8 << 20))
    assert len(bomb) < 10_000
    refused(double, double.image(bomb), "image_too_large")
    refused(double, double.image(bytes(2000), kind="application/vnd.oci.image.layer.v1.tar"), "image_too_large", 1000)


def test_an_image_that_lies_is_refused() -> None:
    double = Double()
    good = double.image(gzip.compress(b"x"))
    other = double.hold(b"{}")
    double.held[good], kept = double.held[other], double.held[good]
    refused(double, good, "image_unreadable")
    double.held[good] = kept
    layer = json.loads(kept)["layers"][0]["digest"]
    double.held[layer] = gzip.compress(b"y")
    refused(double, good, "image_unreadable")
    del double.held[layer]
    refused(double, good, "image_missing")


@pytest.mark.parametrize(
    "manifest",
    [
        {}, {"config": {}, "layers": []}, {"config": {}, "layers": [{}] * 128}, {"manifests": []},
        {"config": {"digest": "../../x"}, "layers": [{}]},
    ],
)  # fmt: skip
def test_a_description_without_what_is_needed_is_refused(manifest: dict[str, Any]) -> None:
    double = Double()
    with pytest.raises(BuildFailed):
        look(double, double.hold(manifest))


@pytest.mark.parametrize("content", [b"[1]", b"{" * 10_000, b"\xff", bytes(5 << 20)])
def test_a_description_that_is_none_is_refused(content: bytes) -> None:
    double = Double()
    refused(double, double.hold(content), "image_unreadable")


def test_layers_of_another_kind_are_refused() -> None:
    double = Double()
    layer = gzip.compress(b"x")
    refused(double, double.image(layer, kind="application/vnd.oci.image.layer.v1.tar+zstd"), "image_unreadable")
    refused(double, double.image(layer, urls=["https://elsewhere.example"]), "image_unreadable")
    refused(double, double.image(b"not gzip"), "image_unreadable")
    refused(double, "v9", "image_missing")
