"""Imports the accounts, agents and results of an arena of the older kind. What is there already stays as it is.

Rights are not imported: organisers are made here. Results become finished, unrated tournaments without records.
"""

from __future__ import annotations

import math
import re
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from django.conf import settings
from django.core.exceptions import ValidationError
from django.core.files.uploadedfile import SimpleUploadedFile
from django.db import DatabaseError, transaction
from django.template.defaultfilters import filesizeformat

from arena_kit.environment.spec import BARE
from arena_kit.ranking.pairing import round_robin
from arena_kit.text import plain_line
from core.editions.follow import rebuild
from core.errors import Refused
from core.files.removed import removed_name
from core.models import (
    Agent,
    Duel,
    DuelOutcome,
    Environment,
    JobFault,
    JobState,
    LedgerEntry,
    Participant,
    Submission,
    Tournament,
    TournamentState,
    User,
)
from core.operations.classic_dump import Row
from core.people.services import user_create
from core.submissions.services import Labels, agent_create, submission_create
from core.submissions.uploads import upload_look
from core.tournaments.selectors import next_edition

ARCHIVE = re.compile(r"revisions/[0-9a-fA-F-]{36}\.zip")
PASSWORD = re.compile(r"pbkdf2_sha256\$\d{1,6}\$[A-Za-z0-9]{1,64}\$[A-Za-z0-9+/]{43}=")
"""A hash as the older arena has it. Another one, or one that takes minutes to compute, is no password."""
OUTCOMES = {"PLAYER_1_WIN": DuelOutcome.PLAYER_1, "PLAYER_2_WIN": DuelOutcome.PLAYER_2, "DRAW": DuelOutcome.DRAW}
NAMESPACE = uuid.UUID("5c1f5c0e-7f0c-4f2b-9d5a-1c6a3f6b7a10")
"""Makes the ids of imported versions, by which a second import knows them."""


@dataclass(slots=True)
class Import:
    """One import. files: the folder with `revisions`. tell: takes a sentence about each thing that is left out."""

    tables: dict[str, list[Row]]
    files: Path
    tell: Callable[[str], None]
    dry_run: bool
    in_part: bool = False
    """Import tournaments of which versions are left out. A later import does not complete them."""
    counts: dict[str, int] = field(default_factory=lambda: dict.fromkeys(("accounts", "versions", "tournaments"), 0))
    _users: dict[str, User] = field(default_factory=dict)
    _closed: list[int] = field(default_factory=list)
    """The accounts made here that are closed there."""
    _versions: dict[str, Submission] = field(default_factory=dict)
    """By the id of the revision there."""

    def run(self) -> dict[str, int]:
        """Import what is not here yet, and return how many of each kind that were, or would be."""
        try:
            return self._run()
        finally:
            # Last, because an account that is closed uploads nothing; it never had a password here.
            User.objects.filter(pk__in=self._closed).update(is_active=False)

    def _run(self) -> dict[str, int]:
        slugs = {_text(row, "id"): _text(row, "slug") for row in self.tables["environment"]}
        here = {row.slug: row for row in Environment.objects.filter(slug__in=slugs.values(), seats=2)}
        for slug in sorted(set(slugs.values()) - here.keys()):
            self.tell(f"{slug}: there is no such environment here; add its folder first.")
        environments = {key: here[slug] for key, slug in slugs.items() if slug in here}
        for row in self.tables["user"]:
            self._kept(_text(row, "username"), lambda row=row: self._user(row))  # type: ignore[misc]
        revisions = self._by("revision", "competitor_id")
        for row in self.tables["competitor"]:
            environment, owner = (
                environments.get(_text(row, "environment_id")),
                self._users.get(_text(row, "submitter_id")),
            )
            versions = revisions.get(_text(row, "id"), []) if environment and owner else []
            for one in sorted(versions, key=lambda one: _text(one, "version_number").zfill(10)):
                what = f"{environment}, {_text(row, 'name')} v{_text(one, 'version_number')}"
                self._kept(what, lambda row=row, one=one, at=environment, by=owner: self._version(row, one, at, by))  # type: ignore[misc]
        participants, duels = self._by("tournamentparticipant", "tournament_id"), self._by("duel", "tournament_id")
        for row in self.tables["tournament"]:
            found = participants.get(_text(row, "id"), []), duels.get(_text(row, "id"), [])
            if environment := environments.get(_text(row, "environment_id")):
                what = f"{environment}, edition {_text(row, 'edition')}"
                self._kept(what, lambda row=row, at=environment, found=found: self._tournament(row, at, *found))  # type: ignore[misc]
        if not self.dry_run:
            for environment in environments.values():
                rebuild(environment)
        return self.counts

    def _by(self, table: str, column: str) -> dict[str, list[Row]]:
        found: dict[str, list[Row]] = {}
        for row in self.tables[table]:
            found.setdefault(_text(row, column), []).append(row)
        return found

    def _kept(self, what: str, act: Callable[[], None]) -> None:
        """Do one thing wholly or not at all; a sentence says why not."""
        try:
            with transaction.atomic():
                act()
        except Refused as refusal:
            self.tell(f"{what}: left out. {refusal}")
        except (ValidationError, ValueError, OverflowError, KeyError, DatabaseError, OSError) as error:
            said = "; ".join(error.messages) if isinstance(error, ValidationError) else type(error).__name__
            self.tell(f"{what}: left out. Its row cannot be used ({said}).")

    def _user(self, row: Row) -> None:
        email = _text(row, "email")
        user, joined = User.objects.filter(email__iexact=email).first(), _time(row, "date_joined")
        is_closed = row["is_active"] == "f"
        if user is not None and user.must_confirm_email and user.date_joined != joined:
            raise Refused("An account here has its e-mail and has not confirmed it.")
        if user is None:
            user = User(
                email=email,
                username=_text(row, "username"),
                team=plain_line(row.get("team") or ""),
                github=row.get("github") or "",
            )
            user.clean_fields(exclude=["password"])
            if not self.dry_run:
                user = user_create(
                    email=email, username=user.username, password=None, team=user.team, github=user.github
                )
                if PASSWORD.fullmatch(_text(row, "password")) and not is_closed:
                    user.password = _text(row, "password")
                user.date_joined = joined or user.date_joined
                user.save(update_fields=["password", "date_joined"])
            self.counts["accounts"] += 1
        if is_closed and user.pk and user.date_joined == joined and not user.last_login:
            self._closed.append(user.pk)
            if not self.dry_run and not user.is_active:
                # An earlier import has closed it, and left out a version that is here now.
                user.is_active = True
                user.save(update_fields=["is_active"])
        self._users[_text(row, "id")] = user

    def _version(self, competitor: Row, row: Row, environment: Environment, owner: User) -> None:
        name, number = _text(competitor, "name"), _number(row, "version_number")
        public_id = uuid.uuid5(NAMESPACE, f"{environment.slug}/{owner.email}/{name}/{number}")
        known = Submission.objects.filter(public_id=public_id).select_related("agent__environment").first()
        if known is not None and (known.agent.owner_id, known.agent.environment_id) != (owner.pk, environment.pk):
            raise Refused("Another account has a version with its id.")
        if known is None:
            archive = self._archive(_text(row, "zip_file"))
            upload_look(archive=archive, environment=environment)
            if self.dry_run:
                self.counts["versions"] += 1
                return
            archive = self._archive(_text(row, "zip_file"))
            labels = Labels(public_id=public_id)
            agent = Agent.objects.filter(environment=environment, owner=owner, name=name).first()
            if agent is None:
                is_public = competitor["is_public"] == "t"
                known = agent_create(
                    owner=owner,
                    environment=environment,
                    name=name,
                    is_public=is_public,
                    archive=archive,
                    labels=labels,
                    has_quota=False,
                )
            elif (newest := agent.submissions.order_by("number").last()) and newest not in self._versions.values():
                raise Refused(f"Its agent here has {newest} already, which may be newer.")
            else:
                known = submission_create(agent=agent, archive=archive, labels=labels, has_quota=False)
            # An archive that equals the one before is that version.
            self.counts["versions"] += known.public_id == public_id
            if known.public_id == public_id and (created_at := _time(row, "created_at")) is not None:
                Submission.objects.filter(pk=known.pk).update(created_at=created_at)
        self._versions[_text(row, "id")] = known

    def _archive(self, name: str) -> SimpleUploadedFile:
        path = self.files / name
        if not ARCHIVE.fullmatch(name) or path.is_symlink() or not path.is_file():
            raise Refused(f"Its archive {name[:60]!r} is not in {self.files}.")
        if path.stat().st_size > settings.MAX_UPLOAD_BYTES:
            raise Refused(f"Its archive is larger than {filesizeformat(settings.MAX_UPLOAD_BYTES)}, see UPLOAD_BYTES.")
        return SimpleUploadedFile("archive.zip", path.read_bytes())

    def _tournament(self, row: Row, environment: Environment, players: list[Row], duels: list[Row]) -> None:
        name = f"Edition {_number(row, 'edition')} of the older arena"
        ended_at = _time(row, "ended_at")
        if ended_at is None or environment.tournaments.filter(name=name).exists():
            return
        if self.dry_run:
            self.counts["tournaments"] += 1
            return
        here = [one for one in players if one["revision_id"] in self._versions]
        if len(here) < len(players) and not self.in_part:
            missing = len(players) - len(here)
            raise Refused(f"{missing} of its {len(players)} versions are not here; --in-part imports it without them.")
        players = here
        with transaction.atomic():
            made = Tournament.objects.create(
                environment=environment,
                edition=next_edition(environment),
                name=name,
                is_automatic=False,
                is_rated=False,
                state=TournamentState.FINISHED,
                started_at=_time(row, "started_at") or ended_at,
                ended_at=ended_at,
                settings={"pairs": max(1, environment.matches_per_duel // 2)},
                has_openings=False,
            )
            Participant.objects.bulk_create(self._participant(made, place, one) for place, one in enumerate(players, 1))
            rounds = {
                frozenset((players[one]["revision_id"], players[other]["revision_id"])): number
                for number, pairs in enumerate(round_robin(len(players)), start=1)
                for one, other in pairs
            }
            rows = [one for one in duels if frozenset((one["player_1_id"], one["player_2_id"])) in rounds]
            for number, one in enumerate(rows, start=1):
                round_number = rounds[frozenset((one["player_1_id"], one["player_2_id"]))]
                self._duel(made, one, number=number, round_number=round_number, otherwise=ended_at)
        self.counts["tournaments"] += 1
        if left := len(duels) - len(rows):
            self.tell(f"{environment}, {name}: {left} of its duels are left out, because a version is.")

    def _participant(self, tournament: Tournament, place: int, row: Row) -> Participant:
        figures = {name: _number(row, name) for name in ("wins", "draws", "losses")}
        return Participant(
            tournament=tournament,
            submission=self._versions[_text(row, "revision_id")],
            seeding=place,
            **figures,
            points=2 * figures["wins"] + figures["draws"],
            total_score=_score(row, "total_score"),
            rank=max(1, _number(row, "ranking")),
        )

    def _duel(self, tournament: Tournament, row: Row, *, number: int, round_number: int, otherwise: datetime) -> None:
        ended_at = _time(row, "ended_at") or otherwise
        one, other = (self._versions[_text(row, f"player_{side}_id")] for side in (1, 2))
        names = ("player_1_wins", "player_2_wins", "player_1_errors", "player_2_errors", "draws")
        counts = {name: _number(row, name) for name in names}
        scores = [_score(row, f"player_{side}_score") for side in (1, 2)]
        done, outcome = sum(counts.values()), OUTCOMES.get(row["result"] or "")
        duel = Duel(
            tournament=tournament,
            number=number,
            round=round_number,
            player_1=one,
            player_2=other,
            seed=0,
            environment_version=f"{tournament.environment.slug}-v1{BARE}",
            state=JobState.FAILED,
            fault=JobFault.PLATFORM,
            match_count=max(1, done, _number(row, "num_matches")),
            error="It failed in the older arena.",
            started_at=_time(row, "started_at") or ended_at,
            ended_at=ended_at,
        )
        if outcome is None or not done:
            duel.save(force_insert=True)
            return
        of_players = {f"player_{side}_score": score for side, score in enumerate(scores, start=1)}
        played = {"state": JobState.SUCCEEDED, "fault": JobFault.NONE, "error": "", "outcome": outcome}
        # As if retention had deleted them: its matches had states and no actions, so they cannot be played again.
        played["records"] = removed_name(ended_at.date())
        for field_name, value in (played | counts | of_players | {"matches_done": done}).items():
            setattr(duel, field_name, value)
        duel.save(force_insert=True)
        LedgerEntry.objects.bulk_create(_entries(duel, (one, other), scores))


def _entries(duel: Duel, players: tuple[Submission, Submission], scores: list[float]) -> Iterator[LedgerEntry]:
    """Yield the results of both players. Who had which seat in a match is unknown, so each has a single one."""
    wins, errors = (duel.player_1_wins, duel.player_2_wins), (duel.player_1_errors, duel.player_2_errors)
    for player, rival in ((0, 1), (1, 0)):
        yield LedgerEntry(
            duel=duel,
            submission=players[player],
            opponent=players[rival],
            seat=player,
            wins=wins[player],
            losses=wins[rival],
            draws=duel.draws,
            errors=errors[player],
            opponent_errors=errors[rival],
            score=scores[player],
        )


def _text(row: Row, column: str) -> str:
    return row[column] or ""


def _number(row: Row, column: str) -> int:
    value = int(row[column] or 0)
    if not 0 <= value < 2**31:
        raise ValueError(column)
    return value


def _score(row: Row, column: str) -> float:
    value = float(row[column] or 0)
    if not math.isfinite(value):
        raise ValueError(column)
    return value


def _time(row: Row, column: str) -> datetime | None:
    value = row[column]
    # PostgreSQL writes the zone as +00.
    return None if value is None else datetime.fromisoformat(value).astimezone(UTC)
