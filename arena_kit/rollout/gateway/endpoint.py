"""Asks the endpoint of a model over HTTP, tries again what may pass, and says whose fault a failure is."""

from __future__ import annotations

import contextlib
import http.client
import json
import random
import socket
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol
from urllib.parse import urlsplit

from arena_kit.errors import PlatformFault
from arena_kit.text import plain_text

UNAVAILABLE, MISCONFIGURED = "model_unavailable", "model_misconfigured"
MOST_ANSWER_BYTES = 16 << 20
MOST_RETRY_SECONDS = 60.0
_PASSES = frozenset({408, 409, 425, 429, 500, 502, 503, 504, 529})
_MISCONFIGURED = frozenset({401, 403, 404})


@dataclass(frozen=True, slots=True)
class Prices:
    """The prices of a million tokens, in millionths of the unit: of the question, of what was cached, of the answer."""

    tokens_in: int = 0
    tokens_cached: int = 0
    tokens_out: int = 0

    def cost_micros(self, *, tokens_in: int, tokens_cached: int, tokens_out: int) -> int:
        """Return the cost of an answer. tokens_cached: the part of `tokens_in` that was cached."""
        plain = max(0, tokens_in - tokens_cached)
        total = plain * self.tokens_in + tokens_cached * self.tokens_cached + tokens_out * self.tokens_out
        return -(-total // 1_000_000)


@dataclass(frozen=True, slots=True)
class AskedModel:
    """A language model. url: of its endpoint, e.g. https://example.org/v1. key: secret; empty for none.

    fixed: what every request has, whatever the agent asks for, such as a temperature. tries, patience_seconds: how
    often and how long a request is tried again.
    """

    name: str
    url: str
    key: str = field(default="", repr=False)
    prices: Prices = field(default_factory=Prices)
    fixed: Mapping[str, Any] = field(default_factory=dict)
    timeout_seconds: float = 180.0
    tries: int = 5
    patience_seconds: float = 300.0


class ModelRefused(Exception):
    """The endpoint says that the request itself is wrong. The message is for the agent. status: of HTTP."""

    def __init__(self, message: str, *, status: int) -> None:
        super().__init__(message)
        self.status = status


class Form(Protocol):
    """How an endpoint is spoken to. All requests and answers of agents are those of OpenAI's chat completions."""

    def request(self, model: AskedModel, body: Mapping[str, Any]) -> tuple[str, Mapping[str, str], Mapping[str, Any]]:
        """Return path behind the model's address, headers and body."""

    def answer(self, model: AskedModel, answered: Mapping[str, Any]) -> dict[str, Any]:
        """Return an answer as a chat completion. Raises KeyError, TypeError, ValueError and IndexError."""


class ChatForm:
    """OpenAI's chat completions."""

    def request(self, model: AskedModel, body: Mapping[str, Any]) -> tuple[str, Mapping[str, str], Mapping[str, Any]]:
        """See Form."""
        headers = {"Authorization": f"Bearer {model.key}"} if model.key else {}
        return "/chat/completions", headers, body

    def answer(self, model: AskedModel, answered: Mapping[str, Any]) -> dict[str, Any]:
        """See Form."""
        if not isinstance(answered["choices"][0]["message"], dict):
            raise TypeError("no message")
        return dict(answered)


class Endpoint:
    """The endpoint of a model."""

    def __init__(
        self,
        model: AskedModel,
        form: Form,
        *,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], object] = time.sleep,
        connect: Callable[[str, int, float], socket.socket] | None = None,
    ) -> None:
        """connect: opens a connection to a host and port within seconds, for callers that may not reach every host."""
        self.model, self._form, self._clock, self._sleep, self._connect = model, form, clock, sleep, connect
        self._connections: set[http.client.HTTPConnection] = set()
        self._lock, self._is_closed = threading.Lock(), False

    def ask(self, body: Mapping[str, Any]) -> dict[str, Any]:
        """Return the model's answer as a chat completion.

        Raises ModelRefused for a request that is wrong, and PlatformFault if the model does not answer or its settings
        are wrong.
        """
        path, headers, sent = self._form.request(self.model, body)
        until, why = self._clock() + self.model.patience_seconds, ""
        for number in range(self.model.tries):
            if number:
                # Jitter, so that rollouts that failed together do not come again together.
                pause = min(2.0 ** (number - 1), MOST_RETRY_SECONDS) * random.uniform(0.5, 1.0)
                if self._is_closed or self._clock() + pause > until:
                    break
                self._sleep(pause)
            try:
                status, answered = self._sent(path, headers, sent)
            except (OSError, http.client.HTTPException) as error:
                why = f"{type(error).__name__}"
                continue
            if status in _PASSES:
                why = f"status {status}"
                continue
            if status in _MISCONFIGURED:
                raise PlatformFault(
                    f"The endpoint of {self.model.name} refuses the request with the status {status}.",
                    code=MISCONFIGURED,
                )
            try:
                return self._read(status, answered)
            except (ValueError, KeyError, TypeError, IndexError, RecursionError):
                why = "an answer that cannot be read"
        raise PlatformFault(f"The model {self.model.name} does not answer: {why or 'too late'}.", code=UNAVAILABLE)

    def close(self) -> None:
        """End what is asked now; it fails."""
        with self._lock:
            self._is_closed = True
            open_ones = list(self._connections)
        for connection in open_ones:
            # Closing alone would not wake a thread that reads.
            with contextlib.suppress(OSError):
                if connection.sock is not None:
                    connection.sock.shutdown(socket.SHUT_RDWR)

    def _read(self, status: int, content: bytes) -> dict[str, Any]:
        answered = json.loads(content)
        if status >= 400:
            error = answered.get("error") if isinstance(answered, dict) else None
            said = error.get("message") if isinstance(error, dict) else None
            raise ModelRefused(plain_text(str(said or f"status {status}"))[:500], status=status)
        return self._form.answer(self.model, answered)

    def _sent(self, path: str, headers: Mapping[str, str], body: Mapping[str, Any]) -> tuple[int, bytes]:
        """Return status and content. Raises OSError and HTTPException."""
        with self._connection() as connection:
            base = urlsplit(self.model.url)
            connection.request(
                "POST", base.path.rstrip("/") + path, json.dumps(body), {"Content-Type": "application/json", **headers}
            )
            answer = connection.getresponse()
            content = answer.read(MOST_ANSWER_BYTES + 1)
        if len(content) > MOST_ANSWER_BYTES:
            raise http.client.HTTPException("The answer is too large.")
        return answer.status, content

    @contextlib.contextmanager
    def _connection(self) -> Iterator[http.client.HTTPConnection]:
        base = urlsplit(self.model.url)
        kind = http.client.HTTPSConnection if base.scheme == "https" else http.client.HTTPConnection
        # Without a port http.client would take the last group of an IPv6 address for one.
        port = base.port or (443 if base.scheme == "https" else 80)
        connection = kind(base.hostname or "", port, timeout=self.model.timeout_seconds)
        if (connect := self._connect) is not None:

            def opened(address: tuple[str, int], timeout: float, _: object) -> socket.socket:
                return connect(*address, timeout)

            # http.client opens sockets only here; it still checks the name in the certificate.
            connection._create_connection = opened  # type: ignore[attr-defined]
        with self._lock:
            self._connections.add(connection)
        try:
            yield connection
        finally:
            with self._lock:
                self._connections.discard(connection)
            connection.close()
