"""Completes a line of `arena` in a shell: verbs, their options, files and the names of environments.

`arena completion SHELL` prints what the shell has to read; argcomplete does the rest.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterable

ASKED = "_ARGCOMPLETE"
"""Set by a shell that asks how a line may go on: the number of words before the arguments of a parser."""
SHELLS = {
    "bash": 'eval "$(arena completion bash)" in ~/.bashrc',
    "zsh": 'eval "$(arena completion zsh)" in ~/.zshrc',
    "fish": "arena completion fish | source in ~/.config/fish/config.fish",
    "powershell": "arena completion powershell | Out-String | Invoke-Expression in your $PROFILE",
}
"""By shell, the line that turns completion on, and where it belongs."""


def script(shell: str) -> str:
    """Return the program with which a shell completes. Raises KeyError for another shell."""
    # Late: `arena --help` stays quick.
    from argcomplete.shell_integration import shellcode

    head = f"# Completion of arena. To have it in every session: {SHELLS[shell]}"
    return f"{head}\n{shellcode(['arena'], shell=shell)}"


def verb_asked(verbs: Iterable[str]) -> str:
    """Return the verb whose arguments a shell asks for; print the verbs and end if it asks for these."""
    line = os.environ["COMP_LINE"][: int(os.environ["COMP_POINT"])]
    words = line.split()
    known = set(verbs)
    if len(words) > 1 and words[1] in known and line.partition(words[1])[2][:1].isspace():
        os.environ[ASKED] = "2"
        return words[1]
    parser = argparse.ArgumentParser("arena")
    parser.add_argument("verb", choices=sorted([*known, "completion"]))
    parser.add_argument("--version", action="store_true")
    complete(parser)
    return ""


def complete(parser: argparse.ArgumentParser) -> None:
    """Answer a shell that asks how a line may go on, and end the process; return at once otherwise."""
    if ASKED not in os.environ:
        return
    # Late: commands stay quick.
    from argcomplete import autocomplete

    for action in parser._actions:
        if action.dest == "environment":
            action.completer = _environments  # type: ignore[attr-defined]  # argcomplete reads it
    autocomplete(parser)


def _environments(**_: object) -> list[str]:
    """Return the names of the environments that arena-kit holds."""
    # Late: other lines need no environments.
    from arena_kit.environment.registry import all_specs

    return [spec.slug for spec in all_specs()]
