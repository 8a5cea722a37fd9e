"""The document of a bill of materials."""

from __future__ import annotations

import json

from arena_kit.image.inventory import Inventory
from arena_kit.image.sbom import sbom
from arena_kit.image.wheels import Wheel

BASE = Inventory("debian", "12", "3.11.2", (("libc6", "2:2.36-9+deb12u1", "amd64"),), {"numpy": "1.24.2"})


def made(*wheels: Wheel) -> bytes:
    return sbom(
        image="p:s1",
        image_digest="sha256:" + "a" * 64,
        base_image="base",
        base_digest="sha256:" + "b" * 64,
        archive_sha256="c" * 64,
        base=BASE,
        wheels=wheels,
    )


def test_every_part_is_there_once_with_an_address_and_hashes() -> None:
    document = json.loads(made(Wheel("numpy-2.3.1-cp311-cp311-linux_x86_64.whl", "d" * 64)))

    parts = {part["bom-ref"]: part for part in document["components"]}
    assert list(parts) == [
        "image:sha256:" + "b" * 64,
        "system",
        "pkg:deb/debian/libc6@2%3A2.36-9%2Bdeb12u1?arch=amd64",
        "python",
        "base:pkg:pypi/numpy@1.24.2",
        "requirements:pkg:pypi/numpy@2.3.1",
        "archive",
    ]
    assert parts["requirements:pkg:pypi/numpy@2.3.1"]["hashes"] == [{"alg": "SHA-256", "content": "d" * 64}]
    assert (parts["system"]["version"], parts["python"]["version"]) == ("12", "3.11.2")
    assert document["metadata"]["component"]["bom-ref"] == "image:sha256:" + "a" * 64


def test_equal_images_have_equal_documents_whatever_the_order() -> None:
    wheels = [Wheel(f"{name}-1.0-py3-none-any.whl", "d" * 64) for name in ("a", "b")]

    assert made(*wheels) == made(*reversed(wheels))
