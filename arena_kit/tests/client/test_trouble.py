"""Every kind of trouble with a site is a sentence with a code; tokens stay with their site."""

from __future__ import annotations

import io
import socket
import ssl
from collections.abc import Iterator
from urllib.error import URLError

import pytest

from arena_kit.client import Client, SiteError, Trouble
from arena_kit.client.errors import network_error, sentences, status_error
from arena_kit.client.reading import leaderboard_of
from arena_kit.client.transport import is_encrypted, site_address
from arena_kit.tests.client.sites import Said, Site, said, site

TOKEN = "arena_secret-token"
HOSTILE = "\x1b[2J\x1b]0;owned\x07gone\u202e"
VERSION = {
    "id": "7c9a1f2e-3b4d-4c5e-8f60-718293a4b5c6", "number": 1, "agent": {"id": 3, "name": "mine", "owner": "ada"},
    "environment": "tic-tac-toe", "status": "READY", "phases": [], "error": "", "warnings": [],
}  # fmt: skip


@pytest.fixture(scope="module")
def running() -> Iterator[Site]:
    with site() as found:
        yield found


@pytest.fixture
def arena(running: Site) -> Site:
    running.answer, running.by_path, running.asked = Said(), {}, []
    return running


def trouble(arena: Site, answer: Said) -> SiteError:
    arena.answer = answer
    with pytest.raises(SiteError) as caught:
        Client(arena.url, token=TOKEN).version(VERSION["id"])  # type: ignore[arg-type]
    assert TOKEN not in str(caught.value)
    assert str(caught.value)
    return caught.value


@pytest.mark.parametrize(
    ("answer", "kind"),
    [
        (said({"detail": "No."}, 400), Trouble.REFUSED),
        (said({"detail": "Who?"}, 401), Trouble.LOGIN_NEEDED),
        (said({"detail": "Private."}, 403), Trouble.NOT_ALLOWED),
        (said({"detail": "Nothing."}, 404), Trouble.MISSING),
        (said({"detail": "Later."}, 409), Trouble.CONFLICT),
        (said({"detail": "Gone."}, 410), Trouble.GONE),
        (Said(413, b"<html>too large</html>", "text/html"), Trouble.TOO_LARGE),
        (Said(500, b"<html>oops</html>", "text/html"), Trouble.FAILED),
        (Said(502, b"", "text/html"), Trouble.FAILED),
        (Said(503, b"\xff\xfe", "text/plain"), Trouble.FAILED),
        (Said(403, b"<html>captive portal</html>", "text/html"), Trouble.NO_ARENA),
        (Said(404, b"<html>not here</html>", "text/html"), Trouble.NO_ARENA),
        (Said(200, b"<!doctype html><p>Welcome", "text/html"), Trouble.NO_ARENA),
        (Said(200, b"{" * 100_000), Trouble.NO_ARENA),
        (Said(200, b""), Trouble.NO_ARENA),
        (Said(raw=b"220 mail.example.org ESMTP\r\n"), Trouble.NO_ARENA),
        (Said(raw=b""), Trouble.CUT),
        (Said(raw=b"HTTP/1.1 200 OK\r\nContent-Length: 500\r\n\r\n{"), Trouble.CUT),
        (said([]), Trouble.NOT_UNDERSTOOD),
        (said({**VERSION, "number": "one"}), Trouble.NOT_UNDERSTOOD),
        (said({**VERSION, "phases": None}), Trouble.NOT_UNDERSTOOD),
        (said({"id": "x"}), Trouble.NOT_UNDERSTOOD),
    ],
)  # fmt: skip
def test_every_answer_that_is_none_is_a_sentence(arena: Site, answer: Said, kind: Trouble) -> None:
    assert trouble(arena, answer).trouble is kind


def test_too_many_requests_say_when_to_ask_again(arena: Site) -> None:
    error = trouble(
        arena, said({"detail": "Too often.", "code": "quota_uploads_per_day"}, 429, **{"Retry-After": "30"})
    )
    assert (error.trouble, error.code, error.retry_after_seconds) == (Trouble.BUSY, "quota_uploads_per_day", 30)
    assert str(error) == "Too often. Ask again in 30 seconds."
    assert trouble(arena, said({"detail": "No."}, 429, **{"Retry-After": "soon"})).retry_after_seconds is None
    assert (
        str(trouble(arena, said({"detail": "Busy."}, 503, **{"Retry-After": "9"}))) == "Busy. Ask again in 9 seconds."
    )
    closed = trouble(arena, Said(503, b"<html>", "text/html", headers={"Retry-After": "9"}))
    assert str(closed).endswith("is busy or closed for the moment. Ask again in 9 seconds.")


def test_only_a_token_that_was_sent_is_to_be_replaced(arena: Site) -> None:
    wrong = said({"detail": "Wrong password."}, 401)
    assert "saves a new token" in str(trouble(arena, wrong))
    with pytest.raises(SiteError) as caught:
        Client(arena.url).token_create(email="a@b.c", password="x", code="", name="n", days=1)
    assert str(caught.value) == "Wrong password."


def test_the_sentences_of_a_form_name_its_fields() -> None:
    assert sentences({"archive": ["Too large."], "name": ["Taken.", "Bad."], "code": "x"}) == (
        "Too large. name: Taken. name: Bad."
    )
    assert sentences("text") == sentences([1]) == sentences({}) == ""


def test_what_a_site_says_cannot_move_the_cursor(arena: Site) -> None:
    error = trouble(arena, said({"detail": HOSTILE, "code": HOSTILE}, 400))
    assert "\x1b" not in str(error) + error.code
    assert "\u202e" not in str(error) + error.code
    arena.answer = said({**VERSION, "error": HOSTILE, "agent": {"id": 1, "name": HOSTILE, "owner": "x"}})
    version = Client(arena.url).version("x")
    assert not set("\x1b\x07") & set(version.error + version.agent.name)


def test_a_token_is_sent_to_its_site_alone(arena: Site) -> None:
    with site() as other:
        other.answer = said(VERSION)
        for status in (301, 302, 303, 307, 308):
            error = trouble(arena, Said(status, headers={"Location": f"{other.url}/api/v1/"}))
            assert error.trouble is Trouble.REDIRECTED
            assert other.url in str(error)
        assert other.asked == []
    assert all(headers["Authorization"] == f"Bearer {TOKEN}" for _, _, headers, _ in arena.asked)


def test_redirects_within_the_site_are_followed_for_reading_only(arena: Site) -> None:
    path = f"/api/v1/submissions/{VERSION['id']}/"
    arena.by_path[path] = Said(302, headers={"Location": "/elsewhere/"})
    arena.by_path["/elsewhere/"] = said(VERSION)
    assert Client(arena.url, token=TOKEN).version(str(VERSION["id"])).number == 1
    arena.by_path["/api/v1/challenges/"] = Said(302, headers={"Location": "/elsewhere/"})
    with pytest.raises(SiteError) as caught:
        Client(arena.url, token=TOKEN).challenge_create(agent=1, opponent=None)
    assert caught.value.trouble is Trouble.REDIRECTED
    # For ever around is an end as well.
    arena.by_path["/elsewhere/"] = Said(302, headers={"Location": "/elsewhere/"})
    with pytest.raises(SiteError) as caught:
        Client(arena.url, token=TOKEN).version(str(VERSION["id"]))
    assert caught.value.trouble is Trouble.REDIRECTED


def test_a_closed_port_and_an_unknown_host_are_told_apart() -> None:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    with pytest.raises(SiteError) as caught:
        Client(f"http://127.0.0.1:{port}").arena()
    assert caught.value.trouble is Trouble.REFUSED_CONNECTION
    for error, kind in (
        (URLError(socket.gaierror(-2, "Name or service not known")), Trouble.UNKNOWN_HOST),
        (URLError(TimeoutError()), Trouble.TIMED_OUT),
        (TimeoutError(), Trouble.TIMED_OUT),
        (URLError(ssl.SSLError(1, "wrong version number")), Trouble.UNTRUSTED),
        (ConnectionResetError(104, "Connection reset by peer"), Trouble.CUT),
        (UnicodeError(), Trouble.BAD_ADDRESS),
    ):
        assert network_error(error, "https://arena.example.org").trouble is kind


def test_a_certificate_that_is_not_trusted_is_named() -> None:
    cause = ssl.SSLCertVerificationError(1, "failed")
    cause.verify_message = "self-signed certificate"
    error = network_error(URLError(cause), "https://arena.example.org")
    assert "self-signed certificate" in str(error)
    assert "SSL_CERT_FILE" in str(error)


def test_tls_that_is_none_is_a_sentence(arena: Site) -> None:
    with pytest.raises(SiteError) as caught:
        Client(arena.url.replace("http", "https")).arena()
    assert caught.value.trouble is Trouble.UNTRUSTED


def test_a_silent_site_is_left_after_its_time() -> None:
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        with pytest.raises(SiteError) as caught:
            Client(f"http://127.0.0.1:{silent.getsockname()[1]}", timeout_seconds=0.05).arena()
    assert caught.value.trouble is Trouble.TIMED_OUT


@pytest.mark.parametrize("data", [{}, {"service": "another"}, [], "text"])
def test_a_site_that_is_no_arena_is_told(arena: Site, data: object) -> None:
    arena.answer = said(data)
    with pytest.raises(SiteError) as caught:
        Client(arena.url).arena()
    assert caught.value.trouble is Trouble.NO_ARENA


def test_an_arena_with_another_api_is_told(arena: Site) -> None:
    about = {
        "service": "rl-arena",
        "name": "A",
        "version": "9",
        "kit_version": "9",
        "kit_url": "",
        "max_upload_bytes": 1,
    }
    arena.answer = said({**about, "api_versions": ["v2"]})
    with pytest.raises(SiteError) as caught:
        Client(arena.url).arena()
    assert (caught.value.trouble, "/kit/" in str(caught.value)) == (Trouble.OTHER_API, True)
    arena.answer = said({"detail": "This address does not exist."}, 404)
    with pytest.raises(SiteError) as caught:
        Client(arena.url).arena()
    assert "older" in str(caught.value)


def test_an_upload_is_one_form_with_the_whole_file(arena: Site) -> None:
    arena.answer = said(VERSION, 201)
    content = bytes(range(256)) * 4096
    made = Client(arena.url, token=TOKEN).agent_create(
        io.BytesIO(content), environment="tic-tac-toe", name='x"\r\nEvil: 1', is_public=True
    )
    ((method, path, headers, body),) = arena.asked
    assert (made.agent.name, method, path) == ("mine", "POST", "/api/v1/agents/")
    assert content in body
    assert int(headers["Content-Length"]) == len(body)
    assert "Evil" not in headers


def test_lists_are_read_to_their_end_by_number(arena: Site) -> None:
    line = {"id": 1, "name": "a", "owner": "o", "environment": "e", "is_public": True}
    pages = iter([{"results": [line], "next": "http://evil.example/"}, {"results": [line], "next": None}])

    class Turning(dict[str, Said]):
        def get(self, key: str, default: Said | None = None) -> Said:  # type: ignore[override]
            return said(next(pages))

    arena.by_path = Turning()
    assert len(list(Client(arena.url).agents(owner="o"))) == 2
    assert ["page=1" in path for _, path, _, _ in arena.asked] == [True, False]


@pytest.mark.parametrize(
    ("given", "address"),
    [
        ("https://arena.example.org/", "https://arena.example.org"),
        ("arena.example.org", "https://arena.example.org"),
        ("localhost:8000", "http://localhost:8000"),
        ("http://127.0.0.1:80/sub/", "http://127.0.0.1/sub"),
        ("HTTPS://Arena.Example.org:443", "https://arena.example.org"),
        ("http://[::1]:8000", "http://[::1]:8000"),
    ],
)
def test_addresses_have_one_form(given: str, address: str) -> None:
    assert site_address(given) == address


@pytest.mark.parametrize(
    "given",
    ["", "ftp://x", "file:///etc/passwd", "https://", "https://a:b@x.org", "https://x.org/?a=1", "https://x:99999999",
     "https://exa\nmple.org", "http://[::1"],
)  # fmt: skip
def test_what_is_no_address_is_refused(given: str) -> None:
    with pytest.raises(SiteError) as caught:
        site_address(given)
    assert caught.value.trouble is Trouble.BAD_ADDRESS


def test_only_tls_and_this_machine_count_as_encrypted() -> None:
    assert [is_encrypted(site) for site in ("https://a.org", "http://localhost:1", "http://a.org")] == [
        True, True, False,
    ]  # fmt: skip


def test_every_status_has_a_sentence_of_its_own() -> None:
    for status in (400, 401, 403, 404, 405, 409, 410, 413, 415, 418, 429, 500, 502, 503, 599):
        for answer in ({}, None, {"detail": 5}, {"detail": ["x"]}):
            error = status_error(status, None, answer, "https://a.org")
            assert str(error)
            assert error.code


def test_a_token_is_in_no_representation() -> None:
    client = Client("https://a.org", token=TOKEN)
    assert TOKEN not in f"{client!r} {client._transport!r} {client.__dict__}"


@pytest.mark.parametrize(
    "row",
    [
        {"value": float("nan")},
        {"value": True},
        {"value": 1 << 2000},
        {"value": "1500"},
        {"rank": 1.5},
        {"rank": 1 << 70},
        {"low": float("inf")},
        {"submission": {"number": 1, "agent": {"name": 5, "owner": "ada"}}},
    ],
)
def test_a_row_with_a_wrong_figure_is_not_understood(row: dict[str, object]) -> None:
    version = {"number": 1, "agent": {"name": "mine", "owner": "ada"}}
    right: dict[str, object] = {"rank": None, "submission": version, "value": 1500, "low": None, "high": 1600.5}
    place = leaderboard_of({"count": 1, "results": [right]}, "tic-tac-toe").places[0]
    assert (place.rank, place.agent, place.value, place.low, place.high) == (None, "mine", 1500.0, None, 1600.5)
    with pytest.raises(SiteError) as caught:
        leaderboard_of({"count": 1, "results": [{**right, **row}]}, "tic-tac-toe")
    assert caught.value.trouble is Trouble.NOT_UNDERSTOOD
