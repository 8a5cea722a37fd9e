"""Lists and removes what is in a registry, by the registry's own API, because engines can do neither.

https://distribution.github.io/distribution/spec/api/ describes the API and the tokens that some registries ask for.
"""

from __future__ import annotations

import contextlib
import logging
import re
from collections.abc import Callable, Iterator, Mapping
from ipaddress import ip_address, ip_network
from types import TracebackType
from typing import Any
from urllib.parse import urljoin, urlsplit

import docker
import requests
from urllib3.exceptions import HTTPError

from arena_kit.image.leftovers import Needed
from arena_kit.image.registry import DIGEST, FAILED, REFUSED, UNAVAILABLE, Registry, RegistryFailed
from arena_kit.older import Self

logger = logging.getLogger(__name__)

CALL_SECONDS = 30
MOST_REDIRECTS, PIECE_BYTES = 3, 1 << 20
MOST_PAGES = 1000
ACCEPT = ", ".join(
    f"application/vnd.{kind}+json"
    for kind in (
        "docker.distribution.manifest.v2",
        "docker.distribution.manifest.list.v2",
        "oci.image.manifest.v1",
        "oci.image.index.v1",
    )
)
_TAG = re.compile(r"s(\d+)-b(\d+)-[0-9a-f]+")
"""Matches the names that builds give their images: submission, build, and the build's claim token."""
_CHALLENGE = re.compile(r'(\w+)="([^"]*)"')


class Manifests:
    """The manifests of a repository. A context: it holds a connection.

    is_plain: whether the registry speaks HTTP without TLS, see `speaks_plainly`.
    """

    def __init__(self, registry: Registry, *, is_plain: bool) -> None:
        self._registry = registry
        self._root = f"{'http' if is_plain else 'https'}://{registry.host}"
        self._session = requests.Session()
        if registry.user:
            self._session.auth = (registry.user, registry.password)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._session.close()

    def tags(self) -> frozenset[str]:
        """Return all tags of the repository. Raises RegistryFailed."""
        found: set[str] = set()
        address = f"/v2/{self._registry.path}/tags/list"
        for _ in range(MOST_PAGES):
            answer = self._ask("GET", address)
            if answer.status_code == 404:
                break
            try:
                found.update(map(str, answer.json().get("tags") or ()))
            except (ValueError, AttributeError, TypeError):
                raise RegistryFailed(f"{self._root} does not answer as a registry does.", code=FAILED) from None
            following = answer.links.get("next", {}).get("url", "")
            if not following:
                break
            # Only path and query, so that the password never goes to another host.
            parts = urlsplit(urljoin(self._root + address, following))
            address = f"{parts.path}?{parts.query}"
        return frozenset(found)

    def digest(self, tag: str) -> str | None:
        """Return the digest that a tag names; None when it is gone. Raises RegistryFailed."""
        answer = self._ask("HEAD", f"/v2/{self._registry.path}/manifests/{tag}")
        found = answer.headers.get("Docker-Content-Digest", "")
        return found if answer.status_code == 200 and DIGEST.fullmatch(found) else None

    def remove(self, digest: str) -> None:
        """Remove a manifest with its tags; the disk is freed by the registry's own garbage collection.

        Raises RegistryFailed.
        """
        address = f"/v2/{self._registry.path}/manifests/{self._registry.reference(digest).partition('@')[2]}"
        if self._ask("DELETE", address).status_code == 405:
            raise RegistryFailed(
                f"The registry {self._registry.host} does not let anything be removed: allow it "
                "(REGISTRY_STORAGE_DELETE_ENABLED=true).",
                code=REFUSED,
            )

    def read(self, digest: str, kind: str) -> Iterator[bytes] | None:
        """Return the content of a digest in pieces; None when the registry does not have it. Raises RegistryFailed.

        kind: manifests or blobs. Registries may send to another host for a blob, which then gets no password.
        """
        answer = self._ask("GET", f"/v2/{self._registry.path}/{kind}/{digest}", streams=True)
        for _ in range(MOST_REDIRECTS):
            if answer.status_code not in (301, 302, 303, 307, 308):
                break
            address = urljoin(answer.url, answer.headers.get("Location", ""))
            answer.close()
            if urlsplit(address).scheme != "https" and not address.startswith(f"{self._root}/"):
                break
            try:
                # Not the session: its password is for the registry alone.
                answer = requests.get(address, stream=True, timeout=CALL_SECONDS, allow_redirects=False)
            except (requests.RequestException, ValueError) as error:
                raise self._silent(error) from None
        if answer.status_code == 404:
            answer.close()
            return None
        if answer.status_code != 200:
            answer.close()
            raise RegistryFailed(f"The registry {self._registry.host} answers {answer.status_code}.", code=FAILED)
        return self._pieces(answer)

    def _pieces(self, answer: requests.Response) -> Iterator[bytes]:
        try:
            # Raw, because a layer is compressed itself and must stay so.
            while piece := answer.raw.read(PIECE_BYTES):
                yield piece
        except (OSError, HTTPError) as error:
            raise self._silent(error) from None
        finally:
            answer.close()

    def _silent(self, error: Exception) -> RegistryFailed:
        return RegistryFailed(f"The registry {self._registry.host} does not answer: {error}", code=UNAVAILABLE)

    def _ask(self, method: str, address: str, *, streams: bool = False) -> requests.Response:
        """Return an answer of the registry: success, 404 or 405, or a redirect of a stream. Raises RegistryFailed."""
        try:
            answer = self._send(method, address, streams=streams)
            if answer.status_code == 401 and answer.headers.get("WWW-Authenticate", "").lower().startswith("bearer"):
                token = self._token(answer.headers["WWW-Authenticate"])
                answer.close()
                answer = self._send(method, address, auth=_Bearer(token), streams=streams)
        except (requests.RequestException, ValueError) as error:
            raise self._silent(error) from None
        if answer.status_code in (401, 403):
            raise RegistryFailed(
                f"The registry {self._registry.host} refuses the user or the password of the settings.", code=REFUSED
            )
        if streams and answer.is_redirect:
            return answer
        # Redirects are not followed, so that the password stays here.
        if not 200 <= answer.status_code < 300 and answer.status_code not in (404, 405):
            raise RegistryFailed(f"The registry {self._registry.host} answers {answer.status_code}.", code=FAILED)
        return answer

    def _send(self, method: str, address: str, auth: Any = None, *, streams: bool = False) -> requests.Response:
        return self._session.request(
            method,
            self._root + address,
            headers={"Accept": ACCEPT},
            timeout=CALL_SECONDS,
            allow_redirects=False,
            auth=auth,
            stream=streams,
        )

    def _token(self, challenge: str) -> str:
        """Return a token from the server that the registry names. Raises ValueError."""
        wanted = dict(_CHALLENGE.findall(challenge))
        realm = wanted.pop("realm", "")
        # The password goes nowhere unencrypted, except to a registry that has no TLS itself.
        if urlsplit(realm).scheme != "https" and not realm.startswith(f"{self._root}/"):
            raise ValueError("it wants the password to be sent without TLS")
        answer = self._session.get(realm, params=wanted, timeout=CALL_SECONDS, allow_redirects=False)
        if answer.status_code in (401, 403):
            return ""
        told = answer.json()
        return str(told.get("token") or told.get("access_token") or "")


class _Bearer(requests.auth.AuthBase):
    def __init__(self, token: str) -> None:
        self._token = token

    def __call__(self, request: requests.PreparedRequest) -> requests.PreparedRequest:
        request.headers["Authorization"] = f"Bearer {self._token}"
        return request


def speaks_plainly(info: Mapping[str, Any], host: str) -> bool:
    """Return whether an engine talks to a registry without TLS, according to its own `info`. host: HOST[:PORT]."""
    config = info.get("RegistryConfig") or {}
    known = (config.get("IndexConfigs") or {}).get(host)
    if known is not None:
        return not known.get("Secure", True)
    name = host.rpartition(":")[0] if re.search(r":\d+$", host) else host
    with contextlib.suppress(ValueError):
        address = ip_address("127.0.0.1" if name == "localhost" else name)
        return any(address in ip_network(network) for network in config.get("InsecureRegistryCIDRs") or ())
    return False


def registry_tags(client: docker.DockerClient, registry: Registry) -> frozenset[str]:
    """Return all tags in a registry. Raises RegistryFailed."""
    with Manifests(registry, is_plain=speaks_plainly(client.info(), registry.host)) as manifests:
        return manifests.tags()


def sweep_registry(client: docker.DockerClient, registry: Registry, needed: Callable[[], Needed]) -> int:
    """Remove the manifests of builds that no row needs; return how many. Raises RegistryFailed.

    Of builds that the rows do not know nothing is removed: they belong to another arena, or to a database of which
    this one is an older copy. needed: called after the tags are listed.
    """
    with Manifests(registry, is_plain=speaks_plainly(client.info(), registry.host)) as manifests:
        listed = manifests.tags()
        rows = needed()
        kept = {image.rpartition(":")[2] for image in rows.images}
        count = 0
        for tag in sorted(listed - kept):
            name = _TAG.fullmatch(tag)
            if name is None or int(name[2]) > rows.last_build or rows.spares(name[1], name[2]):
                continue
            if (digest := manifests.digest(tag)) is not None:
                manifests.remove(digest)
                logger.info("%s:%s was removed from the registry.", registry.repository, tag)
                count += 1
        return count
