"""The registry's own API, against a double: pages, tokens, and answers that no registry should give."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any

import pytest

from arena_kit.image.manifests import Manifests, speaks_plainly
from arena_kit.image.registry import Registry, RegistryFailed

DIGEST = f"sha256:{'a' * 64}"
LOGIN = "Basic " + base64.b64encode(b"arena:correct horse").decode()


class Double(BaseHTTPRequestHandler):
    """Answers as a registry that wants tokens, or as the test says."""

    answers: dict[str, tuple[int, dict[str, str], object]]
    wants_token = False
    host = realm = ""
    asked: list[tuple[str, str, str]]

    def _answer(self) -> None:
        kind = type(self)
        login = self.headers.get("Authorization", "")
        kind.asked.append((self.command, self.path, login))
        status, headers, content = kind.answers.get(self.path.partition("?")[0], (404, {}, {}))
        if self.path in kind.answers:
            status, headers, content = kind.answers[self.path]
        if kind.wants_token and self.path.startswith("/v2/") and login != "Bearer t0ken":
            status, content = 401, {}
            headers = {"WWW-Authenticate": f'Bearer realm="{kind.realm or f"http://{kind.host}/token"}",service="r"'}
        body = (
            b"" if self.command == "HEAD" else (content if isinstance(content, bytes) else json.dumps(content).encode())
        )
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    do_GET = do_HEAD = do_DELETE = _answer  # noqa: N815  (the names that the server calls)

    def log_message(self, *_: Any) -> None:
        """Say nothing."""


@pytest.fixture
def double() -> Iterator[type[Double]]:
    class OneDouble(Double):
        """The double of one test."""

    kind = OneDouble
    kind.answers, kind.asked = {}, []
    server = ThreadingHTTPServer(("127.0.0.1", 0), kind)
    kind.host = f"127.0.0.1:{server.server_port}"
    thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield kind
    server.shutdown()
    thread.join()
    server.server_close()


def manifests(double: type[Double]) -> Manifests:
    return Manifests(Registry(f"{double.host}/arena", "arena", "correct horse"), is_plain=True)


def test_all_pages_of_tags_are_read_and_the_password_stays_on_this_host(double: type[Double]) -> None:
    following = {"Link": '<http://elsewhere.example/v2/arena/tags/list?last=b>; rel="next"'}
    double.answers = {
        "/v2/arena/tags/list": (200, following, {"tags": ["a", "b"]}),
        "/v2/arena/tags/list?last=b": (200, {}, {"tags": ["c"]}),
    }
    with manifests(double) as found:
        assert found.tags() == {"a", "b", "c"}
    assert [login for _, _, login in double.asked] == [LOGIN, LOGIN]


def test_a_repository_that_nothing_was_pushed_to_has_no_tags(double: type[Double]) -> None:
    with manifests(double) as found:
        assert found.tags() == frozenset()
        assert found.digest("gone") is None


def test_a_manifest_is_found_by_its_tag_and_removed_by_its_digest(double: type[Double]) -> None:
    double.answers = {
        "/v2/arena/manifests/s1": (200, {"Docker-Content-Digest": DIGEST}, {}),
        "/v2/arena/manifests/odd": (200, {"Docker-Content-Digest": "../../x"}, {}),
        f"/v2/arena/manifests/{DIGEST}": (202, {}, {}),
    }
    with manifests(double) as found:
        assert found.digest("s1") == DIGEST
        assert found.digest("odd") is None
        found.remove(DIGEST)
        with pytest.raises(RegistryFailed):
            found.remove("../../v2/other")
    assert double.asked[-1][:2] == ("DELETE", f"/v2/arena/manifests/{DIGEST}")


def test_a_token_is_fetched_where_the_registry_wants_one(double: type[Double]) -> None:
    double.wants_token = True
    double.answers = {
        "/v2/arena/tags/list": (200, {}, {"tags": ["a"]}),
        "/token": (200, {}, {"access_token": "t0ken"}),
    }
    with manifests(double) as found:
        assert found.tags() == {"a"}
    assert [(path, login) for _, path, login in double.asked] == [
        ("/v2/arena/tags/list", LOGIN),
        ("/token?service=r", LOGIN),
        ("/v2/arena/tags/list", "Bearer t0ken"),
    ]


def test_the_password_is_never_sent_to_another_host_without_tls(double: type[Double]) -> None:
    double.wants_token = True
    double.realm = "http://127.0.0.1:1/token"
    with manifests(double) as found, pytest.raises(RegistryFailed, match="without TLS"):
        found.tags()


@pytest.mark.parametrize(
    ("status", "content", "code"),
    [
        (200, b"<html>", "registry_failed"),
        (200, ["a"], "registry_failed"),
        (302, {}, "registry_failed"),
        (403, {}, "registry_refused"),
        (500, {}, "registry_failed"),
    ],
)
def test_other_answers_are_faults(double: type[Double], status: int, content: object, code: str) -> None:
    double.answers = {"/v2/arena/tags/list": (status, {}, content)}
    with manifests(double) as found, pytest.raises(RegistryFailed) as caught:
        found.tags()
    assert caught.value.code == code


def test_a_registry_that_is_away_is_a_fault() -> None:
    away = Manifests(Registry("127.0.0.1:1/arena"), is_plain=True)
    with away as found, pytest.raises(RegistryFailed) as caught:
        found.tags()
    assert caught.value.code == "registry_unavailable"


@pytest.mark.parametrize(
    ("host", "is_plain"),
    [
        ("127.0.0.1:5000", True),
        ("localhost:5000", True),
        ("10.0.0.7:5000", False),
        ("registry.example.org", False),
        ("plain.example.org:5000", True),
        ("tls.example.org:5000", False),
    ],
)
def test_the_engines_own_settings_say_which_registries_have_no_tls(host: str, is_plain: bool) -> None:
    configs = {"plain.example.org:5000": {"Secure": False}, "tls.example.org:5000": {"Secure": True}}
    info = {"RegistryConfig": {"InsecureRegistryCIDRs": ["127.0.0.0/8"], "IndexConfigs": configs}}
    assert speaks_plainly(info, host) is is_plain
    assert not speaks_plainly({}, host)
