"""Actions on environments and their lists of seeds: close, open again, start an edition, reveal seeds, and so on."""

from __future__ import annotations

from core.editions.services import edition_ask
from core.environments.additions import environment_remove
from core.environments.services import environment_close, environment_open
from core.evaluations.seeds import final_phase_start, in_final_phase, seed_list_reveal, term_begin
from core.models import Environment, Play, SeedList
from web.organise.action import OrganiserAction, OrganiserAnswer, OrganiserQuestion


def _close(environment: Environment, answer: OrganiserAnswer) -> str:
    environment_close(environment=environment)
    return "is closed: it takes no uploads and begins no editions."


def _open(environment: Environment, answer: OrganiserAnswer) -> str:
    environment_open(environment=environment)
    return "is open again."


def _start_edition(environment: Environment, answer: OrganiserAnswer) -> str:
    edition_ask(environment=environment)
    return "a new edition begins within seconds."


def _final_phase(environment: Environment, answer: OrganiserAnswer) -> str:
    count = len(final_phase_start(environment=environment, by=answer.user))
    return f"the final phase has begun; {_versions(count)} being evaluated."


def _term(environment: Environment, answer: OrganiserAnswer) -> str:
    count = len(term_begin(environment=environment, by=answer.user))
    return f"a new term has begun; {_versions(count)} being evaluated."


def _versions(count: int) -> str:
    return "1 version is" if count == 1 else f"{count} versions are"


def _remove(environment: Environment, answer: OrganiserAnswer) -> str:
    environment_remove(environment=environment)
    return "is removed."


def _reveal(seed_list: SeedList, answer: OrganiserAnswer) -> str:
    seed_list_reveal(seed_list=seed_list)
    return "everyone can now read its seeds."


CLOSE = OrganiserAction(
    name="close",
    label="Close: no uploads and no editions",
    button="Close",
    do=_close,
    question=OrganiserQuestion(
        title="Close environments",
        consequence="The environments accept no uploads and start no editions, and their duels wait. Boards and "
        "results stay. You can open them again.",
        button="Close",
    ),
    fits=lambda environment: environment.is_active,
)
OPEN = OrganiserAction(
    name="open",
    label="Open again",
    button="Open again",
    do=_open,
    fits=lambda environment: not environment.is_active,
)
START_EDITION = OrganiserAction(
    name="start_tournament",
    label="Start a tournament now",
    button="Start an edition",
    do=_start_edition,
    fits=lambda row: not row.is_scored and not row.closed_because and row.play != Play.LADDER,
)
FINAL_PHASE = OrganiserAction(
    name="start_final_phase",
    label="Start the final phase",
    button="Start the final phase",
    do=_final_phase,
    question=OrganiserQuestion(
        title="Start the final phase",
        consequence="New hidden seeds are drawn; this cannot be undone. The newest valid version of every agent is "
        "evaluated on them, and so is every new version from then on. The old hidden seeds are published.",
        button="Draw new seeds and evaluate everyone",
    ),
    fits=lambda row: row.is_scored and not row.is_app and not row.closed_because and not in_final_phase(row),
)
NEW_TERM = OrganiserAction(
    name="begin_term",
    label="Begin a new term",
    button="Begin a new term",
    do=_term,
    question=OrganiserQuestion(
        title="Begin a new term",
        consequence="The final phase is over and its seeds are published. New hidden seeds are drawn, the newest valid "
        "version of every agent is evaluated on them, and there can be another final phase.",
        button="Draw new seeds and evaluate everyone",
    ),
    fits=lambda row: row.is_scored and not row.is_app and not row.closed_because and in_final_phase(row),
)
REMOVE = OrganiserAction(
    name="remove_added",
    label="Remove environments that submissions added and no agent belongs to",
    button="Remove",
    do=_remove,
    question=OrganiserQuestion(
        title="Remove environments that submissions added",
        consequence="The environments and their seeds are deleted; the next submission that names one adds it again. "
        "Close one instead to keep it.",
        button="Remove them",
    ),
    fits=lambda environment: environment.is_added,
)
ENVIRONMENT_ACTIONS = (START_EDITION, FINAL_PHASE, NEW_TERM, OPEN, CLOSE, REMOVE)
REVEAL = OrganiserAction(
    name="reveal",
    label="Reveal the seeds of a list that no longer ranks",
    button="Reveal",
    do=_reveal,
    question=OrganiserQuestion(
        title="Reveal seeds",
        consequence="Everyone can read these seeds from then on. This cannot be undone.",
        button="Reveal the seeds",
    ),
    fits=lambda seed_list: not (seed_list.is_public or seed_list.assignment_id or seed_list.tournament_id),
)
