"""Replays of recorded episodes as files."""

from __future__ import annotations

from django.http import Http404, HttpRequest, HttpResponseBase

from arena_kit.environment.replay_file.document import EVERYTHING, ReplayOptions
from core.duels.replays import ReplayForm
from core.evaluations.replays import recording_replay, recording_tag
from core.models import Evaluation, Recording
from core.submissions.visibility import recording_visible
from core.tournaments.results import Viewer
from web.evaluations.views import get_evaluation
from web.site.refusals import explained
from web.site.replays import form_of, replay_response
from web.site.requests import viewer_of


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
