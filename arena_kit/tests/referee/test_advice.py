"""Errors whose causes are usual in an arena say what to change; tracebacks begin with the player's own files."""

from __future__ import annotations

import pickle
from pathlib import Path

import pytest

from arena_kit.referee.advice import advice
from arena_kit.referee.faults import PlayerFault, last_words, with_output
from arena_kit.tests.playing import play, player
from arena_kit.tests.upload.test_findings import of
from arena_kit.upload.source_warnings import warnings_of

SEMAPHORE = (
    'File "/usr/lib/python3.11/multiprocessing/synchronize.py", line 57, in __init__\n    sl = self._semlock = x(\n'
    "FileNotFoundError: [Errno 2] No such file or directory"
)
LFS = "version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 12345\n"


@pytest.mark.parametrize(
    ("error", "sentence"),
    [
        (
            "AttributeError: Can't get attribute 'QTable' on <module '__main__' from 'x'>",
            "QTable was pickled in a program",
        ),
        ("AttributeError: module '__main__' has no attribute 'Net'", "Net was pickled in a program or a notebook"),
        ("_pickle.UnpicklingError: invalid load key, 'v'.", "run git lfs pull, and pack again"),
        (SEMAPHORE, "Players have no shared memory, which Pool, Queue"),
        ("PermissionError: [Errno 13] Permission denied: '/dev/shm/psm_1'", "Players have no shared memory"),
        ("OSError: [Errno 38] _multiprocessing.SemLock is not implemented", "Players have no shared memory"),
        ("ModuleNotFoundError: No module named 'environments'", "The arena's own code is not there"),
        ("ModuleNotFoundError: No module named 'arena_kit'", "The arena's own code is not there"),
        ("ModuleNotFoundError: No module named 'environments.tic_tac_toe'", "The arena's own code is not there"),
        ("ModuleNotFoundError: No module named 'sklearn.tree'", "Add scikit-learn to requirements.txt."),
        ("ModuleNotFoundError: No module named 'cv2'", "Add opencv-python-headless to requirements.txt."),
        ("ModuleNotFoundError: No module named 'helper'", "If helper is a package, add it to requirements.txt."),
        ("OSError: [Errno 30] Read-only file system: 'log.txt'", "Players may write only to /tmp."),
        ("PermissionError: [Errno 13] Permission denied: 'log.txt'", "Players may write only to /tmp."),
        ("ImportError: attempted relative import with no known parent package", "without the dot."),
        ("PermissionError: [Errno 13] Permission denied: '/root/q.npy'", ""),
        ("RuntimeError: Attempting to deserialize object on a CUDA device but", "load with map_location='cpu'"),
        ("urllib.error.URLError: <urlopen error [Errno -3] Temporary failure in name resolution>", "have no network"),
        ("A module that was compiled using NumPy 1.x cannot be run in NumPy 2.0", "such as numpy<2"),
        ("ValueError: math domain error", ""),
        ("FileNotFoundError: [Errno 2] No such file or directory: 'q.npy'", ""),
    ],
)
def test_an_error_says_what_to_change(error: str, sentence: str) -> None:
    said = advice(error)
    assert sentence in said
    assert bool(said) == bool(sentence)
    assert "{" not in said


def test_of_an_exception_line_and_traceback_are_of_the_player_s_own_files() -> None:
    top = "def value(n): return __import__('math').sqrt(n - 0.5)"
    duel = play(player(top=top, start="value(-1)"), matches=2)
    match, log = duel.record.matches[0], duel.player_logs[0]
    said = with_output(match.error_code, f"Match 1: {match.error}", log)
    assert said.startswith("Match 1: The player raised an exception: ValueError: math domain error (player.py, line ")
    assert "in value: def value(n): return __import__('math').sqrt(n - 0.5))" in said
    words = "\n".join(last_words(match.error_code, log))
    assert 'File "player.py"' in words
    assert "player_server" not in log


@pytest.mark.parametrize(
    ("source", "begins"),
    [
        ("import nowhere_at_all\n", "Traceback (most recent call last):\n  File "),
        (
            "class Agent:\n    def __init__(self, env): ...\n    def act(self, s): ...\n",
            "Agent needs env, which players",
        ),
        ("x = 1\n", "player.py has neither a class Player"),
        ("x = (\n", 'File "'),
    ],
)
def test_the_output_of_a_player_that_does_not_start_begins_with_its_own_files(source: str, begins: str) -> None:
    duel = play(source, matches=2)
    assert duel.record.matches[0].error_code == PlayerFault.DID_NOT_START
    assert duel.player_logs[0].startswith(begins)
    assert "player_server" not in duel.player_logs[0]


CODES = {
    "import multiprocessing\ndef f(): multiprocessing.Pool(2)\n": "shared_memory",
    "from multiprocessing import Pool, Lock\ndef f(): Lock()\n": "shared_memory",
    "import multiprocessing as mp\ndef f(): mp.get_context('fork').Queue()\n": "shared_memory",
    "from multiprocessing import shared_memory as s\ndef f(): s.SharedMemory('x')\n": "shared_memory",
    "import torch.multiprocessing as mp\ndef f(): mp.Pool(2)\n": "shared_memory",
    "from concurrent.futures import ProcessPoolExecutor\ndef f(): ProcessPoolExecutor()\n": "shared_memory",
    "from multiprocessing import Pipe, Process\ndef f(): Pipe()\n": "",
    "from multiprocessing.dummy import Pool\ndef f(): Pool(2)\n": "",
    "from threading import Lock\ndef f(): Lock()\n": "",
    "from queue import Queue\ndef f(): Queue()\n": "",
    "from environments.tic_tac_toe.environment import TicTacToe\n": "arena_code",
    "import arena_kit\n": "arena_code",
}


@pytest.mark.parametrize(("source", "code"), CODES.items(), ids=[source.split("\n")[0] for source in CODES])
def test_the_upload_warns_of_what_players_do_not_have(source: str, code: str) -> None:
    sources = {"player.py": f"{source}class Player(Base): ...\n".encode()}
    codes = [one["code"] for one in warnings_of(sources, has_requirements=True, python=(3, 11))]
    assert codes == ([code] if code else [])


def test_a_folder_of_the_submission_s_own_is_no_code_of_the_arena() -> None:
    sources = {"player.py": b"import environments\nclass Player(Base): ...\n", "environments/__init__.py": b""}
    assert not warnings_of(sources, has_requirements=False, python=(3, 11))


def test_the_upload_names_pointers_of_git_lfs(tmp_path: Path) -> None:
    found = of(tmp_path, {"player.py": player(), "weights.bin": LFS, "notes.txt": "version 1 " * 9})
    assert [(one.code, one.file) for one in found.warnings] == [("lfs_pointer", "weights.bin")]
    with pytest.raises(pickle.UnpicklingError) as error:
        pickle.loads(LFS.encode())
    assert "git lfs pull" in advice(f"UnpicklingError: {error.value}")
