"""Makes the image of a submission of a container image in a foreign registry. No code of the image runs.

Only its files are taken, as one layer (`arena_kit.image.flatten`): entrypoint, user, volumes, ports, variables and
ONBUILD of the image count for nothing.
"""

from __future__ import annotations

import contextlib
import json
import tarfile
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from http import HTTPStatus
from typing import IO, Any, cast

import docker
import requests
from docker.errors import APIError, DockerException, ImageNotFound

from arena_kit.image.calls import engine, engine_errors
from arena_kit.image.errors import BuilderUnavailable, BuildFailed
from arena_kit.image.flatten import Flattening, Layout
from arena_kit.image.labels import BUILD_LABEL, CONTAINER_LABEL, PREFIX_LABEL, container_name
from arena_kit.image.layer import Pieces, commit_layer
from arena_kit.image.manifests import Manifests, speaks_plainly
from arena_kit.image.recipe import BuildResult, Log
from arena_kit.image.registry import DIGEST, MISSING, REFUSED, TOO_LARGE, Registry, RegistryFailed
from arena_kit.image.remote_layers import look_at
from arena_kit.image.sbom import sbom
from arena_kit.upload.archive import read_text
from arena_kit.upload.image_reference import IMAGE_ENTRY_POINT, ImageReference, check_allowed, read_reference
from arena_kit.upload.zip_safety import ArchiveRefused

TRANSFER_SECONDS = 900.0
"""Limit on reading an image, and on pulling it."""
PLAYER_LABEL = "arena.player"
"""Names the folder of the player in an image."""
OF_THE_OWNER = (MISSING, REFUSED, TOO_LARGE)
"""The answers of a registry about an image that only its owner can change."""
SILENCE_SECONDS = 300
MOST_BYTES = 4 << 30
"""The most bytes of the files of an image, where no operator says otherwise."""
TERMS = "The arena shows no source of a container image: it only has the finished files."


@dataclass(frozen=True, slots=True)
class ForeignImages:
    """The images that may be taken. registries: HOST[:PORT][/PATH] each. most_bytes: of the files of an image."""

    registries: Sequence[str]
    most_bytes: int


def reference_of(archive: IO[bytes], allowed: ForeignImages) -> ImageReference:
    """Return the image that an archive names. Raises BuildFailed."""
    try:
        reference = read_reference(read_text(archive, IMAGE_ENTRY_POINT))
        check_allowed(reference, allowed.registries)
    except ArchiveRefused as refusal:
        raise BuildFailed(str(refusal), code=refusal.code) from None
    except KeyError:
        raise BuildFailed(f"The archive has no {IMAGE_ENTRY_POINT}.", code="bad_image_name") from None
    return reference


def build_from_image(
    reference: ImageReference,
    *,
    allowed: ForeignImages,
    tag: str,
    labels: Mapping[str, str],
    log: Log,
    archive_sha256: str,
    still_wanted: Callable[[], None] = lambda: None,
) -> BuildResult:
    """Pull an image, and make of its files the image of a submission. Raises BuildFailed and BuilderUnavailable.

    tag: of the new image. labels: with PREFIX_LABEL. still_wanted: called often; what it raises ends the build.
    base_image of the result is the image by its digest, which gives the same files again.
    """
    # Without any password: those of the arena are not for what other people name.
    registry = Registry(reference.repository)
    with engine(SILENCE_SECONDS) as client:
        log(f"Step 1/3: look at {reference}")
        with engine_errors():
            version = client.version()
            is_plain = speaks_plainly(client.info(), registry.host)
        system, machine = str(version["Os"]), str(version["Arch"])
        with _faults(), Manifests(registry, is_plain=is_plain) as manifests:
            found = look_at(
                manifests,
                reference.digest or reference.tag,
                system=system,
                machine=machine,
                most_bytes=allowed.most_bytes,
                seconds=TRANSFER_SECONDS,
                still_wanted=still_wanted,
            )
        pinned = registry.reference(found.digest)
        log(f"Step 2/3: pull {pinned} ({found.unpacked_bytes >> 20} MiB)")
        try:
            with _faults():
                registry.pull_reference(
                    client,
                    pinned,
                    seconds=TRANSFER_SECONDS,
                    most_bytes=allowed.most_bytes,
                    still_wanted=still_wanted,
                )
            log("Step 3/3: take the files")
            digest, layout = _taken(client, pinned, machine, allowed, still_wanted, tag=tag, labels=labels)
        finally:
            with contextlib.suppress(DockerException, requests.RequestException):
                client.images.remove(pinned)
    log(f"The player is in {layout.folder}, Python {layout.contents.interpreter} in {layout.path}.")
    document = sbom(
        image=tag,
        image_digest=digest,
        base_image=pinned,
        base_digest=found.digest,
        base=layout.contents,
        wheels=(),
        archive_sha256=archive_sha256,
    )
    return BuildResult(tag, (TERMS,), digest, pinned, found.digest, "", document)


def image_taken(client: docker.DockerClient, name: str, *, prefix: str, is_script: bool = False) -> str:
    """Return the content id of an image of this engine as the arena plays it; "" if the engine does not have it.

    It is made once for each content. Images of scripts, and those that an arena has built, are returned as they are.
    Raises BuildFailed and BuilderUnavailable.
    """
    with engine_errors():
        try:
            image = client.images.get(name)
        except APIError as error:
            if error.status_code in (HTTPStatus.BAD_REQUEST, HTTPStatus.NOT_FOUND):
                return ""
            raise
        if is_script or PREFIX_LABEL in (image.labels or {}):
            return str(image.id)
        tag = f"{prefix}-image:{str(image.id).removeprefix('sha256:')[:32]}"
        with contextlib.suppress(ImageNotFound):
            return str(client.images.get(tag).id)
        machine = str(client.version()["Arch"])
    allowed = ForeignImages((), MOST_BYTES)
    labels = {PREFIX_LABEL: prefix}
    return _taken(client, str(image.id), machine, allowed, lambda: None, tag=tag, labels=labels)[0]


def _taken(
    client: docker.DockerClient,
    pinned: str,
    machine: str,
    allowed: ForeignImages,
    still_wanted: Callable[[], None],
    *,
    tag: str,
    labels: Mapping[str, str],
) -> tuple[str, Layout]:
    """Make an image of the files of another; return its content id, and what is where in it."""
    prefix, build = labels[PREFIX_LABEL], labels.get(BUILD_LABEL, "")
    with engine_errors():
        # The SDK has no types for these calls.
        api: Any = client.api
        wanted = str((client.images.get(pinned).labels or {}).get(PLAYER_LABEL) or "")
        made = api.create_container(
            pinned,
            name=container_name(prefix, f"image-{uuid.uuid4().hex}"),
            command=["none"],
            network_disabled=True,
            labels={CONTAINER_LABEL: prefix, BUILD_LABEL: build},
        )
        failed: list[BuildFailed] = []
        try:
            flattening = Flattening(
                cast(IO[bytes], Pieces(iter(api.export(made["Id"])))), machine=machine, most_bytes=allowed.most_bytes
            )

            def pieces() -> Iterator[bytes]:
                # The engine's client would make another error of one that is raised while it sends.
                try:
                    for piece in flattening.pieces():
                        still_wanted()
                        yield piece
                except BuildFailed as failure:
                    failed.append(failure)

            flat = _imported(api, pieces(), [f"LABEL {PREFIX_LABEL}={prefix}", f"LABEL {BUILD_LABEL}={build}"])
        except BuilderUnavailable:
            if failed:
                raise failed[0] from None
            raise
        finally:
            with contextlib.suppress(DockerException, requests.RequestException):
                api.remove_container(made["Id"], v=True, force=True)
        try:
            if failed:
                raise failed[0]
            layout = flattening.layout(wanted)
            return commit_layer(client, flat, _link(layout.folder), tag=tag, labels=labels, path=layout.path), layout
        except BaseException:
            with contextlib.suppress(DockerException, requests.RequestException):
                client.images.remove(flat)
            raise


def _imported(api: Any, layer: Iterator[bytes], changes: list[str]) -> str:
    """Give the engine a tar as an image without a name, and return its content id."""
    event: dict[str, Any] = {}
    for line in str(api.import_image(src=layer, changes=changes)).splitlines():
        with contextlib.suppress(ValueError):
            event = json.loads(line)
    if not DIGEST.fullmatch(str(event.get("status"))):
        error = str(event.get("error") or "it gave no name to an image")
        code = "disk_full" if "no space left" in error.lower() else "engine_refused"
        raise BuilderUnavailable(f"The Docker engine refused: {error}", code=code)
    return str(event["status"])


def _link(folder: str) -> Iterator[bytes]:
    """Yield a layer in which /player leads to the folder."""
    if folder != "/player":
        entry = tarfile.TarInfo("player")
        entry.type, entry.linkname = tarfile.SYMTYPE, folder
        yield entry.tobuf(tarfile.PAX_FORMAT)
    yield bytes(2 * tarfile.BLOCKSIZE)


@contextlib.contextmanager
def _faults() -> Iterator[None]:
    """Turn a registry's answer about an image into a failure of its owner."""
    try:
        yield
    except RegistryFailed as trouble:
        if trouble.code in OF_THE_OWNER:
            raise BuildFailed(
                f"{trouble} The arena uses no password.", code=f"image_{trouble.code.removeprefix('image_')}"
            ) from None
        raise
