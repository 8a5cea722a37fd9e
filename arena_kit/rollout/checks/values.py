"""Checks of values: what the agent answered, and what a JSON file of the export holds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from arena_kit.rollout.checks.base import Condition, Judged
from arena_kit.rollout.checks.evidence import Evidence
from arena_kit.rollout.checks.matching import WHOLE, Matcher, matcher_read
from arena_kit.rollout.values.fields import Fields
from arena_kit.rollout.values.paths import NOTHING
from arena_kit.rollout.values.reading import read_as, texts_of
from arena_kit.rollout.values.schema import schema_flaws
from arena_kit.rollout.values.strict_json import NotJson, is_flawless, read_json

MOST_FILE_BYTES = 16 << 20


@dataclass(frozen=True)
class AnswerCheck(Condition):
    """A check of the agent's answer, or of a part of it."""

    KIND: ClassVar[str] = "answer"
    NEEDS: ClassVar[str] = "the answer"
    matcher: Matcher

    @classmethod
    def read(cls, fields: Fields) -> AnswerCheck | None:
        """See Condition."""
        matcher = matcher_read(fields)
        return None if matcher is None else cls(matcher)

    def judge(self, evidence: Evidence) -> Judged:
        """See Condition."""
        judged = self.matcher.judge(read_as(evidence.answer, self.matcher.kinds))
        if judged.passed or "string" not in self.matcher.kinds:
            return judged
        # A text may stand in quotes or be marked.
        others = (self.matcher.judge(text) for text in texts_of(evidence.answer))
        return next((other for other in others if other.passed), judged)


def answer_equals(value: Any) -> AnswerCheck:
    """Return the check that the key `answer` of a task stands for."""
    return AnswerCheck(Matcher(WHOLE, "equals", value))


@dataclass(frozen=True)
class FormatCheck(Condition):
    """The answer must have the form that the task tells the agent."""

    KIND: ClassVar[str] = "format"
    NEEDS: ClassVar[str] = "the answer"
    schema: Any

    @classmethod
    def read(cls, fields: Fields) -> FormatCheck | None:
        """See Condition. The key `format` of a task makes it, no entry of `checks`."""
        schema, count = fields.take(cls.KIND), len(fields.flaws)
        if schema is NOTHING:
            return None
        fields.flaws.extend(schema_flaws(schema, f"{fields.path}.{cls.KIND}"))
        return cls(schema) if len(fields.flaws) == count else None

    def judge(self, evidence: Evidence) -> Judged:
        """See Condition."""
        matcher = Matcher(WHOLE, "schema", self.schema)
        judged = matcher.judge(read_as(evidence.answer, matcher.kinds))
        return judged if judged.passed else Judged(False, f"The answer has not the form asked for: {judged.sentence}")


@dataclass(frozen=True)
class JsonCheck(Condition):
    """A value in a JSON file of the export."""

    KIND: ClassVar[str] = "json"
    NEEDS: ClassVar[str] = "the exported state"
    file: str
    matcher: Matcher

    @classmethod
    def read(cls, fields: Fields) -> JsonCheck | None:
        """See Condition."""
        file, matcher = fields.text("file", is_needed=True), matcher_read(fields)
        return cls(file, matcher) if matcher and file else None

    def judge(self, evidence: Evidence) -> Judged:
        """See Condition."""
        content = evidence.state().files.get(self.file)
        if content is None:
            return Judged(False, f"The export has no file {self.file}.", self.file, "nothing")
        try:
            value = read_json(content, most_bytes=MOST_FILE_BYTES)
        except NotJson as error:
            return Judged(False, f"{self.file}: {error}", self.file, f"{len(content)} bytes")
        if not is_flawless(value):
            return Judged(False, f"{self.file} holds values that JSON cannot hold.", self.file, f"{len(content)} bytes")
        return self.matcher.judge(value)
