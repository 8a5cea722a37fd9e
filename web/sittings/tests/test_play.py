"""Whom people can play, how strong they are, and what helps them at the board."""

from __future__ import annotations

import pytest
from django.test import Client
from pytest_django.asserts import assertContains, assertNotContains

from core.models import JobState, Opponents, Rating, Sitting, SittingMove, Submission
from core.sittings.permissions import OPEN_AT_ONCE
from core.sittings.services import opponents_set
from core.sittings.strength import LEVELS, level_of
from core.submissions.naming import agent_rename
from core.tests import factories

pytestmark = pytest.mark.django_db


@pytest.fixture
def anna() -> Submission:
    """An agent of Connect Four that is open to everyone."""
    return _open("connect-four", "anna")


def _open(game: str, name: str) -> Submission:
    row = factories.ready(factories.agent(factories.user(f"owner-of-{name}"), factories.environment(game), name))
    opponents_set(agent=row.agent, opponents=Opponents.EVERYONE)
    return row


def _sit(client: Client, game: str = "connect-four", seat: str = "first") -> str:
    answer = client.post(f"/environments/{game}/agents/anna/sit/", {"seat": seat})
    assert answer.status_code == 302, answer.content
    return str(answer["Location"])


def _play(*actions: int) -> None:
    """Store the moves of both seats, from the first step on."""
    sitting = Sitting.objects.get()
    for step, action in enumerate(actions):
        SittingMove.objects.create(sitting=sitting, step=step, seat=step % 2, action=action)


@pytest.mark.parametrize(
    ("rating", "span", "level"),
    [
        (1000.0, (1000.0, 2000.0), "beginner"),
        (1300.0, (1000.0, 2000.0), "easy"),
        (2000.0, (1000.0, 2000.0), "strong"),
        # A version outside of what is ranked.
        (900.0, (1000.0, 2000.0), "beginner"),
        (1500.0, (1500.0, 1500.0), ""),
        (None, (1000.0, 2000.0), ""),
        (1500.0, None, ""),
    ],
)
def test_a_rating_has_a_word_within_its_environment(
    rating: float | None, span: tuple[float, float] | None, level: str
) -> None:
    assert level_of(rating, span) == level
    assert level in ("", *LEVELS)


def test_the_strongest_comes_first_with_its_rating_and_a_word(client: Client, anna: Submission) -> None:
    berta, clara = _open("connect-four", "berta"), _open("connect-four", "clara")
    for rank, (row, value) in enumerate(((berta, 1900.0), (anna, 1000.0)), start=1):
        Rating.objects.create(
            submission=row, value=value, low=value - 50, high=value + 50, live=value, duel_count=1, match_count=2,
            rank=rank, best_rank=rank, worst_rank=rank, best_chance=0.5,
        )  # fmt: skip
    page = client.get("/play/").content.decode()
    assert page.index("berta") < page.index("anna") < page.index(clara.agent.name)
    words = (">strong<", "rating </span>1900", ">beginner<", "rating </span>1000", "not rated yet")
    places = [page.index(word) for word in words]
    assert places == sorted(places)
    assert client.post("/environments/connect-four/agents/berta/sit/", {"seat": "second"}).status_code == 302
    assert Sitting.objects.get().persons_seat == 1


def test_a_link_for_friends_needs_no_account_and_leads_to_every_game_of_the_name(
    client: Client, anna: Submission
) -> None:
    assertContains(client.get("/play/ANNA/"), "Can you beat anna?")
    assertContains(client.get("/play/anna/"), "Play anna</button>", count=1)
    assertContains(client.get("/environments/connect-four/agents/anna/"), "/play/anna/")
    assert client.get("/play/nothing/").status_code == 404
    opponents_set(agent=anna.agent, opponents=Opponents.MEMBERS)
    assertContains(client.get("/play/anna/"), "Log in to play against anna")


def test_a_link_for_friends_leads_on_when_its_agent_has_another_name(client: Client, anna: Submission) -> None:
    agent_rename(agent=anna.agent, name="zoe")
    assert client.get("/play/anna/")["Location"] == "/play/zoe/"
    assert client.get("/play/anna%00/").status_code == 404


def test_the_record_against_people_leaves_out_the_owners_own_matches(client: Client, anna: Submission) -> None:
    here = "/play/anna/"
    assertNotContains(client.get(here), "Against people")
    for outcome in ("PLAYER_2", "PLAYER_2", "PLAYER_1", "DRAW"):
        factories.sitting(anna, JobState.SUCCEEDED, outcome=outcome)
    assertNotContains(client.get(here), "Against people")
    Sitting.objects.update(user=factories.user("erik"))
    assertContains(client.get(here), "it has won 2 of 4")
    # Help, and a beginning from another match, would make a record of nothing.
    first, second, *_ = Sitting.objects.all()
    Sitting.objects.filter(pk=first.pk).update(is_helped=True)
    Sitting.objects.filter(pk=second.pk).update(opening=[3], origin_match=1, origin_ply=1)
    assertContains(client.get(here), "it has won 0 of 2")


def test_a_visitor_who_has_too_many_open_matches_finds_and_ends_them(client: Client, anna: Submission) -> None:
    pages = [_sit(client) for _ in range(OPEN_AT_ONCE)]
    refused = client.post("/environments/connect-four/agents/anna/sit/")
    assertContains(refused, "You have 2 matches against agents open", status_code=422)
    for page in pages:
        assertContains(refused, page, status_code=422)
    # Another visitor of the same address is another person.
    assert Client().post("/environments/connect-four/agents/anna/sit/").status_code == 302
    assertContains(client.get("/play/"), "Your open matches")
    ended = client.post(f"{pages[0]}resign/", {"then": "play"})
    assert ended["Location"] == "/play/"
    assert Sitting.objects.exclude(resigned_at=None).count() == 1


def test_a_move_is_taken_back_with_the_reply_to_it(client: Client, anna: Submission) -> None:
    page = _sit(client)
    assertNotContains(client.get(page), "Take back")
    _play(3, 2, 4, 2)
    assertContains(client.get(page), "With help a match does not count")
    assertContains(client.get(page), "Take back")
    helped = client.post(f"{page}help/", {"what": "back"})
    assertContains(helped, "Your turn.")
    assertContains(helped, "A move was taken back or a hint was shown")
    assertNotContains(helped, "With help a match does not count")
    assert Sitting.objects.get().is_helped
    assert [move.step for move in SittingMove.objects.all()] == [0, 1]
    client.post(f"{page}help/", {"what": "back"})
    assertContains(client.post(f"{page}help/", {"what": "back"}), "You have not moved yet.")
    _play(3)
    assertContains(client.post(f"{page}help/", {"what": "back"}), "when it is your turn")
    assert SittingMove.objects.count() == 1
    assert Client().post(f"{page}help/", {"what": "back"}).status_code == 403


def test_a_hint_names_the_move_that_wins_where_the_solver_sees_the_end(client: Client, anna: Submission) -> None:
    page = _sit(client)
    assertContains(client.post(f"{page}help/", {"what": "hint"}), "No hint yet")
    assert not Sitting.objects.get().is_helped, "no hint was shown"
    _play(3, 0, 3, 0, 3, 1)
    assertContains(client.post(f"{page}help/", {"what": "hint"}), "You can win in 1 move of both sides: Column 3.")
    assert Sitting.objects.get().is_helped


def test_a_board_shows_the_person_in_one_colour_whichever_seat_they_have(client: Client, anna: Submission) -> None:
    page = client.get(_sit(client, seat="second")).content.decode()
    players = page[page.index("<h2>Players</h2>") :]
    assert players.index("player-2") < players.index("player-1")
    assert 'agents/anna/">anna</a>' in players
    assertContains(client.get("/play/"), "/environments/connect-four/rules/")
    assert "/environments/connect-four/rules/" in page
