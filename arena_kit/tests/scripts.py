"""Script submissions in a sandbox, for tests."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from arena_kit.referee.script import ScriptFailure, ScriptRun, ScriptScore, run_script
from arena_kit.sandbox.base import Sandbox
from arena_kit.sandbox.scripts import OnOutput, ScriptLaunch, ScriptLimits
from arena_kit.tests.arenas import COUNTER, LABEL, Arena

NO_FILES: Mapping[str, str] = MappingProxyType({})
LIMITS = ScriptLimits(seconds=60.0)
FINE = "print('{\"score\": 9}', flush=True)\n"
"""The source of a script that prints a score."""
FORKS = (
    "import os, time\n"
    "count = 0\n"
    "try:\n"
    "    while count < 100:\n"
    "        if os.fork() == 0: time.sleep(60)\n"
    "        count += 1\n"
    "except OSError: pass\n"
    """print('{"score": %d}' % count)"""
)
"""The source of a script whose score is the number of processes that it could start."""


@dataclass(frozen=True)
class Scripts:
    """An arena for scripts, which checks after every run that its folder of channels is empty."""

    arena: Arena

    @property
    def sandbox(self) -> Sandbox:
        return self.arena.sandbox

    def prepare(
        self,
        source: str,
        *,
        limits: ScriptLimits = LIMITS,
        environment: str = "CartPole-v1",
        files: Mapping[str, str] = NO_FILES,
    ) -> ScriptLaunch:
        """Return the launch of a script with this source."""
        number = next(COUNTER)
        folder = self.arena.folder / f"script-{number}"
        folder.mkdir(mode=0o755)
        for name, text in {**files, "submission.py": source}.items():
            (folder / name).write_text(text)
        return ScriptLaunch(
            f"folder:{folder}", f"arena-script-{os.getpid()}-{number}", environment, limits, {LABEL: "script"}
        )

    def run(self, source: str, *, limits: ScriptLimits = LIMITS, files: Mapping[str, str] = NO_FILES) -> ScriptRun:
        return self.run_prepared(self.prepare(source, limits=limits, files=files))

    def run_prepared(self, launch: ScriptLaunch, on_output: OnOutput = lambda _: None) -> ScriptRun:
        run = run_script(self.sandbox, launch, on_output=on_output)
        assert list(self.arena.channels.iterdir()) == []
        return run

    def failure(self, source: str, *, limits: ScriptLimits = LIMITS) -> ScriptFailure:
        run = self.run(source, limits=limits)
        assert isinstance(run.verdict, ScriptFailure), run
        return run.verdict

    def score(self, source: str, *, limits: ScriptLimits = LIMITS, files: Mapping[str, str] = NO_FILES) -> ScriptScore:
        run = self.run(source, limits=limits, files=files)
        assert isinstance(run.verdict, ScriptScore), run
        return run.verdict
