"""Pages of evaluations: the score, its episodes, recordings and files."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase, JsonResponse
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.gzip import gzip_page

from arena_kit.environment.replay_file.document import EVERYTHING, ReplayOptions
from arena_kit.environment.replay_file.views import FrameView
from core.duels.replays import ReplayForm
from core.duels.selectors import NotStored, file_get
from core.evaluations import episodes as selectors
from core.evaluations.replays import recording_replay, recording_tag
from core.jobs.waits import wait_of
from core.models import Evaluation, JobState, Recording
from core.submissions import visibility
from core.submissions.selectors import agent_source_visible
from core.submissions.visibility import recording_visible
from core.tournaments.results import Viewer
from web.evaluations.parts import (
    ORDERS,
    RecordingView,
    episode_frames,
    episode_page,
    recording_views,
)
from web.site.charts import formation, histogram
from web.site.files import ZIP, attachment, log_page
from web.site.fragments import render_page
from web.site.media import media_response
from web.site.refusals import explained, status_of
from web.site.replays import form_of, replay_response
from web.site.requests import frame_number, viewer_of

Context = dict[str, Any]
CHOICES = ("best", "median", "worst")


def evaluation(request: HttpRequest, evaluation_id: int) -> HttpResponse:
    """Show an evaluation, or the part of it that htmx refreshes."""
    row, viewer = get_evaluation(evaluation_id), viewer_of(request)
    can_see_episodes = visibility.episodes_visible(row, viewer)
    episodes = selectors.episode_list(row) if can_see_episodes else []
    wanted = request.headers.get("HX-Target", "").removeprefix("recording-")
    recordings = recording_views(row, viewer, wanted.upper() if wanted in CHOICES else "")
    context: Context = {
        **_common(row),
        **_charts(row, can_see_episodes=can_see_episodes),
        **_visible(row, viewer),
        "can_see_episodes": can_see_episodes,
        "wait": wait_of(row),
        "mean": selectors.mean_so_far(row),
        "tenths": 10 * row.episodes_shown // row.episode_count if row.episode_count else 0,
        "recordings": recordings,
        "view": recordings[0] if recordings else None,
        "table": episode_page(episodes, request.GET),
        "orders": ORDERS,
        "has_seeds": any(episode.seed is not None for episode in episodes),
        "metrics": selectors.metric_list(row),
    }
    fragments = {"evaluation": "web/evaluations/body.html"}
    fragments |= {f"recording-{view.key}": "web/evaluations/recording.html" for view in recordings}
    return render_page(request, "web/evaluations/evaluation.html", context, fragments)


@explained
def episode(request: HttpRequest, evaluation_id: int, choice: str) -> HttpResponseBase:
    """Show the viewer with a recorded episode of text."""
    row = get_evaluation(evaluation_id)
    viewer = viewer_of(request)
    view = _recording(row, viewer, choice)
    states = _states(row, view)
    position = frame_number(request, len(states))
    context: Context = {
        **_common(row),
        "view": view,
        "states": states,
        "state": states[position],
        "position": position,
        "last": len(states) - 1,
        "others": [other.key for other in recording_views(row, viewer) if other.has_text and other.key != choice],
        "frames_url": reverse("web:episode_frames", args=[row.pk, choice]),
    }
    return render(request, "web/evaluations/episode.html", context)


@gzip_page
def episode_states(request: HttpRequest, evaluation_id: int, choice: str) -> JsonResponse:
    """Answer `{"frames": [{"svg", "text", "caption", "seats"}]}`, or `{"error"}` with a sentence."""
    row = get_evaluation(evaluation_id)
    try:
        states = _states(row, _recording(row, viewer_of(request), choice))
    except NotStored as missing:
        return JsonResponse({"error": str(missing)}, status=status_of(missing))
    return JsonResponse({"frames": [asdict(state) for state in states]})


@explained
def recording_file(request: HttpRequest, evaluation_id: int, choice: str, name: str) -> HttpResponseBase:
    """Send the video of an episode, or the poster that the page shows until the video plays."""
    view = _recording(get_evaluation(evaluation_id), viewer_of(request), choice)
    fields = {"video": view.recording.video, "poster": view.recording.poster}
    if name not in fields:
        raise Http404("There is no such file.")
    return media_response(request, fields[name], f"The {name} of this episode is")


@explained
def records(request: HttpRequest, evaluation_id: int) -> HttpResponseBase:
    """Send the records, once their seeds are public."""
    row = get_evaluation(evaluation_id)
    if not visibility.records_visible(row, viewer_of(request)):
        raise PermissionDenied(
            "The records contain the hidden seeds. You can download them once the seeds are revealed."
        )
    return attachment(file_get(row.records, "The records are"), f"evaluation-{row.pk}-records.zip", ZIP)


@explained
def log(request: HttpRequest, evaluation_id: int, log: str) -> HttpResponseBase:
    """Show the arena's log, or the output of the player or script, to people who may read it."""
    row = get_evaluation(evaluation_id)
    viewer = viewer_of(request)
    name = f"evaluation-{row.pk}-{log}.log"
    crumbs = [
        (reverse("web:environment", args=[row.environment.slug]), str(row.environment)),
        (reverse("web:evaluation", args=[row.pk]), f"evaluation of {row.submission}"),
    ]
    if log == "arena" and visibility.arena_log_visible(row, viewer):
        return log_page(request, row.log, name, f"The arena's log of evaluation {row.pk}", crumbs)
    if log == "player" and visibility.player_log_visible(row, viewer):
        file = file_get(row.player_log, "Nothing was printed, or the log is")
        return log_page(request, file, name, f"Output of {row.submission}", crumbs)
    raise Http404("There is no such log, or it is not public.")


def get_evaluation(evaluation_id: int) -> Evaluation:
    """Return an evaluation. Raises Http404."""
    try:
        return selectors.evaluation_get(evaluation_id)
    except Evaluation.DoesNotExist:
        raise Http404("There is no such evaluation.") from None


def _common(row: Evaluation) -> Context:
    return {
        "evaluation": row,
        "submission": row.submission,
        "agent": row.submission.agent,
        "environment": row.submission.agent.environment,
        "page": reverse("web:evaluation", args=[row.pk]),
        "is_coming": not row.is_over,
    }


def _visible(row: Evaluation, viewer: Viewer) -> Context:
    """Return what a person may read and download of an evaluation."""
    return {
        "error": visibility.error_shown(row, viewer, can_see_source=agent_source_visible(row.submission.agent, viewer)),
        "can_see_records": visibility.records_visible(row, viewer),
        "can_see_player_log": visibility.player_log_visible(row, viewer),
        "can_see_arena_log": visibility.arena_log_visible(row, viewer),
    }


def _charts(row: Evaluation, *, can_see_episodes: bool) -> Context:
    """Return the chart of the mean so far and, after the end, the distribution of scores."""
    scores = [float(score) for _, score, _, _ in row.episodes]
    is_over = row.state == JobState.SUCCEEDED
    context: Context = {}
    # Equal scores need a sentence, not a chart.
    are_equal = len(scores) > 0 and min(scores) == max(scores)
    context["all_equal"], context["equal_so_far"] = is_over and are_equal, not is_over and are_equal
    is_drawn = can_see_episodes and not are_equal
    context["formation"] = formation(scores, row.episode_count) if is_drawn else None
    spec = selectors.spec_or_none(row.environment_version)
    context["solved"] = spec.solved_score if spec else None
    if is_over and not context["all_equal"] and row.score is not None and row.score_low is not None:
        high = row.score if row.score_high is None else row.score_high
        plot = context["histogram"] = histogram(scores, row.score, row.score_low, high, context["solved"])
        context["is_solved_drawn"] = plot is not None and any(mark.at == context["solved"] for mark in plot.marks)
    return context


def _recording(row: Evaluation, viewer: Viewer, choice: str) -> RecordingView:
    views = recording_views(row, viewer, choice.upper()) if choice in CHOICES else []
    if not views:
        raise Http404("This episode was not recorded.")
    return views[0]


def _states(row: Evaluation, view: RecordingView) -> list[FrameView]:
    if view.sentence and not view.has_text:
        raise NotStored(view.sentence)
    return episode_frames(selectors.spec_or_none(row.environment_version), selectors.recording_text(view.recording))


@explained
def replay_file(request: HttpRequest, evaluation_id: int, choice: str, form: str) -> HttpResponseBase:
    """Send a recorded episode as a file."""
    found = get_recording(get_evaluation(evaluation_id), choice, viewer_of(request))
    return recording_response(request, found, form_of(form))


def get_recording(row: Evaluation, choice: str, viewer: Viewer) -> Recording:
    """Return the best, median or worst episode that was recorded. Raises Http404, also if it is not to be seen."""
    found = row.recordings.filter(choice=choice.upper()).first() if choice.islower() else None
    if found is None or not recording_visible(found, viewer):
        raise Http404("This episode was not recorded.")
    return found


def recording_response(
    request: HttpRequest,
    found: Recording,
    form: ReplayForm,
    options: ReplayOptions = EVERYTHING,
    *,
    compress: bool = False,
) -> HttpResponseBase:
    """Answer with the replay file of a recorded episode. Raises NotStored."""
    tag = recording_tag(found, form, options, compress)
    return replay_response(
        request, tag, lambda: recording_replay(recording=found, form=form, options=options, compress=compress)
    )
