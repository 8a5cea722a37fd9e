"""The Docker engine as the builder needs it: every call with a time-out, every trouble named."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

import docker
import requests
from docker.errors import APIError, BuildError, DockerException, ImageNotFound

from builder.errors import BuilderUnavailable

CALL_SECONDS = 120
BASE_BUILD_SECONDS = 600
IMAGE_FOLDER = Path(__file__).parent / "image"
NO_BASE_IMAGE = (
    "The base image {name} is not on this engine. Make it with `manage.py base_image`, "
    "or without a registry with builder/image/make-base-image.sh."
)


def connect(seconds: int = CALL_SECONDS) -> docker.DockerClient:
    """A client of the engine that answered. Raises BuilderUnavailable."""
    with engine_errors():
        client = docker.from_env(timeout=seconds)
        client.ping()
        return client


@contextlib.contextmanager
def engine_errors() -> Iterator[None]:
    """Turn the engine's troubles into BuilderUnavailable."""
    try:
        yield
    except APIError as error:
        text = str(error.explanation or error)
        code = "disk_full" if "no space left" in text else "engine_refused"
        raise BuilderUnavailable(f"The Docker engine refused: {text}", code=code) from None
    except (DockerException, requests.RequestException) as error:
        raise BuilderUnavailable(f"No Docker engine answers: {error}", code="engine_unavailable") from None


def base_image_id(client: docker.DockerClient, name: str) -> str:
    """Content id of the base image. Raises BuilderUnavailable when it is not there."""
    with engine_errors():
        try:
            return str(client.images.get(name).id)
        except ImageNotFound:
            raise BuilderUnavailable(NO_BASE_IMAGE.format(name=name), code="base_image_missing") from None


def ensure_base_image(name: str) -> str:
    """Make sure the base image exists, building the default Dockerfile if it does not; return its id.

    Raises BuilderUnavailable, saying why it cannot be had.
    """
    client = connect(BASE_BUILD_SECONDS)
    try:
        return base_image_id(client, name)
    except BuilderUnavailable:
        pass
    try:
        client.images.build(path=str(IMAGE_FOLDER), tag=name, rm=True, forcerm=True)
    except BuildError as error:
        raise BuilderUnavailable(f"The base image cannot be built: {error.msg}", code="base_image_missing") from None
    except APIError as error:
        raise BuilderUnavailable(
            f"The base image cannot be had: {error.explanation or error}", code="base_image_missing"
        ) from None
    return base_image_id(client, name)
