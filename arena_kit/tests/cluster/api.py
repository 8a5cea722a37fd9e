"""The double of a cluster behind HTTP, with the faults of a real API on the way. It is not a real one."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from enum import Enum, auto
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

from arena_kit.cluster.client import JobRefused
from arena_kit.sandbox.base import SandboxUnavailable
from arena_kit.tests.cluster.doubles import ClusterDouble

CONFIG = """
apiVersion: v1
kind: Config
current-context: test
clusters: [{{name: test, cluster: {{server: "http://127.0.0.1:{port}"}}}}]
users: [{{name: test, user: {{token: secret}}}}]
contexts: [{{name: test, context: {{cluster: test, user: test}}}}]
"""
Answer = tuple[int, Any]


class Fault(Enum):
    """What happens to a request, or to its answer."""

    TOO_MANY = auto()
    BROKEN = auto()
    PROXY = auto()
    """A proxy answers with a page."""
    GONE = auto()
    """The version that is asked for is too old."""
    HALF = auto()
    """It is done, and half of the answer arrives."""
    LOST = auto()
    """It is done, and the connection closes without an answer."""
    LATE = auto()
    """It is done long after the client has given up."""
    STALE = auto()
    """A list is the one before; everything else is done."""


REFUSALS: dict[Fault, Answer] = {
    Fault.TOO_MANY: (429, {"message": "too many requests", "reason": "TooManyRequests"}),
    Fault.BROKEN: (500, {"message": "etcdserver: request timed out"}),
    Fault.PROXY: (502, "<html>Bad gateway</html>"),
    Fault.GONE: (410, {"message": "the provided continue parameter is too old", "reason": "Expired"}),
}


class ClusterApi:
    """Answers the calls of one namespace. fault: is asked before each answer."""

    def __init__(self, cluster: ClusterDouble, fault: Callable[[], Fault | None], *, page: int = 2) -> None:
        self.cluster, self.fault, self.page = cluster, fault, page
        self.lock = threading.Lock()
        self.deleted: list[str] = []
        self.late: list[tuple[str, str, dict[str, Any]]] = []
        self._lists: dict[str, list[dict[str, Any]]] = {}

    @contextmanager
    def served(self, folder: Path) -> Iterator[str]:
        """Serve it; the value is the path of a kubeconfig file."""
        api = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                api.handle(self)

            do_POST = do_DELETE = do_GET  # noqa: N815  # as the server calls them

            def log_message(self, *_: object) -> None:
                pass

        class Server(ThreadingHTTPServer):
            daemon_threads = True

            def handle_error(self, *_: object) -> None:
                """Say nothing: clients that give up close their connections."""

        with Server(("127.0.0.1", 0), Handler) as server:
            threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
            config = folder / "kubeconfig"
            config.write_text(CONFIG.format(port=server.server_port))
            try:
                yield str(config)
            finally:
                server.shutdown()

    def do_late(self) -> None:
        """Do what is late, for clients that have given up."""
        with self.lock:
            late, self.late = self.late, []
            for verb, address, sent in late:
                self._answer(verb, address, sent, is_stale=False)

    def handle(self, request: BaseHTTPRequestHandler) -> None:
        """Answer one request, in a thread of its connection."""
        sent = json.loads(request.rfile.read(int(request.headers.get("Content-Length") or 0)) or b"{}")
        with self.lock:
            fault = self.fault()
            request.close_connection = fault in (Fault.LATE, Fault.LOST, Fault.HALF)
            if fault is Fault.LATE:
                self.late.append((request.command, request.path, sent))
                return
            if fault in REFUSALS:
                status, answer = REFUSALS[fault]
            else:
                status, answer = self._answer(request.command, request.path, sent, is_stale=fault is Fault.STALE)
        if fault is Fault.LOST:
            return
        body = (answer if isinstance(answer, str) else json.dumps(answer)).encode()
        request.send_response(status)
        request.send_header("Content-Type", "application/json")
        request.send_header("Content-Length", str(len(body)))
        request.end_headers()
        request.wfile.write(body[: len(body) // 2] if fault is Fault.HALF else body)

    def _answer(self, verb: str, address: str, sent: dict[str, Any], *, is_stale: bool) -> Answer:
        parts = urlsplit(address)
        query = {name: values[0] for name, values in parse_qs(parts.query).items()}
        words = parts.path.strip("/").split("/")
        kind, name = words[words.index("namespaces") + 2], words[words.index("namespaces") + 3 :]
        if verb == "POST":
            return self._created(sent)
        if verb == "DELETE":
            return self._deleted(name[0], sent["preconditions"]["uid"])
        if name:
            lines = self.cluster.log(name[0])
            last = int(query.get("tailLines", "0"))
            return (404, {"message": "not found"}) if lines is None else (200, "\n".join(lines[-last:]))
        if kind == "events":
            return 200, {"items": self.cluster.events(query["fieldSelector"].partition("=")[2])}
        return self._listed(kind, query, is_stale=is_stale)

    def _listed(self, kind: str, query: dict[str, str], *, is_stale: bool) -> Answer:
        start = int(query.get("continue", "0"))
        if not start and not (is_stale and kind in self._lists):
            label, _, value = query["labelSelector"].partition("=")
            found = self.cluster.jobs() if kind == "jobs" else self.cluster.pods()
            found = [one for one in found if one["metadata"]["labels"].get(label) == value]
            # A copy, because pages that follow are of the same moment.
            self._lists[kind] = json.loads(json.dumps(found))
        items = self._lists[kind]
        end = start + min(self.page, int(query["limit"]))
        return 200, {"items": items[start:end], "metadata": {"continue": str(end) if end < len(items) else ""}}

    def _created(self, manifest: dict[str, Any]) -> Answer:
        name = manifest["metadata"]["name"]
        if name in self.cluster.made:
            return 409, {"message": f'jobs.batch "{name}" already exists', "reason": "AlreadyExists"}
        try:
            self.cluster.create(manifest)
        except JobRefused as refusal:
            return 403, {"message": str(refusal), "reason": "Forbidden"}
        except SandboxUnavailable as why:
            return 503, {"message": str(why)}
        return 201, self.cluster.made[name]

    def _deleted(self, name: str, uid: str) -> Answer:
        job = self.cluster.made.get(name)
        if job is None:
            return 404, {"message": "not found"}
        if job["metadata"]["uid"] != uid:
            return 409, {"message": "the UID in the precondition does not match", "reason": "Conflict"}
        self.deleted.append(name)
        self.cluster.delete(name, uid)
        return 200, {"status": "Success"}
