"""Lines of `arena` that a shell completes, as bash does it."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from arena_kit.cli.completing import SHELLS
from arena_kit.cli.main import VERBS, main

BASH = """
arena() {{ "{python}" -m arena_kit "$@"; }}
eval "$(arena completion bash)"
COMP_LINE='{line}'; COMP_POINT=${{#COMP_LINE}}; COMP_TYPE=9; COMP_WORDBREAKS=$' \\t\\n'
read -ra COMP_WORDS <<< "$COMP_LINE"; COMP_CWORD=$(( ${{#COMP_WORDS[@]}} - 1 ))
compopt() {{ :; }}
_python_argcomplete arena
printf '%s\\n' "${{COMPREPLY[@]}}"
"""


def completed(line: str) -> list[str]:
    """Return how bash goes on, with the program that `arena completion bash` prints."""
    program = BASH.format(python=sys.executable, line=line)
    found = subprocess.run(
        ["bash", "-c", program], capture_output=True, text=True, check=True, env={**os.environ, "TERM": "dumb"}
    )
    return [one.strip() for one in found.stdout.splitlines() if one.strip()]


@pytest.mark.parametrize(
    ("line", "ends"),
    [
        ("arena ch", ["challenge", "check"]),
        ("arena check --enviro", ["--environment", "--environments"]),
        ("arena check me --environment conn", ["connect-four"]),
        ("arena board quar", ["quarto"]),
        ("arena nothing --v", ["--version"]),
    ],
)
def test_bash_completes_verbs_options_and_environments(line: str, ends: list[str]) -> None:
    assert completed(line) == ends


@pytest.mark.parametrize("shell", SHELLS)
def test_each_shell_has_its_program(shell: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["completion", shell]) == 0
    assert "_ARGCOMPLETE" in capsys.readouterr().out


def test_another_shell_is_named_as_wrong(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["completion", "tcsh"]) == 2
    assert "bash,zsh,fish,powershell" in capsys.readouterr().err
    assert "completion" not in VERBS
