"""Parsers of requests with bounds. Answers are always JSON."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import IO, Any

from django.conf import settings
from rest_framework.exceptions import ParseError, ValidationError
from rest_framework.negotiation import BaseContentNegotiation
from rest_framework.parsers import BaseParser, FormParser, JSONParser
from rest_framework.renderers import BaseRenderer
from rest_framework.request import Request

HALF_A_PAIR = "A text has half of a surrogate pair (\\ud800 to \\udfff), which UTF-8 cannot hold; remove it."
BAD_NUMBER = "The JSON has a number that is infinite, NaN, or too long; write a shorter one."
TOO_LARGE = "The request is too large for this address."


class AnyTextJSONParser(JSONParser):
    """Parses a JSON object, at most as large as a form without its files. The view looks at every text itself."""

    def parse(
        self, stream: IO[Any], media_type: str | None = None, parser_context: Mapping[str, Any] | None = None
    ) -> dict[str, Any]:
        check_length(parser_context)
        try:
            data = super().parse(stream, media_type, parser_context)
        except RecursionError:
            raise ParseError("The JSON is nested too deeply.") from None
        except ParseError as error:
            # The JSON itself is well formed: its mistakes have a type of their own.
            if type(error.__context__) is ValueError:
                raise ParseError(BAD_NUMBER) from None
            raise
        if not isinstance(data, dict):
            raise ParseError("The body must be a JSON object.")
        return data


class BoundedJSONParser(AnyTextJSONParser):
    """Like its parent, for all views: no database and no answer can hold half of a surrogate pair in any field."""

    def parse(
        self, stream: IO[Any], media_type: str | None = None, parser_context: Mapping[str, Any] | None = None
    ) -> dict[str, Any]:
        data = super().parse(stream, media_type, parser_context)
        if not _is_text(list(data)):
            raise ParseError(HALF_A_PAIR)
        if wrong := {name: [HALF_A_PAIR] for name, value in data.items() if not _is_text(value)}:
            raise ValidationError(wrong)
        return data


def _is_text(value: Any) -> bool:
    """Return whether all texts of a JSON value are characters."""
    try:
        json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return False
    except RecursionError:
        raise ParseError("The JSON is nested too deeply.") from None
    return True


class BoundedFormParser(FormParser):
    """Parses a form without files, so that a program that forgot its files gets a helpful error."""

    def parse(
        self, stream: IO[Any], media_type: str | None = None, parser_context: Mapping[str, Any] | None = None
    ) -> Any:
        check_length(parser_context)
        return super().parse(stream, media_type, parser_context)


def check_length(parser_context: Mapping[str, Any] | None) -> None:
    """Raise ParseError if the body is too large, before it is read into memory."""
    request: Request = (parser_context or {})["request"]
    # Django reads as many bytes as the header says, and none without it.
    length = str(request.META.get("CONTENT_LENGTH") or "0")
    if not length.isdecimal() or int(length) > settings.DATA_UPLOAD_MAX_MEMORY_SIZE:
        raise ParseError(TOO_LARGE)


class OnlyJSON(BaseContentNegotiation):
    """Chooses the parser by the content type, and always the first renderer."""

    def select_parser(self, request: Request, parsers: Iterable[BaseParser]) -> BaseParser | None:
        kind = (request.content_type or "").partition(";")[0].strip().lower()
        return next((parser for parser in parsers if parser.media_type == kind), None)

    def select_renderer(
        self, request: Request, renderers: Iterable[BaseRenderer], format_suffix: str | None = None
    ) -> tuple[BaseRenderer, str]:
        renderer = next(iter(renderers))
        return renderer, str(renderer.media_type)
