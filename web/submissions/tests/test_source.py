"""The source of a version, read in the browser."""

from __future__ import annotations

import io
import zipfile

import pytest
from django.core.files.base import ContentFile
from pytest_django.asserts import assertContains, assertNotContains

from core.models import Submission
from core.tests import factories
from core.tests.factories import Cast
from web.conftest import As
from web.submissions.changes import MOST_LINES, Line, changes
from web.submissions.source_views import MOST_BYTES

pytestmark = pytest.mark.django_db


@pytest.fixture
def version(cast: Cast) -> Submission:
    row = factories.ready(factories.agent(cast.alice, factories.environment(), "anna"))
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("player.py", "print('<script>')\n")
        archive.writestr("model/weights.bin", b"\0\1")
        archive.writestr("notes & plans.txt", "é" * 150_000)
    row.archive.save("any.zip", ContentFile(packed.getvalue()))
    return row


def test_the_owner_reads_each_file_and_the_player_first(version: Submission, cast: Cast, visit: As) -> None:
    address = f"/submissions/{version.pk}/source/"
    alice = visit(cast.alice)
    page = alice.get(address)
    assertContains(page, "print(&#x27;&lt;script&gt;&#x27;)")
    assertContains(page, 'href="?file=notes%20%26%20plans.txt"')
    assertContains(alice.get(address, {"file": "model/weights.bin"}), "not a text")
    long = alice.get(address, {"file": "notes & plans.txt"})
    assertContains(long, "The rest of this file is in the archive.")
    assert long.context["source"].text == "é" * 100_000
    assertContains(alice.get(address, {"file": "../secret"}), "no such file", status_code=404)
    assertContains(alice.get("/environments/tic-tac-toe/agents/anna/"), address)


def test_others_see_no_source_and_a_damaged_archive_has_a_sentence(version: Submission, cast: Cast, visit: As) -> None:
    address = f"/submissions/{version.pk}/source/"
    assert [visit(person).get(address).status_code for person in (None, cast.bob, cast.olga)] == [404, 404, 200]
    version.archive.save("any.zip", ContentFile(b"zip!"))
    damaged = visit(cast.alice).get(address)
    assertContains(damaged, "cannot be shown here", status_code=404)
    assertNotContains(damaged, "zip!", status_code=404)
    with zipfile.ZipFile(packed := io.BytesIO(), "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("player.py", "print(1)\n" * 1000)
    content = bytearray(packed.getvalue())
    content[40:44] = b"\xff" * 4
    version.archive.save("any.zip", ContentFile(bytes(content)))
    assertContains(visit(cast.alice).get(address), "cannot be shown here", status_code=404)


def packed(files: dict[str, str | bytes]) -> ContentFile[bytes]:
    with zipfile.ZipFile(made := io.BytesIO(), "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return ContentFile(made.getvalue())


def test_two_versions_are_compared_file_by_file_and_line_by_line(cast: Cast, visit: As) -> None:
    agent = factories.agent(cast.alice, factories.environment(), "anna")
    old, new = factories.ready(agent), factories.ready(agent)
    code = [f"line {number}" for number in range(1, 41)]
    old.archive.save("a.zip", packed({"player.py": "\n".join(code), "old.py": "gone", "same.py": "x", "w.bin": b"\0a"}))
    code[19] = "a <b>better</b> line"
    new.archive.save("b.zip", packed({"player.py": "\n".join(code), "new.py": "here", "same.py": "x", "w.bin": b"\0b"}))
    address, alice = f"/submissions/{new.pk}/source/", visit(cast.alice)
    assertContains(alice.get(address), '<option value="1">version 1</option>')

    page = alice.get(address, {"against": "1"})
    assertContains(page, "From version 1 to 2")
    shown = page.context["source"]
    assert {one.name: one.change for one in shown.files} == {
        "new.py": "added", "old.py": "removed", "player.py": "changed", "same.py": "", "w.bin": "changed"
    }  # fmt: skip
    assert [(line.sign, line.number) for line in shown.lines] == [
        ("…", 17), (" ", 17), (" ", 18), (" ", 19), ("−", 20), ("+", 20), (" ", 21), (" ", 22), (" ", 23)
    ]  # fmt: skip
    assertContains(page, "<code>a &lt;b&gt;better&lt;/b&gt; line</code>")
    for name, said in (("old.py", "removed"), ("new.py", "added")):
        lines = alice.get(address, {"against": "1", "file": name}).context["source"].lines
        assert [(line.sign, line.number) for line in lines] == [("−" if said == "removed" else "+", 1)]
    assertContains(alice.get(address, {"against": "1", "file": "same.py"}), "is the same in both versions")
    assertContains(alice.get(address, {"against": "1", "file": "w.bin"}), "not a text")
    assert alice.get(address, {"against": "1", "file": "nothing"}).status_code == 404
    assert [alice.get(address, {"against": word}).status_code for word in ("2", "3", "x")] == [404, 404, 404]
    assert visit(cast.bob).get(address, {"against": "1"}).status_code == 404


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        ("a\nb\n", "a\r\nb\r\n", "but the files do: in line endings."),
        ("a" * MOST_BYTES + "x", "a" * MOST_BYTES + "y", "or in what comes after it."),
        ("", "", "is the same in both versions"),
    ],
)
def test_files_that_differ_are_not_called_the_same(before: str, after: str, said: str, cast: Cast, visit: As) -> None:
    agent = factories.agent(cast.alice, factories.environment(), "anna")
    old, new = factories.ready(agent), factories.ready(agent)
    old.archive.save("a.zip", packed({"player.py": before}))
    new.archive.save("b.zip", packed({"player.py": after, "empty.py": ""}))
    address, alice = f"/submissions/{new.pk}/source/", visit(cast.alice)
    assertContains(alice.get(address, {"against": "1", "file": "player.py"}), said)
    assertContains(alice.get(address, {"against": "1", "file": "empty.py"}), "This file is empty")


def test_lines_that_repeat_do_not_make_a_comparison_slow() -> None:
    """Two versions made for it took half a minute of a server's only thread."""
    count, kinds = 2_000, 250
    before = "\n".join(f"{number % kinds}" for number in range(count))
    after = "\n".join(line for number in range(count // 2) for line in (f"{number % kinds}", f"new {number}"))
    found = changes(before, after)
    assert found is not None
    assert len([line for line in found if line.sign == " "]) < 10


def test_lines_that_repeat_beside_others_are_still_the_same() -> None:
    code = [line for number in range(400) for line in (f"def step_{number}():", "    return None", "")]
    changed = [*code[:600], "x = 1", *code[600:]]
    found = changes("\n".join(code), "\n".join(changed)) or ()
    assert [line.text for line in found if line.sign not in " …"] == ["x = 1"]


def test_long_files_are_not_compared() -> None:
    long = "x\n" * (MOST_LINES + 1)
    assert changes(long, long) is None
    assert changes("a\nb", "a\nb") == ()
    assert changes("", "a") == (Line("+", 1, "a"),)
