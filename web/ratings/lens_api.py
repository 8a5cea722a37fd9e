"""API of head to head, who beats whom, and calibration."""

from __future__ import annotations

from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.exceptions import ValidationError
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from core.listing import environment_rows
from core.models import Environment
from core.ratings.lens_selectors import calibration_get, lens_get
from core.ratings.pairs import SIZES, matrix_get
from web.api.base import one
from web.api.fields import Version


class RatedAnswer(serializers.Serializer[Any]):
    submission = Version()
    rank = serializers.IntegerField(allow_null=True)
    value = serializers.FloatField(help_text="Official rating.")


class CellAnswer(serializers.Serializer[Any]):
    """Results of one agent against another. A forfeit counts as a win of the other side."""

    wins = serializers.IntegerField()
    draws = serializers.IntegerField()
    losses = serializers.IntegerField()
    matches = serializers.IntegerField()
    share = serializers.FloatField(help_text="Share of the matches, 0 to 1; a draw is half.")
    duel_count = serializers.IntegerField()
    latest_duel = serializers.IntegerField(help_text="Id of their last duel.")


class HeadToHeadAnswer(serializers.Serializer[Any]):
    ranked_count = serializers.IntegerField(help_text="Number of ranked agents.")
    ratings = RatedAnswer(many=True, help_text="The agents of the rows, and of the columns, best first.")
    cells = serializers.ListField(
        child=serializers.ListField(child=CellAnswer(allow_null=True)),
        help_text="Row by row; null if the two have not met.",
    )


class HeadToHeadQuery(serializers.Serializer[Any]):
    top = serializers.ChoiceField(choices=SIZES, default=SIZES[1], help_text="Number of agents, from the best.")


class NashAnswer(serializers.Serializer[Any]):
    rating = RatedAnswer()
    rank = serializers.IntegerField(help_text="Rank by Nash averaging. Ties share: 1, 1, 3.")
    skill = serializers.FloatField(help_text="Elo against the mixture that no agent beats.")
    weight = serializers.FloatField(help_text="Share in that mixture, 0 to 1.")


class BeatingAnswer(serializers.Serializer[Any]):
    winner = RatedAnswer()
    loser = RatedAnswer()
    share = serializers.FloatField(source="result.share", help_text="Share of the matches that the winner took.")
    lower = serializers.FloatField(source="result.lower", help_text="Lower end of its interval.")
    matches = serializers.IntegerField(source="result.matches")


class LensAnswer(serializers.Serializer[Any]):
    nash = NashAnswer(many=True)
    cycles = serializers.ListField(
        child=BeatingAnswer(many=True), help_text="Circles of three agents that beat each other, the clearest first."
    )
    cycle_count = serializers.IntegerField(help_text="Number of circles; only the clearest are listed.")
    pair_count = serializers.IntegerField(help_text="Number of pairs that have met.")
    clear_count = serializers.IntegerField(help_text="Number of pairs in which one agent clearly beats the other.")
    computed_at = serializers.DateTimeField(allow_null=True, help_text="null before the first ratings.")


class CalibrationBinAnswer(serializers.Serializer[Any]):
    low = serializers.FloatField()
    high = serializers.FloatField()
    pairs = serializers.IntegerField()
    duels = serializers.IntegerField()
    matches = serializers.IntegerField()
    expected = serializers.FloatField(help_text="Mean predicted share of the matches.")
    happened = serializers.FloatField(help_text="Mean actual share of the matches.")
    lower = serializers.FloatField(help_text="Lower end of its 95% interval.")
    upper = serializers.FloatField(help_text="Upper end of its 95% interval.")


class CalibrationAnswer(serializers.Serializer[Any]):
    duels = serializers.IntegerField()
    matches = serializers.IntegerField()
    brier = serializers.FloatField(allow_null=True, help_text="Brier score: 0 is perfect; null without matches.")
    even = serializers.FloatField(allow_null=True, help_text="Brier score if every prediction were one half.")
    bins = CalibrationBinAnswer(many=True, help_text="Groups of predictions, seen from the favourite's side.")
    computed_at = serializers.DateTimeField(allow_null=True)


NOTHING_RATED: dict[str, Any] = {
    "nash": [],
    "cycles": [],
    "cycle_count": 0,
    "pair_count": 0,
    "clear_count": 0,
    "computed_at": None,
}
NOTHING_PREDICTED: dict[str, Any] = {
    "duels": 0,
    "matches": 0,
    "brier": None,
    "even": None,
    "bins": [],
    "computed_at": None,
}


class EnvironmentHeadToHead(APIView):
    """The best agents of an environment against each other: sums over all rated matches."""

    tag = "ratings"

    @extend_schema(parameters=[HeadToHeadQuery], responses=HeadToHeadAnswer)
    def get(self, request: Request, slug: str) -> Response:
        query = HeadToHeadQuery(data=request.query_params)
        query.is_valid(raise_exception=True)
        return Response(HeadToHeadAnswer(matrix_get(_with_duels(slug), query.validated_data["top"])).data)


class EnvironmentLens(APIView):
    """Circles of agents that beat each other, and the ranking by Nash averaging, as of the last computed ratings."""

    tag = "ratings"

    @extend_schema(responses=LensAnswer)
    def get(self, request: Request, slug: str) -> Response:
        return Response(LensAnswer(lens_get(_with_duels(slug)) or NOTHING_RATED).data)


class EnvironmentCalibration(APIView):
    """Predictions and actual results, as of the last computed ratings."""

    tag = "ratings"

    @extend_schema(responses=CalibrationAnswer)
    def get(self, request: Request, slug: str) -> Response:
        return Response(CalibrationAnswer(calibration_get(_with_duels(slug)) or NOTHING_PREDICTED).data)


def _with_duels(slug: str) -> Environment:
    row = one(environment_rows(), slug=slug)
    if row.seats != 2:
        raise ValidationError({"detail": f"{row} is not played by two agents: see its board."})
    return row
