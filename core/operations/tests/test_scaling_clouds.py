"""The providers that speak HTTP, against doubles: small servers that keep droplets or pods and answer as those APIs do.

They are written from the published descriptions of the APIs, and no real account has been asked.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, ClassVar
from urllib.parse import parse_qs, urlsplit

import pytest

from core.errors import Refused
from core.models import JobState, WorkerHost
from core.operations.scaling.decision import Policy
from core.operations.scaling.providers import ProviderFailed
from core.operations.scaling.providers.digitalocean import DigitalOceanProvider
from core.operations.scaling.providers.kubernetes import COST, KubernetesProvider
from core.operations.scaling.scaler import Scaler
from core.tests import factories

OPTIONS = {
    "provider": "digitalocean", "region": "fra1", "size": "c-4", "image": "debian-13-x64", "ssh_keys": ["17", "aa:bb"],
    "tag": "arena-worker", "token": "secret", "vpc_uuid": "5a4981aa-9653-4bd1-bef5-d6bff52042e4",
}  # fmt: skip


class Answering(BaseHTTPRequestHandler):
    """Answers with JSON."""

    def log_request(self, code: int | str = "-", size: int | str = "-") -> None:
        pass

    def body(self) -> Any:
        return json.loads(self.rfile.read(int(self.headers.get("Content-Length", "0"))) or b"null")

    def answer(self, status: int, what: object = None) -> None:
        content = b"" if what is None else json.dumps(what).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)


@contextmanager
def served(handler: type[BaseHTTPRequestHandler]) -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join(timeout=10)


@pytest.fixture
def droplets(tmp_path: Path) -> Iterator[tuple[DigitalOceanProvider, type[Any]]]:
    class Droplets(Answering):
        rows: ClassVar[list[dict[str, Any]]] = []
        fail: ClassVar[list[int]] = []

        def refused(self) -> bool:
            if self.fail:
                self.answer(self.fail.pop(0), {"id": "too_many_requests", "message": "API Rate limit exceeded."})
                return True
            if self.headers["Authorization"] != "Bearer secret":
                self.answer(401, {"id": "Unauthorized", "message": "Unable to authenticate you"})
                return True
            return False

        def do_GET(self) -> None:
            if self.refused():
                return
            query = {name: values[0] for name, values in parse_qs(urlsplit(self.path).query).items()}
            rows = [row for row in self.rows if query["tag_name"] in row["tags"]]
            page, size = int(query["page"]), 2
            pages = {"next": "https://api.example/next"} if page * size < len(rows) else {}
            shown = rows[(page - 1) * size : page * size]
            self.answer(200, {"droplets": shown, "links": {"pages": pages}, "meta": {"total": len(rows)}})

        def do_POST(self) -> None:
            if self.refused():
                return
            row = {**self.body(), "id": len(self.rows) + 1, "status": "new"}
            self.rows.append(row)
            self.answer(202, {"droplet": row})

        def do_DELETE(self) -> None:
            if self.refused():
                return
            number = int(self.path.rpartition("/")[2])
            found = [row for row in self.rows if row["id"] == number]
            for row in found:
                self.rows.remove(row)
            self.answer(*(204,) if found else (404, {"id": "not_found", "message": "Not found."}))

    user_data = tmp_path / "worker.yml"
    user_data.write_text("#cloud-config\n")
    with served(Droplets) as address:
        provider = DigitalOceanProvider.of({**OPTIONS, "user_data": str(user_data)})
        provider.address = address
        yield provider, Droplets


def test_a_droplet_is_created_with_its_tag_found_and_removed(
    droplets: tuple[DigitalOceanProvider, type[Any]],
) -> None:
    provider, api = droplets
    api.rows.append({"id": 99, "name": "database", "tags": []})
    for name in "abc":
        provider.create(name)
    assert provider.hosts() == ["a", "b", "c"], "all pages are read, and only what has the tag"
    about = api.rows[1]
    assert (about["region"], about["size"], about["ssh_keys"], about["user_data"]) == (
        "fra1", "c-4", [17, "aa:bb"], "#cloud-config\n",
    )  # fmt: skip
    assert about["vpc_uuid"] == OPTIONS["vpc_uuid"]
    # A name that two droplets have goes as a whole, and a droplet that is gone already is no failure.
    provider.create("b")
    provider.destroy("b")
    provider.destroy("b")
    assert provider.hosts() == ["a", "c"]
    assert api.rows[0]["name"] == "database"


def test_a_cloud_that_refuses_or_is_away_is_a_sentence_without_the_token(
    droplets: tuple[DigitalOceanProvider, type[Any]],
) -> None:
    provider, api = droplets
    for status in (429, 500):
        api.fail[:] = [status]
        with pytest.raises(ProviderFailed, match=f"refuses POST with {status}: API Rate limit exceeded"):
            provider.create("a")
    provider.token = "wrong"
    with pytest.raises(ProviderFailed, match="401: Unable to authenticate you"):
        provider.hosts()
    provider.address = "http://127.0.0.1:9"
    with pytest.raises(ProviderFailed, match="does not answer") as error:
        provider.hosts()
    assert "wrong" not in str(error.value)


def test_droplets_need_a_token_and_user_data(tmp_path: Path) -> None:
    with pytest.raises(Refused, match="user_data cannot be read"):
        DigitalOceanProvider.of({**OPTIONS, "user_data": str(tmp_path / "none")})
    with pytest.raises(Refused, match="needs token="):
        DigitalOceanProvider.of({**OPTIONS, "user_data": str(tmp_path), "token": ""})


@pytest.fixture
def deployment() -> Iterator[tuple[KubernetesProvider, type[Any]]]:
    kubernetes = pytest.importorskip("kubernetes")

    class Cluster(Answering):
        """One Deployment whose pods follow its number at once, the cheapest to remove first."""

        replicas: ClassVar[list[int]] = [0]
        pods: ClassVar[dict[str, dict[str, str]]] = {}
        made: ClassVar[list[int]] = [0]
        has_room: ClassVar[list[bool]] = [True]

        def follow(self) -> None:
            while self.has_room[0] and len(self.pods) < self.replicas[0]:
                self.made[0] += 1
                self.pods[f"worker-duel-{self.made[0]}"] = {}
            by_cost = sorted(self.pods, key=lambda name: int(self.pods[name].get(COST, "0")))
            for name in by_cost[: max(0, len(self.pods) - self.replicas[0])]:
                del self.pods[name]

        def scale(self) -> dict[str, Any]:
            about = {"name": "worker-duel", "resourceVersion": str(self.replicas[0])}
            return {"metadata": about, "spec": {"replicas": self.replicas[0]}}

        def do_GET(self) -> None:
            path = urlsplit(self.path).path
            if path.endswith("/scale"):
                self.answer(200, self.scale())
            elif path.endswith("/deployments/worker-duel"):
                spec = {"selector": {"matchLabels": {"app": "duel"}}, "template": {}}
                self.answer(200, {"metadata": {"name": "worker-duel"}, "spec": spec})
            elif path.endswith("/pods"):
                assert parse_qs(urlsplit(self.path).query)["labelSelector"] == ["app=duel"]
                items = [
                    {"metadata": {"name": name, "annotations": marks}, "status": {"phase": "Running"}}
                    for name, marks in self.pods.items()
                ]
                self.answer(200, {"items": items})
            else:
                self.answer(404, {"reason": "NotFound"})

        def do_PATCH(self) -> None:
            path, body = urlsplit(self.path).path, self.body()
            if path.endswith("/scale"):
                if body["metadata"]["resourceVersion"] != str(self.replicas[0]):
                    self.answer(409, {"reason": "Conflict"})
                    return
                self.replicas[0] = body["spec"]["replicas"]
                self.follow()
                self.answer(200, self.scale())
            else:
                name = path.rpartition("/")[2]
                self.pods[name] |= body["metadata"]["annotations"]
                self.answer(200, {"metadata": {"name": name}})

    with served(Cluster) as address:
        configuration = kubernetes.client.Configuration()
        configuration.host = address
        configuration.retries = False
        client = kubernetes.client.ApiClient(configuration)
        yield (
            KubernetesProvider(
                kubernetes.client.AppsV1Api(client), kubernetes.client.CoreV1Api(client),
                namespace="arena", deployment="worker-duel",
            ),
            Cluster,
        )  # fmt: skip


def test_a_deployment_grows_by_one_and_loses_the_pod_that_is_meant(
    deployment: tuple[KubernetesProvider, type[Any]],
) -> None:
    provider, _ = deployment
    for _ in range(3):
        provider.create("")
    assert provider.hosts() == ["worker-duel-1", "worker-duel-2", "worker-duel-3"]
    provider.destroy("worker-duel-2")
    provider.destroy("worker-duel-2")
    assert provider.hosts() == ["worker-duel-1", "worker-duel-3"]


def test_a_cluster_that_refuses_is_a_sentence(deployment: tuple[KubernetesProvider, type[Any]]) -> None:
    provider, _ = deployment
    provider._where["name"] = "unknown"
    with pytest.raises(ProviderFailed, match=r"The cluster answers 404 .*\(read_namespaced_deployment\)"):
        provider.hosts()


@pytest.mark.django_db
def test_a_cluster_that_makes_no_pods_is_not_asked_for_more_and_more(
    deployment: tuple[KubernetesProvider, type[Any]],
) -> None:
    provider, cluster = deployment
    environment = factories.environment()
    for name in ("ann", "bob"):
        factories.build(factories.submission(factories.agent(factories.user(name), environment)), JobState.QUEUED)
    cluster.has_room[0] = False
    policy = Policy(maximum=2, target_seconds=60.0)
    scaler = Scaler(provider, policy, kind="kubernetes", queues=["build"], worker="w")
    for _ in range(5):
        scaler.look(every=timedelta(0))
        assert (cluster.replicas[0], cluster.pods) == (2, {})
    cluster.has_room[0] = True
    cluster.follow(cluster)
    scaler.look(every=timedelta(0))
    assert (cluster.replicas[0], len(cluster.pods)) == (2, 2)
    assert set(WorkerHost.objects.values_list("name", flat=True)) == set(cluster.pods)
