"""The episodes and recordings on an evaluation's page."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from django.http import QueryDict

from arena_kit.environment.protocol import ArenaEnvironmentError
from arena_kit.environment.replay_file.views import FrameView
from arena_kit.environment.spec import EnvironmentSpec
from core.duels.selectors import NotStored
from core.evaluations.episodes import Episode, TextReplay, episode_list, practice_results, recording_steps
from core.files.removed import removed_on
from core.jobs.waits import Wait, waits_of
from core.models import Evaluation, JobState, Recording, Validation
from core.submissions.visibility import recording_visible
from core.tournaments.results import Viewer
from web.site.charts import constant, over_time
from web.site.media import media_type
from web.site.plots import Plot
from web.site.requests import page_number

PAGE_ROWS = 25
ORDERS = {"number": "By number", "best": "Best first", "worst": "Worst first", "longest": "Longest first"}
CHOICES = (Recording.Choice.BEST, Recording.Choice.MEDIAN, Recording.Choice.WORST)
WAITS = "The recording is not ready yet."
SENTENCES = {
    JobState.RUNNING: "The recording is being made.",
    JobState.FAILED: "The recording failed. The score is not affected.",
    JobState.CANCELLED: "The recording was cancelled. The score is not affected.",
}


@dataclass(frozen=True, slots=True)
class EpisodePage:
    """One page of the table of episodes. order: a key of ORDERS."""

    episodes: Sequence[Episode]
    order: str
    number: int
    count: int


@dataclass(frozen=True, slots=True)
class RecordingView:
    """A recorded episode.

    video_type: empty while there is no video. sentence: shown in place of the video.
    plots: pairs of the name of a figure (return, reward) and its chart step by step. constants: a sentence for each
    figure that has one value at all steps, which needs no chart.
    """

    recording: Recording
    episode: Episode | None
    sentence: str = ""
    video_type: str = ""
    is_cut: bool = False
    has_text: bool = False
    plots: tuple[tuple[str, Plot], ...] = ()
    constants: tuple[str, ...] = ()

    @property
    def key(self) -> str:
        """`best`, `median` or `worst`."""
        return self.recording.choice.lower()


def episode_page(episodes: Sequence[Episode], query: QueryDict) -> EpisodePage:
    """Return the page of episodes that an address asks for; values that are wrong count as absent."""
    order = query.get("order", "")
    order = order if order in ORDERS else "number"
    keys = {
        "number": lambda episode: (episode.number,),
        "best": lambda episode: (-episode.score, episode.number),
        "worst": lambda episode: (episode.score, episode.number),
        "longest": lambda episode: (-episode.length, episode.number),
    }
    ordered = sorted(episodes, key=keys[order])
    count = max(1, -(-len(ordered) // PAGE_ROWS))
    number = min(page_number(query), count)
    return EpisodePage(ordered[(number - 1) * PAGE_ROWS : number * PAGE_ROWS], order, number, count)


def recording_views(evaluation: Evaluation, viewer: Viewer, choice: str = "") -> list[RecordingView]:
    """Return the recordings of an evaluation that a person may see: best, median, worst, or only `choice`."""
    rows = {row.choice: row for row in evaluation.recordings.all() if recording_visible(row, viewer)}
    wanted = [row for key in CHOICES if (row := rows.get(key)) and choice in ("", key)]
    if not choice:
        wanted = _apart(wanted)
    waits = waits_of(wanted)
    by_number = {practice: _by_number(evaluation, practice) for practice in {row.practice for row in wanted}}
    return [
        _view(row, by_number[row.practice].get(row.episode_number), waits.get((row.KIND, row.pk))) for row in wanted
    ]


def _by_number(evaluation: Evaluation, practice: Validation | None) -> dict[int, Episode]:
    """Return the episodes of the evaluation, or of the practice before it, by number."""
    if practice is None:
        return {episode.number: episode for episode in episode_list(evaluation)}
    try:
        return {episode.number: episode for episode in practice_results(practice)}
    except NotStored:
        return {}


def _apart(rows: Sequence[Recording]) -> list[Recording]:
    """Keep each recorded episode once: if all scores are equal, one episode is best, median and worst."""
    first = {row.episode_number: row for row in reversed(rows)}
    return [row for row in rows if first[row.episode_number] is row]


def episode_frames(spec: EnvironmentSpec | None, replay: TextReplay) -> list[FrameView]:
    """Return every state of an episode of text for the viewer of matches. Raises NotStored."""
    if spec is None:
        raise NotStored("This arena no longer has the rules of this episode, so it cannot be drawn.")
    views = []
    for step, (text, action, total) in enumerate(zip(replay.frames, replay.actions, replay.returns, strict=True)):
        is_last = step == len(replay.frames) - 1
        frame = {"text": text, "action": action, "step": step, "return": total, "over": is_last}
        caption = f"Step {step}: {action}. Return {total:.5g}" if step else "Start"
        views.append(FrameView(step, _drawn(spec, frame), text, f"{caption}. End" if is_last else caption, ()))
    return views


def _drawn(spec: EnvironmentSpec, frame: dict[str, object]) -> str:
    try:
        return spec.render(frame)
    except (ArenaEnvironmentError, LookupError, TypeError, ValueError):
        raise NotStored("The text of this episode is damaged and cannot be drawn.") from None


def _view(row: Recording, episode: Episode | None, wait: Wait | None) -> RecordingView:
    if wait is not None:
        return RecordingView(row, episode, f"{WAITS} {wait.sentence}")
    if row.state != JobState.SUCCEEDED:
        return RecordingView(row, episode, SENTENCES[JobState(row.state)])
    kind, has_text = media_type(row.video), bool(row.text) and not removed_on(row.text.name)
    sentence = "" if kind or has_text else "There is no video of this environment."
    try:
        steps = recording_steps(row)
    except NotStored as missing:
        return RecordingView(row, episode, str(missing), kind, has_text=has_text)
    figures = {"return": steps.returns, "reward": steps.rewards}
    told = [(what, constant(values, what), over_time(values, what)) for what, values in figures.items()]
    plots = tuple((what, plot) for what, said, plot in told if plot and not said)
    constants = tuple(said for _, said, _ in told if said)
    return RecordingView(row, episode, sentence, kind, steps.is_cut, has_text, plots, constants)
