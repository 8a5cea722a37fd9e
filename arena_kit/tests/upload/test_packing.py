from __future__ import annotations

import zipfile
from io import BytesIO
from typing import IO

import pytest

from arena_kit.errors import Refused
from arena_kit.upload.archive import inspect_archive
from arena_kit.upload.packing import MAX_FILES, pack_files, pack_script


class Sent(BytesIO):
    """A file of a request."""

    def __init__(self, name: str | None, content: bytes = b"print()\n") -> None:
        super().__init__(content)
        self.name = name


def sent(*names: str) -> list[Sent]:
    return [Sent(name) for name in names]


def names(packed: IO[bytes]) -> list[str]:
    with zipfile.ZipFile(packed) as archive:
        return archive.namelist()


def test_a_player_keeps_its_name_and_a_script_is_renamed() -> None:
    with pack_files(sent("player.py", "net.py")) as packed:
        assert names(packed) == ["player.py", "net.py"]
    with pack_files(sent("train.py", "net.py"), "train.py") as packed:
        assert names(packed) == ["submission.py", "net.py"]


def test_a_script_of_a_client_is_there_under_both_names() -> None:
    with pack_script(sent("train.py", "weights.bin"), "train.py") as packed:
        assert names(packed) == ["train.py", "weights.bin", "submission.py"]
        assert inspect_archive(packed).is_script
    with pack_script(sent("submission.py"), "submission.py") as packed:
        assert names(packed) == ["submission.py"]


def test_equal_files_give_equal_bytes() -> None:
    with pack_script(sent("a.py", "b.py"), "a.py") as one, pack_script(sent("a.py", "b.py"), "a.py") as other:
        assert one.read() == other.read()


@pytest.mark.parametrize("path", ["/home/me/run.py", "..\\..\\run.py", "C:\\code\\run.py", "../run.py"])
def test_only_the_last_part_of_a_path_counts(path: str) -> None:
    with pack_files([Sent(path)]) as packed:
        assert names(packed) == ["submission.py"]


@pytest.mark.parametrize(
    ("files", "main_file", "sentence", "field"),
    [
        (sent("a.py", "x/a.py"), "", "Two of the files are named a.py.", "archive"),
        ([Sent(None)], "", "A file has no name.", "archive"),
        (sent("code/"), "", "A file has no name.", "archive"),
        (sent(".."), "", "A file has no name.", "archive"),
        (sent("\ufffd.py"), "", r"The file name '\ufffd.py' is not plain UTF-8. Rename the file.", "archive"),
        (sent("a\n.py"), "", r"The file name 'a\n.py' is not plain UTF-8. Rename the file.", "archive"),
        (sent("\ud800.py"), "", r"The file name '\ud800.py' is not plain UTF-8. Rename the file.", "archive"),
        (
            sent(*[f"{number}.py" for number in range(MAX_FILES + 1)]),
            "0.py",
            "These are 101 files; at most 100 are accepted. Send a zip.",
            "archive",
        ),
        (sent("notes.txt"), "", "At least one Python (.py) file is needed, or a zip.", "archive"),
        (sent("a.py", "b.py"), "", "Say which of a.py, b.py is the main file.", "main_file"),
        (sent("a.py", "b.py"), "c.py", "The main file must be one of a.py, b.py.", "main_file"),
        (sent("a.py", "b.txt"), "b.txt", "The main file must be a Python (.py) file.", "main_file"),
        (
            sent("a.py", "submission.py"),
            "a.py",
            "a.py would be run as submission.py, but there is another submission.py.",
            "main_file",
        ),
        # In an archive, a player comes before a script, and player.py before all other names.
        *(
            (
                sent(wanted, first),
                wanted,
                f"The arena would run {first}, not {wanted}. Leave {first} out, or choose it as the main file.",
                "main_file",
            )
            for wanted, first in [("train.py", "player.py"), ("agent.py", "player.py"), ("train.py", "main.py")]
        ),
    ],
)
def test_what_cannot_be_packed_is_refused(files: list[Sent], main_file: str, sentence: str, field: str) -> None:
    with pytest.raises(Refused) as refusal:
        pack_files(files, main_file)
    assert (str(refusal.value), refusal.value.field) == (sentence, field)


def test_a_client_s_main_file_must_be_there() -> None:
    with pytest.raises(Refused, match="main_file must match one of the uploaded file names"):
        pack_script(sent("a.py"), "b.py")
    with pytest.raises(Refused, match="there is another submission.py"):
        pack_script(sent("a.py", "submission.py"), "a.py")


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        (["main.py"], ["main.py"]),
        (["agent.py"], ["agent.py"]),
        (["my_bot.py"], ["player.py"]),
        (["Player.py"], ["player.py"]),
        (["BOT.PY"], ["player.py"]),
        (["submission.py"], ["main.py"]),
        (["submission.py", "net.py"], ["main.py", "net.py"]),
        (["C:\\work\\bot.py"], ["player.py"]),
        (["bot.py", "q.npy"], ["player.py", "q.npy"]),
        (["._bot.py", "bot.py", ".DS_Store"], ["player.py"]),
        (["player.py", "kaggle.json"], ["player.py"]),
    ],
)
def test_where_scripts_are_not_taken_a_single_program_is_the_player(files: list[str], expected: list[str]) -> None:
    with pack_files(sent(*files), takes_scripts=False) as packed:
        assert names(packed) == expected


@pytest.mark.parametrize(
    ("files", "sentence"),
    [
        (["bot.ipynb"], "Save a notebook's code as player.py"),
        (["weights.bin"], "Send the file player.py"),
        (["a.py", "b.py"], "Name the file that holds the player player.py; these are a.py, b.py."),
    ],
)
def test_files_without_one_player_get_advice(files: list[str], sentence: str) -> None:
    with pytest.raises(Refused, match=sentence):
        pack_files(sent(*files), takes_scripts=False)
