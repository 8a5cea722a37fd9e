"""The gateway to language models, tried with a test double of the protocol (see `fake_model`)."""

from __future__ import annotations

import gzip
import http.client
import json
import shutil
import socket
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from arena_kit.rollout.agents.meter import Meter
from arena_kit.rollout.gateway.endpoint import AskedModel, ChatForm, Endpoint, Form, Prices
from arena_kit.rollout.gateway.gateway import LOG, Gateway
from arena_kit.rollout.gateway.gemini import GeminiForm
from arena_kit.tests.rollout.fake_model import FakeModel, Scripted, calls, fake_model, says

HELLO: dict[str, Any] = {"messages": [{"role": "user", "content": "Hello"}]}
KEY = "a-secret-key"


class Client(http.client.HTTPConnection):
    """What an agent has: HTTP over a Unix socket."""

    def __init__(self, path: Path) -> None:
        super().__init__("model", timeout=20)
        self.path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(self.timeout)
        self.sock.connect(str(self.path))


class Place:
    """A gateway to a double, and what an agent gets from it."""

    def __init__(self, double: FakeModel, folder: Path, meter: Meter, form: Form, **settings: Any) -> None:
        self.meter, self.folder = meter, folder
        self.pauses: list[float] = []
        prices = Prices(tokens_in=2_000_000, tokens_cached=500_000, tokens_out=10_000_000)
        model = AskedModel("the-model", settings.pop("url", double.url), KEY, prices, **settings)
        endpoint = Endpoint(model, form, sleep=self.pauses.append)
        self.gateway = Gateway(endpoint, meter, folder / "sockets", folder)

    def ask(self, body: Any, path: str = "/v1/chat/completions") -> tuple[int, bytes]:
        client = Client(self.gateway.socket)
        try:
            client.request("POST", path, body if isinstance(body, bytes) else json.dumps(body).encode())
            answer = client.getresponse()
            return answer.status, answer.read()
        finally:
            client.close()

    def log(self) -> list[dict[str, Any]]:
        self.gateway.close()
        return [json.loads(line) for line in gzip.decompress((self.folder / LOG).read_bytes()).splitlines()]


@pytest.fixture
def folder() -> Iterator[Path]:
    # A short path: the name of a Unix socket has at most 107 bytes.
    made = Path(tempfile.mkdtemp(prefix="arena-"))
    yield made
    shutil.rmtree(made)


def opened(
    double: FakeModel, folder: Path, meter: Meter | None = None, form: Form | None = None, **settings: Any
) -> Place:
    return Place(double, folder, meter or Meter(), form or ChatForm(), **settings)


def test_a_request_reaches_the_rollouts_model_and_is_counted_and_logged(folder: Path) -> None:
    picture = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}
    tools = [{"type": "function", "function": {"name": "click"}}, {"type": "web_search"}]
    body = {
        "model": "another-one", "messages": [{"role": "user", "content": [picture]}], "tools": tools,
        "web_search_options": {}, "user": "x", "temperature": 0.2,
    }  # fmt: skip
    with fake_model(calls("click", ref="e7")) as double:
        place = opened(double, folder, fixed={"temperature": 1.0})
        with place.gateway:
            status, answer = place.ask(body)
            assert status == 200
            assert json.loads(answer)["choices"][0]["message"]["tool_calls"][0]["function"]["name"] == "click"
            client = Client(place.gateway.socket)
            client.request("GET", "/v1/models")
            assert [each["id"] for each in json.loads(client.getresponse().read())["data"]] == ["the-model"]
            client.close()
        path, headers, sent = double.asked[0]
    assert (path, headers["Authorization"]) == ("/v1/chat/completions", f"Bearer {KEY}")
    assert sent == {"messages": body["messages"], "tools": tools[:1], "temperature": 1.0, "model": "the-model"}
    assert (place.meter.usage.tokens, place.meter.usage.cost_micros) == (120, 100 * 2 + 20 * 10)
    assert place.meter.waited_seconds > 0
    (line,) = place.log()
    assert "AAAA" not in json.dumps(line)
    assert KEY not in json.dumps(line)
    assert KEY not in repr(place.gateway._endpoint.model)
    assert not place.gateway.socket.exists()


def test_a_stream_is_the_whole_answer_and_its_end(folder: Path) -> None:
    with fake_model(says("42")) as double, opened(double, folder).gateway as gateway:
        client = Client(gateway.socket)
        client.request("POST", "/v1/chat/completions", json.dumps({**HELLO, "stream": True}).encode())
        first, last = client.getresponse().read().decode().strip().split("\n\n")
        client.close()
    assert json.loads(first.removeprefix("data: "))["choices"][0]["delta"]["content"] == "42"
    assert last == "data: [DONE]"
    assert "stream" not in double.asked[0][2]


@pytest.mark.parametrize(
    "passing", [Scripted(429), Scripted(503), Scripted(raw=b"no JSON"), Scripted(raw=b"{}"), Scripted(raw=b"[" * 9999)]
)
def test_what_may_pass_is_tried_again(passing: Scripted, folder: Path) -> None:
    with fake_model(passing, says("42")) as double:
        place = opened(double, folder)
        with place.gateway:
            assert place.ask(HELLO)[0] == 200
    assert len(double.asked) == 2
    assert len(place.pauses) == 1
    assert place.meter.problem is None


@pytest.mark.parametrize(
    ("answer", "settings", "status", "code", "asked"),
    [
        (Scripted(500), {}, 503, "model_unavailable", 5),
        (Scripted(raw=b'{"choices": []}'), {}, 503, "model_unavailable", 5),
        (Scripted(401), {}, 503, "model_misconfigured", 1),
        (Scripted(404), {}, 503, "model_misconfigured", 1),
        (says("42"), {"url": "http://127.0.0.1:9/v1"}, 503, "model_unavailable", 0),
        (Scripted(hangs=True), {"timeout_seconds": 0.1, "tries": 2}, 503, "model_unavailable", 2),
        (Scripted(400, raw=b'{"error": {"message": "Too long"}}'), {}, 400, "", 1),
    ],
)
def test_what_does_not_pass_is_the_platforms_fault_unless_the_request_is_wrong(
    answer: Scripted, settings: dict[str, Any], status: int, code: str, asked: int, folder: Path
) -> None:
    with fake_model(answer) as double:
        place = opened(double, folder, **settings)
        with place.gateway:
            found, content = place.ask(HELLO)
    assert found == status
    assert json.loads(content)["error"]["message"]
    assert (place.meter.problem or ("",))[0] == code
    assert len(double.asked) == asked


def test_limits_on_tokens_and_cost_hold_before_the_next_request(folder: Path) -> None:
    for meter, limit in ((Meter(tokens=120), "token_limit"), (Meter(cost_micros=400), "cost_limit")):
        with fake_model(says("42")) as double:
            place = opened(double, folder, meter)
            with place.gateway:
                assert place.ask(HELLO)[0] == 200
                status, answer = place.ask(HELLO)
        assert (status, json.loads(answer)["error"]["code"], meter.limit) == (402, limit, limit)
        assert len(double.asked) == 1
        shutil.rmtree(folder / "sockets")


def test_an_answer_without_usage_is_not_free(folder: Path) -> None:
    with fake_model(Scripted(message={"content": "x" * 4_000}, usage=None)) as double:
        place = opened(double, folder)
        with place.gateway:
            place.ask(HELLO)
    assert place.meter.usage.tokens > 1_000


@pytest.mark.parametrize(
    ("body", "status", "path"),
    [
        (b"no JSON", 400, "/v1/chat/completions"),
        (b"[" * 100_000, 400, "/v1/chat/completions"),
        ([1], 400, "/v1/chat/completions"),
        ({"messages": []}, 400, "/v1/chat/completions"),
        ({"messages": ["x"]}, 400, "/v1/chat/completions"),
        ({**HELLO, "n": 50}, 400, "/v1/chat/completions"),
        ({**HELLO, "tools": "all"}, 400, "/v1/chat/completions"),
        ({"messages": [{"role": "user", "content": [{"type": "image_url", "image_url": {"url": "file:///etc/passwd"}}]}]},
         400, "/v1/chat/completions"),
        ({"messages": [{"role": "user", "content": [{"type": "image_url", "image_url": {"url": "http://169.254.169.254"}}]}]},
         400, "/v1/chat/completions"),
        (HELLO, 404, "/v1/files"),
        (HELLO, 404, "/v1/../admin"),
    ],
)  # fmt: skip
def test_hostile_requests_reach_no_model(body: Any, status: int, path: str, folder: Path) -> None:
    with fake_model(says("42")) as double:
        place = opened(double, folder)
        with place.gateway:
            assert place.ask(body, path)[0] == status
    assert double.asked == []
    assert place.meter.usage.tokens == 0


def test_a_gateway_ends_while_a_model_hangs(folder: Path) -> None:
    with fake_model(Scripted(hangs=True)) as double:
        place = opened(double, folder, tries=1)
        client = Client(place.gateway.socket)
        client.request("POST", "/v1/chat/completions", json.dumps(HELLO).encode())
        while not double.asked:
            threading.Event().wait(0.01)
        place.gateway.close()
        client.close()
        assert not place.gateway.socket.exists()


def test_gemini_is_spoken_to_in_its_own_form(folder: Path) -> None:
    answered = {
        "candidates": [{"content": {"parts": [
            {"text": "I click."}, {"functionCall": {"name": "click_at", "args": {"x": 500, "y": 20}}},
        ]}, "finishReason": "STOP"}],
        "usageMetadata": {"promptTokenCount": 50, "candidatesTokenCount": 5, "thoughtsTokenCount": 7},
    }  # fmt: skip
    call = {"id": "c1", "type": "function", "function": {"name": "click_at", "arguments": '{"x": 1}'}}
    body = {
        "messages": [
            {"role": "system", "content": "Be careful."},
            {"role": "user", "content": [{"type": "text", "text": "See"}, {
                "type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}]},
            {"role": "assistant", "content": None, "tool_calls": [call]},
            {"role": "tool", "tool_call_id": "c1", "content": "Done."},
        ],
        "tools": [{"type": "computer_use"}, {"type": "function", "function": {"name": "answer"}}], "max_tokens": 9,
    }  # fmt: skip
    with fake_model(Scripted(raw=json.dumps(answered).encode())) as double:
        place = opened(double, folder, form=GeminiForm())
        with place.gateway:
            status, answer = place.ask(body)
    path, headers, sent = double.asked[0]
    assert (status, path, headers["x-goog-api-key"]) == (200, "/v1/models/the-model:generateContent", KEY)
    assert sent["systemInstruction"] == {"parts": [{"text": "Be careful."}]}
    assert [each["role"] for each in sent["contents"]] == ["user", "model", "user"]
    assert sent["contents"][0]["parts"][1] == {"inlineData": {"mimeType": "image/png", "data": "AAAA"}}
    assert sent["contents"][2]["parts"][0]["functionResponse"] == {"name": "click_at", "response": {"result": "Done."}}
    assert sent["tools"] == [
        {"functionDeclarations": [{"name": "answer"}]}, {"computerUse": {"environment": "ENVIRONMENT_BROWSER"}},
    ]  # fmt: skip
    assert sent["generationConfig"] == {"maxOutputTokens": 9}
    message = json.loads(answer)["choices"][0]["message"]
    assert message["content"] == "I click."
    assert json.loads(message["tool_calls"][0]["function"]["arguments"]) == {"x": 500, "y": 20}
    assert (place.meter.usage.tokens_in, place.meter.usage.tokens_out) == (50, 12)
