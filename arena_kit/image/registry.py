"""Keeps players' images in a registry, by digest, so that hosts without a shared disk play the same ones.

The engine pushes and pulls; `arena_kit.image.manifests` does what engines cannot. A manifest's digest names exactly one
image, so what a host pulls is what was pushed, whatever the registry answers.
"""

from __future__ import annotations

import contextlib
import logging
import re
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

import docker
import requests
from docker.errors import APIError, DockerException, ImageNotFound, NotFound

from arena_kit.image.calls import engine_errors
from arena_kit.image.errors import BuilderUnavailable

logger = logging.getLogger(__name__)

PULL_SECONDS, PUSH_SECONDS = 300.0, 900.0
"""Limits on one transfer. A first push takes long, because it compresses the base image."""
SILENCE_SECONDS = 120
"""Limit on the engine's silence within a transfer."""
IMAGE_BYTES = 16 << 30
"""Limit on an image that is pulled: more than a base image with all that a build may install."""
DIGEST = re.compile(r"sha256:[0-9a-f]{64}")
UNAVAILABLE, REFUSED, FAILED = "registry_unavailable", "registry_refused", "registry_failed"
MISSING, TOO_LARGE, TOO_SLOW, OTHER_IMAGE = "image_missing", "image_too_large", "registry_too_slow", "image_differs"
_UNAUTHORISED = (401, 403)
_NO_TAG = "none"


class RegistryFailed(BuilderUnavailable):
    """The registry could not take, give or remove an image, which is a fault of the platform. code: typed reason."""


@dataclass(frozen=True, slots=True)
class Registry:
    """A repository of a registry, for the images of one arena.

    repository: HOST[:PORT]/PATH. user, password: empty where the registry needs none.
    """

    repository: str
    user: str = ""
    password: str = field(default="", repr=False)

    @property
    def host(self) -> str:
        """HOST[:PORT]."""
        return self.repository.partition("/")[0]

    @property
    def path(self) -> str:
        return self.repository.partition("/")[2]

    @property
    def _login(self) -> dict[str, str]:
        return {"username": self.user, "password": self.password} if self.user else {}

    def check(self, client: docker.DockerClient) -> None:
        """Raise RegistryFailed when the registry does not answer this engine, or refuses the password."""
        self.find(client, f"{self.repository}:{_NO_TAG}")

    def find(self, client: docker.DockerClient, reference: str) -> str | None:
        """Return the digest of an image in this registry; None when the registry does not have it.

        reference: with a tag or a digest. Raises RegistryFailed.
        """
        try:
            # The SDK has no types for this call.
            api: Any = client.api
            return str(api.inspect_distribution(reference, auth_config=self._login)["Descriptor"]["digest"])
        except NotFound:
            return None
        except APIError as error:
            text = str(error.explanation or error)
            if error.status_code in _UNAUTHORISED:
                raise RegistryFailed(
                    f"The registry {self.host} refuses the user or the password of the settings: {text}", code=REFUSED
                ) from None
            raise RegistryFailed(
                f"The registry {self.host} does not answer this engine: {text}", code=UNAVAILABLE
            ) from None
        except (DockerException, requests.RequestException) as error:
            raise _engine_down(error) from None

    def has(self, client: docker.DockerClient, digest: str) -> bool:
        """Return whether the registry has an image. Raises RegistryFailed."""
        return self.find(client, self.reference(digest)) is not None

    def reference(self, digest: str) -> str:
        """Return the name by which engines pull an image. Raises RegistryFailed for what is not a digest."""
        if not DIGEST.fullmatch(digest):
            raise RegistryFailed(f"{digest[:100]!r} is not the digest of an image.", code=MISSING)
        return f"{self.repository}@{digest}"

    def push(
        self,
        client: docker.DockerClient,
        image: str,
        *,
        still_wanted: Callable[[], None] = lambda: None,
        seconds: float = PUSH_SECONDS,
    ) -> str:
        """Push an image of this engine, under its own tag, and return its digest there. Raises RegistryFailed.

        The image keeps the names that it has. still_wanted: called often; what it raises ends the push.
        """
        tag = image.rpartition(":")[2]
        with engine_errors():
            try:
                client.images.get(image).tag(self.repository, tag)
            except ImageNotFound:
                raise RegistryFailed(f"The image {image} is not on this engine.", code=MISSING) from None
        digest = ""
        try:
            # Not checked before: some registries refuse questions about a path until something was pushed to it.
            events = self._transfer(
                lambda: client.api.push(self.repository, tag, stream=True, decode=True, auth_config=self._login)
            )
            for event in self._followed(client, events, seconds, still_wanted):
                digest = str((event.get("aux") or {}).get("Digest") or digest)
        finally:
            _forget(client, f"{self.repository}:{tag}")
        if not DIGEST.fullmatch(digest):
            raise RegistryFailed(f"The registry {self.host} gave no digest for {image}.", code=FAILED)
        return digest

    def pull(
        self,
        client: docker.DockerClient,
        digest: str,
        *,
        image: str,
        content_id: str,
        still_wanted: Callable[[], None] = lambda: None,
        seconds: float = PULL_SECONDS,
        most_bytes: int = IMAGE_BYTES,
    ) -> None:
        """Pull an image by its digest, from this registry alone, and give it its name on this engine.

        content_id: what the engine that built it calls it. Raises RegistryFailed.
        """
        reference = self.reference(digest)
        self.pull_reference(client, reference, still_wanted=still_wanted, seconds=seconds, most_bytes=most_bytes)
        name, _, tag = image.rpartition(":")
        try:
            with engine_errors():
                try:
                    client.images.get(content_id).tag(name, tag)
                except ImageNotFound:
                    raise RegistryFailed(
                        f"{reference} is not the image that was built ({content_id}).", code=OTHER_IMAGE
                    ) from None
        finally:
            _forget(client, reference)

    def pull_reference(
        self,
        client: docker.DockerClient,
        reference: str,
        *,
        still_wanted: Callable[[], None] = lambda: None,
        seconds: float = PULL_SECONDS,
        most_bytes: int = IMAGE_BYTES,
    ) -> None:
        """Pull HOST/PATH@DIGEST of this registry's host. Raises RegistryFailed."""
        name, _, digest = reference.partition("@")
        if not name.startswith(f"{self.host}/") or not DIGEST.fullmatch(digest):
            raise RegistryFailed(f"{reference} is not a digest in the registry {self.host}.", code=MISSING)
        if self.find(client, reference) is None:
            raise RegistryFailed(f"The registry {self.host} has no image {reference}.", code=MISSING)
        events = self._transfer(
            lambda: client.api.pull(name, digest, stream=True, decode=True, auth_config=self._login)
        )
        layers: dict[str, int] = {}
        for event in self._followed(client, events, seconds, still_wanted):
            count = event.get("progressDetail") or {}
            if event.get("status") == "Downloading":
                layers[str(event.get("id"))] = max(int(count.get("total") or 0), int(count.get("current") or 0))
            if sum(layers.values()) > most_bytes:
                raise _too_large(reference, most_bytes)
        # The engine may leave out news of what comes quickly, and the layers were compressed.
        with engine_errors():
            if int(client.images.get(reference).attrs["Size"]) > most_bytes:
                _forget(client, reference)
                raise _too_large(reference, most_bytes)

    def fetch_pinned(self, client: docker.DockerClient, name: str) -> None:
        """Pull an image that this engine lacks, if its name is a digest of an image in this registry.

        Raises BuilderUnavailable.
        """
        if name.startswith(f"{self.host}/") and DIGEST.fullmatch(name.partition("@")[2]):
            with engine_errors():
                try:
                    client.images.get(name)
                except ImageNotFound:
                    if self.find(client, name) is not None:
                        self.pull_reference(client, name)

    @staticmethod
    def _transfer(begin: Callable[[], Iterable[dict[str, Any]]]) -> Iterable[dict[str, Any]]:
        try:
            return begin()
        except APIError as error:
            raise RegistryFailed(f"The engine refused: {error.explanation or error}", code=FAILED) from None
        except (DockerException, requests.RequestException) as error:
            raise _engine_down(error) from None

    def _followed(
        self,
        client: docker.DockerClient,
        events: Iterable[dict[str, Any]],
        seconds: float,
        still_wanted: Callable[[], None],
    ) -> Iterator[dict[str, Any]]:
        """Yield the events of a transfer; leaving the loop ends the transfer on the engine, too.

        Raises RegistryFailed for the engine's errors, and after `seconds`.
        """
        deadline = time.monotonic() + seconds
        try:
            for event in events:
                still_wanted()
                if time.monotonic() > deadline:
                    raise self._too_slow(seconds)
                if str(event.get("status", "")).startswith("Retrying"):
                    # The engine waits longer each time. A registry that is gone is known at once.
                    self.check(client)
                if error := event.get("error"):
                    raise self._failure(client, str(error))
                yield event
        except (DockerException, requests.RequestException) as error:
            # Where a registry sends too little for any news, the connection to the engine runs into its own limit.
            raise (self._too_slow(seconds) if time.monotonic() > deadline else _engine_down(error)) from None
        finally:
            close = getattr(events, "close", None)
            if close is not None:
                with contextlib.suppress(DockerException, requests.RequestException):
                    close()

    def _too_slow(self, seconds: float) -> RegistryFailed:
        return RegistryFailed(f"The registry {self.host} took more than {seconds:.0f} s for one image.", code=TOO_SLOW)

    def _failure(self, client: docker.DockerClient, text: str) -> BuilderUnavailable:
        """Return the error of a transfer that the engine gave up."""
        if "no space left" in text.lower():
            return BuilderUnavailable(f"The Docker engine refused: {text}", code="disk_full")
        code = FAILED
        try:
            self.check(client)
        except RegistryFailed as trouble:
            code = trouble.code
        return RegistryFailed(f"The registry {self.host} failed: {text}", code=code)


def _too_large(reference: str, most_bytes: int) -> RegistryFailed:
    return RegistryFailed(f"{reference} has more than {most_bytes >> 20} MiB, the limit on a pull.", code=TOO_LARGE)


def _engine_down(error: Exception) -> RegistryFailed:
    return RegistryFailed(f"The Docker engine did not answer while it talked to the registry: {error}", code=FAILED)


def _forget(client: docker.DockerClient, reference: str) -> None:
    """Take a name from an image, which keeps its others."""
    with contextlib.suppress(DockerException, requests.RequestException):
        client.images.remove(reference)
