"""A real cluster of Debian's packages, made by `kube-up`, with the arena's own deployment files in it."""

from __future__ import annotations

import base64
import json
import os
import shutil
import signal
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import yaml

from arena_kit.image.registry import Registry
from tests.machine import CLUSTER_CACHE as CACHE

TOOL = Path(__file__).with_name("kube-up")
FILES = Path(__file__).parents[2] / "deploy" / "kubernetes"
NAMESPACE, WORLDS, SITE_NAMESPACE = "arena-players", "arena-worlds", "arena"
PORTS = 5
COMMAND_SECONDS = 300.0
LATE_TIMES = 5


class RealCluster:
    """A cluster with two nodes whose pods reach nothing, and a pretended one, on which nothing is ever scheduled.

    With KUBE_DIR it is the cluster there, which is left running: for work on these tests.
    """

    def __init__(self) -> None:
        # Sockets of a node have short paths.
        self.folder = Path(tempfile.mkdtemp(prefix="arena-kube-"))
        self.kubeconfig, self.worlds_kubeconfig = self.folder / "driver", self.folder / "worlds"
        own = os.environ.get("KUBE_DIR", "")
        self._state = Path(own or self.folder / "k")
        self._is_kept = bool(own)
        self._variables = {
            **os.environ, "KUBE_CACHE": str(CACHE), "KUBE_DIR": str(self._state), "KUBE_NODES": "2",
            "KUBE_HOLLOW": "1", "KUBE_NET": "isolated", "KUBE_NICE": "0",
            **({} if own else {"KUBE_PORT": str(_free_ports())}),
        }  # fmt: skip

    def up(self) -> None:
        """Start what does not run."""
        self._tool("up")

    def close(self) -> None:
        if not self._is_kept:
            self._tool("down")
        shutil.rmtree(self.folder)

    def node(self, number: int, *what: str) -> None:
        """what: stop (as if its power failed), start, freeze (its kubelet), thaw, restart (its kubelet), ctr ..."""
        self._tool("node", str(number), *what)

    def nodes(self) -> list[str]:
        """Names of the real nodes, by number."""
        port = int((self._state / "port").read_text())
        return [f"127.{port >> 8}.{port & 255}.{number}" for number in (1, 2)]

    @contextmanager
    def api_away(self) -> Iterator[None]:
        """The API server answers nothing meanwhile."""
        pid = int((self._state / "pids" / "apiserver").read_text().split()[0])
        os.kill(pid, signal.SIGSTOP)
        try:
            yield
        finally:
            os.kill(pid, signal.SIGCONT)

    def kubectl(self, *arguments: str, text: str | None = None) -> str:
        ended = self._kubectl(*arguments, text=text)
        assert ended.returncode == 0, ended.stderr
        return ended.stdout

    def _kubectl(self, *arguments: str, text: str | None = None) -> subprocess.CompletedProcess[str]:
        command = [str(CACHE / "bin" / "kubectl"), "--kubeconfig", str(self._state / "kubeconfig"), *arguments]
        return subprocess.run(command, input=text, capture_output=True, text=True, timeout=COMMAND_SECONDS, check=False)

    def load(self, image: str) -> None:
        """Copy an image of the local engine to every node."""
        self._tool("load", image)

    def listed(self, kind: str, namespace: str = NAMESPACE) -> list[dict[str, Any]]:
        """Objects of a namespace. On a busy machine the API server is late now and then."""
        for _ in range(LATE_TIMES):
            ended = self._kubectl("-n", namespace, "get", kind, "-o", "json")
            if ended.returncode == 0 or "(Timeout)" not in ended.stderr:
                break
        assert ended.returncode == 0, ended.stderr
        found: list[dict[str, Any]] = json.loads(ended.stdout)["items"]
        return found

    def apply(self, *objects: dict[str, Any]) -> None:
        self.kubectl("apply", "-f", "-", text=json.dumps({"apiVersion": "v1", "kind": "List", "items": objects}))

    def apply_players(self) -> None:
        """Apply the deployment files of the players' namespace."""
        self.kubectl("apply", "-k", str(FILES / "players"))

    def apply_worlds(self) -> None:
        """Apply the deployment files of the namespace of worlds."""
        self.kubectl("apply", "-k", str(FILES / "worlds"))

    def set_up(self, registry: Registry) -> None:
        """Apply the deployment files, let the nodes reach the registry, and write the driver's own kubeconfig."""
        for number in (1, 2):
            folder = self._state / f"node{number}" / "certs.d" / registry.host
            folder.mkdir(parents=True, exist_ok=True)
            server = f"http://{registry.host}"
            (folder / "hosts.toml").write_text(f'server = "{server}"\n[host."{server}"]\n')
        for name in (SITE_NAMESPACE, NAMESPACE, WORLDS):
            self.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
        self.apply_players()
        self.apply_worlds()
        self.apply(*(_pull_secret(registry, namespace) for namespace in (NAMESPACE, WORLDS)))
        for account, file in (("arena-driver", self.kubeconfig), ("arena-worlds", self.worlds_kubeconfig)):
            self.apply(_account(account, SITE_NAMESPACE))
            file.write_text(yaml.safe_dump(self._config(self._token(account))))

    def _token(self, account: str) -> str:
        path = f"/api/v1/namespaces/{SITE_NAMESPACE}/serviceaccounts/{account}/token"
        asked = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}}
        answer = self.kubectl("create", "--raw", path, "-f", "-", text=json.dumps(asked))
        return str(json.loads(answer)["status"]["token"])

    def _config(self, token: str) -> dict[str, Any]:
        config: dict[str, Any] = yaml.safe_load((self._state / "kubeconfig").read_text())
        user = config["users"][0]["name"]
        config["users"] = [{"name": user, "user": {"token": token}}]
        return config

    def _tool(self, *arguments: str) -> None:
        ended = subprocess.run(
            [str(TOOL), *arguments], env=self._variables, capture_output=True, text=True, timeout=COMMAND_SECONDS,
            check=False,
        )  # fmt: skip
        assert ended.returncode == 0, ended.stderr


def _account(name: str, namespace: str) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": name, "namespace": namespace}}


def _pull_secret(registry: Registry, namespace: str) -> dict[str, Any]:
    login = base64.b64encode(f"{registry.user}:{registry.password}".encode()).decode()
    text = json.dumps({"auths": {registry.host: {"auth": login}}})
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "type": "kubernetes.io/dockerconfigjson",
        "metadata": {"name": "registry", "namespace": namespace},
        "data": {".dockerconfigjson": base64.b64encode(text.encode()).decode()},
    }


def _free_ports() -> int:
    """The first of some ports of which none is taken."""
    for first in range(20_443 + os.getpid() % 1000 * 8, 40_000, 8):
        with socket.socket() as probe:
            if all(probe.connect_ex(("127.0.0.1", first + number)) for number in range(PORTS)):
                return first
    raise AssertionError("There are no free ports.")
