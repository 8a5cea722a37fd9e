"""Reads the manifest: what is tried, what it must come to, and where."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import yaml

FOLDER = Path(__file__).parent
PLAYERS = FOLDER / "players"
SANDBOXES = ("docker", "process", "runsc")
CONTAINED = "contained"
"""Verdict of a player that tries something, is refused, and plays on as an honest one would."""
OF_THE_SANDBOX = ("bombs", "builds", "exits", "escapes", "spying")
"""Categories that each sandbox decides for itself. The rest is the referee's."""
METHODS = {
    "__init__": ("train_mode",),
    "attack": (),
    "start": ("state", "valid_actions"),
    "step": ("state", "valid_actions", "prev_reward"),
    "end": ("state", "prev_reward"),
}
DENIED = "refused (EPERM|EACCES|ENOSYS)"
"""A wall's own word; other errors may come from what was asked."""
REFUSED = r"refused \w+"


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One line of the manifest.

    verdict: any of these typed codes will do. files: of the player's folder, by name. compiled: compiled files of it,
    by the source that is in them. lines: patterns, each of which a
    whole line of the player's log must match in every duel. limits: what differs from `arena.LIMITS`. own_start: it
    is about what happens while the player is loaded, or has files beside `player.py`. not_on: sandbox
    to reason, where nothing is promised. instead: sandbox to the verdicts, any of which is all that can be
    seen there. text: of requirements or of what a person types. check: what looks at a text.
    """

    name: str
    category: str
    kind: str
    verdict: tuple[str, ...]
    files: Mapping[str, str] = field(default_factory=dict)
    compiled: Mapping[str, str] = field(default_factory=dict)
    lines: tuple[str, ...] = ()
    limits: Mapping[str, float] = field(default_factory=dict)
    duels: int = 1
    own_start: bool = False
    not_on: Mapping[str, str] = field(default_factory=dict)
    instead: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    text: str = ""
    check: str = ""

    def on(self, sandbox: str) -> Case | None:
        """What a sandbox promises of this case; None for nothing."""
        if sandbox in self.instead:
            return replace(self, verdict=self.instead[sandbox], lines=(), instead={})
        return None if sandbox in self.not_on else self


def read_cases(path: Path = FOLDER / "manifest.yml") -> tuple[Case, ...]:
    """All cases of the manifest, in its order. Raises ValueError for a name given twice or an unknown key."""
    # The loader in Python takes a second of each process that collects these tests.
    groups = yaml.load(path.read_text(encoding="utf-8"), getattr(yaml, "CSafeLoader", yaml.SafeLoader))
    cases = tuple(case for group in groups for case in _group(group))
    if len({case.name for case in cases}) != len(cases):
        raise ValueError("Two cases of the manifest have the same name.")
    return cases


def _group(group: dict[str, Any]) -> Iterator[Case]:
    """A group gives its cases what they share: category, kind and, unless they say otherwise, verdict and limits."""
    shared = {key: value for key, value in group.items() if key != "cases"}
    for name, own in group["cases"].items():
        yield _case(name, {**shared, **(own if isinstance(own, dict) else {"verdict": own})})


def _case(name: str, data: dict[str, Any]) -> Case:
    verdict = data.pop("verdict")
    lines = [_line(tried, DENIED) for tried in data.pop("denied", ())]
    lines += [_line(tried, REFUSED) for tried in data.pop("refused", ())]
    lines += [_line(tried, f"done {pattern}") for tried, pattern in data.pop("found", {}).items()]
    lines += data.pop("prints", ())
    files = dict(data.pop("files", {}))
    if "player" in data:
        files["player.py"] = (PLAYERS / data.pop("player")).read_text(encoding="utf-8")
    if "do" in data:
        parts = data.pop("do")
        files["player.py"] = player_source(parts)
        lines += [f"{part} is tried" for part in parts]
    return Case(
        name=name,
        verdict=_verdicts(verdict),
        instead={sandbox: _verdicts(found) for sandbox, found in data.pop("instead", {}).items()},
        lines=tuple(lines),
        files=files,
        **data,
    )


def _verdicts(given: str | list[str]) -> tuple[str, ...]:
    return tuple(given) if isinstance(given, list) else (given,)


def _line(tried: str, outcome: str) -> str:
    return f"tried {re.escape(tried)}: {outcome}"


def player_source(parts: Mapping[str, str]) -> str:
    """A player that does something in its methods (or at `import`) and says so, and plays on where that lets it."""
    source = ["from tests.hostile import probe", "from tests.hostile.probe import *"]
    if "import" in parts:
        source += ['say("import is tried")', parts["import"]]
    source.append("class Player(probe.Player):\n    pass")
    for method, arguments in METHODS.items():
        if method in parts:
            code = "\n".join(parts[method].splitlines()).replace("\n", "\n        ")
            names = ", ".join(arguments)
            source.append(
                f"    def {method}({', '.join(['self', *arguments])}):\n"
                f'        say("{method} is tried")\n        {code}\n        return super().{method}({names})'
            )
    return "\n".join(source) + "\n"
