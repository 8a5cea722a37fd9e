"""The calls to a cluster's API: what goes wrong on the way is one kind of error, whatever the client calls it."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest

from arena_kit.cluster import client as calls
from arena_kit.cluster.client import ApiCluster, JobRefused
from arena_kit.cluster.lots.manifest import LotJob, lot_manifest
from arena_kit.cluster.manifest import Tenant
from arena_kit.cluster.replies import body_of
from arena_kit.sandbox.base import SandboxUnavailable

pytest.importorskip("kubernetes")
TENANT = Tenant(id="demo", namespace="arena-players", referee_image="registry/arena@sha256:" + "a" * 64)
CONFIG = """
apiVersion: v1
kind: Config
current-context: test
clusters: [{{name: test, cluster: {{server: "http://127.0.0.1:{port}"}}}}]
users: [{{name: test, user: {{token: secret}}}}]
contexts: [{{name: test, context: {{cluster: test, user: test}}}}]
"""


def api(folder: Path, port: int) -> ApiCluster:
    config = folder / "kubeconfig"
    config.write_text(CONFIG.format(port=port))
    return ApiCluster(TENANT, kubeconfig=str(config))


@contextmanager
def answering(status: int, body: str) -> Iterator[int]:
    """An API that answers everything alike."""

    class Handler(BaseHTTPRequestHandler):
        def answer(self) -> None:
            self.rfile.read(int(self.headers.get("Content-Length") or 0))
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body.encode())

        do_GET = do_POST = do_DELETE = answer  # noqa: N815  # as the server calls them

        def log_message(self, *_: object) -> None:
            pass

    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield server.server_port
        finally:
            server.shutdown()
            thread.join()


CALLS: list[Callable[[ApiCluster], object]] = [
    lambda made: made.jobs(), lambda made: made.pods(), lambda made: made.events("x"), lambda made: made.log("x"),
    lambda made: made.create({}), lambda made: made.delete("x", "uid"), lambda made: made.check(),
    lambda made: made.version(), lambda made: list(made.changes()),
]  # fmt: skip


@pytest.mark.parametrize("call", CALLS)
def test_an_api_that_is_silent_or_away_is_unavailable(
    call: Callable[[ApiCluster], object], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("LIST_SECONDS", "CALL_SECONDS", "LOG_SECONDS", "WATCH_SECONDS"):
        monkeypatch.setattr(calls, name, 0.05)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        port = silent.getsockname()[1]
        with pytest.raises(SandboxUnavailable):
            call(api(tmp_path, port))
    with pytest.raises(SandboxUnavailable):
        call(api(tmp_path, port))


@pytest.mark.parametrize("call", CALLS)
def test_an_api_that_fails_is_unavailable(call: Callable[[ApiCluster], object], tmp_path: Path) -> None:
    with answering(500, "{}") as port, pytest.raises(SandboxUnavailable):
        call(api(tmp_path, port))


@pytest.mark.slow
@pytest.mark.parametrize("body", ["{", "[]", '{"items": 3}', '{"items": [{"metadata": {}}]}'])
def test_a_broken_answer_is_unavailable(body: str, tmp_path: Path) -> None:
    with answering(200, body) as port, pytest.raises(SandboxUnavailable):
        api(tmp_path, port).jobs()


def test_a_list_without_an_end_is_unavailable(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(calls, "MOST_PAGES", 3)
    with answering(200, '{"items": [], "metadata": {"continue": "x"}}') as port, pytest.raises(SandboxUnavailable):
        api(tmp_path, port).jobs()


@pytest.mark.parametrize("body", ["{", "[]", "<html>"])
def test_a_job_whose_creation_is_answered_with_nonsense_is_not_refused(body: str, tmp_path: Path) -> None:
    """It may have been made; the next list says."""
    with answering(201, body) as port, pytest.raises(SandboxUnavailable):
        api(tmp_path, port).create({"spec": {"template": {}}})


class Trickle:
    """An answer that never ends, a byte at a time, each in time for the connection's own time-out."""

    def __init__(self) -> None:
        self.is_closed = False

    def read1(self, amount: int) -> bytes:
        return b" "

    def close(self) -> None:
        self.is_closed = True


def test_an_answer_that_only_trickles_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    now = iter(range(100))
    monkeypatch.setattr("arena_kit.cluster.replies.time.monotonic", lambda: float(next(now)))
    answer = Trickle()
    with pytest.raises(TimeoutError):
        body_of(answer, 10.0)
    assert answer.is_closed


ASKED = lot_manifest(
    LotJob("duel", 1, 1, "0123abcd", "{}", (), 60.0),
    replace(TENANT, queue="players", runtime_class="gvisor", host_users=False),
)


@pytest.mark.parametrize("field", ["suspend", "hostUsers", "runtimeClassName", ""])
def test_a_job_is_refused_by_a_cluster_that_drops_what_it_must_have(field: str, tmp_path: Path) -> None:
    """An old cluster makes the Job, and says nothing of fields that it does not know."""
    made = json.loads(json.dumps(ASKED))
    made["metadata"]["uid"] = "u"
    made["spec"].pop("podReplacementPolicy")
    for fields in (made["spec"], made["spec"]["template"]["spec"]):
        fields.pop(field, None)
    with answering(201, json.dumps(made)) as port:
        if not field:
            api(tmp_path, port).create(ASKED)
            return
        with pytest.raises(JobRefused, match=f"drops {field} of a Job") as refused:
            api(tmp_path, port).create(ASKED)
    assert refused.value.code == "pod_refused"


def test_a_watch_tells_of_changes_whatever_they_are_and_ends(tmp_path: Path) -> None:
    with answering(200, '{"type": "ADDED"}\n{"type": "ERR') as port:
        assert list(api(tmp_path, port).changes()) == [None]


def test_a_job_that_exists_or_is_gone_is_no_trouble(tmp_path: Path) -> None:
    with answering(409, '{"reason": "AlreadyExists"}') as port:
        api(tmp_path, port).create({})
        api(tmp_path, port).delete("x", "uid")
    with answering(404, "{}") as port:
        api(tmp_path, port).delete("x", "uid")
        assert api(tmp_path, port).log("x") is None


def test_a_job_that_another_driver_at_the_quota_has_kept_from_being_made_is_tried_again(tmp_path: Path) -> None:
    with answering(409, '{"reason": "Conflict"}') as port, pytest.raises(SandboxUnavailable):
        api(tmp_path, port).create({})


@pytest.mark.parametrize(
    ("status", "message", "code"),
    [
        (403, "exceeded quota: lots", "no_capacity"),
        (403, "runtimeclass not found", "pod_refused"),
        (422, "Job.batch is invalid", "pod_refused"),
    ],
)
def test_a_refusal_says_why(status: int, message: str, code: str, tmp_path: Path) -> None:
    with answering(status, f'{{"message": "{message}"}}') as port, pytest.raises(JobRefused, match=message) as refused:
        api(tmp_path, port).create({})
    assert refused.value.code == code


def test_a_job_that_the_client_itself_refuses_is_refused(tmp_path: Path) -> None:
    with pytest.raises(JobRefused, match="activeDeadlineSeconds") as refused:
        api(tmp_path, 1).create({"spec": {"activeDeadlineSeconds": 0.5, "template": {}}})
    assert refused.value.code == "pod_refused"
