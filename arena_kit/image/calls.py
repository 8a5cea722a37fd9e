"""The builder's calls to the Docker engine: each has a time-out, and every error becomes BuilderUnavailable."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

import docker
import requests
from docker.errors import APIError, BuildError, DockerException, ImageNotFound

from arena_kit.image.engine import NoEngine, connect
from arena_kit.image.errors import BuilderUnavailable

CALL_SECONDS = 120
BASE_BUILD_SECONDS = 600
IMAGE_FOLDER = Path(__file__).parent / "base"
BASE_IMAGE_MISSING = "base_image_missing"


@contextlib.contextmanager
def engine(seconds: int = CALL_SECONDS) -> Iterator[docker.DockerClient]:
    """Yield a client of an engine that answers. Raises BuilderUnavailable for the engine's errors.

    seconds: the limit on one call, or on the silence within a streaming call.
    """
    with engine_errors():
        client = connect(seconds)
        try:
            client.ping()
            yield client
        finally:
            client.close()


@contextlib.contextmanager
def engine_errors() -> Iterator[None]:
    """Turn the engine's errors into BuilderUnavailable."""
    try:
        yield
    except APIError as error:
        text = str(error.explanation or error)
        code = "disk_full" if "no space left" in text.lower() else "engine_refused"
        raise BuilderUnavailable(f"The Docker engine refused: {text}", code=code) from None
    except (NoEngine, DockerException, requests.RequestException) as error:
        # The library's own text names sockets and exceptions, but the remedy is the same for all of them.
        raise BuilderUnavailable(str(NoEngine()), code="engine_unavailable") from error


def base_image_id(client: docker.DockerClient, name: str) -> str:
    """Return the content id of the base image. Raises BuilderUnavailable when the engine does not have it."""
    with engine_errors():
        try:
            return str(client.images.get(name).id)
        except ImageNotFound:
            way = (
                "It is named by its digest, so no other image takes its place: pull it, or correct its name."
                if "@" in name
                else f"Make it with `docker build -t {name} arena_kit/image/base`, "
                "or without a registry with arena_kit/image/base/make-base-image.sh; one for scripts with "
                "make-script-image.sh there."
            )
            raise BuilderUnavailable(
                f"The base image {name} is not on this engine. {way}", code=BASE_IMAGE_MISSING
            ) from None


def ensure_base_image(name: str) -> str:
    """Return the content id of the base image, after building the default Dockerfile if the image is missing.

    Raises BuilderUnavailable.
    """
    with engine(BASE_BUILD_SECONDS) as client:
        try:
            return base_image_id(client, name)
        except BuilderUnavailable as trouble:
            if trouble.code != BASE_IMAGE_MISSING:
                raise
        try:
            client.images.build(path=str(IMAGE_FOLDER), tag=name, rm=True, forcerm=True)
        except (BuildError, APIError) as error:
            raise BuilderUnavailable(
                f"The base image {name} cannot be built: {error}", code=BASE_IMAGE_MISSING
            ) from None
        return base_image_id(client, name)
