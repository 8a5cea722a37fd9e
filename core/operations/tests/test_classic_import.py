"""What an arena of the older kind had, imported from a dump of its database and a copy of its bucket."""

from __future__ import annotations

import gzip
import io
import uuid
from pathlib import Path

import pytest
from django.contrib.auth.hashers import PBKDF2PasswordHasher
from django.core.management import CommandError, call_command
from django.db import connection
from django.test import Client
from pytest_django.fixtures import Settings

from core.editions.progress import standings_refresh
from core.models import Agent, Build, Duel, Environment, Participant, Submission, Tournament, User
from core.operations import classic_dump
from core.operations.classic_import import NAMESPACE
from core.tests import factories
from tests.samples import FIRST, LAST, zip_of

pytestmark = pytest.mark.django_db
WHEN = "2019-11-06 20:11:12.345678+00"
USERS = ("id, password, last_login, is_superuser, username, first_name, last_name, is_staff, is_active, date_joined, "
         "email, github, team")  # fmt: skip
REVISIONS = "id, version_number, created_at, zip_file, publish_state, competitor_id"
DUELS = ("id, state, started_at, ended_at, result, num_matches, player_1_errors, player_2_errors, other_errors, "
         "player_1_wins, player_2_wins, draws, player_1_score, player_2_score, player_1_id, player_2_id, "
         "tournament_id")  # fmt: skip
DEAR = f"pbkdf2_sha256$99999999$salt${'A' * 43}="
"""A hash that would take a minute to compute at every login."""
ZIPS = [f"revisions/{uuid.UUID(int=number)}.zip" for number in range(1, 5)]


def table(name: str, columns: str, *rows: tuple[object, ...]) -> str:
    lines = ["\t".join(r"\N" if value is None else str(value) for value in row) for row in rows]
    return "\n".join([f"COPY public.core_{name} ({columns}) FROM stdin;", *lines, r"\.", ""])


def dump_of(folder: Path, **changed: str) -> Path:
    """Write a dump of two people, whose agents have met twice, and the archives of their versions."""
    password = PBKDF2PasswordHasher().encode("a pass phrase of 2019", "salt", iterations=1000)
    tables = {
        "competitor": table(
            "competitor", "id, is_public, name, last_version, environment_id, submitter_id",
            (1, "t", "alpha", 2, 1, 1), (2, "f", "beta", 1, 1, 2), (3, "f", "lost", 1, 1, 2), (4, "f", "far", 1, 2, 2),
        ),
        "duel": table(
            "duel", DUELS,
            (1, "COMPLETED", WHEN, WHEN, "PLAYER_1_WIN", 1000, 0, 7, 0, 600, 300, 93, 307, -307, 2, 3, 1),
            (2, "FAILED", WHEN, WHEN, "ERROR", None, None, None, None, None, None, None, None, None, 2, 4, 1),
        ),
        "environment": table("environment", "id, slug", (1, "tic-tac-toe"), (2, "chess")),
        "revision": table(
            "revision", REVISIONS,
            (2, 2, WHEN, ZIPS[1], "PUBLISH_COMPLETED", 1), (1, 1, WHEN, ZIPS[0], "PUBLISH_COMPLETED", 1),
            (3, 1, WHEN, ZIPS[2], "PUBLISH_SKIPPED", 2), (4, 1, WHEN, "revisions/../../../etc/passwd", "X", 3),
        ),
        "tournament": table(
            "tournament", "id, edition, started_at, state, ended_at, environment_id",
            (1, 1, WHEN, "COMPLETED", WHEN, 1), (2, 2, WHEN, "RUNNING", None, 1),
        ),
        "tournamentparticipant": table(
            "tournamentparticipant",
            "id, wins, losses, draws, points, total_score, ranking, revision_id, tournament_id",
            (1, 1, 0, 0, 2, 307, 1, 2, 1), (2, 0, 1, 0, 0, -307, 2, 3, 1),
        ),
        "user": table(
            "user", USERS,
            (1, password, None, "t", "ada", "", "", "t", "t", WHEN, "ada@arena.example", "ada-l", "Red\\tand blue"),
            (2, DEAR, None, "f", "bea", "", "", "f", "f", WHEN, "bea@arena.example", "", ""),
            (3, "!", None, "f", "mallory", "", "", "f", "t", WHEN, "no address", "", ""),
        ),
    }  # fmt: skip
    path = folder / "dump.sql.gz"
    path.write_bytes(gzip.compress("SET x = 0;\n".join((tables | changed).values()).encode()))
    (folder / "revisions").mkdir(exist_ok=True)
    for name, source in zip(ZIPS, (LAST, FIRST, FIRST), strict=False):
        (folder / name).write_bytes(zip_of(source))
    return path


def imported(folder: Path, **options: bool) -> str:
    output = io.StringIO()
    call_command("import_classic", str(folder / "dump.sql.gz"), str(folder), stdout=output, **options)
    return output.getvalue()


@pytest.fixture
def environment() -> Environment:
    return factories.environment("tic-tac-toe")


def test_people_agents_and_results_come_over_once(
    environment: Environment, tmp_path: Path, settings: Settings, client: Client
) -> None:
    settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.PBKDF2PasswordHasher"]
    dump_of(tmp_path)
    assert imported(tmp_path, dry_run=True).endswith("Would be imported: 2 accounts, 3 versions, 1 tournaments.\n")
    assert (User.objects.count(), Agent.objects.count(), Tournament.objects.count()) == (0, 0, 0)

    said = imported(tmp_path)
    assert said.endswith("Imported: 2 accounts, 3 versions, 1 tournaments.\n")
    assert "chess: there is no such environment here; add its folder first." in said
    assert "mallory: left out. Its row cannot be used" in said
    assert "lost v1: left out. Its archive 'revisions/../../../etc/passwd' is not in" in said
    assert "1 of its duels are left out, because a version is." in said

    ada, bea = User.objects.order_by("username")
    assert (ada.team, ada.github, ada.date_joined.year) == ("Red and blue", "ada-l", 2019)
    assert (ada.is_superuser, ada.is_staff) == (False, False)
    assert ada.check_password("a pass phrase of 2019")
    assert (bea.is_active, bea.has_usable_password()) == (False, False)
    versions = Submission.objects.order_by("agent__name", "number")
    assert [(str(row), row.agent.is_public, row.created_at.year) for row in versions] == [
        ("alpha v1", True, 2019), ("alpha v2", True, 2019), ("beta v1", False, 2019),
    ]  # fmt: skip
    assert Build.objects.count() == 3
    row = Tournament.objects.get()
    assert (row.name, row.is_rated, row.state) == ("Edition 1 of the older arena", False, "FINISHED")
    table_there = [(1, "alpha v2", 2, 307.0), (2, "beta v1", 0, -307.0)]
    assert [
        (one.rank, str(one.submission), one.points, one.total_score) for one in row.participants.order_by("rank")
    ] == table_there
    duel = Duel.objects.get()
    assert (duel.outcome, duel.match_count, duel.matches_done, duel.player_2_errors) == ("PLAYER_1", 1000, 1000, 7)
    # The table is that which follows from its duels.
    assert standings_refresh(row) == 0
    edition = f"/environments/tic-tac-toe/editions/{row.edition}/"
    for address in (edition, f"{edition}agents/alpha/", f"/duels/{duel.pk}/"):
        assert client.get(address).status_code == 200

    assert imported(tmp_path).endswith("Imported: 0 accounts, 0 versions, 0 tournaments.\n")
    assert (User.objects.count(), Submission.objects.count(), Participant.objects.count()) == (2, 3, 2)


def test_an_edition_comes_when_all_its_versions_are_here_or_in_part(environment: Environment, tmp_path: Path) -> None:
    dump_of(tmp_path)
    beta = (tmp_path / ZIPS[2]).rename(tmp_path / "beta.zip")
    sentence = "edition 1: left out. 1 of its 2 versions are not here; --in-part imports it without them."
    assert sentence in imported(tmp_path)
    assert not Tournament.objects.exists()

    beta.rename(tmp_path / ZIPS[2])
    assert imported(tmp_path).endswith("Imported: 0 accounts, 1 versions, 1 tournaments.\n")
    assert not User.objects.get(username="bea").is_active
    assert Duel.objects.get().environment_version == "tic-tac-toe-v1-bare"


def test_an_edition_in_part_has_the_versions_that_are_here(environment: Environment, tmp_path: Path) -> None:
    dump_of(tmp_path)
    (tmp_path / ZIPS[2]).unlink()
    assert "1 tournaments" in imported(tmp_path, in_part=True)
    assert [str(row.submission) for row in Participant.objects.all()] == ["alpha v2"]


def test_an_archive_above_the_limit_is_not_read(environment: Environment, tmp_path: Path, settings: Settings) -> None:
    dump_of(tmp_path)
    settings.MAX_UPLOAD_BYTES = 10
    said = imported(tmp_path)
    assert said.count("left out. Its archive is larger than 10\xa0bytes, see UPLOAD_BYTES.") == 3


def test_an_account_that_is_here_stays_as_it_is(environment: Environment, tmp_path: Path) -> None:
    before = [factories.user(name, team="Green") for name in ("ada", "bea")]
    dump_of(tmp_path)
    imported(tmp_path)
    for row in before:
        now = User.objects.get(pk=row.pk)
        assert (now.password, now.team, now.is_active) == (row.password, "Green", True)
    assert {agent.owner for agent in Agent.objects.all()} == set(before)


def test_an_account_that_is_not_confirmed_gets_no_agents(environment: Environment, tmp_path: Path) -> None:
    squatter = factories.user("ada")
    User.objects.filter(pk=squatter.pk).update(email_confirmed_at=None)
    dump_of(tmp_path)
    assert "has not confirmed it" in imported(tmp_path)
    assert not squatter.agents.exists()


def test_an_id_that_another_account_has_taken_is_no_version_of_this_one(
    environment: Environment, tmp_path: Path
) -> None:
    dump_of(tmp_path)
    email = factories.user("ada").email
    taken = uuid.uuid5(NAMESPACE, f"{environment.slug}/{email}/alpha/1")
    thief = factories.submission(factories.agent(factories.user("eve"), environment), public_id=taken)
    assert "Another account has a version with its id." in imported(tmp_path)
    assert not thief.participations.exists()


def test_an_older_version_never_becomes_the_newest_of_an_agent_that_is_here(
    environment: Environment, tmp_path: Path
) -> None:
    dump_of(tmp_path)
    own = factories.submission(factories.agent(factories.user("ada"), environment, "alpha"))
    assert "which may be newer" in imported(tmp_path)
    assert own.agent.submissions.get() == own


@pytest.mark.parametrize(
    ("changed", "sentence"),
    [
        ({"duel": ""}, "has no rows of the table core_duel"),
        ({"user": "COPY public.core_user (id, email) FROM stdin;\n1\n\\.\n"}, "Row 1 of the table core_user"),
        ({"user": "COPY public.core_user (id) FROM stdin;\n1\n"}, "ends within the table core_user"),
    ],
)
def test_another_dump_is_refused_in_a_sentence(tmp_path: Path, changed: dict[str, str], sentence: str) -> None:
    dump_of(tmp_path, **changed)
    with pytest.raises(CommandError, match=sentence):
        imported(tmp_path)


def test_a_damaged_dump_and_one_without_a_column_are_refused(tmp_path: Path) -> None:
    path = dump_of(tmp_path, revision=table("revision", "id", (1,)))
    with pytest.raises(CommandError, match="has no column 'competitor_id'"):
        imported(tmp_path)
    whole = path.read_bytes()
    path.write_bytes(whole[:30] + b"\xff" * 30 + whole[60:])
    with pytest.raises(CommandError, match="cannot be read"):
        imported(tmp_path)


def test_a_row_that_does_not_fit_is_left_out_as_a_whole(environment: Environment, tmp_path: Path) -> None:
    people = table(
        "user", USERS,
        (1, "!", None, "f", "ada", "", "", "f", "t", "0001-01-01 00:00:00+14", "ada@arena.example", "", ""),
        (2, "!", None, "f", "bea", "", "", "f", "t", WHEN, "bea@arena.example", "", ""),
        (3, "!", None, "f", "n\\0ul", "", "", "f", "t", WHEN, "cy@arena.example", "", "x" * 900),
    )  # fmt: skip
    most = 2**31 - 1
    duel = (1, "COMPLETED", WHEN, WHEN, "DRAW", most, 0, 0, 0, most, most, most, 0, 0, 2, 3, 1)
    dump_of(tmp_path, user=people, duel=table("duel", DUELS, duel))
    said = imported(tmp_path)
    assert "ada: left out. Its row cannot be used (OverflowError)." in said
    assert said.endswith("Imported: 1 accounts, 1 versions, 0 tournaments.\n")
    assert [row.username for row in User.objects.all()] == ["bea"]
    rows = table(
        "tournamentparticipant", "id, wins, losses, draws, points, total_score, ranking, revision_id, tournament_id",
        (1, 1, 0, 0, 2, 307, 1, 2, 1), (2, 0, 1, 0, 0, -307, 2, 3, 1),
    )  # fmt: skip
    Tournament.objects.all().delete()
    dump_of(tmp_path, duel=table("duel", DUELS, duel), tournamentparticipant=rows)
    said = imported(tmp_path)
    if connection.vendor == "postgresql":
        assert "edition 1: left out. Its row cannot be used (DataError)." in said
        assert not Tournament.objects.exists()


def test_a_dump_cannot_take_the_memory_or_be_of_another_form(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    dump_of(tmp_path)
    monkeypatch.setattr(classic_dump, "MOST_BYTES", 100)
    with pytest.raises(CommandError, match="longer than 100 bytes"):
        imported(tmp_path)
    (tmp_path / "dump.sql.gz").write_bytes(b"PGDMP\x01\x0e")
    with pytest.raises(CommandError, match="pg_restore --file"):
        imported(tmp_path)


def test_figures_that_are_none_leave_the_tournament_out_as_a_whole(environment: Environment, tmp_path: Path) -> None:
    row = (1, "COMPLETED", WHEN, WHEN, "DRAW", 2, 0, 0, 0, 0, 0, 2, "NaN", 0, 2, 3, 1)
    dump_of(tmp_path, duel=table("duel", DUELS, row))
    assert "Tic-tac-toe, edition 1: left out. Its row cannot be used (ValueError)." in imported(tmp_path)
    assert not Tournament.objects.exists()
