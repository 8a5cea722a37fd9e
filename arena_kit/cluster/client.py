"""The calls that the arena makes to a cluster's API, each with a time-out, as plain data.

A watch only says that something has changed; what there is, is listed.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from importlib import import_module
from math import ceil
from typing import Any

from arena_kit.cluster.manifest import TENANT, Tenant
from arena_kit.cluster.replies import PIECE_BYTES, body_of, dropped_of, message_of, reason_of, silence_of
from arena_kit.cluster.rights import LOT_RIGHTS, Right
from arena_kit.cluster.status import REFEREE
from arena_kit.cluster.streams import Stream, opened
from arena_kit.sandbox.base import SandboxError, SandboxUnavailable

LIST_SECONDS = 10.0
CALL_SECONDS = 10.0
LOG_SECONDS = 20.0
PROGRESS_SECONDS = 3.0
WATCH_SECONDS = 60
"""How long one watch lasts. The API may end it earlier."""
PAGE, MOST_PAGES = 500, 200
LOG_LINES, LOG_BYTES = 500, 256 << 10
BAD_REQUEST, FORBIDDEN, NOT_FOUND, CONFLICT, UNPROCESSABLE = 400, 403, 404, 409, 422
Plain = dict[str, Any]


class JobRefused(SandboxError):
    """The cluster refuses a Job, and would refuse the same one again."""


class ApiCluster:
    """A cluster by the official client, from within (a service account) or by a kubeconfig file."""

    def __init__(self, tenant: Tenant, *, kubeconfig: str = "") -> None:
        """Raises SandboxUnavailable when the package or the configuration is missing.

        kubeconfig: a file, by default the one that the variable KUBECONFIG names, as for kubectl.
        """
        kubeconfig = kubeconfig or os.environ.get("KUBECONFIG", "")
        try:
            # An extra. Objects are plain data here, which its types do not allow for.
            kubernetes: Any = import_module("kubernetes")
            # What it raises itself when the API does not answer at all.
            transport: Any = import_module("urllib3.exceptions")
        except ImportError:
            raise SandboxUnavailable(
                "SANDBOX=kubernetes needs the package kubernetes: pip install 'arena-kit[kubernetes]'.",
                code="sandbox_unavailable",
            ) from None
        self._errors = (
            kubernetes.client.ApiException,
            kubernetes.config.ConfigException,
            transport.HTTPError,
            OSError,
        )
        configuration = kubernetes.client.Configuration()
        try:
            if kubeconfig:
                kubernetes.config.load_kube_config(kubeconfig, client_configuration=configuration)
            else:
                kubernetes.config.load_incluster_config(configuration)
        except self._errors as error:
            raise SandboxUnavailable(f"The cluster cannot be reached: {error}.", code="cluster_unavailable") from None
        configuration.retries = False
        self._kubernetes = kubernetes.client
        self._client = kubernetes.client.ApiClient(configuration)
        self._batch = kubernetes.client.BatchV1Api(self._client)
        self._core = kubernetes.client.CoreV1Api(self._client)
        self._namespace, self._selector = tenant.namespace, f"{TENANT}={tenant.id}"

    def version(self) -> str:
        """Return the cluster's version, such as v1.34.1. Raises SandboxUnavailable."""
        try:
            return str(self._kubernetes.VersionApi(self._client).get_code(_request_timeout=CALL_SECONDS).git_version)
        except (*self._errors, ValueError) as error:
            raise self._unavailable(error) from None

    def may(self, right: Right) -> bool:
        """Return whether this account has a right. Raises SandboxUnavailable."""
        attributes = {
            "verb": right.verb,
            "group": right.group,
            "resource": right.resource,
            "subresource": right.subresource,
            "namespace": self._namespace if right.namespace is None else right.namespace,
        }
        api, review = self._kubernetes.AuthorizationV1Api(self._client), {"spec": {"resourceAttributes": attributes}}
        try:
            answer = api.create_self_subject_access_review(review, _request_timeout=CALL_SECONDS)
        except (*self._errors, ValueError) as error:
            raise self._unavailable(error) from None
        return bool(answer.status.allowed)

    def check(self) -> None:
        """Raise SandboxError unless the cluster answers and this account has the rights that a driver of lots needs."""
        if missing := [str(right) for right in LOT_RIGHTS if not self.may(right)]:
            sentence = f"This account may not {', '.join(missing)} in the namespace {self._namespace}."
            raise SandboxError(f"{sentence} See deploy/kubernetes/players/rights.yaml.", code="rights_missing")

    def jobs(self) -> list[Plain]:
        return self._list(self._batch.list_namespaced_job, label_selector=self._selector)

    def job(self, name: str) -> Plain:
        """Return the Job of this name; empty if it does not exist."""
        found = self._list(self._batch.list_namespaced_job, field_selector=f"metadata.name={name}")
        return found[0] if found else {}

    def pods(self, *labels: str) -> list[Plain]:
        """Return the pods of this arena's Jobs that have these labels too."""
        return self._list(self._core.list_namespaced_pod, label_selector=",".join([self._selector, *labels]))

    def changes(self) -> Iterator[None]:
        """Yield when pods of this arena change, also once for those that are there, until the watch ends.

        Raises SandboxUnavailable.
        """
        try:
            response = self._core.list_namespaced_pod(
                self._namespace,
                label_selector=self._selector,
                watch=True,
                timeout_seconds=ceil(WATCH_SECONDS),
                _preload_content=False,
                _request_timeout=(CALL_SECONDS, WATCH_SECONDS + CALL_SECONDS),
            )
            for piece in response.stream(PIECE_BYTES):
                if piece:
                    yield
        except self._errors as error:
            raise self._unavailable(error) from None

    def events(self, name: str) -> list[Plain]:
        return self._list(self._core.list_namespaced_event, field_selector=f"involvedObject.name={name}")

    def log(self, pod: str, *, last: int | None = None) -> list[str] | None:
        seconds, limits = (LOG_SECONDS, {}) if last is None else (PROGRESS_SECONDS, {"tail_lines": last})
        found = self._log(pod, REFEREE, seconds, **limits)
        return None if found is None else found.decode("ascii", "replace").splitlines()

    def log_end(self, pod: str, container: str) -> bytes:
        """Return the end of what a container has printed; nothing if it is gone."""
        return self._log(pod, container, LOG_SECONDS, tail_lines=LOG_LINES, limit_bytes=LOG_BYTES) or b""

    def execute(self, pod: str, container: str, command: Sequence[str], *, has_input: bool = False) -> Stream:
        """Start a command in a container; return its connection. Raises PlatformFault."""
        path = f"/api/v1/namespaces/{self._namespace}/pods/{pod}/exec"
        return opened(self._client, path, container, command, has_input=has_input)

    def _log(self, pod: str, container: str, seconds: float, **limits: int) -> bytes | None:
        """Return what a container has printed; None when it is gone."""
        try:
            response = self._core.read_namespaced_pod_log(
                pod, self._namespace, container=container, _preload_content=False, _request_timeout=seconds, **limits
            )
            return body_of(response, seconds)
        except self._errors as error:
            if getattr(error, "status", None) in (NOT_FOUND, BAD_REQUEST):
                return None
            raise self._unavailable(error) from None

    def create(self, manifest: Mapping[str, Any]) -> None:
        try:
            response = self._batch.create_namespaced_job(
                self._namespace, manifest, _preload_content=False, _request_timeout=CALL_SECONDS
            )
        except self._errors as error:
            status = getattr(error, "status", None)
            if status == CONFLICT and reason_of(getattr(error, "body", "")) == "AlreadyExists":
                return
            if status in (FORBIDDEN, UNPROCESSABLE):
                sentence = message_of(getattr(error, "body", ""))
                code = "no_capacity" if "exceeded quota" in sentence else "pod_refused"
                raise JobRefused(f"The cluster refuses the Job: {sentence}", code=code) from None
            raise self._unavailable(error) from None
        except ValueError as error:
            # The client looks at types before it sends anything.
            sentence = " ".join(str(error).split())[:300]
            raise JobRefused(f"The cluster's client refuses the Job: {sentence}", code="pod_refused") from None
        made = self._read(response, CALL_SECONDS)
        if dropped := dropped_of(manifest, made):
            with suppress(SandboxUnavailable, KeyError):
                self.delete(made["metadata"]["name"], made["metadata"]["uid"])
            sentence = f"This cluster is too old: it drops {', '.join(dropped)} of a Job, which the settings ask for."
            raise JobRefused(sentence, code="pod_refused")

    def remove(self, name: str) -> None:
        """Delete a Job and its pods in the background, unless it is gone."""
        if job := self.job(name):
            self.delete(name, job["metadata"]["uid"])

    def delete(self, name: str, uid: str) -> None:
        options = {"propagationPolicy": "Background", "preconditions": {"uid": uid}}
        try:
            response = self._batch.delete_namespaced_job(
                name, self._namespace, body=options, _preload_content=False, _request_timeout=CALL_SECONDS
            )
            body_of(response, CALL_SECONDS)
        except self._errors as error:
            if getattr(error, "status", None) not in (NOT_FOUND, CONFLICT):
                raise self._unavailable(error) from None

    def _list(self, call: Any, **selectors: str) -> list[Plain]:
        """Return all pages of a list as plain data."""
        found: list[Plain] = []
        following: str | None = None
        for _ in range(MOST_PAGES):
            try:
                response = call(
                    self._namespace,
                    limit=PAGE,
                    _preload_content=False,
                    _request_timeout=LIST_SECONDS,
                    **selectors,
                    **({"_continue": following} if following else {}),
                )
                page = self._read(response, LIST_SECONDS)
                # What is no object of Kubernetes would stop the driver later.
                found += [one for one in page.get("items") or [] if one["metadata"]["name"]]
                following = (page.get("metadata") or {}).get("continue")
            except (*self._errors, TypeError, AttributeError, KeyError) as error:
                raise self._unavailable(error) from None
            if not following:
                return found
        raise self._unavailable(OverflowError())

    def _read(self, response: Any, seconds: float) -> Plain:
        """Return an answer as plain data. Raises SandboxUnavailable for what is not an object."""
        try:
            answer = json.loads(body_of(response, seconds))
        except (*self._errors, ValueError) as error:
            raise self._unavailable(error) from None
        if not isinstance(answer, dict):
            raise self._unavailable(TypeError())
        return answer

    def _unavailable(self, error: BaseException) -> SandboxUnavailable:
        return SandboxUnavailable(silence_of(error), code="cluster_unavailable")
