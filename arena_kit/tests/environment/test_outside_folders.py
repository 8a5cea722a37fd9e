"""Folders of organisers are found by path, tried in a limited process, and left out with a sentence if they fail."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import pytest

from arena_kit.cli.play import main as play
from arena_kit.environment.info import read_info
from arena_kit.environment.loading import load
from arena_kit.environment.outside import trial
from arena_kit.environment.outside.trial import TrialResult, folder_digest, try_folder, verdict_on
from arena_kit.environment.protocol import IllegalAction
from arena_kit.environment.registry import all_specs, get_spec, info_path, left_out, notes, own_slugs, spec_from
from arena_kit.tests.environment.outside import NAMES, classic, copied, outside

NEVER = "while True: time.sleep(1)"
RAISING = "import os\n\nraise RuntimeError('no board today')\n"


def because(path: Path) -> str:
    return try_folder(path).because


@pytest.mark.slow
def test_good_folders_are_environments_like_all_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in NAMES:
        copied(name, tmp_path)
    before, modules = list(sys.path), set(sys.modules)
    with outside(tmp_path, monkeypatch):
        assert left_out() == ()
        assert own_slugs() == {"nim", "classic-nim", "classic-connect-four"}
        assert [note.partition(":")[0] for note in notes()] == ["classic-nim/info.yml"]
        game = get_spec("nim").make()
        game.reset(0)
        assert game.step({0: 2}) == (0.0, 0.0)
        assert get_spec("nim").render(game.frame()).startswith("<svg ")
        assert game.text() == "7 stones are left."
        # None of their code has come into this process.
        assert not [name for name in set(sys.modules) - modules if name.startswith("arena_environments.nim")]
    assert sys.path == before


def test_a_classic_folder_may_name_its_actions_without_counting_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    classic(tmp_path, "named", info="action_names: [take one, take two]")
    classic(tmp_path, "misnamed", info="action_names: [take]")
    with outside(tmp_path, monkeypatch):
        assert get_spec("named").action_names == ("take one", "take two")
        assert [one.because for one in left_out()] == [
            "misnamed: misnamed-v1: the action 1 is valid, but action_count is 1."
        ]


@pytest.mark.slow
def test_hostile_folders_are_left_out_with_the_file_and_the_line(tmp_path: Path) -> None:
    deep = classic(tmp_path, "deep", before="self.helper()")
    code = deep.with_name("environment.py")
    code.write_text(code.read_text() + "\n    def helper(self):\n        return {}['missing']\n")
    line = code.read_text().splitlines().index("        return {}['missing']") + 1
    assert because(deep) == f"deep/environment.py, line {line}: KeyError: 'missing'."
    assert because(classic(tmp_path, "raises", code=RAISING)) == (
        "raises/environment.py, line 3: RuntimeError: no board today."
    )
    assert because(classic(tmp_path, "wrong", code="x = = 1\n")) == (
        "wrong/environment.py, line 1: SyntaxError: invalid syntax."
    )
    assert because(classic(tmp_path, "classless", code="x = 1\n")).startswith("classless: AttributeError: module ")
    # A success is what the trial says of it, not how the process ends.
    assert because(classic(tmp_path, "leaves", code="import os\nos._exit(0)\n")) == (
        "leaves: it ended the process that tried it, with the exit status 0."
    )
    assert because(classic(tmp_path, "quits", code="import sys\nsys.exit(0)\n")) == (
        "quits/environment.py, line 2: SystemExit: 0."
    )
    assert "with the signal 6" in because(classic(tmp_path, "aborts", code="import os\nos.abort()\n"))
    greedy = "class Environment:\n    board = bytearray(1 << 33)\n"
    assert because(classic(tmp_path, "greedy", code=greedy)).startswith("greedy/environment.py, line 2: MemoryError")
    missing = classic(tmp_path, "missing", code="import no_such_package\n")
    assert because(missing) == (
        "missing/environment.py, line 1: ModuleNotFoundError: No module named 'no_such_package'."
    )


@pytest.mark.slow
def test_a_folder_that_never_ends_is_given_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trial, "SECONDS", 1.0)
    assert because(classic(tmp_path, "sleeps", code=f"import time\n{NEVER}\n")) == "sleeps: it takes more than 1 s."


@pytest.mark.slow
def test_what_a_folder_prints_or_starts_does_not_count(tmp_path: Path) -> None:
    loud = "print('x' * 1_000_000); sys.stderr.write('y' * 1_000_000)"
    assert try_folder(classic(tmp_path, "loud", before=loud)).because == ""
    forks = "import os, time\nif os.fork() == 0:\n    time.sleep(600)\n    os._exit(0)\n"
    path = classic(tmp_path, "forks")
    code = path.with_name("environment.py")
    code.write_text(forks + code.read_text())
    assert try_folder(path).because == ""
    twice = classic(tmp_path, "twice")
    code = twice.with_name("environment.py")
    code.write_text("import os\nos.fork()\n" + code.read_text())
    assert try_folder(twice).because == ""


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("slug: [", "bad/info.yml is not YAML, line "),
        ("a: &a [1]\nb: *a\n", "bad/info.yml uses an alias (*name), which such files do not need."),
        ("[" * 5000, "bad/info.yml has 5000 opening brackets; 1000 are allowed."),
        ("[" * 900, "bad/info.yml is not YAML"),
        ("x: " + "9" * 5000, "bad/info.yml is not YAML: "),
        ("- 1", "bad/info.yml must be a mapping of keys to values."),
        ("", "bad/info.yml must be a mapping of keys to values."),
        ("num_matches_in_duel: 2", "bad/info.yml: slug: this key is missing."),
        ("#" * (1 << 19), "bad/info.yml is larger than 256 KiB."),
    ],
)
def test_a_file_that_is_wrong_is_left_out_without_a_trial(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, sentence: str
) -> None:
    (tmp_path / "bad").mkdir()
    (tmp_path / "bad" / "info.yml").write_text(text)
    monkeypatch.setattr(trial, "try_folder", lambda path: pytest.fail(f"{path} was tried"))
    with outside(tmp_path, monkeypatch):
        (one,) = left_out()
    assert one.because.startswith(sentence)


def test_a_file_that_is_none_is_left_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "zero").mkdir()
    (tmp_path / "zero" / "info.yml").symlink_to("/dev/zero")
    with outside(tmp_path, monkeypatch):
        assert [one.because for one in left_out()] == ["zero/info.yml is not a file."]


@pytest.mark.parametrize(
    ("key", "value", "sentence"),
    [
        ("slug", "x" * 51, "slug: must have 1 to 50 characters."),
        ("name", "''", "name: must have 1 to 100 characters."),
        ("version", 1 << 40, "version: must be at most 2147483647."),
        ("memory_limit", "9000t", "limits.memory_limit_bytes: must be above 0 and below a pebibyte."),
        ("num_matches_in_duel", 1_000_000, "matches_per_duel: must be at most 100000."),
    ],
)
def test_what_no_table_can_hold_is_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, key: str, value: object, sentence: str
) -> None:
    path = classic(tmp_path, "game")
    lines = [line for line in path.read_text().splitlines() if not line.startswith(f"{key}:")]
    path.write_text("\n".join([*lines, f"{key}: {value}"]))
    with outside(tmp_path, monkeypatch):
        assert [one.because for one in left_out()] == [f"game/info.yml: {sentence}"]


@pytest.mark.slow
def test_a_slug_belongs_to_the_first_and_to_the_arena(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, slug in (("a", "game"), ("b", "game"), ("c", "quarto")):
        path = classic(tmp_path, name)
        path.write_text(path.read_text().replace(f"slug: {name}", f"slug: {slug}"))
    with outside(tmp_path, monkeypatch):
        assert own_slugs() == {"game"}
        assert [one.because for one in left_out()] == [
            "b/info.yml: slug: another environment, the one in a, is called 'game' already.",
            "c/info.yml: slug: another environment, one of the arena, is called 'quarto' already.",
        ]
        assert get_spec("quarto").classic is None


@pytest.mark.slow
def test_a_picture_that_cannot_be_shown_is_noted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = classic(tmp_path, "game")
    with outside(tmp_path, monkeypatch):
        assert notes() == ("game/info.yml: image: static/game.svg does not exist; a neutral picture is shown.",)
    (path.parent / "static" / "game.svg").symlink_to("/etc/passwd")
    with outside(tmp_path, monkeypatch):
        assert notes() == ("game/info.yml: image: static/game.svg is a symbolic link; a neutral picture is shown.",)


def test_a_verdict_is_kept_until_the_code_changes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, store, tried = classic(tmp_path / "own", "game"), tmp_path / "store", list[Path]()

    def fake(path: Path) -> TrialResult:
        tried.append(path)
        return TrialResult("game: it is broken.")

    monkeypatch.setattr(trial, "try_folder", fake)
    monkeypatch.setattr(trial, "_known", {})
    monkeypatch.setattr(trial, "_tried_at", {})
    for _ in range(2):
        assert verdict_on(path, store).because == "game: it is broken."
    monkeypatch.setattr(trial, "_known", {})  # as in another process
    assert verdict_on(path, store).because == "game: it is broken."
    assert len(tried) == 1
    path.with_name("environment.py").write_text("changed = True\n")
    verdict_on(path, store)
    assert len(tried) == 2
    monkeypatch.setattr(trial, "_tried_at", {})
    verdict_on(path, store, again=True)
    assert len(tried) == 3


def test_code_behind_links_counts_and_no_link_leads_astray(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trial, "MOST_FILES", 40)
    folder, shared, file = tmp_path / "game", tmp_path / "shared", tmp_path / "one.py"
    (folder / "own").mkdir(parents=True)
    (shared / "deep").mkdir(parents=True)
    (folder / "own" / "a.py").write_text("a = 1")
    file.write_text("b = 1")
    (shared / "deep" / "c.py").write_text("c = 1")
    (folder / "b.py").symlink_to(file)
    (folder / "linked").symlink_to(shared)
    (shared / "back").symlink_to(folder)
    (folder / "gone.py").symlink_to(tmp_path / "nowhere.py")
    for number in range(100):
        (tmp_path / "many" / f"{number}.d").mkdir(parents=True)
    (folder / "many").symlink_to(tmp_path / "many")
    known = {folder_digest(folder)}
    assert folder_digest(folder) in known
    for changed in (folder / "own" / "a.py", file, shared / "deep" / "c.py"):
        changed.write_text("d = 2")
        digest = folder_digest(folder)
        assert digest not in known
        known.add(digest)
    (tmp_path / "many" / "99.d").rmdir()
    assert folder_digest(folder) in known


@pytest.mark.slow
def test_shape_and_type_of_states_are_frozen_with_the_version(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder, store = tmp_path / "own", tmp_path / "store"
    path = classic(folder, "game")
    with outside(folder, monkeypatch, store):
        assert get_spec("game").observation.shape == (1,)
    code = path.with_name("environment.py")
    code.write_text(code.read_text().replace("[self.left]", "[self.left, 0]"))
    with outside(folder, monkeypatch, store):
        assert [one.because for one in left_out()] == [
            (
                "game/info.yml: version: the states of game-v1 were int64 of shape (1,) and are now int64 of shape "
                "(2,); other rules need a higher version."
            )
        ]
    path.write_text(path.read_text() + "version: 2\n")
    with outside(folder, monkeypatch, store):
        assert get_spec("game-v2").observation.shape == (2,)


def test_modules_beside_the_code_are_found_however_they_are_imported(tmp_path: Path) -> None:
    path = classic(tmp_path, "my-game")
    code = path.with_name("environment.py")
    (path.parent / "helper.py").write_text("from environments import base_environment\nLEFT = 4\n")
    code.write_text(
        "import helper\nimport environments.base_environment\nfrom environments.my_game.helper import LEFT\n"
        "from . import helper as same\nassert helper is same and LEFT == 4\n"
        "assert environments.base_environment.BaseEnvironment\n" + code.read_text()
    )
    assert because(path) == ""
    assert "helper" not in sys.modules
    assert read_info(path).slug == "my-game"


@pytest.mark.parametrize("name", ["arena_kit.py", "arena_kit/__init__.py"])
def test_a_folder_has_no_second_library_whose_illegal_actions_would_pass_unseen(tmp_path: Path, name: str) -> None:
    (tmp_path / name).parent.mkdir(exist_ok=True)
    (tmp_path / name).write_text("raise RuntimeError('a second library')\n")
    (tmp_path / "rules.py").write_text("from arena_kit.environment.protocol import IllegalAction\n")

    assert load("rules:IllegalAction", tmp_path) is IllegalAction
    assert load("arena_kit.environment.protocol:IllegalAction", tmp_path) is IllegalAction


def test_all_shipped_environments_are_unaffected() -> None:
    assert not any(spec.is_outside for spec in all_specs())


@pytest.mark.slow
@pytest.mark.parametrize(("slug", "is_refused"), [("game", False), ("quarto", True)])
def test_a_folder_that_a_person_names_never_plays_another_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], slug: str, is_refused: bool
) -> None:
    path = classic(tmp_path, "game")
    path.write_text(path.read_text().replace("slug: game", f"slug: {slug}"))
    with outside(tmp_path, monkeypatch):
        said = ""
        try:
            assert spec_from(tmp_path, slug).classic is not None
        except ValueError as error:
            said = str(error)
        sentence = "game/info.yml: slug: another environment, one of the arena, is called 'quarto' already. Give yours"
        assert said.startswith(sentence) is is_refused
        status = play(["none", "none", "--environment", slug, "--environments", str(tmp_path)])
        assert (status, sentence in capsys.readouterr().err) == (2, is_refused)


@pytest.mark.slow
def test_a_copy_of_a_shipped_game_is_that_game(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.copytree(info_path(get_spec("quarto")).parent, tmp_path / "quarto")
    with outside(tmp_path, monkeypatch):
        assert spec_from(tmp_path, "quarto").slug == "quarto"
        info = tmp_path / "quarto" / "info.yml"
        info.write_text(info.read_text() + "# mine\n")
    with outside(tmp_path, monkeypatch), pytest.raises(ValueError, match="Give yours another slug"):
        spec_from(tmp_path, "quarto")
