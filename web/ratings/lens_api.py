"""Head to head, who beats whom, and calibration."""

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
from web.api.fields import Version
from web.api.views import one


class RatedAnswer(serializers.Serializer[Any]):
    submission = Version()
    rank = serializers.IntegerField(allow_null=True)
    value = serializers.FloatField(help_text="Official rating.")


class CellAnswer(serializers.Serializer[Any]):
    """What one did against another; a forfeit is a win of the other."""

    wins = serializers.IntegerField()
    draws = serializers.IntegerField()
    losses = serializers.IntegerField()
    matches = serializers.IntegerField()
    share = serializers.FloatField(help_text="Of the points, 0 to 1; a draw is half.")
    duel_count = serializers.IntegerField()
    latest_duel = serializers.IntegerField(help_text="Id of the last duel of the two.")


class HeadToHeadAnswer(serializers.Serializer[Any]):
    ranked_count = serializers.IntegerField(help_text="How many are ranked.")
    ratings = RatedAnswer(many=True, help_text="The rows, and the columns: the best first.")
    cells = serializers.ListField(
        child=serializers.ListField(child=CellAnswer(allow_null=True)),
        help_text="Row by row; null where the two have not met.",
    )


class HeadToHeadQuery(serializers.Serializer[Any]):
    top = serializers.ChoiceField(choices=SIZES, default=SIZES[1], help_text="How many of the best.")


class NashAnswer(serializers.Serializer[Any]):
    rating = RatedAnswer()
    rank = serializers.IntegerField(help_text="By Nash averaging. Ties share: 1, 1, 3.")
    skill = serializers.FloatField(help_text="Points of Elo against the mixture that nobody beats.")
    weight = serializers.FloatField(help_text="Share of that mixture, 0 to 1.")


class BeatingAnswer(serializers.Serializer[Any]):
    winner = RatedAnswer()
    loser = RatedAnswer()
    share = serializers.FloatField(source="step.share", help_text="Of the points, taken by the winner.")
    lower = serializers.FloatField(source="step.lower", help_text="Lower end of its interval.")
    matches = serializers.IntegerField(source="step.matches")


class LensAnswer(serializers.Serializer[Any]):
    nash = NashAnswer(many=True)
    cycles = serializers.ListField(
        child=BeatingAnswer(many=True), help_text="Threes that beat each other in a circle, the clearest first."
    )
    cycle_count = serializers.IntegerField(help_text="How many there are; only the clearest are listed.")
    pair_count = serializers.IntegerField(help_text="Pairs that have met.")
    clear_count = serializers.IntegerField(help_text="Those in which one clearly beats the other.")
    computed_at = serializers.DateTimeField(allow_null=True, help_text="null before the first ratings.")


class CalibrationBinAnswer(serializers.Serializer[Any]):
    low = serializers.FloatField()
    high = serializers.FloatField()
    pairs = serializers.IntegerField()
    duels = serializers.IntegerField()
    matches = serializers.IntegerField()
    expected = serializers.FloatField(help_text="Mean share of the points that was predicted.")
    happened = serializers.FloatField(help_text="Mean share of the points that came of it.")
    lower = serializers.FloatField(help_text="Begin of its 95% interval.")
    upper = serializers.FloatField(help_text="End of its 95% interval.")


class CalibrationAnswer(serializers.Serializer[Any]):
    duels = serializers.IntegerField()
    matches = serializers.IntegerField()
    brier = serializers.FloatField(allow_null=True, help_text="0 is perfect; null without a match.")
    even = serializers.FloatField(allow_null=True, help_text="The same had one half been said of every match.")
    bins = CalibrationBinAnswer(many=True, help_text="Told from the side of whoever was expected to win.")
    computed_at = serializers.DateTimeField(allow_null=True)


NOTHING_RATED: dict[str, Any] = {
    "nash": [], "cycles": [], "cycle_count": 0, "pair_count": 0, "clear_count": 0, "computed_at": None,
}  # fmt: skip
NOTHING_PREDICTED: dict[str, Any] = {
    "duels": 0, "matches": 0, "brier": None, "even": None, "bins": [], "computed_at": None,
}  # fmt: skip


class EnvironmentHeadToHead(APIView):
    """The best of an environment against each other: sums over all rated matches."""

    tag = "ratings"

    @extend_schema(parameters=[HeadToHeadQuery], responses=HeadToHeadAnswer)
    def get(self, request: Request, slug: str) -> Response:
        query = HeadToHeadQuery(data=request.query_params)
        query.is_valid(raise_exception=True)
        # A choice comes back as it was listed: a number.
        return Response(HeadToHeadAnswer(matrix_get(_with_duels(slug), query.validated_data["top"])).data)


class EnvironmentLens(APIView):
    """Who beats whom in a circle, and the ranking by Nash averaging; as of when ratings were last computed."""

    tag = "ratings"

    @extend_schema(responses=LensAnswer)
    def get(self, request: Request, slug: str) -> Response:
        return Response(LensAnswer(lens_get(_with_duels(slug)) or NOTHING_RATED).data)


class EnvironmentCalibration(APIView):
    """Whether predictions came true; as of when ratings were last computed."""

    tag = "ratings"

    @extend_schema(responses=CalibrationAnswer)
    def get(self, request: Request, slug: str) -> Response:
        return Response(CalibrationAnswer(calibration_get(_with_duels(slug)) or NOTHING_PREDICTED).data)


def _with_duels(slug: str) -> Environment:
    row = one(environment_rows(), slug=slug)
    if row.seats != 2:
        raise ValidationError({"detail": f"In {row} nobody plays against one other: see its board."})
    return row
