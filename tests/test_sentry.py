"""What leaves the arena for Sentry: sent by real processes to a server that only listens."""

from __future__ import annotations

import gzip
import json
import os
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from tests.programs import manage

PRIVATE = ("ann-the-owner", "s3cret", "203.0.113.9", "what the player printed", "agents archive", "a-reset-token")
PROGRAM = """
import logging
from io import BytesIO
from wsgiref.util import setup_testing_defaults

from arena_kit.log_context import bound
import core.checks.schema
# The mistake is that there are no tables.
core.checks.schema.refuse_unfit_schema = lambda: None
from core.wsgi import application

# A page that needs the database, which has no tables; asked as gunicorn does.
body = b"password=s3cret"
environ = {
    "REQUEST_METHOD": "POST",
    "PATH_INFO": "/password-reset/MQ/a-reset-token/",
    "QUERY_STRING": "name=ann-the-owner",
    "CONTENT_TYPE": "application/x-www-form-urlencoded",
    "CONTENT_LENGTH": str(len(body)),
    "wsgi.input": BytesIO(body),
    "REMOTE_ADDR": "203.0.113.9",
    "wsgi.url_scheme": "https",
    "HTTP_REFERER": "https://127.0.0.1/password-reset/",
    "HTTP_AUTHORIZATION": "Bearer s3cret",
    "HTTP_COOKIE": "__Host-sessionid=s3cret; __Host-csrftoken=" + 32 * "s",
    "HTTP_X_CSRFTOKEN": 32 * "s",
}
setup_testing_defaults(environ)
answer = application(environ, lambda *_: None)
list(answer)
answer.close()

def work(archive, log):
    # As PostgreSQL says it.
    raise ValueError("it broke\\nDETAIL:  Failing row contains (7, ann-the-owner,\\n s3cret).")

with bound(job_kind="duel", job_id=12, duel_id=12, user="ann-the-owner", path="/x/"):
    try:
        work(b"the agents archive", "what the player printed")
    except ValueError:
        logging.getLogger("core.jobs.worker").exception("Duel broke.", extra={"log": "what the player printed"})
logging.getLogger("core").warning("no mistake: what the player printed")
"""


class Sink:
    """A server for envelopes."""

    def __init__(self) -> None:
        self.bodies: list[bytes] = []
        bodies = self.bodies

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                bodies.append(gzip.decompress(body) if self.headers["Content-Encoding"] == "gzip" else body)
                self.send_response(200)
                self.send_header("Content-Length", "2")
                self.end_headers()
                self.wfile.write(b"{}")

            def log_message(self, *arguments: object) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.dsn = f"http://key@127.0.0.1:{self.server.server_port}/1"

    def items(self) -> list[tuple[str, dict[str, Any]]]:
        """Kind and content of everything that was sent."""
        found = []
        for body in self.bodies:
            lines = body.split(b"\n")[1:]
            for head, content in zip(lines[::2], lines[1::2], strict=False):
                found.append((json.loads(head)["type"], json.loads(content)))
        return found


@pytest.fixture
def sink() -> Iterator[Sink]:
    made = Sink()
    thread = threading.Thread(target=made.server.serve_forever, daemon=True)
    thread.start()
    yield made
    made.server.shutdown()
    made.server.server_close()
    thread.join()


def run(tmp_path: Path, **variables: str) -> None:
    given = {
        "DEBUG": "false",
        "SECRET_KEY": "a-key-for-this-test-alone-0123456789-abcdefghijklmnop",
        "ALLOWED_HOSTS": "127.0.0.1",
        "DATA_DIR": str(tmp_path),
        "METRICS_DIR": str(tmp_path / "metrics"),
        "DATABASE_URL": f"sqlite:///{tmp_path / 'empty.sqlite3'}",
        "REDIS_URL": "",
        **variables,
    }
    manage(given, "shell", "--verbosity", "0", "-c", PROGRAM)


@pytest.mark.slow
def test_mistakes_of_the_arena_are_sent_without_anything_of_people_or_agents(sink: Sink, tmp_path: Path) -> None:
    # Every request is traced here.
    (tmp_path / "traced.py").write_text("from core.settings import *\n\nSENTRY_TRACES_SAMPLE_RATE = 1.0\n")
    path = os.pathsep.join(filter(None, [str(tmp_path), os.environ.get("PYTHONPATH")]))
    run(
        tmp_path,
        SENTRY_DSN=sink.dsn,
        SITE_URL="https://rehearsal.example.org",
        DJANGO_SETTINGS_MODULE="traced",
        PYTHONPATH=path,
    )

    events = [content for kind, content in sink.items() if kind == "event"]
    page, job = sorted(events, key=lambda event: "job_id" in event["tags"])
    for event in events:
        assert event["environment"] == "rehearsal.example.org"
        assert event["release"].startswith("rl-arena@")
        assert event["tags"]["service"] == "site"

    assert page["exception"]["values"][-1]["type"] == "OperationalError"
    assert page["request"] == {"method": "POST", "url": "/password-reset/MQ/.../"}
    assert len(page["tags"]["request_id"]) == 32
    assert job["exception"]["values"][-1]["value"] == "it broke"
    assert (job["tags"]["job_kind"], job["tags"]["job_id"], job["tags"]["duel_id"]) == ("duel", "12", "12")
    frames = [
        frame for event in events for value in event["exception"]["values"] for frame in value["stacktrace"]["frames"]
    ]
    assert frames
    assert not any("vars" in frame for frame in frames)

    traces = [content for kind, content in sink.items() if kind == "transaction"]
    assert [trace["transaction"] for trace in traces] == ["/password-reset/{uidb36}/{key}/"]
    sent = b"".join(sink.bodies).decode()
    assert [word for word in PRIVATE if word in sent] == []


@pytest.mark.nightly
def test_nothing_is_sent_where_no_address_is_named(sink: Sink, tmp_path: Path) -> None:
    run(tmp_path)
    assert sink.bodies == []
