"""Pictures, styles and HTML of environments from outside: served from their folder, and made harmless."""

from __future__ import annotations

import io
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command
from django.test import Client
from pytest_django.fixtures import Settings

from arena_kit.environment import registry
from arena_kit.environment.adapters.classic import html as classic_html
from arena_kit.environment.adapters.classic.html import Head, cleaned, head_of
from arena_kit.environment.adapters.classic.info import Facts
from arena_kit.environment.outside import trial
from arena_kit.environment.outside.trial import TrialResult
from arena_kit.environment.registry import get_spec
from arena_kit.environment.spec import EnvironmentSpec
from arena_kit.tests.environment.outside import classic, copied, outside
from core.environments.availability import refuse_unavailable
from core.environments.services import environment_sync
from core.errors import Refused
from core.models import Alarm, Environment
from core.tests import factories
from core.tests.factories import Cast
from web.conftest import As
from web.duels.match_page import address_in
from web.environments.tests.synced import few_are_shipped

SVG = '<svg xmlns="http://www.w3.org/2000/svg" onload="alert(1)"><script>alert(2)</script></svg>'
FACTS = Facts(shape=(1,), action_count=3)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Two folders from outside, whose trial is taken for passed."""
    monkeypatch.setattr(trial, "verdict_on", lambda path, store, again: TrialResult("", FACTS))
    path = copied("classic_nim", tmp_path / "own")
    classic(tmp_path / "own", "bare")
    with outside(tmp_path / "own", monkeypatch):
        yield path.parent


@pytest.fixture
def spec(folder: Path) -> EnvironmentSpec:
    return get_spec("classic-nim")


@pytest.mark.django_db
def test_files_of_a_folder_are_served_at_both_addresses(client: Client, folder: Path) -> None:
    for address in ("/static/environments/classic-nim/", "/static/environment-classic-nim/"):
        answer = client.get(f"{address}heap.svg")
        assert answer.status_code == 200
        assert answer.content == (folder / "static" / "heap.svg").read_bytes()
        assert answer["Content-Type"] == "image/svg+xml"
        assert answer["X-Content-Type-Options"] == "nosniff"
        assert answer["Cache-Control"] == "public, max-age=3600"
        assert client.get(f"{address}heap.svg", headers={"If-None-Match": answer["ETag"]}).status_code == 304
        assert client.get(f"{address}style.css")["Content-Type"].startswith("text/css")


@pytest.mark.django_db
def test_a_description_shows_pictures_of_its_own_folder_alone(client: Client, spec: EnvironmentSpec) -> None:
    row, _ = environment_sync(spec=spec)
    words = "![A heap](/static/environment-classic-nim/heap.svg) ![Foreign](/static/environments/quarto/quarto.svg)"
    Environment.objects.filter(pk=row.pk).update(description=words)
    page = client.get(f"/environments/{row.slug}/rules/").content.decode()
    assert '<p><img src="/static/environments/classic-nim/heap.svg" alt="A heap"> Foreign</p>' in page


@pytest.mark.django_db
def test_a_picture_that_is_opened_as_a_page_cannot_run_scripts(client: Client, folder: Path) -> None:
    (folder / "static" / "evil.svg").write_text(SVG)
    policy = client.get("/static/environments/classic-nim/evil.svg")["Content-Security-Policy"]
    assert policy == "default-src 'none'; style-src 'unsafe-inline'; img-src data:; sandbox"


@pytest.mark.django_db
def test_nothing_else_of_a_folder_is_served(client: Client, folder: Path) -> None:
    static = folder / "static"
    (static / "link.svg").symlink_to("/etc/passwd")
    (static / "page.html").write_text("<script>alert(1)</script>")
    (static / "huge.png").write_bytes(b"x" * ((2 << 20) + 1))
    (static / "folder.png").mkdir()
    for name in ("link.svg", "page.html", "huge.png", "folder.png", "missing.png", "..%2Finfo.yml", "%2e%2e", ".svg"):
        # Some are first tried with a slash at their end, as every address that nothing matches.
        assert client.get(f"/static/environments/classic-nim/{name}", follow=True).status_code == 404, name
    assert client.get("/static/environments/no-such/heap.svg").status_code == 404
    assert client.get("/static/environments/classic-nim/../info.yml", follow=True).status_code == 404
    # The picture of its card is a neutral one instead.
    neutral = client.get("/static/environments/bare/game.svg")
    assert (neutral.status_code, neutral["Location"]) == (302, "/static/environments/gymnasium/gymnasium.svg")


@pytest.mark.django_db
def test_the_older_address_of_a_shipped_picture_leads_to_it(client: Client) -> None:
    answer = client.get("/static/environment-quarto/quarto.svg")
    assert (answer.status_code, answer["Location"]) == (302, "/static/environments/quarto/quarto.svg")
    assert client.get("/static/environment-quarto/missing.svg").status_code == 404


@pytest.mark.parametrize(
    ("html", "clean"),
    [
        ('<p onclick="x()">a</p><script>b</script>', "<p>a</p>"),
        ("<style>p{color:red}</style><p style='color:red'>a</p>", '<p style="color:red">a</p>'),
        ('<p style="background:url(//evil.example/x)">a</p>', "<p>a</p>"),
        ('<a href="javascript:x()">a</a><a href="https://evil.example">b</a>', "<a>a</a><a>b</a>"),
        ('<iframe src="//evil.example"></iframe><form><input name="x">a</form>', "a"),
        ('<img src="/static/environment-x/heap.svg?1">', '<img src="/static/environments/classic-nim/heap.svg">'),
        ('<img src="heap.svg" onerror="x()">', '<img src="/static/environments/classic-nim/heap.svg">'),
        ("<img src=\"{% static 'environment-nim/heap.svg' %}\">",
         '<img src="/static/environments/classic-nim/heap.svg">'),
        ('<img src="https://evil.example/x.png"><img src="data:image/png;base64,AA"><img src="style.css">',
         "<img><img><img>"),
        ('<table class="b" border="1"><tr><td bgcolor="red">1</td></tr></table>',
         '<table class="b" border="1"><tbody><tr><td bgcolor="red">1</td></tr></tbody></table>'),
    ],
)  # fmt: skip
def test_html_is_made_harmless(spec: EnvironmentSpec, html: str, clean: str) -> None:
    assert cleaned(spec, html, address_in(spec)) == clean


def test_drawings_keep_their_shapes(spec: EnvironmentSpec) -> None:
    drawn = cleaned(
        spec, '<svg viewBox="0 0 9 9"><circle r="2" fill="red" onload="x()"/><script>1</script></svg>', address_in(spec)
    )
    assert "<circle" in drawn
    assert "viewBox" in drawn
    assert "onload" not in drawn
    assert "script" not in drawn


@pytest.mark.parametrize(
    ("head", "found"),
    [
        ('<link rel="stylesheet" href="/static/environment-nim/style.css">', Head(("style",), ())),
        ('<link rel="stylesheet" href="{% static "environment-nim/style.css" %}">', Head(("style",), ())),
        ('<link href="style.css" rel="StyleSheet"><script src="x.js"></script>', Head(("style",), ())),
        ("", Head(("style",), ())),
        ("<style>p { color: red }</style>", Head((), ("p { color: red }",))),
        ("<style>p { background: url('heap.svg') }</style>",
         Head((), ("p { background: url(/static/environments/classic-nim/heap.svg) }",))),
        ("<style>p { background: url(//evil.example/x) }</style>", Head((), ("p { background: none }",))),
        ("<style>p { background: url(\"//evil.example/it's\") }</style>", Head((), ("p { background: none }",))),
        ("<style>p { background: url('//evil.example/x</style>", Head((), ("p { background: none",))),
        ("<style>@import '//evil.example/x.css';</style>", Head((), ())),
        ('<link rel="stylesheet" href="https://cdn.example/other.css">', Head(("style",), ())),
    ],
)  # fmt: skip
def test_styles_are_those_of_the_folder(
    spec: EnvironmentSpec, monkeypatch: pytest.MonkeyPatch, head: str, found: Head
) -> None:
    monkeypatch.setattr(classic_html, "draw", lambda *_: head)
    sheets = tuple(f"/static/environments/classic-nim/{name}.css" for name in found.sheets)
    assert head_of(spec, address_in(spec)) == replace(found, sheets=sheets)


@pytest.mark.django_db
@pytest.mark.slow
def test_a_broken_folder_is_told_everywhere_and_stops_nothing(
    cast: Cast, tmp_path: Path, settings: Settings, monkeypatch: pytest.MonkeyPatch, visit: As
) -> None:
    few_are_shipped(monkeypatch, "classic-nim")
    settings.ENVIRONMENTS_DIR = own = tmp_path / "own"
    copied("classic_nim", own)
    monkeypatch.setattr(trial, "try_folder", lambda path: TrialResult("", FACTS))
    with outside(own, monkeypatch):
        call_command("sync_environments", stdout=io.StringIO())
    row = Environment.objects.get(slug="classic-nim")
    assert (row.image, row.is_available) == ("/static/environments/classic-nim/heap.svg", True)
    assert row.image in visit(None).get("/").content.decode()
    factories.agent(cast.alice, row)

    why = "classic-nim/environment.py, line 3: OSError: gone."
    monkeypatch.setattr(trial, "try_folder", lambda path: TrialResult(why))
    (own / "classic-nim" / "environment.py").write_text("broken = 1\n")
    output = io.StringIO()
    with outside(own, monkeypatch), pytest.raises(CommandError, match="Some environments are left out") as caught:
        call_command("sync_environments", stdout=output)
    assert caught.value.returncode == 1
    assert f"Left out: {why}" in output.getvalue().splitlines()
    quarto = get_spec("quarto").id
    assert {f"{quarto}: created", f"{quarto}: up to date"} & set(output.getvalue().splitlines())
    row.refresh_from_db()
    assert (row.unavailable_because, row.is_active) == (why, True)
    assert why in Alarm.objects.get(key="environments-left-out").message
    assert why in visit(cast.olga).get("/organise/").content.decode().replace("&#x27;", "'")
    for address in ("/", "/environments/classic-nim/"):
        assert visit(cast.alice).get(address).status_code == 200
    with outside(own, monkeypatch):
        call_command("sync_environments", allow_left_out=True, stdout=io.StringIO())
        assert [one.because for one in registry.left_out()] == [why]

    monkeypatch.setattr(trial, "try_folder", lambda path: TrialResult("", FACTS))
    (own / "classic-nim" / "environment.py").write_text("mended = 1\n")
    with outside(own, monkeypatch):
        call_command("sync_environments", stdout=io.StringIO())
    row.refresh_from_db()
    assert row.is_available
    assert not Alarm.objects.filter(settled_at=None).exists()


@pytest.mark.django_db
def test_rules_that_pods_do_not_have_are_refused_at_the_upload(
    cast: Cast, folder: Path, settings: Settings, monkeypatch: pytest.MonkeyPatch, visit: As
) -> None:
    few_are_shipped(monkeypatch, "classic-nim")
    settings.SANDBOX = "kubernetes"
    output = io.StringIO()
    call_command("sync_environments", stdout=output)
    row = Environment.objects.get(slug="classic-nim")
    assert row.unavailable_because == (
        "classic-nim: Its rules are in a folder of yours, which the pods of a cluster do not have. "
        "Use SANDBOX=docker, see docs/operator/kubernetes.md."
    )
    assert f"classic-nim: not available here. {row.unavailable_because}" in output.getvalue()
    assert Environment.objects.get(slug="quarto").is_available
    with pytest.raises(Refused, match="Classic Nim is not available on this arena at the moment"):
        refuse_unavailable(row)
    settings.SANDBOX = "docker"
    call_command("sync_environments", stdout=output)
    row.refresh_from_db()
    assert row.is_available
