"""The process that reports on a folder: `python -m ... WIRE PARENT FOLDER SECONDS`. It writes JSON, one object a line.

WIRE is `-` in a container, where standard output takes the report and the walls stand already.
"""

from __future__ import annotations

import hashlib
import json
import os
import random
import sys
import time
from collections.abc import Callable
from importlib import import_module
from pathlib import Path

from arena_kit.environment.outside.limited import confine, wire_of
from arena_kit.environment.outside.report import (
    BAD,
    GOOD,
    LOOK,
    MOST_SHOWN,
    PICTURE_CHARACTERS,
    REACH,
    STEPS,
)
from arena_kit.environment.outside.sentences import sentence_of
from arena_kit.environment.outside.trial_program import limit_time
from arena_kit.environment.outside.watching import Watch
from arena_kit.environment.spec import EnvironmentSpec
from arena_kit.machine.processes import alarm, limit

CONTAINER = "-"
MATCHES = 20
DIGESTED = 3
SPEED_SECONDS = 2.0
LOAD_SECONDS = 10
"""Processor time for loading the arena's own code; what is left of it does not go to the folder."""
OWN = (
    "arena_kit.environment.conformance",
    "arena_kit.environment.info",
    "arena_kit.environment.outside.fitting",
    "arena_kit.environment.outside.pictures",
    "arena_kit.environment.svg",
)
"""Modules that the steps import for every folder."""
Said = tuple[str, str]
"""A mark and a sentence."""


class Reporter:
    """Tries one folder step by step, and writes a line about each."""

    def __init__(self, folder: Path, write: Callable[[object], None]) -> None:
        self._folder, self._write = folder, write
        self._spec: EnvironmentSpec | None = None

    @property
    def spec(self) -> EnvironmentSpec:
        """The spec, once the files have been read."""
        assert self._spec is not None
        return self._spec

    def run(self) -> None:
        """Try the folder until something is wrong with it."""
        watch = Watch(self._folder)
        tries = (self.files, self.rules, self.match, self.pictures, self.speed)
        all_good = all(self._step(about, try_it) for about, try_it in zip(STEPS, tries, strict=True))
        for mark, sentence in watch.found():
            self._line(REACH, mark, sentence)
        if all_good and not watch.found():
            self._line(REACH, GOOD, "It opened no file outside its folder, no network and no program.")

    def files(self) -> Said:
        """Read info.yml."""
        # Late: the limits of this process come first.
        from arena_kit.environment.info import BadInfo, read_info
        from arena_kit.environment.outside.fitting import check_fit

        path = self._folder / "info.yml"
        try:
            spec = read_info(path)
            if spec.classic is not None:
                # Late, as above.
                from arena_kit.environment.outside.learning import learn

                spec = read_info(path, learn(self._folder, max_steps=spec.max_steps))
            check_fit(spec)
        except BadInfo as error:
            return BAD, str(error)
        except ValueError as error:
            return BAD, f"info.yml: {error}"
        self._spec = spec
        return GOOD, f"info.yml describes {spec.id}, {spec.name}, with {spec.seats} seat{'s' * (spec.seats != 1)}."

    def rules(self) -> Said:
        """Play random matches against every promise of the protocol."""
        # Late: the limits of this process come first.
        from arena_kit.environment.conformance import NotConforming, check_environment

        try:
            check_environment(self.spec, matches=MATCHES, with_picture=False)
        except NotConforming as error:
            return BAD, sentence_of(error, self._folder)
        return GOOD, f"{MATCHES} random matches kept every promise of the protocol."

    def match(self) -> Said:
        """Play matches whose digests are compared with those of another process, and show the first."""
        # Late: the limits of this process come first.
        from arena_kit.environment.conformance import random_match

        for seed in range(DIGESTED):
            hashed = hashlib.sha256()
            for environment, rewards in random_match(self.spec, seed):
                seen = [list(environment.observe(seat).observation) for seat in range(self.spec.seats)]
                hashed.update(json.dumps([environment.frame(), rewards, seen], sort_keys=True).encode())
            self._write({"digest": hashed.hexdigest()})
        states = [(environment.text(), environment.frame()) for environment, _ in random_match(self.spec, 0)]
        every = max(1, -(-len(states) // MOST_SHOWN))
        for text, frame in [*states[:-1:every], states[-1]][-MOST_SHOWN:]:
            picture = "" if self.spec.classic is not None else self.spec.render(frame)
            self._write({"shown": [text, picture if len(picture) <= PICTURE_CHARACTERS else ""]})
        return GOOD, f"A random match took {len(states) - 1} steps."

    def pictures(self) -> Said:
        """Check the card picture, and the classes in the picture of the first state."""
        # Late: the limits of this process come first.
        from arena_kit.environment.conformance import NotConforming, check_card, random_match
        from arena_kit.environment.outside.pictures import picture_note
        from arena_kit.environment.svg import unknown_classes

        if note := picture_note(self._folder, self.spec.image):
            return LOOK, note
        try:
            check_card(self.spec)
        except NotConforming as error:
            return BAD, sentence_of(error, self._folder)
        if self.spec.classic is not None:
            return GOOD, "The card picture can be shown; states are HTML."
        unknown = {
            name
            for environment, _ in random_match(self.spec, 0)
            for name in unknown_classes(self.spec.render(environment.frame()))
        }
        if unknown:
            return LOOK, f"No style knows the classes {', '.join(sorted(unknown)[:10])}: such shapes are black."
        return GOOD, "The card picture and the pictures of states are well-formed, and a style knows every class."

    def speed(self) -> Said:
        """Play for a moment, and compare a whole duel with its limit."""
        # Late: the limits of this process come first.
        from arena_kit.environment.conformance import random_match

        spec, steps, matches, begun = self.spec, 0, 0, time.perf_counter()
        while (spent := time.perf_counter() - begun) < SPEED_SECONDS and matches < 1000:
            steps += sum(1 for _ in random_match(spec, matches)) - 1
            matches += 1
        count = spec.episodes_per_evaluation if spec.seats == 1 else spec.matches_per_duel
        whole, allowed = count * spent / matches, spec.limits.duel_seconds
        said = (
            f"{spent / max(1, steps) * 1e6:,.0f} µs a step, {spent / matches * 1e3:,.1f} ms a match: the rules alone "
            f"take {whole:,.1f} of {allowed:g} s for {count} matches."
        )
        return (BAD if whole > allowed else LOOK if 2 * whole > allowed else GOOD), said

    def _step(self, about: str, try_it: Callable[[], Said]) -> bool:
        try:
            mark, sentence = try_it()
        except BaseException as error:
            mark, sentence = BAD, sentence_of(error, self._folder)
        self._line(about, mark, sentence)
        return mark != BAD

    def _line(self, about: str, mark: str, sentence: str) -> None:
        self._write({"line": [about, mark, sentence]})


def main() -> None:
    """Report on a folder."""
    word, parent, folder = sys.argv[1], int(sys.argv[2]), Path(sys.argv[3]).resolve()
    process, seconds = os.getpid(), float(sys.argv[4])
    if word == CONTAINER:
        out = os.dup(1)
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, 1)
        os.dup2(null, 2)
        send: Callable[[bytes], object] = os.fdopen(out, "wb", buffering=0).write
    else:
        send = wire_of(word).sendall
        confine(parent, processor_seconds=int(seconds) + LOAD_SECONDS)

    def write(said: object) -> None:
        # A copy of this process that the code has made must not write into the report.
        if os.getpid() == process:
            send(json.dumps(said).encode() + b"\n")

    random.seed(0)
    # Late: the limits of memory come first. Loading what every folder needs takes none of its time.
    for module in OWN:
        import_module(module)
    if word != CONTAINER:
        limit("CPU", int(time.process_time()) + int(seconds) + 2)
    limit_time(seconds, seconds)
    Reporter(folder, write).run()
    alarm(0)
    write({"end": True})
    os._exit(0)


if __name__ == "__main__":
    main()
