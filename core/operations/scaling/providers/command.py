"""Hosts of any cloud, by a program of the operator's."""

from __future__ import annotations

import json
import shlex
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Self

from core.operations.scaling.providers import ProviderFailed, needed

SECONDS = 120.0


@dataclass(slots=True)
class CommandProvider:
    """Runs `PROGRAM list`, `PROGRAM create NAME` and `PROGRAM destroy NAME`; `list` prints a JSON list of names."""

    program: tuple[str, ...]
    seconds: float = SECONDS
    youngest_minutes: ClassVar[float] = 50
    oldest_minutes: ClassVar[float] = 0
    names_hosts: ClassVar[bool] = False

    @classmethod
    def of(cls, options: Mapping[str, Any]) -> Self:
        needed(options, "program")
        return cls(tuple(shlex.split(options["program"])))

    def hosts(self) -> list[str]:
        said = self._run("list")
        try:
            names = json.loads(said)
        except ValueError:
            raise ProviderFailed(f"`list` must print a JSON list of names, not {said[:100]!r}.") from None
        if not (isinstance(names, list) and all(isinstance(name, str) for name in names)):
            raise ProviderFailed(f"`list` must print a JSON list of names, not {said[:100]!r}.")
        return names

    def nameless(self) -> int:
        return 0

    def create(self, name: str) -> None:
        self._run("create", name)

    def destroy(self, name: str) -> None:
        self._run("destroy", name)

    def close(self) -> None:
        pass

    def _run(self, *arguments: str) -> str:
        what = f"{self.program[0]} {arguments[0]}"
        try:
            done = subprocess.run(
                [*self.program, *arguments],
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                errors="replace",
                timeout=self.seconds,
                check=False,
            )
        except subprocess.TimeoutExpired:
            raise ProviderFailed(f"{what} took longer than {self.seconds:g} s.") from None
        except OSError as error:
            raise ProviderFailed(f"{self.program[0]} cannot be run: {error.strerror}.") from None
        if done.returncode:
            said = " ".join(done.stderr.split())[-300:] or "it said nothing"
            raise ProviderFailed(f"{what} ended with status {done.returncode}: {said}")
        return done.stdout
