from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render

from core.models import Season
from core.tournaments.seasons import season_table


def season(request: HttpRequest, slug: str, season_id: int) -> HttpResponse:
    """A season's table, summed up over the tournaments that count."""
    row = get_object_or_404(Season.objects.select_related("environment"), environment__slug=slug, pk=season_id)
    context = {"season": row, "environment": row.environment, "table": season_table(row)}
    return render(request, "web/tournaments/season.html", context)
