"""The changes of an upload of tasks: new tasks, new revisions, duplicates, and tasks that are nearly the same."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from arena_kit.rollout.tasks.task import Task, folded

NEARLY = 0.9
"""Share of words that two instructions have in common from which on they are listed as nearly the same."""
MOST_NEAR = 1_000


@dataclass(frozen=True, slots=True)
class KnownTask:
    """A current task that is there already."""

    key: str
    revision: int
    content_sha256: str
    fingerprint: str


@dataclass(frozen=True, slots=True)
class Duplicate:
    """A task of an upload that is the same as one under another key."""

    key: str
    same_as: str


@dataclass(frozen=True, slots=True)
class RevisionPlan:
    """The rows to write. revised: with the numbers of the new revisions."""

    created: tuple[Task, ...]
    revised: tuple[tuple[Task, int], ...]
    unchanged: tuple[Task, ...]
    duplicates: tuple[Duplicate, ...]

    @property
    def count(self) -> int:
        """How many tasks of the upload the arena has afterwards."""
        return len(self.created) + len(self.revised) + len(self.unchanged)


def upload_plan(
    tasks: Iterable[Task], known: Mapping[str, KnownTask], *, allow_duplicates: bool = False
) -> RevisionPlan:
    """Return what an upload changes. A duplicate is named; unless they are allowed it is not written.

    Of two tasks of an upload that are the same, the first one is written. A fingerprint that the upload itself revises
    away is free again.
    """
    tasks = list(tasks)
    revised_away = {task.key for task in tasks}
    owners = {each.fingerprint: key for key, each in known.items() if key not in revised_away}
    created, revised, unchanged, duplicates = [], [], [], []
    for task in tasks:
        owner = owners.setdefault(task.fingerprint, task.key)
        if owner != task.key:
            duplicates.append(Duplicate(task.key, owner))
        there = known.get(task.key)
        if there is not None and there.content_sha256 == task.content_sha256:
            unchanged.append(task)
        elif owner != task.key and not allow_duplicates:
            continue
        elif there is None:
            created.append(task)
        else:
            revised.append((task, there.revision + 1))
    return RevisionPlan(tuple(created), tuple(revised), tuple(unchanged), tuple(duplicates))


def near_duplicates(tasks: Sequence[Task]) -> tuple[tuple[str, str], ...]:
    """Return pairs of keys, in order: the same checks in other words, or instructions with nearly the same words.

    The second is the Jaccard index of their sets of words, found by prefix filtering: two sets with an index of at
    least t have a common word among the first n - ceil(t * n) + 1 of each, in an order from rare to frequent
    (S. Chaudhuri, V. Ganti, R. Kaushik, A primitive operator for similarity joins in data cleaning, 2006).
    """
    found = set(_same_checks(tasks)) | set(_same_words(tasks))
    return tuple(sorted(found)[:MOST_NEAR])


def _same_checks(tasks: Sequence[Task]) -> Iterator[tuple[str, str]]:
    groups: dict[tuple[str, str], list[str]] = defaultdict(list)
    for task in tasks:
        if task.checks:
            groups[task.environment, task.judged_sha256].append(task.key)
    for keys in groups.values():
        yield from ((keys[0], other) for other in keys[1:])


def _same_words(tasks: Sequence[Task]) -> Iterator[tuple[str, str]]:
    bags = [(task.key, frozenset(folded(task.instruction).split())) for task in tasks]
    frequency = Counter(word for _, words in bags for word in words)
    holders: dict[str, list[tuple[str, frozenset[str]]]] = defaultdict(list)
    for key, words in bags:
        rare_first = sorted(words, key=lambda word: (frequency[word], word))
        prefix = rare_first[: len(words) - math.ceil(NEARLY * len(words)) + 1]
        others = {other: bag for word in prefix for other, bag in holders[word]}
        for other, bag in others.items():
            common = len(words & bag)
            if common >= NEARLY * (len(words) + len(bag) - common):
                yield other, key
        for word in prefix:
            holders[word].append((key, words))
