"""The parts of an agent's request that go to the model, and the parts of both that are recorded."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any

from arena_kit.rollout.gateway.endpoint import AskedModel
from arena_kit.rollout.gateway.gemini import COMPUTER_USE

ALLOWED = frozenset({
    "messages", "tools", "tool_choice", "parallel_tool_calls", "temperature", "top_p", "max_tokens",
    "max_completion_tokens", "stop", "seed", "response_format", "reasoning_effort", "frequency_penalty",
    "presence_penalty", "logit_bias", "n",
})  # fmt: skip
"""All other keys are dropped: they could reach tools of the provider outside of the world, or another bill."""
TOOLS = ("function", COMPUTER_USE)
MOST_MESSAGES = 2_000
IMAGE = "image_url"


class BadRequest(Exception):
    """The agent's request cannot be passed on. The message is a sentence."""


def request_read(body: Any, model: AskedModel) -> dict[str, Any]:
    """Return the request as it goes to the model. Raises BadRequest."""
    if not isinstance(body, dict):
        raise BadRequest("The request must be a JSON object.")
    messages = body.get("messages")
    if not isinstance(messages, list) or not messages or len(messages) > MOST_MESSAGES:
        raise BadRequest(f"The key messages must be a list of 1 to {MOST_MESSAGES:,} messages.")
    if not all(isinstance(each, dict) for each in messages):
        raise BadRequest("Each message must be an object.")
    for part in _images(messages):
        if not str(part[IMAGE].get("url") if isinstance(part[IMAGE], dict) else "").startswith("data:image/"):
            raise BadRequest("A picture must be in the request itself, as a data: address; nothing else is fetched.")
    kept = {name: value for name, value in body.items() if name in ALLOWED}
    if "tools" in kept:
        tools = kept["tools"]
        if not isinstance(tools, list) or not all(isinstance(each, dict) for each in tools):
            raise BadRequest("The key tools must be a list of objects.")
        # A provider's own tools, such as a search in the web, would leave the world.
        kept["tools"] = [each for each in tools if each.get("type") in TOOLS]
    if kept.get("n", 1) != 1:
        raise BadRequest("Only one answer can be asked for: n must be 1.")
    return {**kept, **model.fixed, "model": model.name}


def usage_in(answer: Mapping[str, Any]) -> tuple[int, int, int]:
    """Return the tokens of question, cache and answer; where the endpoint does not tell, they are estimated."""
    usage = answer.get("usage")
    if isinstance(usage, dict):
        details = usage.get("prompt_tokens_details")
        cached = details.get("cached_tokens") if isinstance(details, dict) else 0
        counts = [usage.get("prompt_tokens"), cached or 0, usage.get("completion_tokens")]
        found = [each for each in counts if isinstance(each, int) and each >= 0]
        if len(found) == len(counts):
            return found[0], min(found[1], found[0]), found[2]
    return 0, 0, max(1, len(json.dumps(answer)) // 4)


def for_log(value: Any) -> Any:
    """Return a request or an answer as it is written down: pictures as hashes."""
    if isinstance(value, dict):
        if isinstance(value.get(IMAGE), dict):
            url = str(value[IMAGE].get("url"))
            return {**value, IMAGE: {"sha256": hashlib.sha256(url.encode()).hexdigest(), "bytes": len(url)}}
        return {name: for_log(each) for name, each in value.items()}
    return [for_log(each) for each in value] if isinstance(value, list) else value


def stream_of(answer: Mapping[str, Any]) -> bytes:
    """Return an answer as the events of a stream: all in one piece, then the end."""
    choice = answer["choices"][0]
    message = dict(choice["message"])
    if calls := message.get("tool_calls"):
        message["tool_calls"] = [{"index": number, **call} for number, call in enumerate(calls)]
    piece = {"index": 0, "delta": message, "finish_reason": choice.get("finish_reason")}
    chunk = {**answer, "object": "chat.completion.chunk", "choices": [piece]}
    return f"data: {json.dumps(chunk)}\n\ndata: [DONE]\n\n".encode()


def _images(messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
    parts = [part for each in messages if isinstance(each.get("content"), list) for part in each["content"]]
    return [part for part in parts if isinstance(part, dict) and IMAGE in part]
