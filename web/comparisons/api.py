"""The API that compares two versions."""

from __future__ import annotations

from http import HTTPStatus
from typing import Any

from drf_spectacular.utils import OpenApiResponse, extend_schema
from rest_framework import serializers
from rest_framework.exceptions import ValidationError
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from arena_kit.ranking.paired import Verdict
from arena_kit.ranking.verdicts import same_seeds_sentence
from core.evaluations.comparison import compare
from core.listing import environment_rows
from core.models import Environment, Submission
from core.submissions.named import versions_named
from core.tournaments.comparison import duels_compare
from core.tournaments.results import Viewer
from web.api.base import one
from web.api.fields import Version
from web.site.requests import viewer_of

NAMED = (
    "Id of a version, the name of an agent, or both as in “alpha v2”. A name alone stands for the version that plays."
)


class ComparisonQuery(serializers.Serializer[Any]):
    first = serializers.CharField(max_length=80, help_text=NAMED)
    second = serializers.CharField(max_length=80, help_text=NAMED)


class PairedAnswer(serializers.Serializer[Any]):
    """Two versions by what both have met. Shares of the matches go from 0 to 1, scores are those of the environment."""

    verdict = serializers.ChoiceField(
        choices=[one.value for one in Verdict], help_text="Which is better; open: no difference is shown yet."
    )
    sentence = serializers.CharField(help_text="The verdict in words.")
    first = serializers.FloatField(source="paired.first", help_text="Mean result of the first version.")
    second = serializers.FloatField(source="paired.second")
    difference = serializers.FloatField(source="paired.difference.value", help_text="The first less the second.")
    low = serializers.FloatField(source="paired.difference.low", help_text="Lower end of its 95% interval.")
    high = serializers.FloatField(source="paired.difference.high")
    units = serializers.IntegerField(source="paired.units", help_text="Openings, or seeds, that were counted.")
    results = serializers.IntegerField(source="paired.results", help_text="Matches of both, or episodes of each.")
    more = serializers.IntegerField(
        source="paired.more",
        allow_null=True,
        help_text="About how many more would show a difference of this size; null if it is shown or too small.",
    )


class ComparisonAnswer(serializers.Serializer[Any]):
    first = Version()
    second = Version()
    sentence = serializers.CharField(help_text="The verdict in words.")
    same_opponents = PairedAnswer(allow_null=True, help_text="By duels of tournaments against the same versions.")
    own_duels = PairedAnswer(allow_null=True, help_text="By the duels between the two.")
    same_seeds = PairedAnswer(allow_null=True, help_text="By evaluations on the same seeds.")


class EnvironmentComparison(APIView):
    """Compare two versions by what both have met: a verdict with its 95% interval.

    With two seats these are the same opponents and openings in tournaments whose results you may see, and the duels
    between the two; with one seat the same seeds.
    """

    tag = "ratings"

    @extend_schema(
        parameters=[ComparisonQuery],
        responses={
            HTTPStatus.OK: ComparisonAnswer,
            HTTPStatus.BAD_REQUEST: OpenApiResponse(description="A name is missing, or names no version."),
            HTTPStatus.NOT_FOUND: OpenApiResponse(description="There is no such environment."),
        },
    )
    def get(self, request: Request, slug: str) -> Response:
        row = one(environment_rows(), slug=slug)
        query = ComparisonQuery(data=request.query_params)
        query.is_valid(raise_exception=True)
        first, second = _named(row, query.validated_data)
        return Response(ComparisonAnswer(_compared(row, first, second, viewer_of(request))).data)


def _named(environment: Environment, words: dict[str, str]) -> list[Submission]:
    """Return both versions. Raises ValidationError."""
    found = dict(zip(words, versions_named(environment, list(words.values())), strict=True))
    unknown = [field for field, row in found.items() if row is None]
    wrong = {field: [f"No version in {environment} is called “{words[field]}”."] for field in unknown}
    if wrong:
        raise ValidationError(wrong)
    versions = [row for row in found.values() if row is not None]
    if versions[0] == versions[1]:
        raise ValidationError({"second": ["Name two versions that differ."]})
    return versions


def _compared(environment: Environment, first: Submission, second: Submission, viewer: Viewer) -> dict[str, object]:
    """Return the answer's data. Raises ValidationError where agents are not compared by duels or scores."""
    names = (str(first), str(second))
    data: dict[str, object] = {"first": first, "second": second}
    nothing = {"same_opponents": None, "own_duels": None, "same_seeds": None}
    if environment.is_scored:
        found = compare(environment, [first.public_id, second.public_id])
        paired = found.differences[0][1] if len(found.evaluations) == 2 else None
        sentence = same_seeds_sentence(paired, *names) if paired else "They have no evaluations on the same seeds."
        return data | nothing | {"sentence": sentence, "same_seeds": _part(paired, sentence)}
    if environment.seats != 2:
        raise ValidationError({"detail": f"{environment} is not played by two agents."})
    duels = duels_compare(first, second, viewer)
    return (
        data
        | nothing
        | {
            "sentence": duels.sentence,
            "same_opponents": _part(duels.same, duels.same_sentence),
            "own_duels": _part(duels.own, duels.own_sentence),
        }
    )


def _part(paired: Any, sentence: str) -> dict[str, object] | None:
    return None if paired is None else {"paired": paired, "verdict": paired.verdict, "sentence": sentence}
