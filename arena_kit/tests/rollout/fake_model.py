"""A test double of the PROTOCOL of a language model's endpoint: it answers from a script, and understands nothing.

Nothing that it does says anything about how models solve tasks, and nothing measured with it may be reported as an
ability of a model. It shows that requests, tools, streams, errors, limits and costs pass through the gateway as they
should.
"""

from __future__ import annotations

import contextlib
import http.server
import json
import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

USAGE = {"prompt_tokens": 100, "completion_tokens": 20, "total_tokens": 120}


@dataclass
class Scripted:
    """An answer of the script. raw: sent as it is, instead of a chat completion. hangs: say nothing at all."""

    status: int = 200
    message: Mapping[str, Any] = field(default_factory=dict)
    usage: Mapping[str, Any] | None = field(default_factory=lambda: dict(USAGE))
    raw: bytes = b""
    hangs: bool = False


def says(text: str) -> Scripted:
    """An answer that is a text."""
    return Scripted(message={"role": "assistant", "content": text})


def calls(name: str, **arguments: Any) -> Scripted:
    """An answer that calls one tool."""
    function = {"name": name, "arguments": json.dumps(arguments)}
    call = {"id": f"call-{name}", "type": "function", "function": function}
    return Scripted(message={"role": "assistant", "content": None, "tool_calls": [call]})


class FakeModel:
    """The endpoint. `asked` holds the requests, with paths and headers. After the script it repeats the last."""

    def __init__(self, script: Sequence[Scripted]) -> None:
        self.asked: list[tuple[str, dict[str, str], dict[str, Any]]] = []
        self._script = list(script)
        self._released = threading.Event()
        double = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                double.asked.append((self.path, dict(self.headers), body))
                answer = double._script.pop(0) if len(double._script) > 1 else double._script[0]
                if answer.hangs:
                    double._released.wait(30)
                    return
                content = answer.raw or json.dumps(
                    {
                        "id": "x", "object": "chat.completion", "model": body.get("model"),
                        "choices": [{"index": 0, "message": answer.message, "finish_reason": "stop"}],
                        **({} if answer.usage is None else {"usage": answer.usage}),
                    }
                ).encode()  # fmt: skip
                with contextlib.suppress(OSError):
                    self.send_response(answer.status)
                    self.send_header("Content-Length", str(len(content)))
                    self.end_headers()
                    self.wfile.write(content)

            def log_message(self, format: str, *arguments: object) -> None:  # noqa: A002  # as its base names it
                """Print nothing."""

        self._server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.02})

    @property
    def url(self) -> str:
        """The address of the endpoint."""
        return f"http://127.0.0.1:{self._server.server_port}/v1"

    def start(self) -> None:
        """Begin to listen."""
        self._thread.start()

    def close(self) -> None:
        """End."""
        self._released.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


@contextlib.contextmanager
def fake_model(*script: Scripted) -> Iterator[FakeModel]:
    """An endpoint that answers these, one after the other."""
    double = FakeModel(script)
    double.start()
    try:
        yield double
    finally:
        double.close()
