from __future__ import annotations

import io
import json
import re
import zipfile
from typing import IO, Any

import pytest
from django.core import signals
from django.db.models.fields.files import FieldFile
from django.test import Client
from django.utils import timezone
from pytest_django import DjangoAssertNumQueries

from core.duels.selectors import file_get
from core.duels.verdicts import verdict_keep
from core.models import (
    Environment,
    Evaluation,
    JobFault,
    JobState,
    RecheckVerdict,
    Recording,
    SeedList,
    SeedPurpose,
    Submission,
)
from core.people.services import anonymous_ensure
from core.tests import factories
from core.tests.factories import Cast
from tests.worlds import Fresh
from web.conftest import As
from web.site import media
from web.tests import scored

pytestmark = pytest.mark.django_db
HOSTILE = "</pre><script>alert(1)</script>"
SCORES = scored.scores_around(300, 20)
FRAMES = ["@FFF\nFHFH", "S@FF\nFHFH", "SF@F\nFHFH"]


@pytest.fixture(scope="module")
def shared_task(module_db: object) -> Environment:
    return scored.environment()


@pytest.fixture
def task(shared_task: Environment, fresh: Fresh) -> Environment:
    return fresh(shared_task)


@pytest.fixture(scope="module")
def shared_player(shared_cast: Cast, shared_task: Environment) -> Submission:
    return scored.submission(shared_cast.alice, shared_task, "mine")


@pytest.fixture
def player(shared_player: Submission, fresh: Fresh) -> Submission:
    return fresh(shared_player)


@pytest.fixture
def evaluation(player: Submission) -> Evaluation:
    """A finished evaluation of alice's private agent, with records and a log."""
    return scored.with_files(scored.evaluation(player, SCORES))


@pytest.fixture
def revealed(task: Environment) -> None:
    """The seeds are public: single episodes are shown to everyone."""
    SeedList.objects.update(revealed_at=timezone.now())


def address(row: Evaluation, rest: str = "") -> str:
    return f"/evaluations/{row.pk}/{rest}"


def html(client: Client, row: Evaluation, query: str = "", **headers: str) -> str:
    response = client.get(address(row) + query, headers=headers)
    assert response.status_code == 200
    return response.content.decode()


def body(client: Client, path: str, **headers: str) -> tuple[Any, bytes]:
    response: Any = client.get(path, headers=headers)
    return response, b"".join(response) if response.streaming else response.content


@pytest.mark.usefixtures("revealed")
def test_everyone_sees_the_score_with_its_interval_and_how_it_is_made_up(
    client: Client, evaluation: Evaluation
) -> None:
    page = html(client, evaluation)
    assert "95% interval" in page
    for title in ("Interquartile mean", "Worst tenth", "Distribution of scores", "How the score developed", "Episodes"):
        assert title in page
    assert "the arena ran the environment" in page
    assert "hx-trigger" not in page
    assert evaluation.record_sha256 in page
    assert scored.DIGEST in page


def test_a_page_says_when_hidden_seeds_are_revealed(client: Client, evaluation: Evaluation) -> None:
    no_date = "There is no fixed date: the seeds are revealed when the organisers start the final phase"
    board = "/environments/cart-pole/rules/"
    for page in (html(client, evaluation), client.get(board).content.decode()):
        assert no_date in page
    SeedList.objects.filter(purpose=SeedPurpose.RANKING).update(purpose=SeedPurpose.FINAL)
    for page in (html(client, evaluation), client.get(board).content.decode()):
        assert no_date not in page
        assert "The seeds of the final phase stay hidden as long as they rank agents." in page
    SeedList.objects.update(revealed_at=timezone.now())
    assert "stay hidden" not in html(client, evaluation)


def test_hidden_seeds_and_what_tells_them_come_out_for_staff_alone(
    evaluation: Evaluation, cast: Cast, visit: As
) -> None:
    assert evaluation.seed_list is not None
    hidden = evaluation.seed_list.seeds
    for person in (None, cast.bob, cast.alice):
        client = visit(person)
        page = html(client, evaluation)
        assert not any(str(seed) in page for seed in hidden)
        assert evaluation.seed_list.sha256 in page
        assert client.get(address(evaluation, "records.zip")).status_code == 403
        assert client.get(address(evaluation, "logs/player/")).status_code == 404
        assert "logs/player" not in page
    olga = visit(cast.olga)
    response, records = body(olga, address(evaluation, "records.zip"))
    assert json.loads(zipfile.ZipFile(io.BytesIO(records)).read("evaluation.json"))["seeds"] == hidden
    assert response["X-Content-Type-Options"] == "nosniff"
    assert body(olga, address(evaluation, "logs/player/?download=1"))[1] == b"saw [0.01, 0.02]\n"


def test_revealed_seeds_and_records_are_everyones_and_logs_follow_the_source(
    evaluation: Evaluation, cast: Cast, visit: As
) -> None:
    assert evaluation.seed_list is not None
    SeedList.objects.filter(pk=evaluation.seed_list.pk).update(revealed_at=timezone.now())
    page = html(visit(None), evaluation)
    assert all(f">{seed}</td>" in page for seed in evaluation.seed_list.seeds[:10])
    assert body(visit(None), address(evaluation, "records.zip"))[0].status_code == 200
    assert visit(cast.bob).get(address(evaluation, "logs/player/")).status_code == 404
    assert body(visit(cast.alice), address(evaluation, "logs/player/?download=1"))[1] == b"saw [0.01, 0.02]\n"


@pytest.mark.parametrize(
    ("verdict", "words"),
    [
        (RecheckVerdict.NONE, "The arena has not checked this record yet"),
        (RecheckVerdict.VERIFIED, "Record verifies"),
        (RecheckVerdict.MISMATCH, "Record does not verify"),
        (RecheckVerdict.UNCHECKABLE, "Cannot be checked here"),
    ],
)
def test_what_checking_an_evaluation_brought_is_shown_with_what_was_looked_at(
    client: Client, evaluation: Evaluation, verdict: RecheckVerdict, words: str
) -> None:
    if verdict:
        verdict_keep(job=evaluation, verdict=verdict, verification=f"Episode 3 is odd. {HOSTILE}")

    page = html(client, evaluation)

    every = (
        "The arena has not checked this record yet",
        "Record verifies",
        "Record does not verify",
        "Cannot be checked here",
    )
    assert [choice for choice in every if choice in page] == [words]
    # Of a record that does not verify it tells an episode, and the seeds are hidden.
    assert ("Episode 3 is odd." in page) is (verdict not in (RecheckVerdict.NONE, RecheckVerdict.MISMATCH))
    assert HOSTILE not in page


def test_how_to_check_an_evaluation_at_home_stands_where_its_records_can_be_had(
    client: Client, evaluation: Evaluation
) -> None:
    command = f"arena recheck evaluation-{evaluation.pk}-records.zip</pre>"
    assert command not in html(client, evaluation)
    SeedList.objects.update(revealed_at=timezone.now())
    assert command in html(client, evaluation)


def test_what_a_player_says_when_it_fails_on_hidden_seeds_is_for_staff_alone(
    player: Submission, cast: Cast, visit: As
) -> None:
    row = scored.evaluation(player, [10.0, 20.0], state=JobState.FAILED)
    agent = "/environments/cart-pole/agents/mine/"
    assert visit(None).get(agent).status_code == 404
    for person, count in ((None, 1), (cast.alice, 2)):
        page = html(visit(person), row) + visit(person).get(agent).content.decode()
        assert page.count("The player raised an exception.") == count
        assert "Episode 3" not in page
        assert "saw [0.01" not in page
    assert "saw [0.01" in html(visit(cast.olga), row)


@pytest.mark.usefixtures("revealed")
def test_a_running_evaluation_shows_episode_by_episode_how_its_score_forms(client: Client, player: Submission) -> None:
    row = scored.evaluation(player, [10.0, 30.0, 20.0], state=JobState.RUNNING)
    part = html(client, row, **{"HX-Request": "true", "HX-Target": "evaluation"})
    assert "<html" not in part
    assert 'hx-trigger="every 2s"' in part
    assert "Mean so far</dt><dd>20</dd>" in part
    assert 'aria-label="Mean after 3 of 20 episodes: 20, give or take 11.32.' in part
    assert 'value="3"' in part
    first = scored.evaluation(player, [], state=JobState.QUEUED)
    waiting = html(client, first)
    assert "No worker serves its queue now; it is next in the queue." in waiting
    assert "The first episode has not ended yet." in waiting


@pytest.mark.parametrize(("done", "shown"), [(1, 0), (3, 2), (19, 18)])
def test_on_hidden_seeds_progress_is_shown_in_tenths(
    client: Client, cast: Cast, visit: As, player: Submission, done: int, shown: int
) -> None:
    row = scored.evaluation(player, [10.0] * done, state=JobState.RUNNING)
    page = html(client, row)
    assert f'<progress max="20" value="{shown}"' in page
    assert f"<dd>{shown}<span" in page
    assert f"{shown} of 20 episodes" in visit(cast.alice).get("/environments/cart-pole/agents/mine/").content.decode()
    assert client.get(f"/api/v1/evaluations/{row.pk}/").json()["episodes_done"] == shown
    over = scored.evaluation(player, [10.0] * 20)
    assert client.get(f"/api/v1/evaluations/{over.pk}/").json()["episodes_done"] == 20


def test_a_script_is_explained_and_its_log_is_its_owners(cast: Cast, task: Environment, visit: As) -> None:
    row = scored.script(cast.alice, task, "script", 12.5, metrics={HOSTILE: 0.25})
    row = scored.with_files(row, log=HOSTILE)
    page = html(visit(None), row)
    assert "Self-reported" in page
    assert "did not check the number" in page
    assert "<script>alert" not in page
    assert "0.25" in page
    for log in ("player", "arena"):
        assert visit(cast.bob).get(address(row, f"logs/{log}/")).status_code == 404
    response, text = body(visit(cast.alice), address(row, "logs/player/?download=1"))
    assert (text, response["Content-Type"]) == (HOSTILE.encode(), "text/plain; charset=utf-8")


def test_a_running_script_has_no_mean_so_far(client: Client, cast: Cast, task: Environment) -> None:
    row = scored.script(cast.alice, task, "script", 12.5)
    factories.moved(Evaluation.objects.filter(pk=row.pk), JobState.RUNNING, score=None, is_current=False)
    page = html(client, row)
    assert "The script runs" in page
    assert "Mean so far" not in page


def test_the_arenas_log_of_a_verified_evaluation_is_public(client: Client, evaluation: Evaluation) -> None:
    Evaluation.objects.update(log="20 episodes of cart-pole-v1")
    assert body(client, address(evaluation, "logs/arena/?download=1"))[1] == b"20 episodes of cart-pole-v1"
    assert client.get(address(evaluation, "logs/other/")).status_code == 404


def test_labels_and_algorithms_are_escaped(client: Client, evaluation: Evaluation) -> None:
    Submission.objects.update(user_label=HOSTILE, algorithm=HOSTILE)
    page = html(client, evaluation)
    assert "<script>alert" not in page
    assert "(unchecked)" in page


@pytest.mark.usefixtures("revealed")
def test_episodes_are_ordered_and_paged(client: Client, task: Environment, player: Submission) -> None:
    SeedList.objects.update(seeds=list(range(60)))
    row = scored.evaluation(player, [float(number) for number in range(60)])
    numbers = re.compile(r'<tr><td class="num">(\d+)</td>')
    assert numbers.findall(html(client, row)) == [str(number) for number in range(1, 26)]
    assert numbers.findall(html(client, row, "?order=best&page=3")) == [str(number) for number in range(10, 0, -1)]
    for odd in ("?order=x&page=0", "?page=-1", "?page=x"):
        assert numbers.findall(html(client, row, odd))[0] == "1"
    assert numbers.findall(html(client, row, "?page=99"))[-1] == "60"


@pytest.mark.usefixtures("revealed")
@pytest.mark.parametrize(
    ("state", "sentence"),
    [
        (JobState.QUEUED, "The recording is not ready yet. No worker serves its queue now; it is next in the queue."),
        (JobState.RUNNING, "The recording is being made."),
        (JobState.FAILED, "The recording failed. The score is not affected."),
    ],
)
def test_a_recording_that_cannot_be_watched_says_why(
    client: Client, evaluation: Evaluation, state: JobState, sentence: str
) -> None:
    scored.recording(evaluation, Recording.Choice.BEST, state=state)
    page = html(client, evaluation, **{"HX-Request": "true", "HX-Target": "recording-best"})
    assert "<html" not in page
    assert sentence in page
    assert ("hx-trigger" in page) == (state != JobState.FAILED)
    assert "<video" not in page


@pytest.mark.usefixtures("revealed")
def test_recorded_episodes_are_one_switch_and_one_alone_has_none(client: Client, evaluation: Evaluation) -> None:
    scored.recording(evaluation, Recording.Choice.BEST, video=b"best")
    assert "Episode to watch" not in html(client, evaluation)
    scored.recording(evaluation, Recording.Choice.WORST, video=b"worst")
    page = html(client, evaluation)
    switch = re.findall(r'<input type="radio" name="recording" id="show-(\w+)" value="\w+"( checked)?>', page)
    assert switch == [("best", " checked"), ("worst", "")]
    assert [page.count(f'id="recording-{key}"') for key in ("best", "worst")] == [1, 1]
    # The part that htmx fetches again is the episode alone, so that what is chosen stays chosen.
    part = html(client, evaluation, **{"HX-Request": "true", "HX-Target": "recording-worst"})
    assert "Worst episode" in part
    assert "radio" not in part


@pytest.mark.usefixtures("revealed")
def test_what_has_one_value_is_a_sentence_and_no_chart(client: Client, evaluation: Evaluation) -> None:
    scored.recording(evaluation, Recording.Choice.BEST, video=b"best")
    page = html(client, evaluation)
    assert "The reward is 1 at each of the 60 steps." in page
    assert 'id="best-return"' in page
    assert 'id="best-reward"' not in page


@pytest.mark.usefixtures("revealed")
def test_equal_scores_of_a_running_evaluation_are_a_sentence(client: Client, player: Submission) -> None:
    page = html(client, scored.evaluation(player, [10.0, 10.0, 10.0], state=JobState.RUNNING))
    assert "Each of the 3 episodes so far scored 10." in page
    assert "formation-plot" not in page


@pytest.mark.usefixtures("revealed")
def test_digests_of_an_evaluation_are_one_line_until_opened(client: Client, evaluation: Evaluation) -> None:
    before, _, folded = html(client, evaluation).partition(
        '<details id="digests"><summary>Digests and commands</summary>'
    )
    folded = folded.partition("</details>")[0]
    for digest in (evaluation.record_sha256, scored.DIGEST, 'data-copy="recheck"'):
        assert digest in folded
        assert digest not in before


@pytest.mark.usefixtures("revealed")
def test_a_video_can_be_sought_in(client: Client, evaluation: Evaluation) -> None:
    video = bytes(range(256)) * 1000
    scored.recording(evaluation, Recording.Choice.BEST, video=video)
    page = html(client, evaluation)
    assert 'preload="none"' in page
    assert "Return over 60 steps. After each fifth of the steps: 12, 24, 36, 48, 60." in page
    path = address(evaluation, "episodes/best/video")
    whole, content = body(client, path)
    assert (content, whole["Content-Type"], whole["X-Content-Type-Options"]) == (video, "video/webm", "nosniff")
    assert whole["Accept-Ranges"] == "bytes"
    for asked, start, end in (("bytes=10-19", 10, 19), ("bytes=255990-", 255990, 255999), ("bytes=-5", 255995, 255999)):
        part, content = body(client, path, Range=asked)
        assert (part.status_code, content) == (206, video[start : end + 1])
        assert part["Content-Range"] == f"bytes {start}-{end}/256000"
        assert part["Content-Length"] == str(end - start + 1)
    beyond, _ = body(client, path, Range="bytes=256000-")
    assert (beyond.status_code, beyond["Content-Range"]) == (416, "bytes */256000")
    for odd in ("bytes=-", "bytes=1-2,4-5", "pages=1-2", "bytes=9-3x"):
        assert body(client, path, Range=odd)[0].status_code == 200
    assert body(client, path, Range="bytes=0-1", **{"If-Range": whole["ETag"]})[0].status_code == 206
    assert body(client, path, Range="bytes=0-1", **{"If-Range": '"other"'})[0].status_code == 200
    assert body(client, address(evaluation, "episodes/best/poster"))[0]["Content-Type"] == "image/webp"


@pytest.mark.usefixtures("revealed")
def test_a_video_whose_visitor_leaves_is_closed(
    client: Client, evaluation: Evaluation, monkeypatch: pytest.MonkeyPatch
) -> None:
    scored.recording(evaluation, Recording.Choice.BEST, video=bytes(1000))
    opened: list[IO[bytes]] = []

    def opening(field: FieldFile, what: str) -> IO[bytes]:
        opened.append(file_get(field, what))
        return opened[-1]

    # A request that ends would close the database, too.
    monkeypatch.setattr(signals.request_finished, "send", lambda **_: None)
    monkeypatch.setattr(media, "file_get", opening)
    path = address(evaluation, "episodes/best/video")
    for headers in ({}, {"Range": "bytes=0-9"}, {"Range": "bytes=-"}, {"Range": "bytes=1000-"}):
        client.get(path, headers=headers).close()
        assert opened.pop().closed, headers


@pytest.mark.usefixtures("revealed")
def test_asking_for_a_videos_head_gives_that_of_the_whole(client: Client, evaluation: Evaluation) -> None:
    scored.recording(evaluation, Recording.Choice.BEST, video=bytes(1000))
    response = client.head(address(evaluation, "episodes/best/video"), headers={"Range": "bytes=0-9"})
    assert (response.status_code, response["Content-Length"]) == (200, "1000")
    response.close()


@pytest.mark.parametrize("rest", ["median/video", "best/steps", "sixth/video"])
def test_files_that_are_not_there_are_not_found(client: Client, evaluation: Evaluation, rest: str) -> None:
    scored.recording(evaluation, Recording.Choice.BEST, video=b"x")
    assert client.get(address(evaluation, f"episodes/{rest}")).status_code == 404


def test_while_seeds_are_hidden_practice_is_shown_and_no_episode_that_ranks(
    evaluation: Evaluation, cast: Cast, visit: As
) -> None:
    scored.recording(evaluation, Recording.Choice.WORST, video=b"hidden")
    practice = scored.practised(evaluation.submission)
    scored.recording(evaluation, Recording.Choice.BEST, video=b"practice", practice=practice)
    for person in (None, cast.alice):
        client = visit(person)
        page = html(client, evaluation)
        assert "Best practice episode" in page
        assert "public seed 1: score" in page
        assert "Worst episode" not in page
        assert "the results of single episodes are hidden" in page
        assert body(client, address(evaluation, "episodes/best/video"))[1] == b"practice"
        for rest in ("video", "poster", "", "frames.json"):
            assert client.get(address(evaluation, f"episodes/worst/{rest}")).status_code == 404
    assert body(visit(cast.olga), address(evaluation, "episodes/worst/video"))[1] == b"hidden"


def test_the_score_of_a_running_evaluation_on_hidden_seeds_is_not_told(
    cast: Cast, visit: As, player: Submission
) -> None:
    client = visit(cast.alice)
    row = scored.evaluation(player, [10.0, 30.0, 20.0], state=JobState.RUNNING)
    agent = client.get("/environments/cart-pole/agents/mine/", headers={"HX-Target": "agent"}).content.decode()
    page = html(client, row)
    # In tenths: three finished episodes of twenty are shown as two.
    assert 'value="2"' in page
    assert "2 of 20 episodes" in agent
    assert "3 of 20 episodes" not in page + agent
    for shown in (page, agent):
        assert not [word for word in ("ean so far", "Mean after", "formation-plot") if word in shown]


@pytest.mark.usefixtures("revealed")
def test_an_episode_of_text_is_stepped_in_the_viewer(client: Client, evaluation: Evaluation) -> None:
    scored.recording(evaluation, Recording.Choice.WORST, frames=[*FRAMES, HOSTILE])
    assert address(evaluation, "episodes/worst/") in html(client, evaluation)
    page = client.get(address(evaluation, "episodes/worst/?ply=1")).content.decode()
    assert "S@FF\nFHFH" in page
    assert "Step 1: right. Return 1" in page
    assert "<script>alert" not in client.get(address(evaluation, "episodes/worst/?ply=3")).content.decode()
    frames = client.get(address(evaluation, "episodes/worst/frames.json")).json()["frames"]
    assert [frame["text"] for frame in frames] == [*FRAMES, HOSTILE]
    assert frames[-1]["caption"].endswith("End")
    assert "<script>alert" not in frames[-1]["svg"]


@pytest.mark.usefixtures("revealed")
def test_damaged_or_missing_texts_are_said_to_be_so(client: Client, evaluation: Evaluation) -> None:
    row = scored.recording(evaluation, Recording.Choice.BEST, frames=FRAMES)
    with row.text.storage.open(str(row.text.name), "wb") as file:
        file.write(b'{"frames": ["a"], "actions": []}')
    page = client.get(address(evaluation, "episodes/best/")).content.decode()
    assert "damaged" in page
    assert f'href="{address(evaluation)}">Back to the evaluation' in page
    assert "damaged" in client.get(address(evaluation, "episodes/best/frames.json")).json()["error"]
    row.steps.storage.delete(str(row.steps.name))
    assert "no longer stored" in html(client, evaluation)


def test_an_unknown_evaluation_is_not_found(client: Client) -> None:
    for rest in ("", "records.zip", "logs/arena/", "episodes/best/", "episodes/best/frames.json"):
        assert client.get(f"/evaluations/999999999/{rest}").status_code == 404


def test_more_episodes_and_recordings_take_no_more_queries(
    client: Client, evaluation: Evaluation, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    for choice in Recording.Choice:
        with django_assert_max_num_queries(3):
            assert client.get(address(evaluation)).status_code == 200
        scored.recording(evaluation, choice, frames=FRAMES)


@pytest.mark.usefixtures("revealed")
def test_the_agents_page_shows_practice_place_and_a_live_evaluation(
    cast: Cast, visit: As, player: Submission, evaluation: Evaluation
) -> None:
    client = visit(cast.alice)
    scored.practised(player)
    page = client.get("/environments/cart-pole/agents/mine/").content.decode()
    assert "Practice on 10 public seeds" in page
    assert f'href="{address(evaluation)}"' in page
    assert "<dt>Rank</dt><dd>1st</dd>" in page
    assert "/matches/1/" not in page
    newer = scored.submission(cast.alice, player.agent.environment, "mine")
    scored.evaluation(newer, [10.0, 30.0], state=JobState.RUNNING)
    part = client.get("/environments/cart-pole/agents/mine/", headers={"HX-Target": "agent"}).content.decode()
    assert "2 of 20 episodes, mean so far 20" in " ".join(part.split())
    user = client.get("/users/alice/").content.decode()
    assert f'href="{address(evaluation)}">score' in user


def status(client: Client, asked: object) -> tuple[int, str]:
    response = client.get("/status/", {"id": str(asked)})
    return response.status_code, response.content.decode()


def test_the_status_is_found_by_id(client: Client, player: Submission) -> None:
    row = scored.evaluation(player, [10.0, 30.0, 20.0], state=JobState.RUNNING)
    code, page = status(client, player.public_id)
    assert code == 200
    assert "Evaluating" in page
    # In tenths, because the seeds are hidden.
    assert "2 of 20 episodes" in page
    assert 'hx-trigger="every 2s"' in page
    assert address(row) in page
    part = client.get("/status/", {"id": str(player.public_id)}, headers={"HX-Target": "found"}).content.decode()
    assert "<html" not in part


def test_who_sent_an_anonymous_script_reads_on_the_status_page_why_it_failed(
    client: Client, cast: Cast, task: Environment
) -> None:
    sentences = {}
    for owner in (anonymous_ensure(), cast.alice):
        made = factories.submission(factories.agent(owner, task))
        factories.build(made, JobState.FAILED, fault=JobFault.PLAYER, error="step.py does not fit")
        _, page = status(client, made.public_id)
        sentences[owner.username] = ("step.py does not fit" in page, "The owner can read why." in page)
    assert sentences == {"anonymous": (True, False), "alice": (False, True)}


@pytest.mark.parametrize(
    ("asked", "code", "sentence"),
    [
        ("", 200, "Status of a version"),
        ("seven", 404, "This is not an id."),
        (HOSTILE, 404, "This is not an id."),
        ("123e4567-e89b-12d3-a456-426614174000", 404, "There is no version with this id."),
    ],
)
def test_an_id_that_is_none_is_said_to_be_none(client: Client, asked: str, code: int, sentence: str) -> None:
    answer, page = status(client, asked)
    assert answer == code
    assert sentence in page
    assert "<script>alert" not in page
