"""Two versions compared by their duels: who has met whom, what a person may see of it, and what is read."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from django.contrib.auth.models import AnonymousUser

from arena_kit.environment.records import DuelRecord, Fault, MatchRecord, Outcome
from arena_kit.ranking.paired import Verdict
from core.jobs.artifacts import artifacts_stored
from core.models import Audience, Duel, Environment, JobState, LedgerVoid, Submission, Tournament, TournamentState
from core.submissions.named import versions_named
from core.tests import factories
from core.tests.factories import Cast
from core.tournaments import comparison
from core.tournaments.comparison import DuelComparison, duels_compare

pytestmark = pytest.mark.django_db
STRANGER = AnonymousUser()
WON, LOST, DRAWN = Outcome.PLAYER_1, Outcome.PLAYER_2, Outcome.DRAW


def record(outcomes: Sequence[Outcome], alike: tuple[int, ...] | None = None) -> DuelRecord:
    matches = tuple(
        MatchRecord(
            number=number, seed=7, seats=(0, 1) if number % 2 else (1, 0), actions=(number,), outcome=outcome,
            scores=(0.0, 0.0), fault=Fault.NONE, faulty_player=None, error_code="", error="", move_counts=(1, 0),
            thinking_seconds=(0.0, 0.0), slowest_move_seconds=(0.0, 0.0),
        )
        for number, outcome in enumerate(outcomes, start=1)
    )  # fmt: skip
    return DuelRecord("tic-tac-toe-v1", 7, ("one", "two"), matches, alike)


def stored(duel: Duel, outcomes: Sequence[Outcome], alike: tuple[int, ...] | None = None) -> Duel:
    played = record(outcomes, alike)
    with artifacts_stored(job=duel, record=played, player_logs=("", ""), digests=("", "")) as artifacts:
        Duel.objects.filter(pk=duel.pk).update(records=artifacts.records)
    return Duel.objects.get(pk=duel.pk)


def met(
    tournament: Tournament, one: Submission, other: Submission, outcomes: Sequence[Outcome], *, seed: int | None = None,
    alike: tuple[int, ...] | None = None,
) -> Duel:  # fmt: skip
    """A played duel of a tournament. seed: that of the duel, which gives its openings."""
    number = tournament.duels.count() + 1
    duel = factories.duel(tournament, one, other, number=number, state=JobState.SUCCEEDED)
    Duel.objects.filter(pk=duel.pk).update(seed=number if seed is None else seed)
    return stored(duel, outcomes, alike)


@pytest.fixture
def versions(people: Cast, environment: Environment) -> list[Submission]:
    """Two versions of ann, and two rivals."""
    ann = factories.agent(people.alice, environment, "ann")
    rivals = [factories.agent(people.bob, environment, name) for name in ("rock", "paper")]
    return [factories.ready(ann), factories.ready(ann), *(factories.ready(rival) for rival in rivals)]


@pytest.fixture
def editions(environment: Environment, versions: list[Submission]) -> list[Tournament]:
    over = {"state": TournamentState.FINISHED, "ended_at": factories.NOON}
    return [Tournament.objects.create(environment=environment, edition=number, **over) for number in (1, 2)]


def compared(versions: list[Submission], viewer: object = STRANGER) -> DuelComparison:
    return duels_compare(versions[1], versions[0], viewer)  # type: ignore[arg-type]


def test_versions_that_never_met_are_compared_by_their_rivals(
    versions: list[Submission], editions: list[Tournament]
) -> None:
    old, new, rock, paper = versions
    met(editions[0], old, rock, [LOST] * 20)
    met(editions[0], old, paper, [WON, LOST] * 10)
    met(editions[1], new, rock, [WON] * 20)
    met(editions[1], paper, new, [LOST, LOST] * 10)
    found = compared(versions)

    assert found.same is not None
    assert (found.own, found.duels) == (None, ())
    assert (found.same.first, found.same.second, found.same.results) == (1.0, 0.25, 80)
    assert found.same.verdict is Verdict.FIRST
    assert [(line.rival, line.first, line.second, line.difference) for line in found.lines] == [
        (rock, 1.0, 0.0, 1.0), (paper, 1.0, 0.5, 0.5)
    ]  # fmt: skip
    assert found.sentence.startswith(
        "Against the same 2 opponents ann v2 is better than ann v1: it scored 100%, ann v1 25%."
    )
    assert not found.is_partial


def test_a_rival_that_was_met_by_other_rules_is_another_opponent(
    versions: list[Submission], editions: list[Tournament]
) -> None:
    """The table under a verdict has the matches that the verdict is made from."""
    old, new, rock, paper = versions
    for rival in (rock, paper):
        met(editions[0], old, rival, [LOST] * 20)
        met(editions[1], new, rival, [WON] * 20)
    new_rules = met(editions[0], old, rock, [WON] * 10)
    Duel.objects.filter(pk=new_rules.pk).update(environment_version="tic-tac-toe-v2")
    Duel.objects.filter(player_1=old, player_2=paper).update(environment_version="tic-tac-toe-v2")
    found = compared(versions)
    assert found.same is not None
    assert [(line.rival, line.second, line.second_matches) for line in found.lines] == [(rock, 0.0, 20)]
    assert sum(line.first_matches + line.second_matches for line in found.lines) == found.same.results
    assert "Against the same opponent " in found.sentence


def test_duels_between_the_two_are_compared_apart(versions: list[Submission], editions: list[Tournament]) -> None:
    old, new, *_ = versions
    duel = met(editions[0], old, new, [LOST, DRAWN] * 15)
    asked_for = factories.challenged(new, old).duels.get()
    stored(asked_for, [WON] * 10)
    found = compared(versions)
    assert found.own is not None
    assert found.same is None
    assert found.own.first == pytest.approx((15 * 0.75 + 5) / 20)
    assert found.duels == (asked_for, duel)
    assert found.sentence == found.own_sentence
    assert found.sentence.startswith("ann v2 beats ann v1")


def test_a_rating_on_which_the_scale_hangs_has_no_interval(versions: list[Submission]) -> None:
    factories.rating(versions[1], 1000.0, low=1000.0, high=1000.0)
    factories.rating(versions[0], 1200.0)
    first, second = f"{versions[1]} has the rating 1000 (fixed)", f"{versions[0]} 1200 (95% interval 1150 to 1250)"
    assert compared(versions).ratings_sentence == f"By all rated matches together, {first}, {second}."


def test_duels_that_owners_ask_for_do_not_count_against_rivals(
    versions: list[Submission], editions: list[Tournament]
) -> None:
    old, new, rock, _ = versions
    met(editions[0], old, rock, [LOST] * 20)
    stored(factories.challenged(new, rock).duels.get(), [WON] * 20)
    found = compared(versions)
    assert (found.same, found.own) == (None, None)
    assert found.sentence == "ann v2 and ann v1 have met neither the same opponents nor each other yet."


def test_results_that_are_held_back_or_void_do_not_count(
    people: Cast, versions: list[Submission], editions: list[Tournament]
) -> None:
    old, new, rock, paper = versions
    for rival in (rock, paper):
        met(editions[0], old, rival, [LOST] * 20)
        met(editions[1], new, rival, [WON] * 20)
    LedgerVoid.objects.create(duel=Duel.objects.get(player_1=new, player_2=paper), reason="A test.")
    assert [line.rival for line in compared(versions).lines] == [rock]

    Tournament.objects.filter(pk=editions[1].pk).update(results=Audience.PARTICIPANTS)
    editions[1].participants.create(submission=new)
    seen = {name: bool(compared(versions, getattr(people, name)).lines) for name in ("alice", "charlie", "olga")}
    assert seen == {"alice": True, "charlie": False, "olga": True}
    assert compared(versions).same is None


def test_common_openings_make_one_observation_and_repeats_another(
    versions: list[Submission], editions: list[Tournament]
) -> None:
    old, new, rock, paper = versions
    for one in (old, new):
        for rival in (rock, paper):
            met(editions[0], one, rival, [WON, LOST, DRAWN, WON] * 3, seed=5)
    found = compared(versions).same
    assert found is not None
    assert (found.units, found.difference.value) == (6, 0.0)

    Duel.objects.all().update(seed=9)
    for duel in Duel.objects.all():
        stored(duel, [WON, LOST] * 6, alike=(1, 2) * 6)
    repeated = compared(versions).same
    assert repeated is not None
    assert repeated.units == 4


def test_only_some_of_many_duels_are_read_with_common_openings_first(
    versions: list[Submission], editions: list[Tournament], monkeypatch: pytest.MonkeyPatch
) -> None:
    old, new, rock, _ = versions
    common = met(editions[0], new, rock, [WON] * 4, seed=100)
    met(editions[0], old, rock, [LOST] * 4, seed=100)
    for _ in range(3):
        met(editions[0], new, rock, [LOST] * 4)
    monkeypatch.setattr(comparison, "MOST_DUELS", 1)
    found = compared(versions)
    assert found.same is not None
    assert (found.same.first, found.lines[0].first_matches, found.is_partial) == (1.0, common.match_count - 6, True)


def test_duels_whose_records_are_gone_are_left_out(versions: list[Submission], editions: list[Tournament]) -> None:
    old, new, rock, paper = versions
    for rival in (rock, paper):
        met(editions[0], old, rival, [LOST] * 4)
        lost = met(editions[1], new, rival, [WON] * 4)
    lost.records.storage.delete(str(lost.records.name))
    assert [line.rival for line in compared(versions).lines] == [rock]


def test_versions_are_found_by_what_people_call_them(
    people: Cast, environment: Environment, versions: list[Submission]
) -> None:
    old, new, rock, _ = versions
    rock.is_benched = True
    rock.save()
    failed = factories.submission(new.agent)
    words = [str(old.public_id), "Ann v2", "ann", "ann/1", "ann@3", "rock", "ann v9", "nobody", "", "\x00", "ann v0"]
    assert versions_named(environment, words) == [old, new, new, old, failed, rock, None, None, None, None, None]
    other = factories.environment("connect-four-v1")
    assert versions_named(other, [str(old.public_id), "ann"]) == [None, None]


def test_on_a_board_a_name_stands_for_the_version_that_is_there(people: Cast) -> None:
    task = factories.task()
    standing = factories.evaluation(factories.ready(factories.agent(people.alice, task, "ann")), is_current=True)
    factories.ready(standing.agent)
    assert versions_named(task, ["ann"]) == [standing.submission]
