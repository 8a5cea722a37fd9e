"""The typed client of an arena's API, version 1."""

from __future__ import annotations

import io
import os
from collections.abc import Iterator, Mapping
from typing import IO, TYPE_CHECKING, Any, Literal
from urllib.parse import quote

from arena_kit.client import reading
from arena_kit.client.answers import (
    AgentRow,
    Answer,
    Arena,
    BlunderList,
    Board,
    Challenge,
    DuelRow,
    EnvironmentRow,
    Job,
    NewToken,
    RatingCourse,
    Version,
    VersionComparison,
)
from arena_kit.client.decoding import Line, Text, decode, decode_field
from arena_kit.client.errors import SiteError, Trouble
from arena_kit.client.replays import Replay, replay_of
from arena_kit.client.transport import Body, Transport, multipart, site_address
from arena_kit.environment.records import MatchRecord

if TYPE_CHECKING:
    from arena_kit.environment.replay_file.document import ReplayOptions

API = "api/v1"
API_VERSION = "v1"
UPLOAD_SECONDS = 120.0
"""A site inspects an upload before it answers."""
MOST_PAGES = 1000
"""A list that goes on beyond this page is cut, because a site could go on forever."""


class Client:
    """One site, with a token or without. Every method raises SiteError, whose message is a sentence for people.

    site: e.g. `https://arena.example.org`. timeout_seconds: the longest silence of the site.
    """

    def __init__(self, site: str, *, token: str = "", timeout_seconds: float = 30.0) -> None:
        if token and not (token.isascii() and token.isprintable() and " " not in token):
            raise SiteError("The token has characters that no token has.", trouble=Trouble.LOGIN_NEEDED)
        self.site, self.has_token = site_address(site), bool(token)
        self._transport = Transport(self.site, token, timeout_seconds=timeout_seconds)

    def arena(self) -> Arena:
        """Return the site's description of itself; it is the first thing to ask an unknown address."""
        try:
            data = self._get("")
        except SiteError as error:
            if error.trouble is not Trouble.MISSING:
                raise
            raise SiteError(
                f"{self.site} is not an arena, or one that is older than this arena-kit.",
                trouble=Trouble.NO_ARENA,
                status=error.status,
            ) from None
        if not isinstance(data, dict) or data.get("service") != "rl-arena":
            raise SiteError(f"{self.site} is a site, but not an arena. Check the address.", trouble=Trouble.NO_ARENA)
        found = decode(Arena, data, "the site's description")
        if API_VERSION not in found.api_versions:
            raise SiteError(
                f"{self.site} no longer speaks version 1 of the API. Install the arena-kit that it offers: "
                f"{self.site}/kit/",
                trouble=Trouble.OTHER_API,
            )
        return found

    def token_create(self, *, email: str, password: str, code: str, name: str, days: int) -> NewToken:
        """Make a token. code: of the second factor; may be empty."""
        sent: dict[str, object] = {"email": email, "password": password, "name": name[:50], "days": days}
        if code:
            sent["code"] = code
        return decode(NewToken, self._transport.json(f"{API}/tokens/", sent=sent), "the token")

    def username(self) -> str:
        """Return whose token this is."""
        return decode_field(Line, self._get("me/"), "username", "your account")

    def environment(self, name: str) -> EnvironmentRow:
        """Return an environment by its slug, or by its id for clients of older systems, e.g. `FrozenLake-v1`."""
        try:
            return decode(EnvironmentRow, self._get(f"environments/{_part(name)}/"), "the environment")
        except SiteError as error:
            if error.trouble is not Trouble.MISSING:
                raise
            for found in self._pages("environments/", {"page_size": 100}, "the environments"):
                if found.get("env_id") == name:
                    return decode(EnvironmentRow, found, "the environment")
            raise

    def environment_folder(self, slug: str, target: IO[bytes]) -> str:
        """Write the folder of an environment as a zip; return its file name."""
        return self._transport.download(f"{API}/environments/{_part(slug)}/folder.zip", target)

    def environment_matches(self, slug: str, target: IO[bytes]) -> str:
        """Write all rated matches of an environment as lines of JSON; return the name of the file.

        `arena_kit.datasets.lines.read_dataset` reads them and checks that they are complete.
        """
        return self._transport.download(f"{API}/environments/{_part(slug)}/matches.jsonl", target)

    def board(self, name: str, *, limit: int = 20) -> Board:
        """Return the best of an environment, by ratings or by scores."""
        environment = self.environment(name)
        query, slug = {"limit": limit}, environment.slug
        if environment.is_scored:
            return reading.scores_of(self._get(f"environments/{_part(slug)}/board/", query), slug)
        return reading.leaderboard_of(self._get(f"environments/{_part(slug)}/leaderboard/", query), slug)

    def comparison(self, name: str, first: str, second: str) -> VersionComparison:
        """Compare two versions of an environment, each by its id, its agent's name, or name and number: `alpha v2`."""
        slug = self.environment(name).slug
        query = {"first": first, "second": second}
        return decode(VersionComparison, self._get(f"environments/{_part(slug)}/compare/", query), "the comparison")

    def agents(self, *, environment: str = "", owner: str = "", name: str = "") -> Iterator[AgentRow]:
        """Yield the agents of an environment or a person, newest first. name: a part of the name."""
        query = {"environment": environment, "owner": owner, "name": name, "page_size": 100}
        for found in self._pages("agents/", query, "the agents"):
            yield decode(AgentRow, found, "the agents")

    def blunders(self, agent: int) -> BlunderList:
        """Return the positions in which versions of an agent of yours gave something away. agent: its id."""
        return decode(BlunderList, {"blunders": self._get(f"agents/{agent}/blunders/")}, "the positions")

    def history(self, agent: int) -> RatingCourse:
        """Return the ratings of an agent over time. agent: its id. It is empty where scores decide."""
        return decode(RatingCourse, self._get(f"agents/{agent}/history/"), "the history")

    def agent_create(
        self,
        archive: IO[bytes],
        *,
        environment: str,
        name: str,
        is_public: bool,
        algorithm: str = "",
    ) -> Version:
        """Upload a zip as a new agent."""
        form = {"environment": environment, "name": name, "is_public": "true" if is_public else "false"}
        return self._upload("agents/", archive, form | ({"algorithm": algorithm} if algorithm else {}))

    def version_create(self, archive: IO[bytes], *, agent: int, algorithm: str = "") -> Version:
        """Upload a zip as a new version of an agent."""
        return self._upload(f"agents/{agent}/submissions/", archive, {"algorithm": algorithm} if algorithm else {})

    def version(self, public_id: str) -> Version:
        return decode(Version, self._get(f"submissions/{_part(public_id)}/"), "the version")

    def versions(self, agent: int) -> Iterator[str]:
        """Yield the ids of an agent's versions, newest first."""
        for found in self._pages("submissions/", {"agent": agent, "page_size": 100}, "the versions"):
            yield decode_field(Line, found, "id", "the versions")

    def archive(self, public_id: str, target: IO[bytes]) -> str:
        """Write the uploaded zip of a version; return its file name."""
        return self._transport.download(f"{API}/submissions/{_part(public_id)}/archive.zip", target)

    def job(self, kind: str, number: int) -> Job:
        return decode(Job, self._get(f"jobs/{_part(kind)}/{number}/"), "the job")

    def job_log(self, kind: str, number: int) -> str:
        """Return the arena's log of a job."""
        return decode_field(Text, self._get(f"jobs/{_part(kind)}/{number}/log/"), "log", "the log")

    def player_log(self, kind: str, number: int, player: int) -> str:
        """Return what a player printed in a validation or an evaluation. player: 1 or 2."""
        found = self._get(f"jobs/{_part(kind)}/{number}/log/", {"player": player})
        return decode_field(Text, found, "log", "the log")

    def challenge_create(self, *, agent: int, opponent: int | None) -> Challenge:
        """Challenge another agent, or the top ten with None."""
        sent = {"agent": agent, "opponent": opponent}
        return decode(Challenge, self._transport.json(f"{API}/challenges/", sent=sent), "the challenge")

    def challenge(self, number: int) -> Challenge:
        return decode(Challenge, self._get(f"challenges/{number}/"), "the challenge")

    def tournament_plan(self, plan: Mapping[str, object]) -> Answer:
        """Plan a tournament. plan: by the keys of `POST tournaments/`."""
        return _object(self._transport.json(f"{API}/tournaments/", sent=plan))

    def tournament_act(self, tournament: int, name: str, answers: Mapping[str, object]) -> Answer:
        """Do what a button of organisers does. answers: to its question, `reason` and `number`."""
        path = f"{API}/tournaments/{tournament}/acts/{_part(name)}/"
        return _object(self._transport.json(path, sent=answers))

    def participants(self, tournament: int) -> Iterator[Answer]:
        """Yield the table of a tournament, the first of it first."""
        yield from self._pages(f"tournaments/{tournament}/participants/", {"page_size": 100}, "the table")

    def registration_create(self, tournament: int, agent: int) -> None:
        """Register an agent of yours for a planned tournament."""
        self._transport.json(f"{API}/tournaments/{tournament}/registrations/", sent={"agent": agent})

    def registration_delete(self, tournament: int, agent: int) -> None:
        """Withdraw an agent of yours from a planned tournament."""
        with self._transport.request("DELETE", f"{API}/tournaments/{tournament}/registrations/{agent}/"):
            pass

    def duel(self, number: int) -> DuelRow:
        return decode(DuelRow, self._get(f"duels/{number}/"), "the duel")

    def match(self, duel: int, number: int) -> MatchRecord:
        return reading.match_of(self._get(f"duels/{duel}/matches/{number}/"))

    def replay(self, duel: int, number: int, options: ReplayOptions | None = None) -> Replay:
        """Return the replay of a match; what is too large to be read at once is for `replay_file`."""
        return replay_of(self._get(_replay_path(duel, number), _replay_query(options)))

    def replay_file(
        self,
        duel: int,
        number: int,
        target: IO[bytes],
        *,
        form: Literal["json", "html"],
        options: ReplayOptions | None = None,
        compress: bool = False,
    ) -> str:
        """Write the replay of a match as a document or a page; return its file name. compress: a document only."""
        query: dict[str, str] = {"format": form}
        if form == "json":
            query |= _replay_query(options) | {"gzip": str(compress).lower()}
        return self._transport.download(f"{API}/{_replay_path(duel, number)}", target, query)

    def _get(self, path: str, query: Mapping[str, object] | None = None) -> Any:
        return self._transport.json(f"{API}/{path}", query)

    def _pages(self, path: str, query: Mapping[str, object], what: str) -> Iterator[Answer]:
        """Yield the rows of a list page by page, by number: an address in an answer is not followed."""
        for page in range(1, MOST_PAGES + 1):
            found = self._get(path, {**query, "page": page})
            yield from decode_field(list[dict[str, Any]], found, "results", what)
            if found.get("next") is None:
                return

    def _upload(self, path: str, archive: IO[bytes], form: Mapping[str, str]) -> Version:
        size = archive.seek(0, os.SEEK_END)
        archive.seek(0)
        before, after, kind = multipart(form, archive, "archive.zip")
        body = Body(_Joined(before, archive, after), len(before) + size + len(after), kind)
        sent = self._transport.request("POST", f"{API}/{path}", body=body, at_least_seconds=UPLOAD_SECONDS)
        return decode(Version, self._transport.read_json(sent, path), "the version")


class _Joined:
    """A form with a file in its middle, read without holding the file in memory."""

    def __init__(self, before: bytes, file: IO[bytes], after: bytes) -> None:
        self._parts: list[IO[bytes]] = [io.BytesIO(before), file, io.BytesIO(after)]

    def read(self, size: int = -1, /) -> bytes:
        while self._parts:
            if data := self._parts[0].read(size):
                return data
            del self._parts[0]
        return b""


def _object(found: Any) -> Answer:
    return found if isinstance(found, dict) else {}


def _part(text: str) -> str:
    """Return a text as one part of an address."""
    return quote(text, safe="")


def _replay_path(duel: int, number: int) -> str:
    return f"duels/{duel}/matches/{number}/replay/"


def _replay_query(options: ReplayOptions | None) -> dict[str, str]:
    if options is None:
        return {}
    return {
        "include_observations": str(options.include_observations).lower(),
        "include_actions": str(options.include_actions).lower(),
        "max_frames": str(options.max_frames),
    }
