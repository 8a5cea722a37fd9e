"""Baselines of organisers' tournaments play, and take no rank, place, seed, points or prize."""

from __future__ import annotations

import random
from collections import Counter
from datetime import timedelta

import pytest
from django.utils import timezone

from arena_kit.environment.records import Outcome
from core.editions.advance import environment_advance
from core.editions.disqualifying import participant_disqualify
from core.editions.happenings import happenings
from core.editions.previews import disqualification_preview
from core.editions.progress import tournament_begin
from core.editions.screen import screen_get
from core.editions.tests.planned import planned
from core.editions.tests.samples import LATER, play, players
from core.errors import Refused
from core.models import (
    Agent,
    Course,
    Environment,
    JobState,
    LiveRating,
    Member,
    Notice,
    NoticeKind,
    Role,
    Submission,
    Tournament,
)
from core.tests import factories
from core.tournaments.baselines import baselines_named, baselines_set
from core.tournaments.calendar import tournament_past_list
from core.tournaments.planning import tournament_copy, tournament_plan
from core.tournaments.preview import plan_preview
from core.tournaments.registration_selectors import closed_because, field_list, registration_card
from core.tournaments.registrations import registration_create
from core.tournaments.seasons import season_table

pytestmark = pytest.mark.django_db


def references(environment: Environment, count: int = 2) -> list[Submission]:
    """Agents of an organiser, all of one owner."""
    olga = factories.user("olga-of-baselines", is_staff=True)
    return [factories.ready(factories.agent(olga, environment, name=f"minimax-{n}")) for n in range(count)]


def by_lot(cup: Tournament, seed: int) -> dict[int, Outcome]:
    """Play all duels with outcomes drawn by lot; return them by duel."""
    drawn = random.Random(seed)
    found = {}
    for duel in cup.duels.filter(state=JobState.QUEUED).order_by("number"):
        found[duel.pk] = drawn.choice([Outcome.PLAYER_1, Outcome.PLAYER_2, Outcome.DRAW])
        play(duel, found[duel.pk], score=drawn.randrange(1, 9))
    return found


@pytest.fixture
def cup() -> tuple[Tournament, list[Submission], list[Submission]]:
    """A round robin of six with two baselines, which has just begun and is of a season."""
    six = players(factories.environment(), 6)
    two = references(six[0].agent.environment)
    row = planned(six, "round-robin", pairs=1)
    row.season = factories.season(row.environment)
    row.max_participants = 6
    row.save()
    baselines_set(tournament=row, agents=[one.agent for one in two])
    return tournament_begin(row, now=LATER), six, two


def over(cup: Tournament) -> Tournament:
    environment_advance(Environment.objects.get(pk=cup.environment_id), now=LATER)
    return Tournament.objects.select_related("environment").get(pk=cup.pk)


def test_the_table_of_six_equals_a_recount_without_the_baselines(
    cup: tuple[Tournament, list[Submission], list[Submission]],
) -> None:
    begun, six, two = cup
    assert set(begun.participants.filter(seeding=None).values_list("submission", flat=True)) == {row.pk for row in two}
    assert begun.duels.count() == 28
    outcomes = by_lot(begun, 5)
    ended = over(begun)
    assert ended.state == "FINISHED"

    points: Counter[int] = Counter()
    own: Counter[int] = Counter()
    baselines = {row.pk for row in two}
    for duel in ended.duels.all():
        sides, outcome = (duel.player_1_id, duel.player_2_id), outcomes[duel.pk]
        for side, who in enumerate(sides):
            gained = 1 if outcome is Outcome.DRAW else 2 * (outcome is (Outcome.PLAYER_1, Outcome.PLAYER_2)[side])
            if baselines.isdisjoint(sides):
                points[who] += gained
            elif who in baselines:
                own[who] += gained
    rows = {row.submission_id: row for row in ended.participants.all()}
    assert {key: rows[key].points for key in (row.pk for row in six)} == {row.pk: points[row.pk] for row in six}
    assert {key: rows[key].points for key in baselines} == {key: own[key] for key in baselines}
    keys = {row.pk: (rows[row.pk].points, rows[row.pk].wins, rows[row.pk].total_score) for row in six}
    assert {key: rows[key].rank for key in keys} == {
        key: 1 + sum(other > mine for other in keys.values()) for key, mine in keys.items()
    }
    assert all(rows[key].shown_rank is None and not rows[key].is_ranked for key in baselines)


def test_a_baseline_that_wins_everything_wins_nothing(
    cup: tuple[Tournament, list[Submission], list[Submission]],
) -> None:
    begun, six, two = cup
    strong = {row.pk for row in two}
    for duel in begun.duels.order_by("number"):
        first = duel.player_1_id in strong or (duel.player_2_id not in strong and duel.player_1_id < duel.player_2_id)
        play(duel, Outcome.PLAYER_1 if first else Outcome.PLAYER_2)
    ended = over(begun)

    [entry] = tournament_past_list([ended])
    assert (entry.count, [row.submission_id for row in entry.winners]) == (6, [six[0].pk])
    assert ended.season is not None
    table = season_table(ended.season)
    assert {row.agent.pk: row.total for row in table.rows} == {row.agent_id: 5 - place for place, row in enumerate(six)}
    screen = screen_get(ended, now=timezone.now())
    assert [row.participant.submission_id for row in screen.podium] == [row.pk for row in six[:3]]
    assert strong.isdisjoint(screen.meetings[0].players)
    titles = " ".join(one.title for one in happenings(ended.environment))
    assert "came 1st of 6" in titles
    assert "minimax" not in " ".join(one.title for one in happenings(ended.environment) if one.key.startswith("place"))
    told = Notice.objects.filter(kind__in=[NoticeKind.TOURNAMENT_STARTED, NoticeKind.TOURNAMENT_ENDED])
    assert not told.filter(user=two[0].agent.owner).exists()
    texts = list(told.values_list("text", flat=True))
    assert any("It has 6 agents." in text for text in texts)
    assert any("came 1st of 6" in text for text in texts)
    # Its duels are rated as all others.
    assert LiveRating.objects.filter(submission__in=two).count() == 2

    best = ended.participants.get(submission=six[0])
    assert {one.participant.submission_id: one.after for one in disqualification_preview(best)} == {
        row.pk: place or None for place, row in enumerate(six)
    }
    with pytest.raises(Refused, match="baseline"):
        participant_disqualify(participant=ended.participants.get(submission=two[0]), reason="It is too strong.")


def test_a_baseline_takes_no_place_and_cannot_be_registered() -> None:
    environment = factories.environment()
    two = references(environment)
    Environment.objects.update(active_per_owner=1)
    row = factories.planned(environment, max_participants=2)
    baselines_set(tournament=row, agents=[one.agent for one in two])
    anna = factories.ready(factories.agent(factories.user("anna"), environment)).agent
    now = timezone.now()
    assert not closed_because(row, now=now)
    registration_create(tournament=row, agent=anna, by=anna.owner, now=now)
    with pytest.raises(Refused, match="is a baseline of this tournament"):
        registration_create(tournament=row, agent=two[0].agent, by=two[0].agent.owner, now=now)
    card = registration_card(row, two[0].agent.owner, now=now)
    assert (card.taken, card.places_left, card.own) == (1, 1, ())
    assert [one.agent for one in field_list(row)] == [anna]
    # The other way round an agent that is registered plays for its place.
    with pytest.raises(Refused, match="is registered") as refusal:
        baselines_set(tournament=row, agents=[anna])
    assert refusal.value.field == "baselines"


def test_without_a_registration_baselines_are_no_part_of_the_field() -> None:
    six = players(factories.environment(), 6)
    two = references(six[0].agent.environment)
    row = planned(six, "round-robin")
    agents = [one.agent for one in two]
    with_all = plan_preview(Tournament(environment=row.environment, format="round-robin"), [])
    shown = plan_preview(Tournament(environment=row.environment, format="round-robin"), [], agents)
    assert (with_all.participants, shown.participants) == (8, 6)
    assert with_all.duel_count == shown.duel_count == 28
    baselines_set(tournament=row, agents=agents)
    assert {one.pk for one in field_list(row)} == {one.pk for one in six}


def test_only_agents_of_organisers_and_teachers_that_may_play_are_found() -> None:
    environment = factories.environment()
    two = references(environment)
    factories.agent(two[0].agent.owner, environment, name="unfinished")
    tess, sam = factories.user("tess"), factories.user("sam")
    own = factories.ready(factories.agent(tess, environment, name="teachers-own")).agent
    factories.ready(factories.agent(sam, environment, name="students-own"))
    course = Course.objects.create(slug="robots", name="Robots")
    Member.objects.create(course=course, user=tess, role=Role.TEACHER)
    Member.objects.create(course=course, user=sam)
    assert baselines_named(["teachers-own"], environment, course) == [own]
    assert baselines_named(["MiniMax-1", " minimax-0 ", ""], environment, None) == [two[1].agent, two[0].agent]
    for name in ("students-own", "unfinished", "teachers-own", "nothing"):
        with pytest.raises(Refused, match=f"{name}” is no .*Choose from minimax-0, minimax-1") as refusal:
            baselines_named([name], environment, None)
        assert refusal.value.field == "baselines"


def test_a_knock_out_refuses_them_when_it_is_planned() -> None:
    environment = factories.environment()
    two = references(environment)
    row = Tournament(environment=environment, name="Cup", format="single-elimination")
    with pytest.raises(Refused, match="Single elimination takes no baselines") as refusal:
        tournament_plan(tournament=row, baselines=[two[0].agent], now=timezone.now())
    assert refusal.value.field == "baselines"


def test_a_copy_has_the_same_baselines_and_one_that_cannot_play_is_left_out_aloud() -> None:
    six = players(factories.environment(), 3)
    two = references(six[0].agent.environment)
    now = timezone.now()
    first = tournament_plan(
        tournament=Tournament(environment=six[0].agent.environment, name="Week 1", format="round-robin"),
        baselines=[one.agent for one in two],
        now=now,
    )
    copy = tournament_copy(tournament=first, by=two[0].agent.owner, now=now)
    assert copy.name == "Week 2"
    assert set(copy.baselines.all()) == {one.agent for one in two}
    Agent.objects.filter(pk=two[0].agent_id).update(is_disabled=True)
    tournament_begin(copy, now=now + timedelta(days=1))
    assert list(copy.participants.filter(is_baseline=True).values_list("submission", flat=True)) == [two[1].pk]
    title = "Tic-tac-toe: Week 2 has begun without minimax-0"
    assert Notice.objects.filter(user=two[0].agent.owner, title=title).exists()
