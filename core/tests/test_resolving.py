"""The handler of the site finds views as Django's does."""

from __future__ import annotations

import pytest
from django.http import HttpRequest
from django.urls import resolve

from core.resolving import LONGEST_PATH, Handler, _kept


def found(path: str) -> tuple[object, ...]:
    request = HttpRequest()
    request.path_info = path
    match = Handler().resolve_request(request)
    assert request.resolver_match is match
    return match.func, match.args, match.kwargs, match.view_name


@pytest.mark.parametrize("slug", ["go", "x" * LONGEST_PATH])
def test_a_path_leads_to_its_view_each_time_and_long_ones_are_not_kept(slug: str) -> None:
    path = f"/environments/{slug}/"
    _kept.cache_clear()
    expected = resolve(path)
    for _ in range(2):
        assert found(path) == (expected.func, expected.args, expected.kwargs, expected.view_name)
    assert _kept.cache_info().currsize == (len(path) <= LONGEST_PATH)
