"""Uploaded folders of environments: who may upload and put live, what is refused, and what going live changes."""

from __future__ import annotations

import io
import os
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.contrib.auth.models import Permission
from django.core.files.base import ContentFile
from django.core.files.uploadedfile import SimpleUploadedFile
from pytest_django.fixtures import Settings

from arena_kit.environment.info import GYMNASIUM_FOLDER
from arena_kit.environment.outside.report import GOOD, Report, VerdictLine
from arena_kit.environment.registry import forget, get_spec, left_out
from arena_kit.tests.environment.edited import nim, zipped
from arena_kit.tests.environment.outside import outside
from core.environments.bringing import environment_bring, environments_fetch, is_live
from core.environments.differences import folder_differences, folder_sources
from core.environments.folders import folder_placed
from core.environments.trials import environment_upload, trial_end, trial_report
from core.errors import Refused
from core.models import Environment, EnvironmentTrial, JobState, User
from core.tests import applications, factories

pytestmark = pytest.mark.django_db
RAISED, OTHER = ("version: 1", "version: 2"), ("_stones = 10", "_stones = 9")
PASSED = Report((VerdictLine("Files", GOOD, "fine"),))


@pytest.fixture
def own(settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The organisers' folder of environments, which is empty."""
    settings.ENVIRONMENTS_DIR = folder = tmp_path / "own"
    with outside(folder, monkeypatch, tmp_path / "trials"):
        yield folder


@pytest.fixture
def root(own: Path) -> User:
    return factories.user("root", is_staff=True, is_superuser=True)


def uploaded(by: User, folder: Path, data: bytes = b"") -> EnvironmentTrial:
    return environment_upload(owner=by, archive=SimpleUploadedFile("nim.zip", data or zipped(folder)))


def passed(by: User, folder: Path) -> EnvironmentTrial:
    """An upload of a folder after a trial that it has passed."""
    trial: EnvironmentTrial = applications.running(uploaded(by, folder))
    trial_end(trial=trial, report=PASSED, log="")
    return trial


def live(by: User, folder: Path, *, with_limits: bool = False) -> str:
    return environment_bring(trial=passed(by, folder), by=by, with_limits=with_limits)


def test_an_upload_waits_for_its_trial_and_runs_no_code(root: User, tmp_path: Path) -> None:
    mark = tmp_path / "ran"
    folder = nim(tmp_path, environment=("\n\nclass Nim", f"\nopen({str(mark)!r}, 'w')\n\nclass Nim"))
    trial = uploaded(root, folder)
    folder_differences(trial)
    assert folder_sources(trial)
    assert (trial.slug, trial.version, trial.state, trial.environment) == ("nim", 1, JobState.QUEUED, None)
    assert not mark.exists()
    assert not Environment.objects.filter(slug="nim").exists()


def test_only_organisers_with_the_right_may_upload(own: Path, tmp_path: Path) -> None:
    tutor = factories.user("tutor", is_staff=True)
    for person in (factories.user("member"), tutor):
        with pytest.raises(Refused, match="to whom a superuser gave that right"):
            uploaded(person, nim(tmp_path, person.username))
    tutor.user_permissions.add(Permission.objects.get(codename="add_environmenttrial"))
    trial = passed(User.objects.get(pk=tutor.pk), nim(tmp_path))
    with pytest.raises(Refused, match="Only superusers put environments live"):
        environment_bring(trial=trial, by=User.objects.get(pk=tutor.pk), with_limits=False)
    assert not own.exists()


def archive(*entries: tuple[str, bytes]) -> bytes:
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w", zipfile.ZIP_DEFLATED) as file:
        for name, content in entries:
            file.writestr(name, content)
    return data.getvalue()


def link() -> bytes:
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w") as file:
        entry = zipfile.ZipInfo("nim/environment.py")
        entry.external_attr = 0o120777 << 16
        file.writestr(entry, "/etc/passwd")
    return data.getvalue()


@pytest.mark.parametrize(
    ("data", "code"),
    [
        (b"no zip", "not_a_zip"),
        (archive(("nim/environment.py", b"")), "no_info"),
        (archive(("a/info.yml", b"a: 1"), ("b/info.yml", b"b: 1")), "no_info"),
        (archive(("nim/info.yml", b"slug: [1")), "bad_info"),
        (archive(("nim/info.yml", b"a: &x 1\nb: *x\n")), "bad_info"),
        (archive(("../info.yml", b"slug: nim")), "path_traversal"),
        (archive(("nim/zeros", bytes(40 << 20))), "file_too_large"),
        (link(), "not_a_file"),
    ],
)
def test_zips_that_are_no_folder_of_an_environment_are_refused(root: User, own: Path, data: bytes, code: str) -> None:
    with pytest.raises(Refused) as refusal:
        uploaded(root, own, data)
    assert (refusal.value.code, refusal.value.field) == (code, "archive")
    assert not EnvironmentTrial.objects.exists()


def test_names_of_the_arenas_own_environments_are_taken(root: User, tmp_path: Path) -> None:
    with pytest.raises(Refused, match="'quarto' already"):
        uploaded(root, nim(tmp_path, "quarto"))


def test_a_cluster_takes_no_folders(root: User, settings: Settings, tmp_path: Path) -> None:
    settings.SANDBOX = "kubernetes"
    with pytest.raises(Refused, match="pods of a cluster"):
        uploaded(root, nim(tmp_path))


def test_a_folder_without_a_good_verdict_cannot_go_live(root: User, own: Path, tmp_path: Path) -> None:
    trial = applications.running(uploaded(root, nim(tmp_path)))
    bad = Report((VerdictLine("Rules", "bad", "A promise is broken."),))
    trial_end(trial=trial, report=bad, log="")
    assert (trial.state, trial.error) == (JobState.FAILED, "Rules: A promise is broken.")
    assert trial_report(trial) == bad
    with pytest.raises(Refused, match="has passed its trial"):
        environment_bring(trial=trial, by=root, with_limits=False)
    assert not own.exists()


def test_a_new_environment_goes_live_without_a_restart(root: User, own: Path, tmp_path: Path) -> None:
    trial = passed(root, nim(tmp_path))
    assert folder_differences(trial) == ["nim-v1 is new: 4 files."]
    assert environment_bring(trial=trial, by=root, with_limits=False) == "nim-v1: created"
    environment = Environment.objects.get(slug="nim")
    assert (environment.is_active, environment.is_available, trial.environment) == (True, True, environment)
    assert is_live(trial)
    game = get_spec("nim").make()
    game.reset(0)
    assert game.text() == "10 stones are left."
    assert (own / "earlier" / "nim-v1" / "info.yml").is_file()


def test_texts_and_limits_need_no_version_and_are_shown_first(root: User, own: Path, tmp_path: Path) -> None:
    live(root, nim(tmp_path / "1"))
    folder = nim(tmp_path / "2", info=("matches_per_duel: 100", "matches_per_duel: 40"))
    info = folder / "info.yml"
    info.write_text(info.read_text().replace("Take one to three", "Take up to three"))
    trial = passed(root, folder)
    assert folder_differences(trial) == [
        "description: -Take one to three stones. The seat that takes the last one wins.",
        "description: +Take up to three stones. The seat that takes the last one wins.",
        "matches per duel: 100 here, 40 in info.yml",
    ]
    said = environment_bring(trial=trial, by=root, with_limits=False)
    assert said.endswith("40 in info.yml; “Put live” with its limits applies it")
    assert Environment.objects.get(slug="nim").matches_per_duel == 100
    environment_bring(trial=trial, by=root, with_limits=True)
    row = Environment.objects.get(slug="nim")
    assert (row.matches_per_duel, row.description[:11], row.version) == (40, "Take up to ", 1)


def test_new_rules_keep_the_old_ones_and_versions_only_rise(root: User, own: Path, tmp_path: Path) -> None:
    first = passed(root, nim(tmp_path / "1"))
    environment_bring(trial=first, by=root, with_limits=False)
    second = passed(root, nim(tmp_path / "2", info=RAISED, environment=OTHER))
    assert folder_differences(second) == ["version: 1 → 2", "environment.py is changed"]
    assert "-        self._stones = 10" in dict(folder_sources(second))["environment.py"]
    assert "the rules have changed" in environment_bring(trial=second, by=root, with_limits=False)
    assert (get_spec("nim").id, get_spec("nim-v1").id) == ("nim-v2", "nim-v1")
    assert (is_live(first), is_live(second)) == (False, True)
    with pytest.raises(Refused, match="versions only rise"):
        environment_bring(trial=first, by=root, with_limits=False)


def test_other_code_under_the_same_version_is_pointed_out(root: User, tmp_path: Path) -> None:
    live(root, nim(tmp_path / "1"))
    mended = passed(root, nim(tmp_path / "2", environment=("_stones = 10", "_stones = 9")))
    assert "Code differs and the version does not: right for a mend, not for other rules." in folder_differences(mended)


def test_a_folder_that_the_site_cannot_use_leaves_the_old_one_in_place(root: User, own: Path, tmp_path: Path) -> None:
    live(root, nim(tmp_path / "1"))
    broken = passed(root, nim(tmp_path / "2", begins="raise RuntimeError('no board')"))
    with pytest.raises(Refused, match="no board"):
        environment_bring(trial=broken, by=root, with_limits=False)
    assert "no board" not in (own / "nim" / "environment.py").read_text()
    assert (left_out(), get_spec("nim").id) == ((), "nim-v1")
    assert [path.name for path in (own / "earlier").iterdir()] == ["nim-v1"]


def test_another_zip_than_the_tried_one_never_goes_live(root: User, own: Path, tmp_path: Path) -> None:
    trial = passed(root, nim(tmp_path / "1"))
    name = str(trial.archive.name)
    trial.archive.storage.delete(name)
    trial.archive.storage.save(name, ContentFile(zipped(nim(tmp_path / "2", begins="pass"))))
    with pytest.raises(Refused, match="not the one that was tried"):
        environment_bring(trial=trial, by=root, with_limits=False)
    assert not own.exists()


def test_another_machine_fetches_what_is_live_with_earlier_rules(
    root: User, own: Path, settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    live(root, nim(tmp_path / "1"))
    live(root, nim(tmp_path / "2", info=RAISED, environment=OTHER))
    settings.ENVIRONMENTS_DIR = other = tmp_path / "other"
    with outside(other, monkeypatch, tmp_path / "other-trials"):
        environments_fetch()
        assert (get_spec("nim").id, get_spec("nim-v1").id, left_out()) == ("nim-v2", "nim-v1", ())
        before = get_spec("nim").announced_at
        environments_fetch()
        assert get_spec("nim").announced_at == before
        # What was mended by hand stays, and what goes live later takes its place.
        (other / "nim" / "environment.py").write_text("mended = True")
        environments_fetch()
        assert (other / "nim" / "environment.py").read_text() == "mended = True"
    settings.ENVIRONMENTS_DIR = own
    with outside(own, monkeypatch, tmp_path / "trials"):
        live(root, nim(tmp_path / "3", info=RAISED, environment=OTHER, render=("Heap of stones", "Stones")))
    settings.ENVIRONMENTS_DIR = other
    with outside(other, monkeypatch, tmp_path / "other-trials"):
        environments_fetch()
        assert "Stones" in (other / "nim" / "render.py").read_text()
        assert "mended" not in (other / "nim" / "environment.py").read_text()


def test_what_the_page_does_not_show_of_the_code_is_named(root: User, tmp_path: Path) -> None:
    folder = nim(tmp_path)
    (folder / "rules.dat").write_bytes(b"print()")
    (folder / "long.py").write_text("#" * 300_000)
    shown = dict(folder_sources(uploaded(root, folder)))
    assert (shown["rules.dat"], shown["long.py"]) == ("7 bytes, not shown.", "300000 bytes, not shown.")
    assert "class Nim" in shown["environment.py"]


@pytest.mark.parametrize(
    ("code", "shown"),
    [
        (b"# fine\rimport os\n", "# fine\nimport os\n"),
        ("# fine \u202e;x\n".encode(), "# fine \\u202e;x\n"),
        (b"# fine \x0c\n", "# fine \\u000c\n"),
        (rb"# coding: unicode_escape" + b"\n" + rb"# fine\nimport os", "# coding: unicode_escape\n# fine\nimport os"),
        (b"# coding: none\n", "# coding: none\n"),
    ],
)
def test_the_code_is_shown_as_python_reads_it(root: User, tmp_path: Path, code: bytes, shown: str) -> None:
    folder = nim(tmp_path)
    (folder / "more.py").write_bytes(code)
    assert dict(folder_sources(uploaded(root, folder)))["more.py"] == shown


def test_a_folder_that_was_put_there_by_hand_is_replaced_and_not_doubled(root: User, own: Path, tmp_path: Path) -> None:
    nim(own, "nim")
    (own / "nim").rename(own / "my_game")
    forget()
    live(root, nim(tmp_path, info=("Take one to three", "Take up to three")))
    environments_fetch()
    assert sorted(path.name for path in own.iterdir()) == ["earlier", "my_game"]
    assert get_spec("nim").description.startswith("Take up to three")


def test_a_folder_of_another_environment_is_never_replaced(root: User, own: Path, tmp_path: Path) -> None:
    nim(own, "heap").rename(own / "nim")
    forget()
    with pytest.raises(Refused, match="The folder nim of the site’s environments holds something else"):
        live(root, nim(tmp_path))
    assert (get_spec("heap").file.parent, left_out()) == (own / "nim", ())
    with pytest.raises(Refused, match="The folder earlier"):
        live(root, nim(tmp_path, "earlier"))


def test_the_name_of_an_environment_that_is_one_file_is_taken(root: User, own: Path, tmp_path: Path) -> None:
    own.mkdir()
    text = (GYMNASIUM_FOLDER / "acrobot.yml").read_text(encoding="utf-8")
    (own / "nim.yml").write_text(text.replace("slug: acrobot", "slug: nim\nenv_id: Nim-v1"), encoding="utf-8")
    forget()
    assert get_spec("nim").file == own / "nim.yml"
    with pytest.raises(Refused, match=r"Another environment, in nim\.yml"):
        uploaded(root, nim(tmp_path))


def test_a_folder_that_cannot_be_copied_is_refused_in_words(own: Path, tmp_path: Path) -> None:
    folder = nim(tmp_path)
    os.mkfifo(folder / "pipe")
    with pytest.raises(Refused, match="named pipe"), folder_placed(folder, own / "nim"):
        pass
    assert [path.name for path in own.rglob("*")] == ["earlier"]


def test_long_texts_hide_no_change_of_the_code(root: User, own: Path, tmp_path: Path) -> None:
    live(root, nim(tmp_path / "1"))
    mended = nim(tmp_path / "2", environment=("_stones = 10", "_stones = 9"))
    info = mended / "info.yml"
    info.write_text(
        info.read_text().replace("Take one to three", "\n  Take. ".join("a" * 60) + "\n  Take one to three")
    )
    said = folder_differences(passed(root, mended))
    assert said[0].startswith("Code differs and the version does not")
    assert said[-1].endswith("more lines, which are not shown here")
