"""Pages of applications: what they show, who may see what, and that nothing hostile in them is live."""

from __future__ import annotations

import gzip
import io
import json
import re
import zipfile
from typing import Any

import pytest
from django.core.files.base import ContentFile
from django.core.files.storage import default_storage
from django.core.files.uploadedfile import SimpleUploadedFile
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from pytest_django import DjangoAssertNumQueries

from core.models import Batch, Rollout, Task, TaskSplit, User
from core.people.rights import roles_of
from core.rollouts.exports import batch_trajectories
from core.tests import applications, factories
from web.rollouts.parts import ActionMark, aligned, mark_of
from web.templatetags.rollouts import limit_words, step_words

pytestmark = pytest.mark.django_db
HOSTILE = "<script>alert(1)</script>"
PIXEL = b"\x89PNG\r\n\x1a\n"
STEPS = (
    {"number": 1, "at_ms": 100, "action": {"action": "goto", "url": "/"}, "note": HOSTILE, "error": "", "url": HOSTILE,
     "title": HOSTILE, "snapshot_sha256": "a" * 64, "picture": "0001.png", "agent_ms": 1, "act_ms": 2, "tokens": 0,
     "cost_micros": 0, "requests": [1, 2], "target": {}},
    {"number": 2, "at_ms": 900, "action": {"action": "click", "ref": "e5"}, "note": "", "error": HOSTILE, "url": "",
     "title": "", "snapshot_sha256": "a" * 64, "picture": "0002.png", "agent_ms": 1, "act_ms": 2, "tokens": 5,
     "cost_micros": 3, "requests": [], "target": {}},
)  # fmt: skip
PAGE = f'- button "{HOSTILE}" [ref=e5] [box=10,20,30,40]'


def recorded(rollout: Rollout, outcome: str = "SOLVED") -> Rollout:
    """A rollout with a log of steps, a page and a picture, as a worker leaves them."""
    steps = gzip.compress("\n".join(json.dumps(step) for step in STEPS).encode())
    pages = io.BytesIO()
    with zipfile.ZipFile(pages, "w") as archive:
        archive.writestr(f"{'a' * 64}.txt", PAGE)
        archive.writestr("0002.png", PIXEL)
    names: Any = {
        "steps": default_storage.save(f"rollouts/{rollout.pk}/steps.jsonl.gz", ContentFile(steps)),
        "pages": default_storage.save(f"rollouts/{rollout.pk}/pages.zip", ContentFile(pages.getvalue())),
    }
    return applications.finished(rollout, outcome, **names)


@pytest.fixture
def anna() -> User:
    return factories.user("anna")


@pytest.fixture
def batch(anna: User) -> Batch:
    environment = applications.package().environment
    made = applications.batch(anna, environment, "count", "rank", attempts=2)
    for rollout in made.rollouts.order_by("pk"):
        recorded(rollout, "SOLVED" if rollout.attempt_number == 1 else "NOT_SOLVED")
    return made


def rollout_at(batch: Batch, key: str) -> Rollout:
    return batch.rollouts.get(task__key=key, attempt_number=1)


def shown(client: Client, address: str) -> str:
    answer = client.get(address)
    assert answer.status_code == 200, address
    return answer.content.decode()


def test_every_page_is_shown_to_a_stranger(client: Client, batch: Batch) -> None:
    one, other = batch.rollouts.filter(task__key="count").order_by("pk")
    desk = "/environments/desk/"
    for address in ("", "tasks/", "tasks/count/", "told/", "batches/"):
        assert "Desk" in shown(client, desk + address)
    assert "count" in shown(client, f"/batches/{batch.public_id}/")
    assert "click e5" in shown(client, f"/rollouts/{one.public_id}/")
    assert "same actions" in shown(client, f"/rollouts/compare/?first={one.public_id}&second={other.public_id}")
    assert "A − B 0" in shown(client, f"/batches/compare/?first={batch.public_id}&second={batch.public_id}")


def test_nothing_that_agents_and_pages_say_is_live(client: Client, batch: Batch) -> None:
    one = rollout_at(batch, "count")
    client.force_login(applications.organiser())
    for address in (f"/rollouts/{one.public_id}/", f"/rollouts/{one.public_id}/?step=2"):
        page = shown(client, address)
        assert HOSTILE not in page
        assert "&lt;script&gt;" in page


def test_a_step_marks_its_target_on_what_the_agent_saw(client: Client, batch: Batch) -> None:
    page = shown(client, f"/rollouts/{rollout_at(batch, 'count').public_id}/?step=2")
    assert "pictures/0002.png" in page
    assert '<rect class="mark" x="10" y="20" width="30" height="40"' in page


def test_a_step_alone_is_answered_to_htmx(client: Client, batch: Batch) -> None:
    address = f"/rollouts/{rollout_at(batch, 'count').public_id}/?step=2"
    page = client.get(address, headers={"HX-Target": "step"}).content.decode()
    assert page.lstrip().startswith('<div id="step"')
    assert "step-list" not in page


def test_pictures_are_sent_as_pictures_and_pages_never(client: Client, batch: Batch) -> None:
    base = f"/rollouts/{rollout_at(batch, 'count').public_id}/pictures/"
    answer = client.get(base + "0002.png")
    assert (answer.status_code, answer["Content-Type"], answer["X-Content-Type-Options"]) == (
        200, "image/png", "nosniff",
    )  # fmt: skip
    assert client.get(base + "0001.png").status_code == 404
    assert client.get(base + "a" * 64 + ".txt").status_code == 404


def test_what_an_agent_did_at_a_ranking_task_is_for_its_owner(client: Client, batch: Batch, anna: User) -> None:
    address = f"/rollouts/{rollout_at(batch, 'rank').public_id}/"
    page = shown(client, address)
    assert "Solved" in page
    assert "click e5" not in page
    assert client.get(address + "pictures/0002.png").status_code == 403
    assert client.get(address + "video/").status_code == 403
    client.force_login(anna)
    assert "click e5" in shown(client, address)


def test_what_was_expected_is_for_organisers_and_authors(client: Client, batch: Batch, anna: User) -> None:
    address = f"/rollouts/{rollout_at(batch, 'count').public_id}/"
    client.force_login(anna)
    assert "Expected" not in shown(client, address)
    assert "oracle" not in shown(client, "/environments/desk/tasks/count/")
    client.force_login(applications.organiser())
    assert "Expected" in shown(client, address)
    assert "&quot;oracle&quot;" in shown(client, "/environments/desk/tasks/count/")


def test_hidden_tasks_are_not_there_for_others(client: Client, batch: Batch) -> None:
    assert client.get("/environments/desk/tasks/secret/").status_code == 404
    assert "secret" not in shown(client, "/environments/desk/tasks/")
    client.force_login(applications.organiser())
    assert "spies" in shown(client, "/environments/desk/tasks/secret/")


@applications.MEMBERS
def test_a_file_of_tasks_is_uploaded_and_says_what_is_wrong(client: Client, batch: Batch, anna: User) -> None:
    client.force_login(anna)
    near = {"id": "near", "task": "Count it.", "answer": 1}, {"id": "as-near", "task": "Say the number.", "answer": 1}
    sent = [{"id": "new", "task": "Count."}, {"id": "bad", "task": "Count.", "colour": 1}, *near]
    answer = post_tasks(client, json.dumps(sent).encode())
    page = answer.content.decode()
    assert answer.status_code == 200
    assert "What your file changed" in page
    assert "colour" in page
    assert "tasks/new@anna/" in page
    assert "<strong>near</strong> and <strong>as-near</strong>" in page
    answer = post_tasks(client, b"{")
    assert answer.status_code == 422
    assert "error" in answer.content.decode()


def post_tasks(client: Client, data: bytes) -> Any:
    return client.post("/environments/desk/tasks/", {"file": SimpleUploadedFile("tasks.json", data)})


def test_strangers_upload_no_tasks_and_start_nothing(client: Client, batch: Batch) -> None:
    assert post_tasks(client, b"[]").status_code == 403
    assert client.get("/environments/desk/batches/new/").status_code == 302
    assert client.post(f"/batches/{batch.public_id}/cancel/").status_code == 403
    assert client.post(f"/rollouts/{rollout_at(batch, 'count').public_id}/cancel/").status_code == 403


@applications.MEMBERS
def test_a_batch_is_started_shown_and_cancelled(client: Client, batch: Batch, anna: User) -> None:
    client.force_login(anna)
    new = "/environments/desk/batches/new/?task=count"
    answer = client.post(new, {"agent": "nothing", "attempts": "2", "note": HOSTILE})
    assert answer.status_code == 302
    made = Batch.objects.order_by("-pk")[0]
    assert answer["Location"] == f"/batches/{made.public_id}/"
    page = shown(client, answer["Location"])
    assert HOSTILE not in page
    assert "0 of 2, 0 running" in page
    client.post(f"/batches/{made.public_id}/cancel/")
    assert set(made.rollouts.values_list("state", flat=True)) == {"CANCELLED"}
    answer = client.post(new, {"agent": "nothing", "attempts": "99"})
    assert answer.status_code == 422


def test_what_a_rollout_has_changed_is_for_those_who_see_answers(client: Client, batch: Batch, anna: User) -> None:
    one, other = batch.rollouts.filter(task__key="count").order_by("pk")
    row = {"kind": "changed", "where": "refund", "key": [["id", "17"]], "cells": [["reason", "null", HOSTILE]]}
    gone = {"kind": "removed", "where": "audit.csv", "key": [], "cells": []}
    for rollout, changes in ((one, [row]), (other, [row, gone])):
        found = {"counts": {"refund": 1, "audit.csv": 7}, "changes": changes}
        name = default_storage.save(f"rollouts/{rollout.pk}/changes.json", ContentFile(json.dumps(found).encode()))
        Rollout.objects.filter(pk=rollout.pk).update(changes=name)
    compared = f"/rollouts/compare/?first={one.public_id}&second={other.public_id}"
    client.force_login(anna)
    assert "What it has changed" not in shown(client, f"/rollouts/{one.public_id}/")
    assert "What they have left" not in shown(client, compared)
    client.force_login(applications.organiser())
    page = shown(client, f"/rollouts/{one.public_id}/")
    assert "<ins>&lt;script&gt;" in page
    assert HOSTILE not in page
    assert "7 more are in the download" in page
    page = shown(client, compared)
    assert "1 change of the application is the same in both" in page
    assert page.count("audit.csv") == 1


def test_organisers_let_a_rollout_be_judged_again(client: Client, batch: Batch, anna: User) -> None:
    one = rollout_at(batch, "count")
    address = f"/rollouts/{one.public_id}/"
    client.force_login(applications.organiser())
    client.post(f"{address}judge/")
    # Without a record there is nothing to judge by.
    assert Rollout.objects.get(pk=one.pk).judging_asked == ""
    Rollout.objects.filter(pk=one.pk).update(record="rollouts/1/rollout.json")
    assert "Judge again" in shown(client, address)
    client.force_login(anna)
    assert "Judge again" not in shown(client, address)
    client.post(f"{address}judge/")
    assert Rollout.objects.get(pk=one.pk).judging_asked == ""
    client.force_login(applications.organiser())
    client.post(f"{address}judge/", {"by": "newest"})
    assert Rollout.objects.get(pk=one.pk).judging_asked == "TASK_CHANGED"
    page = shown(client, address)
    assert "Is judged again" in page
    assert "data-live" in page


def test_a_rollout_whose_video_is_no_longer_kept_says_so(client: Client, batch: Batch) -> None:
    one = rollout_at(batch, "count")
    Rollout.objects.filter(pk=one.pk).update(video="removed/2026-01-02", pages="removed/2026-01-02")
    page = shown(client, f"/rollouts/{one.public_id}/?step=2")
    assert "no longer kept, since 2026-01-02" in page
    assert "<video" not in page
    assert "pictures/0002.png" not in page
    assert "/files/pages/" not in page


def test_a_long_log_is_read_from_the_step_that_is_looked_at(client: Client, batch: Batch) -> None:
    one = rollout_at(batch, "count")
    lines = [
        json.dumps({**STEPS[1], "number": number, "error": "", "note": f"note {number}."}) for number in range(1, 131)
    ]
    log = gzip.compress("\n".join(lines).encode())
    name = default_storage.save(f"rollouts/{one.pk}/long.gz", ContentFile(log))
    Rollout.objects.filter(pk=one.pk).update(steps=name, step_count=130)
    page = shown(client, f"/rollouts/{one.public_id}/?step=60")
    assert "Step 60" in page
    assert "note 51." in page
    assert "note 100." in page
    assert "note 50." not in page
    assert "note 101." not in page
    assert "?step=101#steps-title" in page
    answer = client.get(f"/api/v1/rollouts/{one.public_id}/steps/?after=120")
    assert [step["number"] for step in answer.json()["steps"]] == list(range(121, 131))


def test_models_are_for_organisers(client: Client, anna: User) -> None:
    applications.model()
    client.force_login(anna)
    assert client.get("/models/", follow=True).status_code == 403
    client.force_login(applications.organiser())
    assert "mimic" in shown(client, client.get("/models/")["Location"])


@pytest.mark.slow
def test_queries_do_not_grow_with_rows(client: Client, batch: Batch, anna: User) -> None:
    applications.finished(applications.batch(anna, batch.environment, "open").rollouts.get())
    desk = "/environments/desk/"
    pages = [desk, f"{desk}tasks/", f"{desk}tasks/count/", f"{desk}batches/", f"{desk}told/"]
    before = [queries(client, page) for page in pages]
    for _ in range(3):
        made = applications.batch(anna, batch.environment, "count", "open", attempts=2)
        applications.finished(made.rollouts.order_by("pk")[0])
    assert [queries(client, page) for page in pages] == before
    two, six = (applications.batch(anna, batch.environment, "count", "open", attempts=number) for number in (1, 3))
    assert queries(client, f"/batches/{two.public_id}/") == queries(client, f"/batches/{six.public_id}/")


def queries(client: Client, address: str) -> int:
    with CaptureQueriesContext(connection) as found:
        shown(client, address)
    return len(found)


def test_elements_are_named_as_people_know_them() -> None:
    target = {"ref": 'role=button[name="Mark as sent"] >> nth=0'}
    step = {"action": {"action": "click", "ref": "f3e30"}, "target": target}
    assert step_words(step) == 'click button "Mark as sent"'
    assert step_words({**step, "target": {}}) == "click f3e30"
    assert (
        step_words({"action": {"action": "fill", "selector": "label=Name", "text": "x"}}) == 'fill label=Name text "x"'
    )
    assert step_words({"action": {}}) == "looked"


@pytest.mark.parametrize(
    ("selector", "x"),
    [("role=button[name=Send]", 1), ("role=button[name=Send] >> nth=1", 2), ("label=Reason", 3),
     ('role=button[name=Say "yes"]', 4), ("role=button[name=Send] >> nth=2", None), ("role=button[name=.*]", None),
     ("label=Send", None), ("css=button", None)],
)  # fmt: skip
def test_what_a_script_names_is_marked_where_it_was_on_the_page(selector: str, x: int | None) -> None:
    page = (
        '- button "Send" [ref=e1] [box=1,0,9,9]\n  - button "Send" [disabled] [ref=e2] [box=2,0,9,9]\n'
        '  - combobox "Reason" [ref=e3] [box=3,0,9,9]\n- button "Say \\"yes\\"" [ref=e4] [box=4,0,9,9]\n'
    )
    found = mark_of({"action": "click", "selector": selector}, page)
    assert (found and found.x) == x


def test_marks_and_differences() -> None:
    assert mark_of({"action": "click", "x": 5, "y": 6}, "") is not None
    assert mark_of({"action": "click", "x": 500, "y": 250, "scale": 1000}, "") == ActionMark(640, 180)
    assert mark_of({"action": "click", "x": 5, "y": 6, "scale": "1000"}, "") is None
    assert mark_of({"action": "drag", "from": [5, 6], "to": "e1"}, "") == ActionMark(5, 6)
    assert mark_of({"action": "click", "ref": "e1.*"}, PAGE) is None
    found = aligned(STEPS, STEPS[:1])
    assert ([pair.is_same for pair in found.pairs], found.differs, found.last) == ([True, False], 2, 2)
    many = aligned(STEPS * 300, STEPS * 200, at=401)
    assert (len(many.pairs), many.pairs[0].number, many.differs, many.before, many.after) == (200, 401, 401, 400, 0)


@pytest.mark.parametrize(("sent", "said"), [({}, "Left out, because"), ({"allow_duplicates": "on"}, "Kept, although")])
def test_what_became_of_equal_tasks_is_told(client: Client, batch: Batch, sent: dict[str, str], said: str) -> None:
    client.force_login(batch.owner)
    twice = [{"id": name, "task": "Sort the letters.", "answer": 1} for name in ("one", "two")]
    file = SimpleUploadedFile("tasks.json", json.dumps(twice).encode())
    with applications.MEMBERS:
        page = client.post("/environments/desk/tasks/", {"file": file, **sent}).content.decode()
    assert f"{said} an equal task exists already: <strong>two</strong> (as one)." in page
    assert "Nearly the same" not in page


def test_duplicates_are_found_among_the_tasks_that_a_person_sees(client: Client, batch: Batch) -> None:
    client.force_login(batch.owner)
    sent = [
        {"id": "one", "task": "Sort the letters.", "answer": 1},
        {"id": "two", "task": "sort  the letters.", "answer": 1},
        {"id": "seen", "task": "Read the letters.", "answer": 1},
        {"id": "unseen", "task": "Read the letters.", "answer": 1},
    ]
    file = SimpleUploadedFile("tasks.json", json.dumps(sent).encode())
    with applications.MEMBERS:
        client.post("/environments/desk/tasks/", {"file": file, "allow_duplicates": "on"})
    Task.objects.filter(key="unseen").update(split=TaskSplit.HIDDEN)
    filtered = "/environments/desk/tasks/?duplicates=on"
    assert names_in(shown(client, filtered)) == ["one", "seen", "two", "unseen"]
    # A filter narrows what is shown, not among what duplicates are looked for.
    assert names_in(shown(client, f"{filtered}&split=HIDDEN")) == ["unseen"]
    assert names_in(shown(Client(), filtered)) == ["one", "two"], "that a hidden task is the same is not told"


def test_the_trajectories_of_a_batch_are_read_with_one_query(
    batch: Batch, anna: User, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    # Read once for each request.
    roles_of(anna)
    with django_assert_num_queries(1):
        lines = list(batch_trajectories(batch, anna))
    assert len(lines) == 4


def names_in(page: str) -> list[str]:
    return re.findall(r'<td class="what"><a [^>]*>([^<]+)</a>', page)


def test_a_task_shows_the_attempts_of_each_agent_in_a_strip(client: Client, batch: Batch) -> None:
    page = shown(client, "/environments/desk/tasks/count/")
    strip = page.partition('<dl class="strips">')[2].partition("</dl>")[0]
    assert "1 of 2 solved" in strip
    assert re.findall(r'class="mark-(\w+)"', strip) == ["good", "bad"], "the oldest attempt first"
    assert re.findall(r'aria-hidden="true">(.)</span><span class="sr">([^<]+)', strip) == [
        ("✓", "Solved"), ("✗", "Not solved")
    ]  # fmt: skip
    first = batch.rollouts.filter(task__key="count").earliest("pk")
    assert f'href="/rollouts/{first.public_id}/"' in strip


def test_attempts_at_a_revision_that_asked_for_something_else_are_not_counted(client: Client, batch: Batch) -> None:
    task = Task.objects.get(key="count", is_current=True)
    Task.objects.filter(pk=task.pk).update(is_current=False)
    same, other = task.work_sha256, "0" * 64
    task.pk, task.revision, task._state.adding = None, 2, True
    for work, counts in ((other, []), (same, ["1 of 2 solved"])):
        task.work_sha256 = work
        task.save()
        strip = (
            shown(client, "/environments/desk/tasks/count/").partition('<dl class="strips">')[2].partition("</dl>")[0]
        )
        assert re.findall(r"\d+ of \d+ solved", strip) == counts
        words = "Solved at revision 1, which asked for something else"
        assert (f'<span class="sr">{words}</span>' in strip) is (work == other)
        assert ("2 not counted: the task asked for something else" in strip) is (work == other)


def test_trajectories_are_offered_to_those_who_see_any(client: Client, anna: User) -> None:
    made = applications.batch(anna, applications.package().environment, "rank")
    address = f"/batches/{made.public_id}/"
    assert "ATIF" not in shown(client, address)
    client.force_login(anna)
    assert f'href="/api/v1{address}export/">ATIF' in shown(client, address)


def test_what_a_revision_has_changed_is_for_those_who_see_answers(client: Client, batch: Batch) -> None:
    author = batch.owner
    for answer in (1, 2):
        client.force_login(author)
        sent = json.dumps([{"id": "mine", "task": "<b>Count</b> them.", "answer": answer}]).encode()
        with applications.MEMBERS:
            client.post("/environments/desk/tasks/", {"file": SimpleUploadedFile("tasks.json", sent)})
    address = "/environments/desk/tasks/mine/"
    assert 'href="?changes=2#changed"' in shown(client, address)
    page = shown(client, f"{address}?changes=2")
    changed = page.partition('id="changed"')[2].partition("</table>")[0]
    assert re.findall(r'<tr class="(\w+)">.*?<code>([^<]*)</code>', changed) == [
        ("removed", "  &quot;answer&quot;: 1,"), ("added", "  &quot;answer&quot;: 2,")
    ]  # fmt: skip
    assert "&lt;b&gt;Count&lt;/b&gt;" in changed
    for wrong in ("1", "3", "x"):
        assert 'id="changed"' not in shown(client, f"{address}?changes={wrong}")
    assert 'id="changed"' not in shown(Client(), f"{address}?changes=2")
    assert "?changes=" not in shown(Client(), address)


def test_limits_of_a_task_are_told_in_words(client: Client) -> None:
    limits = {"steps": 1, "seconds": 600, "agent_seconds": 30, "tokens": 500_000, "cost": 0.5}
    assert limit_words(limits) == "1 step, 600 s in all, 30 s of the agent’s own time, 500,000 tokens, a cost of 0.5"


def test_a_batch_that_has_only_begun_shows_no_empty_table(client: Client, batch: Batch) -> None:
    new = applications.batch(batch.owner, batch.environment, "count", attempts=2)
    assert "k-scroll" not in shown(client, f"/batches/{new.public_id}/")
