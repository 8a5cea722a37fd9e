"""Looks at an image in a registry before an engine pulls it, because an engine unpacks whatever it gets."""

from __future__ import annotations

import hashlib
import json
import time
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from arena_kit.image.errors import BuildFailed
from arena_kit.image.manifests import Manifests
from arena_kit.image.registry import DIGEST

MOST_LAYERS = 127
"""Engines take no more."""
DOCUMENT_BYTES = 4 << 20
GZIP, PIECE_BYTES = 31, 1 << 20
"""The window that tells zlib to expect gzip; the most bytes that one step makes of a layer."""


@dataclass(frozen=True, slots=True)
class RemoteImage:
    """An image for one platform in a registry. unpacked_bytes: of all layers together."""

    digest: str
    unpacked_bytes: int


def look_at(
    manifests: Manifests,
    name: str,
    *,
    system: str,
    machine: str,
    most_bytes: int,
    seconds: float,
    still_wanted: Callable[[], None] = lambda: None,
) -> RemoteImage:
    """Read all of an image and return its digest and size, for one platform. name: a tag or a digest.

    Every layer is unpacked into nothing, up to the limit. Raises BuildFailed for an image that its owner must change,
    and RegistryFailed.
    """
    deadline = time.monotonic() + seconds
    digest = name if DIGEST.fullmatch(name) else manifests.digest(name)
    if digest is None:
        raise BuildFailed(f"The registry has no image {name}.", code="image_missing")
    manifest = _document(manifests, digest, "manifests")
    if isinstance(listed := manifest.get("manifests"), list):
        wanted = {"os": system, "architecture": machine}
        fit = [one for one in listed if isinstance(one, dict) and _fits(one.get("platform"), wanted)]
        digest = str(fit[0].get("digest")) if fit else ""
        if not DIGEST.fullmatch(digest):
            raise BuildFailed(f"The image is not made for {system}/{machine}.", code="image_platform")
        manifest = _document(manifests, digest, "manifests")
    layers, config = manifest.get("layers"), manifest.get("config")
    if not isinstance(layers, list) or not isinstance(config, dict) or not 0 < len(layers) <= MOST_LAYERS:
        raise BuildFailed(f"The image must have 1 to {MOST_LAYERS} layers.", code="image_unreadable")
    made_for = _document(manifests, str(config.get("digest")), "blobs")
    if (made_for.get("os"), made_for.get("architecture")) != (system, machine):
        raise BuildFailed(f"The image is not made for {system}/{machine}.", code="image_platform")
    size = 0
    for layer in layers:
        for count in _unpacked(manifests, layer):
            still_wanted()
            size += count
            if size > most_bytes:
                raise BuildFailed(
                    f"The image has more than {most_bytes >> 20} MiB unpacked, the limit of this arena.",
                    code="image_too_large",
                )
            if time.monotonic() > deadline:
                raise BuildFailed(
                    f"The registry took more than {seconds:.0f} s for the image. Make it smaller, or try again.",
                    code="image_too_slow",
                )
    return RemoteImage(digest, size)


def _fits(platform: object, wanted: dict[str, str]) -> bool:
    return isinstance(platform, dict) and all(platform.get(key) == value for key, value in wanted.items())


def _document(manifests: Manifests, digest: str, kind: str) -> dict[str, Any]:
    """Return a JSON document that its digest names. Raises BuildFailed."""
    data = b""
    for piece in _pieces(manifests, digest, kind):
        data += piece
        if len(data) > DOCUMENT_BYTES:
            raise BuildFailed("The description of the image is too long.", code="image_unreadable")
    try:
        found = json.loads(data)
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict):
        raise BuildFailed("The description of the image cannot be read.", code="image_unreadable")
    return found


def _unpacked(manifests: Manifests, layer: object) -> Iterator[int]:
    """Yield the sizes of a layer's pieces, unpacked. Raises BuildFailed."""
    fields = layer if isinstance(layer, dict) else {}
    kind = str(fields.get("mediaType"))
    if "foreign" in kind or "nondistributable" in kind or fields.get("urls"):
        raise BuildFailed("A layer of the image is kept elsewhere.", code="image_unreadable")
    pieces = _pieces(manifests, str(fields.get("digest")), "blobs")
    if not kind.endswith("gzip"):
        if not kind.endswith(".tar"):
            raise BuildFailed("A layer of the image is neither plain nor compressed by gzip.", code="image_unreadable")
        yield from map(len, pieces)
        return
    stream = zlib.decompressobj(GZIP)
    try:
        for piece in pieces:
            rest = piece
            while rest:
                yield len(stream.decompress(rest, PIECE_BYTES))
                rest = stream.unconsumed_tail
                if stream.eof:
                    # A layer may be several streams one after another.
                    rest, stream = stream.unused_data, zlib.decompressobj(GZIP)
    except zlib.error:
        raise BuildFailed("A layer of the image cannot be unpacked.", code="image_unreadable") from None


def _pieces(manifests: Manifests, digest: str, kind: str) -> Iterator[bytes]:
    """Yield what a digest names, and compare it with the digest at the end. Raises BuildFailed and RegistryFailed."""
    if not DIGEST.fullmatch(digest):
        raise BuildFailed("The description of the image has no digests.", code="image_unreadable")
    seen = hashlib.sha256()
    found = manifests.read(digest, kind)
    if found is None:
        raise BuildFailed(f"The registry does not have {digest}.", code="image_missing")
    for piece in found:
        seen.update(piece)
        yield piece
    if f"sha256:{seen.hexdigest()}" != digest:
        raise BuildFailed("The registry gives another image than was named.", code="image_unreadable")
