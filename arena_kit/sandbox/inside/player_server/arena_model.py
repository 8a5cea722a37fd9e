"""Asks the language model of this rollout: `import arena_model`, in players that are given one.

    answer = arena_model.chat([{"role": "user", "content": "..."}], tools=[...])
    answer["choices"][0]["message"]

The key, the model's name and what it costs are the arena's. Any OpenAI client works as well, over the Unix socket that
ARENA_MODEL_SOCKET names. Where rollouts are played on a cluster, there is no such socket, and this module is the only
way.
"""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import socket
import threading
from typing import Any

TIMEOUT_SECONDS = 600.0
_one_by_one = threading.Lock()


class ModelError(Exception):
    """The model did not answer. The message is a sentence. status: of HTTP; 402 if a limit is reached."""

    def __init__(self, message: str, status: int) -> None:
        super().__init__(message)
        self.status = status


class _Connection(http.client.HTTPConnection):
    def connect(self) -> None:
        if descriptor := os.environ.get("ARENA_MODEL_DESCRIPTOR"):
            # In a pod a player may make no sockets. All requests share the one that it was given, one after the other.
            self.sock = socket.socket(fileno=os.dup(int(descriptor)))
            self.sock.settimeout(self.timeout)
            return
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(self.timeout)
        self.sock.connect(os.environ["ARENA_MODEL_SOCKET"])


def chat(messages: list[dict[str, Any]], **options: Any) -> dict[str, Any]:
    """Return the model's answer, as OpenAI's chat completions have it. Raises ModelError."""
    return _asked("POST", "/v1/chat/completions", {"messages": messages, **options})


def name() -> str:
    """Return the model's name. Raises ModelError."""
    return str(_asked("GET", "/v1/models", None)["data"][0]["id"])


def _asked(method: str, path: str, body: dict[str, Any] | None) -> dict[str, Any]:
    with _one_by_one if "ARENA_MODEL_DESCRIPTOR" in os.environ else contextlib.nullcontext():
        return _answered(method, path, body)


def _answered(method: str, path: str, body: dict[str, Any] | None) -> dict[str, Any]:
    connection = _Connection("model", timeout=TIMEOUT_SECONDS)
    try:
        content = None if body is None else json.dumps(body).encode()
        connection.request(method, path, content, {"Content-Type": "application/json"})
        response = connection.getresponse()
        answer: dict[str, Any] = json.loads(response.read())
    except (OSError, ValueError, http.client.HTTPException) as error:
        raise ModelError(f"The gateway does not answer: {error}.", 0) from None
    finally:
        connection.close()
    if response.status != 200:
        raise ModelError(str(answer.get("error", {}).get("message")), response.status)
    return answer
