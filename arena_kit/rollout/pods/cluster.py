"""The calls that worlds make to a cluster's API beyond those of lots: commands in pods, and logs of all containers."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from typing import Any
from urllib.parse import urlencode

from arena_kit.cluster.answers import body_of, message_of
from arena_kit.cluster.client import (
    BAD_REQUEST,
    CALL_SECONDS,
    LOG_SECONDS,
    NEEDED_RIGHTS,
    NOT_FOUND,
    ApiCluster,
    Plain,
    Right,
)
from arena_kit.cluster.manifest import Site
from arena_kit.errors import PlatformFault
from arena_kit.rollout.pods.streams import Stream
from arena_kit.sandbox.base import SandboxError

WORLD_RIGHTS = (
    # Of what a driver of lots does, worlds do not watch.
    *(right for right in NEEDED_RIGHTS if right.verb != "watch"),
    # Clusters ask for the one or the other, by their version.
    Right("get", "pods", subresource="exec"),
    Right("create", "pods", subresource="exec"),
)
"""What a worker does that plays rollouts in pods."""
WORLD = "arena/world"
"""The label with the token of a world."""
LOG_LINES, LOG_BYTES = 500, 256 << 10
PROTOCOL = "v4.channel.k8s.io"
SECURE = "https://"


class WorldCluster(ApiCluster):
    """A cluster, for worlds. Raises SandboxUnavailable when the API does not answer well."""

    def __init__(self, site: Site, *, kubeconfig: str = "") -> None:
        super().__init__(site, kubeconfig=kubeconfig)
        self._websocket: Any = import_module("websocket")
        self._proxied: Any = import_module("kubernetes.stream.ws_client").websocket_proxycare
        self._lost = (*self._errors, self._websocket.WebSocketException, OSError, ValueError)

    def check(self) -> None:
        """Raise SandboxError unless the cluster answers and this account has the rights that worlds need."""
        if missing := [str(right) for right in WORLD_RIGHTS if not self.may(right)]:
            sentence = f"This account may not {', '.join(missing)} in the namespace {self._namespace}."
            raise SandboxError(f"{sentence} See deploy/kubernetes/worlds/rights.yaml.", code="rights_missing")

    def pods_of(self, token: str) -> list[Plain]:
        """Return the pods of a world; one at most, unless the cluster is at fault."""
        return self._list(self._core.list_namespaced_pod, label_selector=f"{self._selector},{WORLD}={token}")

    def job(self, name: str) -> Plain:
        """Return a Job; empty if there is none of this name."""
        found = self._list(self._batch.list_namespaced_job, field_selector=f"metadata.name={name}")
        return found[0] if found else {}

    def remove(self, name: str) -> None:
        """Delete a Job and its pods in the background, unless it is gone."""
        if job := self.job(name):
            self.delete(name, job["metadata"]["uid"])

    def log_of(self, pod: str, container: str) -> bytes:
        """Return the end of what a container has printed; nothing if it is gone."""
        try:
            response = self._core.read_namespaced_pod_log(
                pod, self._namespace, container=container, tail_lines=LOG_LINES, limit_bytes=LOG_BYTES,
                _preload_content=False, _request_timeout=LOG_SECONDS,
            )  # fmt: skip
            return body_of(response, LOG_SECONDS)
        except self._errors as error:
            if getattr(error, "status", None) in (NOT_FOUND, BAD_REQUEST):
                return b""
            raise self._unavailable(error) from None

    def execute(self, pod: str, container: str, command: Sequence[str], *, has_input: bool = False) -> Stream:
        """Start a command in a container; return its connection. Raises PlatformFault."""
        configuration = self._client.configuration
        asked = [("container", container), ("stdout", "true"), ("stderr", "true"), ("stdin", str(has_input).lower())]
        path = f"/api/v1/namespaces/{self._namespace}/pods/{pod}/exec"
        address = f"{configuration.host}{path}?{urlencode([*asked, *(('command', each) for each in command)])}"
        headers: dict[str, str] = {}
        self._client.update_params_for_auth(headers, [], ["BearerToken"], path, "GET", None)
        options = {
            "header": [f"{name}: {value}" for name, value in headers.items()],
            "subprotocols": [PROTOCOL], "timeout": CALL_SECONDS, "suppress_origin": True,
        }  # fmt: skip
        if configuration.proxy:
            options = self._proxied(options, configuration, address, headers)
        connection = self._websocket.WebSocket(sslopt=_tls(configuration), skip_utf8_validation=True)
        try:
            connection.connect(address.replace("http", "ws", 1), **options)
        except self._websocket.WebSocketBadStatusException as error:
            why = message_of((error.resp_body or b"").decode(errors="replace"))
            sentence = f"The cluster runs no command in the container {container}: {why}"
            raise PlatformFault(sentence, code="world_lost") from None
        except self._lost as error:
            raise PlatformFault(str(self._unavailable(error)), code="cluster_unavailable") from None
        return Stream(connection, self._lost, self._websocket.WebSocketTimeoutException)


def _tls(configuration: Any) -> dict[str, Any]:
    """Return the options of a connection's encryption, as the client's configuration has them."""
    ssl: Any = import_module("ssl")
    if not configuration.verify_ssl:
        options: dict[str, Any] = {"cert_reqs": ssl.CERT_NONE, "check_hostname": False}
    else:
        options = {"cert_reqs": ssl.CERT_REQUIRED}
        if configuration.ssl_ca_cert:
            options["ca_certs"] = configuration.ssl_ca_cert
        if configuration.assert_hostname is not None:
            options["check_hostname"] = configuration.assert_hostname
    given = {
        "certfile": configuration.cert_file, "keyfile": configuration.key_file,
        "server_hostname": configuration.tls_server_name,
    }  # fmt: skip
    return {**options, **{name: value for name, value in given.items() if value}}
