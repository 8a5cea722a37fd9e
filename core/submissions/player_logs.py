"""The output of players in their jobs, and the people who may read it."""

from __future__ import annotations

from django.db.models.fields.files import FieldFile

from core.duels.selectors import NotStored, file_get
from core.models import Duel, Evaluation, Job, Sitting, Validation
from core.submissions.selectors import agent_source_visible
from core.submissions.visibility import player_log_visible
from core.tournaments.results import Viewer

NONE_HERE = "No player prints anything in this job."
NOTHING = "This player printed nothing, or its log is"
MAX_LOG_BYTES = 1 << 20


def job_player_log_visible(job: Job, player: int, viewer: Viewer) -> bool:
    """Return whether a viewer may read what a player printed: as its agent's source, with seeds that stay hidden.

    player: 1 or 2.
    """
    match job:
        case Evaluation():
            return player_log_visible(job, viewer)
        case Validation() | Sitting():
            return agent_source_visible(job.submission.agent, viewer)
        case Duel():
            return agent_source_visible((job.player_1, job.player_2)[player - 1].agent, viewer)
    return False


def player_log_read(job: Job, player: int) -> str:
    """Return what a player printed. player: 1 or 2. Raises NotStored and NotKept."""
    with file_get(_file(job, player), NOTHING) as file:
        return file.read(MAX_LOG_BYTES).decode("utf-8", "replace")


def _file(job: Job, player: int) -> FieldFile:
    match job:
        case Evaluation() if player == 1:
            return job.player_log
        case Validation() | Duel() | Sitting():
            return job.player_1_log if player == 1 else job.player_2_log
    raise NotStored(NONE_HERE)
