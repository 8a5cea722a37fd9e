"""Gemini's generateContent, with its computer-use tool, spoken to in the form of OpenAI's chat completions."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import quote

from arena_kit.rollout.gateway.endpoint import AskedModel

COMPUTER_USE = "computer_use"
"""The kind of tool by which an agent asks for Gemini's own actions; their names are those of `older_actions`."""
_SETTINGS = {
    "temperature": "temperature",
    "top_p": "topP",
    "max_tokens": "maxOutputTokens",
    "seed": "seed",
    "max_completion_tokens": "maxOutputTokens",
}
_ENDINGS = {"STOP": "stop", "MAX_TOKENS": "length", "SAFETY": "content_filter", "PROHIBITED_CONTENT": "content_filter"}


class GeminiForm:
    """See `arena_kit.rollout.gateway.endpoint.Form`."""

    def request(self, model: AskedModel, body: Mapping[str, Any]) -> tuple[str, Mapping[str, str], Mapping[str, Any]]:
        """See Form."""
        messages = [each for each in body.get("messages", ()) if isinstance(each, Mapping)]
        system = [part for each in messages if each.get("role") in ("system", "developer") for part in _parts(each)]
        sent: dict[str, Any] = {"contents": _contents(messages)}
        if system:
            sent["systemInstruction"] = {"parts": system}
        if tools := _tools(body.get("tools") or ()):
            sent["tools"] = tools
        settings = {ours: body[theirs] for theirs, ours in _SETTINGS.items() if body.get(theirs) is not None}
        if settings:
            sent["generationConfig"] = settings
        headers = {"x-goog-api-key": model.key} if model.key else {}
        return f"/models/{quote(model.name, safe='')}:generateContent", headers, sent

    def answer(self, model: AskedModel, answered: Mapping[str, Any]) -> dict[str, Any]:
        """See Form."""
        usage = answered.get("usageMetadata") or {}
        candidate = answered["candidates"][0]
        parts = (candidate.get("content") or {}).get("parts") or []
        text = "".join(part["text"] for part in parts if isinstance(part.get("text"), str) and not part.get("thought"))
        calls = [_call(number, part["functionCall"]) for number, part in enumerate(parts) if "functionCall" in part]
        message: dict[str, Any] = {"role": "assistant", "content": text or None}
        if calls:
            message["tool_calls"] = calls
        ending = "tool_calls" if calls else _ENDINGS.get(str(candidate.get("finishReason")), "stop")
        asked, cached = int(usage.get("promptTokenCount") or 0), int(usage.get("cachedContentTokenCount") or 0)
        said = int(usage.get("candidatesTokenCount") or 0) + int(usage.get("thoughtsTokenCount") or 0)
        return {
            "object": "chat.completion",
            "model": model.name,
            "choices": [{"index": 0, "message": message, "finish_reason": ending}],
            "usage": {
                "prompt_tokens": asked,
                "completion_tokens": said,
                "total_tokens": asked + said,
                "prompt_tokens_details": {"cached_tokens": cached},
            },
        }


def _contents(messages: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    contents: list[dict[str, Any]] = []
    names: dict[str, str] = {}
    for message in messages:
        role = message.get("role")
        if role in ("system", "developer"):
            continue
        if role == "tool":
            name = names.get(str(message.get("tool_call_id")), "")
            parts = [{"functionResponse": {"name": name, "response": _object(message.get("content"))}}]
        else:
            parts = _parts(message)
        for call in message.get("tool_calls") or ():
            function = call["function"]
            names[str(call.get("id"))] = function["name"]
            parts.append({"functionCall": {"name": function["name"], "args": _object(function.get("arguments"))}})
        kind = "model" if role == "assistant" else "user"
        if contents and contents[-1]["role"] == kind:
            contents[-1]["parts"] += parts
        else:
            contents.append({"role": kind, "parts": parts})
    return [each for each in contents if each["parts"]]


def _parts(message: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the texts and pictures of a message; pictures are data: addresses."""
    content = message.get("content")
    if isinstance(content, str):
        return [{"text": content}] if content else []
    parts: list[dict[str, Any]] = []
    for each in content or ():
        if each.get("type") == "text":
            parts.append({"text": each["text"]})
        elif each.get("type") == "image_url":
            head, _, data = str(each["image_url"]["url"]).partition(",")
            kind = head.removeprefix("data:").partition(";")[0] or "image/png"
            parts.append({"inlineData": {"mimeType": kind, "data": data}})
    return parts


def _tools(tools: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    declared = [
        {key: tool["function"][key] for key in ("name", "description", "parameters") if key in tool["function"]}
        for tool in tools
        if tool.get("type") == "function"
    ]
    found: list[dict[str, Any]] = [{"functionDeclarations": declared}] if declared else []
    if any(tool.get("type") == COMPUTER_USE for tool in tools):
        found.append({"computerUse": {"environment": "ENVIRONMENT_BROWSER"}})
    return found


def _call(number: int, call: Mapping[str, Any]) -> dict[str, Any]:
    arguments = json.dumps(call.get("args") or {})
    return {"id": f"call_{number}", "type": "function", "function": {"name": call["name"], "arguments": arguments}}


def _object(value: Any) -> Any:
    """Return what a text of JSON holds if it is an object, else an object around it."""
    try:
        found = json.loads(value) if isinstance(value, str) else value
    except ValueError:
        found = value
    return found if isinstance(found, dict) else {"result": found}
