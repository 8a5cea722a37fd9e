"""Patterns of the API's addresses: each works with and without a final slash, so that no program is redirected."""

from __future__ import annotations

from typing import Any

from django.urls import URLPattern, path, register_converter
from django.urls.converters import StringConverter
from rest_framework.views import APIView

from web.api.tags import tagged


class EnvironmentId(StringConverter):
    """An id of Gymnasium; some have a namespace, like ALE/Pong-v5."""

    regex = "[^/]+(?:/[^/]+)*"


register_converter(EnvironmentId, "env_id")


def both(route: str, view: type[APIView], name: str) -> list[URLPattern]:
    """Return an address with and without a final slash; only the one given is in the schema."""
    twin = route.removesuffix("/") if route.endswith("/") else f"{route}/"
    # drf-spectacular omits views without a schema.
    hidden: dict[str, Any] = {"schema": None}
    # With an ETag: a program that asks again gets 304 and no body where nothing has changed.
    return [
        path(route, tagged(view.as_view()), name=name),
        path(twin, tagged(view.as_view(**hidden))),
    ]


def native(route: str, view: type[APIView], name: str) -> list[URLPattern]:
    return both(f"api/v1/{route}", view, name)
