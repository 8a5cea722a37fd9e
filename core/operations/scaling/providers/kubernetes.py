"""Pods of a Deployment of workers on Kubernetes: the arena sets their number, the cluster makes them."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any, ClassVar, Self

from core.errors import Refused
from core.operations.scaling.providers import ProviderFailed, needed

SECONDS = 20.0
COST = "controller.kubernetes.io/pod-deletion-cost"
"""The cluster removes the pod with the lower number first."""


class KubernetesProvider:
    """Scales one Deployment. A host is a pod, and its name that of the pod, which the cluster chooses."""

    youngest_minutes: ClassVar[float] = 0
    oldest_minutes: ClassVar[float] = 0
    names_hosts: ClassVar[bool] = True

    def __init__(self, apps: Any, core: Any, *, namespace: str, deployment: str) -> None:
        self._apps, self._core = apps, core
        self._where = {"name": deployment, "namespace": namespace}
        self._namespace = namespace

    @classmethod
    def of(cls, options: Mapping[str, Any]) -> Self:
        needed(options, "deployment", "namespace")
        try:
            # An extra. Its types do not allow for what is plain data here.
            kubernetes: Any = import_module("kubernetes")
        except ImportError:
            raise Refused(
                "SCALING with provider=kubernetes needs the package kubernetes: pip install 'arena-kit[kubernetes]'.",
                code="incomplete",
            ) from None
        try:
            # In a pod its account, else what the variable KUBECONFIG or the user's folder names.
            kubernetes.config.load_config()
        except kubernetes.config.ConfigException as error:
            raise Refused(f"The cluster cannot be reached: {error}", code="incomplete") from None
        return cls(
            kubernetes.client.AppsV1Api(),
            kubernetes.client.CoreV1Api(),
            namespace=options["namespace"],
            deployment=options["deployment"],
        )

    def hosts(self) -> list[str]:
        return sorted(pod.metadata.name for pod in self._pods())

    def nameless(self) -> int:
        """The pods that the Deployment is to have and the cluster has not made, e.g. because of a quota."""
        scale = self._ask(self._apps.read_namespaced_deployment_scale, **self._where)
        return max(0, (scale.spec.replicas or 0) - len(self._live()))

    def create(self, name: str) -> None:
        self._scale(1)

    def destroy(self, name: str) -> None:
        live = self._live()
        if name not in {pod.metadata.name for pod in live}:
            return
        mark = {"metadata": {"annotations": {COST: "-1000"}}}
        self._ask(self._core.patch_namespaced_pod, name=name, namespace=self._namespace, body=mark)
        scale = self._ask(self._apps.read_namespaced_deployment_scale, **self._where)
        # If fewer are asked for than live, one is on its way out already; the next look asks for this one again.
        if (scale.spec.replicas or 0) >= len(live):
            self._scale(-1)

    def close(self) -> None:
        pass

    def _pods(self) -> list[Any]:
        deployment = self._ask(self._apps.read_namespaced_deployment, **self._where)
        labels = deployment.spec.selector.match_labels or {}
        selector = ",".join(f"{name}={value}" for name, value in sorted(labels.items()))
        pods = self._ask(self._core.list_namespaced_pod, namespace=self._namespace, label_selector=selector)
        return [pod for pod in pods.items if pod.status.phase not in ("Succeeded", "Failed")]

    def _live(self) -> list[Any]:
        return [pod for pod in self._pods() if pod.metadata.deletion_timestamp is None]

    def _scale(self, more: int) -> None:
        scale = self._ask(self._apps.read_namespaced_deployment_scale, **self._where)
        replicas = max(0, (scale.spec.replicas or 0) + more)
        # The version makes it a compare-and-set: a change by another program is not overwritten.
        body = {"metadata": {"resourceVersion": scale.metadata.resource_version}, "spec": {"replicas": replicas}}
        self._ask(self._apps.patch_namespaced_deployment_scale, **self._where, body=body)

    def _ask(self, call: Any, **arguments: Any) -> Any:
        try:
            return call(**arguments, _request_timeout=SECONDS)
        # The client raises its own errors and those of urllib3.
        except Exception as error:
            status = getattr(error, "status", None)
            said = f"answers {status} {getattr(error, 'reason', '')}" if status else f"fails: {type(error).__name__}"
            raise ProviderFailed(f"The cluster {said} ({call.__name__}).") from error
