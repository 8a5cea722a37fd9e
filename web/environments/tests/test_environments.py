from __future__ import annotations

import io
import json
import re
import zipfile
from collections.abc import Sequence
from pathlib import Path

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from pytest_django import DjangoAssertNumQueries
from pytest_django.fixtures import Settings

from arena_kit.environment.registry import get_spec
from arena_kit.examples import make_archive
from arena_kit.kits import kit_files
from core.models import Environment, JobState, Submission, Tournament, TournamentState
from core.tests import factories
from core.tests.factories import Cast
from core.tournaments.selectors import edition_window
from web.conftest import As

pytestmark = pytest.mark.django_db
ADDRESS = "/environments/tic-tac-toe/"
LIVE = 'hx-trigger="every 2s"'


def part(client: Client, name: str, address: str = ADDRESS) -> str:
    """What htmx gets for a part of the page."""
    return client.get(address, headers={"HX-Request": "true", "HX-Target": name}).content.decode()


@pytest.fixture
def players(cast: Cast, environment: Environment) -> list[Submission]:
    owners = ((cast.alice, "alpha"), (cast.bob, "beta"), (cast.charlie, "gamma"))
    return [factories.ready(factories.agent(owner, environment, name)) for owner, name in owners]


def test_anybody_reads_the_page_and_is_asked_to_log_in_to_upload(
    client: Client, environment: Environment, settings: Settings
) -> None:
    settings.PLAYER_BASE_IMAGES = {(3, 11): "base", (3, 13): "newer"}
    guide = client.get(f"{ADDRESS}write/").content.decode()
    assert '<a href="/login/?next=/environments/tic-tac-toe/write/">Log in</a> to upload an agent.' in guide
    assert "3.11 or 3.13, with NumPy" in guide
    page = client.get(ADDRESS).content.decode()
    assert "No agent has a rating yet. The first edition begins when two agents are ready." in " ".join(page.split())
    assert "Your agents" not in page


def test_the_description_is_shown_as_sanitised_html(client: Client, environment: Environment) -> None:
    environment.description = "# Rules\n\n<script>alert(1)</script> [x](javascript:alert(1)) **bold**\n\n|a|\n|-|\n|1|"
    environment.save()
    page = client.get(f"{ADDRESS}rules/").content.decode()
    assert "<script>alert" not in page
    assert 'href="javascript' not in page
    assert "<strong>bold</strong>" in page
    assert "<td>1</td>" in page


def test_the_table_shows_everything_that_ranks(client: Client, players: Sequence[Submission]) -> None:
    factories.tournament(players)
    factories.rating_point(players[0], factories.NOON, 1486.2)
    of_both = (">alpha</a>", "v1", ">alice</a>", ">Blue<")
    for address, figures in (
        (ADDRESS, ("<strong>1520</strong>", "± 50", "1st to 3rd", "50%", ">+34</td>", ">20</td>")),
        (f"{ADDRESS}editions/1/", (">4</td>", ">2</td>", ">0</td>")),
    ):
        page = client.get(address).content.decode()
        first = page[page.index("<tbody") : page.index("</tr>", page.index("<tbody"))]
        assert [figure for figure in (*of_both, *figures) if figure not in first] == []


def test_the_leaderboard_goes_by_rating_and_an_edition_by_points(
    client: Client, cast: Cast, players: Sequence[Submission]
) -> None:
    alpha, beta, gamma = players
    factories.tournament(players)
    factories.rating(gamma, 1900, rank=1, worst_rank=3)
    factories.rating(alpha, 1600, rank=2, worst_rank=3)
    factories.rating(beta, 1500, rank=3, worst_rank=3)
    newcomer = factories.ready(factories.agent(cast.bob, beta.agent.environment, "newcomer"))

    page = client.get(ADDRESS)
    assert [row.submission for row, _ in page.context["rows"]] == [gamma, alpha, beta]
    assert page.context["unrated"] == [newcomer]
    assert "Not rated yet" in page.content.decode()
    edition = client.get(f"{ADDRESS}editions/1/")
    assert [row.submission for row, _ in edition.context["rows"]] == [alpha, beta, gamma]
    assert "Points decide, 2 for a duel won and 1 for one drawn" in edition.content.decode()


def test_the_leaderboard_shows_ratings_of_now_and_an_edition_those_of_its_end(
    client: Client, players: Sequence[Submission]
) -> None:
    first = factories.tournament(players, edition=1)
    first.participants.filter(submission=players[0]).update(rating=1400, rating_low=1380, rating_high=1420)
    first.participants.filter(submission=players[1]).update(rating=1300)
    factories.tournament(players, edition=2).participants.update(rating=1200, rating_low=1100, rating_high=1300)
    factories.rating(players[0], 1600, low=1570, high=1630, rank=3, best_rank=2, worst_rank=12, best_chance=0.004)

    newest = part(client, "leaderboard")
    assert "<strong>1600</strong>" in newest
    assert "± 30" in newest
    assert ">2nd to 12th<" in newest
    assert newest.count('class="whisker"') == 3
    # Of no chance worth the word nothing is said.
    assert newest.count("chance to be the") == 2

    old = part(client, "leaderboard", ADDRESS + "editions/1/")
    assert "<strong>1400</strong>" in old
    assert "± 20" in old
    # Kept by a version that knew no intervals.
    assert "<strong>1300</strong>" in old
    # The third kept none: how it stands now is not how it stood.
    assert old.count('class="whisker"') == 1
    assert "2nd to 12th" not in old
    assert "Ratings are those from when it ended." in old

    Tournament.objects.filter(pk=first.pk).update(state="CANCELLED")
    assert "so no ratings were saved" in part(client, "leaderboard", ADDRESS + "editions/1/")


def test_ties_share_a_rank(client: Client, players: Sequence[Submission]) -> None:
    tournament = factories.tournament(players)
    tournament.participants.filter(submission__in=players[:2]).update(rank=1, points=3, wins=1, draws=1)
    ranks = [row.rank for row, _ in client.get(f"{ADDRESS}editions/1/").context["rows"]]
    assert ranks == [1, 1, 3]


def test_the_page_shows_the_newest_edition_that_was_not_cancelled(
    client: Client, players: Sequence[Submission]
) -> None:
    factories.tournament(players, edition=1)
    factories.tournament(players, edition=2, state=TournamentState.CANCELLED)
    assert client.get(ADDRESS).context["newest"].edition == 1
    assert client.get(ADDRESS + "editions/2/").context["tournament"].edition == 2


def test_an_unknown_environment_or_edition_is_not_found(client: Client, players: Sequence[Submission]) -> None:
    factories.tournament(players)
    assert client.get("/environments/chess/").status_code == 404
    missing = client.get(ADDRESS + "editions/7/")
    assert missing.status_code == 404
    assert "Tic-tac-toe has no edition 7." in missing.content.decode()


def test_a_running_edition_shows_its_progress_and_refreshes_until_it_is_final(
    client: Client, players: Sequence[Submission]
) -> None:
    tournament = factories.tournament(players, state=TournamentState.RUNNING)
    for address in (ADDRESS, ADDRESS + "editions/1/"):
        running = part(client, "leaderboard", address)
        assert "1 of 3 duels" in running
        assert LIVE in running
        assert "<html" not in running
    Tournament.objects.update(state=TournamentState.FINISHED, ended_at=factories.NOON)
    factories.moved(tournament.duels.all(), JobState.SUCCEEDED)
    for address, word in ((ADDRESS, "finished"), (ADDRESS + "editions/1/", "Final")):
        final = part(client, "leaderboard", address)
        assert word in final
        assert LIVE not in final


def test_duels_that_could_not_be_played_are_shown_as_such(client: Client, players: Sequence[Submission]) -> None:
    tournament = factories.tournament(players)
    factories.moved(tournament.duels.filter(number=1), JobState.FAILED)
    assert "1 duel could not be played and does not count." in client.get(f"{ADDRESS}editions/1/").content.decode()


def test_the_table_waits_for_the_first_edition_of_a_new_submission(
    client: Client, cast: Cast, environment: Environment, players: Sequence[Submission]
) -> None:
    factories.tournament(players)
    assert LIVE not in part(client, "leaderboard")
    factories.ready(factories.agent(cast.olga, environment))
    assert LIVE in part(client, "leaderboard")


def test_a_lone_agent_waits_for_no_duel(client: Client, cast: Cast, environment: Environment) -> None:
    factories.ready(factories.agent(cast.alice, environment))
    assert LIVE not in part(client, "leaderboard")


def test_people_see_their_own_agents_and_their_status_until_all_is_done(
    cast: Cast, environment: Environment, visit: As
) -> None:
    agent = factories.agent(cast.alice, environment, "mine")
    submission = factories.submission(agent)
    build = factories.build(submission, state=JobState.RUNNING)
    own = part(visit(cast.alice), "own-agents")
    assert ">mine</a>" in own
    assert "Building" in own
    assert LIVE in own
    assert "mine" not in part(visit(cast.bob), "own-agents")
    build.delete()
    factories.build(submission)
    factories.validation(submission)
    done = part(visit(cast.alice), "own-agents")
    assert "Ready" in done
    assert LIVE not in done


def test_a_part_and_the_whole_are_told_apart_by_caches(client: Client, environment: Environment) -> None:
    assert "HX-Target" in client.get(ADDRESS)["Vary"]


@pytest.mark.parametrize(
    ("edition", "window"),
    [
        (1, [1, 2, 3, None, 9]),
        (4, [1, 2, 3, 4, 5, 6, None, 9]),
        (5, [1, None, 3, 4, 5, 6, 7, None, 9]),
        (9, [1, None, 7, 8, 9]),
    ],
)
def test_the_pager_shows_two_editions_on_each_side(
    environment: Environment, edition: int, window: list[int | None]
) -> None:
    for number in range(1, 10):
        Tournament.objects.create(
            environment=environment, edition=number, state=TournamentState.FINISHED, ended_at=factories.NOON
        )
    assert edition_window(environment, edition) == window


def test_the_pager_leads_only_to_editions_that_exist(environment: Environment) -> None:
    for number in (2, 3, 5):
        Tournament.objects.create(
            environment=environment, edition=number, state=TournamentState.FINISHED, ended_at=factories.NOON
        )
    assert edition_window(environment, 5) == [2, 3, 5]


def test_more_participants_and_own_agents_take_no_more_queries(
    cast: Cast, environment: Environment, visit: As, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    client = visit(cast.alice)
    client.get("/inbox/")  # the first use of a session is noted
    for round_ in (1, 2):
        players = [factories.ready(factories.agent(cast.alice, environment)) for _ in range(3)]
        factories.tournament(players, edition=round_)
        with django_assert_max_num_queries(24):
            assert client.get(ADDRESS).status_code == 200


@pytest.mark.parametrize("page", [ADDRESS, f"{ADDRESS}editions/1/", f"{ADDRESS}editions/1/agents/first/"])
def test_tables_of_an_edition_read_no_column_that_they_do_not_show(
    client: Client, cast: Cast, environment: Environment, page: str
) -> None:
    players = [factories.ready(factories.agent(cast.alice, environment, name)) for name in ("first", "second", "third")]
    factories.tournament(players)
    with CaptureQueriesContext(connection) as captured:
        assert client.get(page).status_code == 200

    tables = [query["sql"] for query in captured if query["sql"].startswith('SELECT "core_participant"')]
    # The table and the leader above it, and for an agent in it its own row before.
    for sql in (sql for sql in tables if not sql.endswith("LIMIT 1")):
        assert '"username"' in sql
        assert [name for name in ("password", "archive_sha256", "warnings", "description") if f'"{name}"' in sql] == []


def test_the_starter_kit_is_a_zip_with_a_player(client: Client) -> None:
    response = client.get("/starter-kit/dummy.zip")
    assert response["Content-Type"] == "application/zip"
    assert response["Content-Disposition"] == 'attachment; filename="dummy.zip"'
    assert "player.py" in zipfile.ZipFile(io.BytesIO(response.content)).namelist()


def test_a_starter_kit_holds_what_the_arena_has_learned_for_the_environment(
    client: Client, settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.DATA_DIR = tmp_path

    def learned(folder: Path, environment: object, arguments: object, weights: Path, *, quiet: bool) -> None:
        weights.parent.mkdir(parents=True, exist_ok=True)
        weights.write_bytes(b"learned")

    # Learning itself takes seconds: `example_players/tests/test_learners.py`.
    monkeypatch.setattr("arena_kit.examples._train", learned)

    def files(environment: str) -> list[str]:
        response = client.get(f"/starter-kit/cem.zip?environment={environment}")
        return zipfile.ZipFile(io.BytesIO(response.content)).namelist()

    assert "weights.npy" not in files("cart-pole")
    make_archive("cem", "cart-pole", train=True, store=tmp_path / "examples")
    assert "weights.npy" in files("cart-pole")
    assert "weights.npy" not in files("../../cart-pole")


def test_an_unknown_starter_kit_is_not_found(client: Client) -> None:
    assert client.get("/starter-kit/passwd.zip").status_code == 404
    assert client.get("/starter-kit/tests.zip").status_code == 404


@pytest.mark.parametrize(("slug", "kits"), [("tic-tac-toe", 4), ("cart-pole", 3)])
def test_a_page_offers_the_starter_kits_that_fit(client: Client, slug: str, kits: int) -> None:
    factories.environment(slug)
    page = client.get(f"/environments/{slug}/write/").content.decode()
    links = re.findall(rf'href="(/environments/{slug}/kits/[a-z-]+\.zip)"', page)
    assert len(links) == kits
    for link in links:
        response = client.get(link)
        assert response["Content-Type"] == "application/zip"
        name = link.rpartition("/")[2].removesuffix(".zip")
        assert response["Content-Disposition"] == f'attachment; filename="{slug}-{name}.zip"'
        with zipfile.ZipFile(io.BytesIO(response.content)) as archive:
            files = {one: archive.read(one) for one in archive.namelist()}
        # These are the bytes that `arena new` writes.
        assert files == dict(kit_files(get_spec(slug), name, f"my_{name.replace('-', '_')}"))


@pytest.mark.parametrize("slug", ["tic-tac-toe", "half-cheetah"])
def test_a_page_offers_its_notebook_with_the_address_of_the_site(client: Client, slug: str) -> None:
    factories.environment(slug)
    address = f"/environments/{slug}/notebook.ipynb"
    assert f'href="{address}"' in client.get(f"/environments/{slug}/write/").content.decode()
    response = client.get(address)
    assert response["Content-Disposition"] == f'attachment; filename="{slug}.ipynb"'
    cells = json.loads(response.content)["cells"]
    code = "".join("".join(cell["source"]) for cell in cells if cell["cell_type"] == "code")
    assert f'environment="{slug}", name="my-agent", site="http://testserver"' in code
    extras = {"tic-tac-toe": "gymnasium", "half-cheetah": "gymnasium,mujoco"}[slug]
    assert f'"arena-kit[{extras}] @ http://testserver/kit/' in code
    assert client.get("/environments/no-game/notebook.ipynb").status_code == 404


@pytest.mark.parametrize("name", ["q-learning", "script", "passwd", "kits"])
def test_a_kit_that_does_not_fit_is_not_found(client: Client, name: str) -> None:
    factories.environment("connect-four")
    assert client.get(f"/environments/connect-four/kits/{name}.zip").status_code == 404
    assert client.get(f"/environments/no-game/kits/{name}.zip").status_code == 404


def test_a_closed_environment_offers_no_upload(cast: Cast, environment: Environment, visit: As) -> None:
    environment.is_active = False
    environment.save()
    page = visit(cast.alice).get(f"{ADDRESS}write/").content.decode()
    assert "accepts no uploads at the moment" in page
    assert 'type="file"' not in page
    board = visit(cast.alice).get(ADDRESS).content.decode()
    assert "is closed at the moment: it takes no uploads, and its duels wait." in board


def test_the_guide_fetches_an_environment_that_is_not_in_the_kit(
    client: Client, environment: Environment, monkeypatch: pytest.MonkeyPatch
) -> None:
    shipped = client.get(f"{ADDRESS}write/").content.decode()
    assert "arena check my_player --environment tic-tac-toe" in shipped
    assert "arena pull" not in shipped
    monkeypatch.setattr("web.environments.parts.own_slugs", lambda: frozenset({"tic-tac-toe"}))
    own = client.get(f"{ADDRESS}write/").content.decode()
    assert "arena pull tic-tac-toe\n" in own
    assert own.count("--environment tic-tac-toe --environments environments") == 2
