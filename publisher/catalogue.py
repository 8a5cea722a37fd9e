"""The content of the repository, read from the arena's rows."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping

from core.evaluations.standing import standing
from core.links import absolute, agent_address, page
from core.models import Agent, Environment, JobState, Publication, Rating
from core.submissions.publishing import is_to_be_shown, publications_pushed, publications_shown
from publisher.pages import PublishedAgent, PublishedEnvironment, licence_of


def publications_gone() -> list[Publication]:
    """Return what may be in the repository and must not be: its agent is private, renamed or deleted, its owner banned.

    A folder that a worker is pushing to is left until that is over: the worker requests a review then.
    """
    rows = list(publications_pushed())
    busy = {row.folder for row in rows if row.state == JobState.RUNNING}
    return [row for row in rows if row.folder not in busy and not is_to_be_shown(row)]


def folders_of(publications: Iterable[Publication]) -> tuple[str, ...]:
    """Return the folders of publications that are gone, without those that another agent has now."""
    taken = {row.folder for row in publications_shown() if is_to_be_shown(row)}
    return tuple(sorted({row.folder for row in publications} - taken))


def environments_shown(paths: Iterable[str]) -> list[PublishedEnvironment]:
    """Return the environments with agents in the repository, by name. paths: of all files there."""
    files: dict[str, set[str]] = defaultdict(set)
    for path in paths:
        folder, _, name = path.rpartition("/")
        files[folder].add(name)
    shown: dict[Environment, list[Publication]] = defaultdict(list)
    for row in publications_shown():
        if is_to_be_shown(row) and row.folder in files:
            shown[row.submission.agent.environment].append(row)
    return [
        _environment(environment, rows, files)
        for environment, rows in sorted(shown.items(), key=lambda item: item[0].name)
    ]


def _environment(
    environment: Environment, publications: list[Publication], files: Mapping[str, set[str]]
) -> PublishedEnvironment:
    results = _scores(environment) if environment.is_scored else _ratings(publications)
    rows = sorted(
        publications,
        key=lambda row: (-results.get(row.submission.agent_id, (float("-inf"), ""))[0], row.submission.agent.name),
    )
    return PublishedEnvironment(
        environment.slug,
        environment.name,
        absolute(page("environment", environment.slug)),
        "Score" if environment.is_scored else "Rating, with its 95% interval",
        tuple(_agent(row, results.get(row.submission.agent_id, (0.0, ""))[1], files[row.folder]) for row in rows),
    )


def _agent(publication: Publication, result: str, names: Iterable[str]) -> PublishedAgent:
    submission = publication.submission
    agent: Agent = submission.agent
    return PublishedAgent(
        agent.name,
        submission.number,
        agent.owner.username,
        agent.owner.team,
        absolute(agent_address(agent)),
        result,
        licence_of(names),
    )


def _scores(environment: Environment) -> dict[int, tuple[float, str]]:
    """Return by agent what it has on the board, as a number and in words."""
    rows = standing(environment).values_list("agent", "score")
    return {agent: (score, f"{score:.4g}") for agent, score in rows if score is not None}


def _ratings(publications: Iterable[Publication]) -> dict[int, tuple[float, str]]:
    by_submission = {row.submission_id: row.submission.agent_id for row in publications}
    ratings = Rating.objects.filter(submission__in=by_submission)
    return {
        by_submission[rating.submission_id]: (
            rating.value,
            f"{rating.value:.0f} ({rating.low:.0f} to {rating.high:.0f})",
        )
        for rating in ratings
    }
