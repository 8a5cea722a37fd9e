"""Queries of the compatible API: which rows of a board or a list are asked for."""

from __future__ import annotations

import math
from datetime import date
from typing import Any

from rest_framework import serializers
from rest_framework.request import Request

from core.evaluations.board import SORTS, BoardFilter
from web.api.compatible.forms import DEFAULT_ENVIRONMENT

FIRST_DAY, LAST_DAY = date(1970, 1, 1), date(9998, 12, 31)


class ListQuery(serializers.Serializer[Any]):
    """Which ids are listed."""

    all = serializers.BooleanField(
        default=False, help_text="true: also ids without a board, which a submission may add where organisers allow it."
    )


class FiniteField(serializers.FloatField):
    """A number without NaN and infinities, which cannot be compared with scores."""

    def to_internal_value(self, data: float | str) -> float:
        value = float(super().to_internal_value(data))
        if not math.isfinite(value):
            self.fail("invalid")
        return value


class BoardQuery(serializers.Serializer[Any]):
    """Filter and order of a board."""

    limit = serializers.IntegerField(default=50, min_value=1, max_value=500, help_text="Rows, 1 to 500.")
    id_query = serializers.CharField(default="", max_length=100, help_text="Part of the id.")
    user = serializers.CharField(default="", max_length=100, help_text="Part of the user's name; case does not matter.")
    algorithm = serializers.CharField(
        default="", max_length=100, help_text="Part of the algorithm; case does not matter."
    )
    score_min = FiniteField(default=None)
    score_max = FiniteField(default=None)
    date_from = serializers.DateField(default=None, help_text="YYYY-MM-DD, in UTC, that day included.")
    date_to = serializers.DateField(default=None, help_text="YYYY-MM-DD, in UTC, that day included.")
    sort = serializers.ChoiceField(default="score_desc", choices=list(SORTS))
    verified = serializers.BooleanField(
        default=None,
        allow_null=True,
        help_text="true: only scores that the arena measured. false: only self-reported ones.",
    )

    def validate_date_from(self, value: date | None) -> date | None:
        return _day(value)

    def validate_date_to(self, value: date | None) -> date | None:
        return _day(value)


class EnvironmentQuery(BoardQuery):
    env_id = serializers.CharField(default=DEFAULT_ENVIRONMENT, max_length=100)


def read_board_query(request: Request, kind: type[BoardQuery] = BoardQuery) -> tuple[BoardFilter, int, int]:
    """Return the filter, the limit and the offset; empty fields count as missing. Raises ValidationError."""
    query = kind(data={name: value for name, value in request.query_params.items() if value})
    query.is_valid(raise_exception=True)
    data = dict(query.validated_data)
    limit, offset = data.pop("limit"), data.pop("offset", 0)
    return BoardFilter(**data), limit, offset


def _day(value: date | None) -> date | None:
    if value is not None and not FIRST_DAY <= value <= LAST_DAY:
        raise serializers.ValidationError(f"Use a day from {FIRST_DAY} to {LAST_DAY}.")
    return value
