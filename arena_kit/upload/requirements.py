"""Reads the requirements of a submission, which may only be names of packages with versions."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from arena_kit.upload.archive import ArchiveReport
from arena_kit.upload.conda import FROM_BASE_IMAGE, CondaRequirement, conda_requirement, pip_requirement
from arena_kit.upload.conda_names import plain_name
from arena_kit.upload.zip_safety import MOST_MISTAKES, UploadRefused

_MEANT = re.compile(
    r"requirements?(?:[-_.]\w+)?\.txt(?:\.txt)?|requirements?|(?:conda|env|environment)\.ya?ml|environment\.ya?ml\.txt|"
    r"pipfile(?:\.lock)?|(?:poetry|pdm|uv)\.lock|pyproject\.toml"
)
"""Names in lower case that people give to their requirements, and under which they are not read."""
_HIDDEN = re.compile("[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")
"""Matches marks that show a text in another order than it is read, which no comment needs."""
_SPACE = re.compile("[\u00a0\u2000-\u200a\u202f\u3000]")
"""Matches spaces of web pages and of other keyboards, which look like plain ones."""
_PIP_LIST = re.compile(r"Package +Version(?: .*)?")
_CONDA_EXPORT = re.compile(r"[\w.-]+=[^=\s]+=[^=\s]+", re.ASCII)
MAX_REQUIREMENTS = 100
MAX_LINE_CHARACTERS = 300
MAX_TEXT_CHARACTERS = 64 * 1024
MAX_YAML_DEPTH = 8
MAX_YAML_TOKENS = 5000
FILE_ENDINGS = (".whl", ".zip", ".gz", ".bz2", ".xz", ".tar", ".tgz")
"""A name with one of these endings is refused, because pip would take it for a file if there were one."""
_PLAIN = re.compile(r"(?!-)(?:[\w .,<>=!~*+()\[\];\"'-](?! -))*", re.ASCII)
"""Matches the lines that are safe to give to pip. Even within quotes pip splits lines at more than line feeds, replaces
`${NAME}` by variables of its environment, which may hold passwords, and takes ` -` for the beginning of an option."""


class RequirementsRefused(UploadRefused):
    """The requirements are refused."""


@dataclass(frozen=True, slots=True)
class Requirements:
    """Normalised requirement lines, sorted, and notes for the owner about ignored ones."""

    lines: tuple[str, ...]
    notes: tuple[str, ...] = ()


def read_requirements(report: ArchiveReport, read: Callable[[str], str]) -> Requirements:
    """Return the requirements of an archive, from requirements.txt or else environment.yml. Raises RequirementsRefused.

    read: returns the text of a file in the archive by its name.
    """
    for name, parse in (
        ("requirements.txt", parse_requirements),
        ("environment.yml", parse_environment_yml),
        ("environment.yaml", parse_environment_yml),
    ):
        if name in report.names:
            return parse(read(name), name)
    unread = [name for name in report.names if "/" not in name and _MEANT.fullmatch(name.lower())]
    # Most have settings of tools alone.
    unread = [name for name in unread if not name.endswith(".toml") or "dependencies" in read(name)]
    return Requirements((), tuple(f"{name} is not read: {_wanted(name)}" for name in unread))


def _wanted(name: str) -> str:
    wanted = "environment.yml" if "env" in name.lower() or name.lower().endswith("ml") else "requirements.txt"
    if name.lower().startswith(("pipfile", "poetry", "pdm", "uv", "pyproject")):
        return "write its packages as lines of requirements.txt."
    return f"rename it to {wanted}, in lower case."


def unmet(requirements: Requirements, installed: Mapping[str, str]) -> list[tuple[str, str | None]]:
    """Return the lines that are not met, each with the installed version, or None if the package is not installed.

    installed: versions by name.
    """
    from packaging.requirements import Requirement

    found = {plain_name(name): version for name, version in installed.items()}
    missing: list[tuple[str, str | None]] = []
    for line in requirements.lines:
        requirement = Requirement(line)
        if requirement.marker is not None and not requirement.marker.evaluate():
            continue
        version = found.get(plain_name(requirement.name))
        if version is None or not requirement.specifier.contains(version, prereleases=True):
            missing.append((line, version))
    return missing


def parse_requirements(text: str, name: str = "requirements.txt") -> Requirements:
    """Return the lines of a requirements.txt. Raises RequirementsRefused.

    A line may hold a name, extras, versions, markers and hashes, which are ignored, but no options, addresses or paths.
    Also read is what `conda list --export` and `pip list` write.
    """
    with _located(name):
        return _requirements_txt(text, name)


def _requirements_txt(text: str, name: str) -> Requirements:
    _check_size(text, name)
    lines: list[str] = []
    notes: list[str] = []
    mistakes = _Mistakes()
    written = list(_logical_lines(text))
    is_conda = "conda create" in text or (bool(written) and all(_CONDA_EXPORT.fullmatch(line) for _, line in written))
    if "@EXPLICIT" in text:
        raise RequirementsRefused(
            f"{name} lists addresses of conda. Write names instead: conda env export > environment.yml",
            code="requirements_url",
        )
    if is_conda:
        notes.append(f"{name} is read as written by conda list --export.")
    if written and _PIP_LIST.fullmatch(written[0][1]):
        notes.append(f"{name} is read as written by pip list.")
        rows = [(number, line.split()) for number, line in written[1:] if line.strip("- ")]
        written = [(number, "==".join(words[:2])) for number, words in rows if words[0] not in FROM_BASE_IMAGE]
    for number, line in written:
        where = f"{name}, line {number}"
        with mistakes.at(name, number):
            if not line.isascii() or _HIDDEN.search(line):
                raise RequirementsRefused(
                    f"{where}: only plain ASCII letters are allowed, but in comments.", code="requirements_not_ascii"
                )
            lines += _read(line, conda_requirement if is_conda else pip_requirement, where, name, notes)
    mistakes.refuse()
    return _collected(lines, name, notes)


def _logical_lines(text: str) -> Iterator[tuple[int, str]]:
    """Yield each line with its number, without comments; a line that ends with a backslash goes on in the next one."""
    begun, parts = 0, [""]
    # Some editors begin a file with a byte order mark.
    for number, raw in enumerate(text.removeprefix("\ufeff").split("\n"), start=1):
        # A comment that hides text stays, and is refused.
        line = _SPACE.sub(" ", raw if _HIDDEN.search(raw) else re.sub(r"(\A|\s)#.*\Z", "", raw)).strip()
        begun = begun or number
        parts.append(line.removesuffix("\\").strip())
        if line.endswith("\\"):
            continue
        if whole := " ".join(part for part in parts if part):
            yield begun, whole
        begun, parts = 0, [""]
    if whole := " ".join(part for part in parts if part):
        yield begun, whole


class _Mistakes:
    """Collects refusals, so that a person reads all of them at once."""

    def __init__(self) -> None:
        self._found: list[RequirementsRefused] = []

    @contextlib.contextmanager
    def at(self, name: str, line: int | None = None) -> Iterator[None]:
        """Collect the refusal of one line."""
        try:
            with _located(name, line):
                yield
        except RequirementsRefused as refusal:
            self._found.append(refusal)

    def refuse(self) -> None:
        """Raise the first refusal with the others, if there are any."""
        if not self._found:
            return
        first, *others = self._found[:MOST_MISTAKES]
        if any(one.code == "requirements_url" for one in self._found):
            last = [first, *others][-1]
            last.sentence += " Names and versions are written by: pip list --format=freeze > requirements.txt"
        first.others = tuple(others)
        raise first


def parse_environment_yml(text: str, name: str = "environment.yml") -> Requirements:
    """Return the `dependencies` of a conda environment, including its `pip` part. Raises RequirementsRefused.

    Names of conda become those of wheels; channels, and packages that only conda has, are left out. The notes say so.
    """
    with _located(name):
        return _environment_yml(text, name)


def _environment_yml(text: str, name: str) -> Requirements:
    data = read_yaml(text, name)
    dependencies = data.get("dependencies", []) if isinstance(data, dict) else ""
    if dependencies is None:
        dependencies = []
    if not isinstance(dependencies, list):
        raise RequirementsRefused(f"{name} must have a list named dependencies.", code="environment_yml")
    notes = []
    if data.get("channels"):
        notes.append(f"The channels in {name} are ignored: packages come as wheels from the package index.")
    if data.get("variables"):
        notes.append(f"The variables in {name} are ignored: set them in player.py.")
    lines: list[str] = []
    mistakes = _Mistakes()
    for item in dependencies:
        with mistakes.at(name):
            items, where, read = _items(item, name)
            for line in items:
                with mistakes.at(name):
                    lines += _read(line, read, where, name, notes)
    mistakes.refuse()
    return _collected(lines, name, notes)


def _items(item: object, name: str) -> tuple[list[str], str, Callable[[str], CondaRequirement | None]]:
    """Return the lines of a dependency, where they stand, and what reads them."""
    if isinstance(item, str):
        return [item], name, conda_requirement
    if isinstance(item, dict) and set(item) == {"pip"}:
        return _pip_part(item["pip"], name), f"{name}, pip part", pip_requirement
    raise RequirementsRefused(f"{name} has a dependency that is not a line of text.", code="environment_yml")


def _pip_part(items: object, name: str) -> list[str]:
    if items is None:
        return []
    if not isinstance(items, list) or not all(isinstance(item, str) for item in items):
        raise RequirementsRefused(f"The pip part of {name} must be a list of lines.", code="environment_yml")
    return [item.strip() for item in items]


def read_yaml(text: str, name: str) -> Any:
    """Return the content of a small plain YAML file, e.g. environment.yml. Raises RequirementsRefused."""
    # Loading it takes a fifth of an inspection, and few archives have such a file.
    import yaml

    _check_size(text, name)
    try:
        _check_tokens(text, name)
        return yaml.safe_load(text)
    except (yaml.YAMLError, RecursionError, ValueError) as error:
        mark = getattr(error, "problem_mark", None)
        where, line = (f"{name}, line {mark.line + 1}", mark.line + 1) if mark else (name, None)
        hint = " Indent it with spaces, not with tabs." if "\t" in text else ""
        refusal = RequirementsRefused(f"{where}: this is not valid YAML.{hint}", code="environment_yml")
        refusal.line = line
        raise refusal from None


@contextlib.contextmanager
def _located(name: str, line: int | None = None) -> Iterator[None]:
    """Say in a refusal which file it is about, and which line."""
    try:
        yield
    except RequirementsRefused as refusal:
        refusal.file, refusal.line = name, refusal.line or line
        raise


def _check_tokens(text: str, name: str) -> None:
    import yaml

    starts = (
        yaml.BlockSequenceStartToken,
        yaml.BlockMappingStartToken,
        yaml.FlowSequenceStartToken,
        yaml.FlowMappingStartToken,
    )
    ends = (yaml.BlockEndToken, yaml.FlowSequenceEndToken, yaml.FlowMappingEndToken)
    depth = 0
    for count, token in enumerate(yaml.scan(text, Loader=yaml.SafeLoader)):
        if isinstance(token, yaml.AliasToken | yaml.AnchorToken | yaml.TagToken):
            raise RequirementsRefused(f"{name} must not use anchors, aliases or tags.", code="environment_yml")
        depth += isinstance(token, starts) - isinstance(token, ends)
        # The YAML parser's time grows with the square of the depth.
        if depth > MAX_YAML_DEPTH or count > MAX_YAML_TOKENS:
            raise RequirementsRefused(f"{name} is nested too deeply or too long.", code="environment_yml")


def _check_size(text: str, name: str) -> None:
    if len(text) > MAX_TEXT_CHARACTERS:
        raise RequirementsRefused(
            f"{name} is larger than {MAX_TEXT_CHARACTERS // 1024} KiB.", code="requirements_too_large"
        )


def _read(
    line: str, read: Callable[[str], CondaRequirement | None], where: str, name: str, notes: list[str]
) -> list[str]:
    """Return a line of a file as a requirement, or nothing if it is left out, which is noted. `read` reads its form."""
    found = read(line)
    if found is None:
        raise _no_package(line, where)
    if found.note:
        notes.append(f"{name}: {found.note}")
    return [_requirement(found.line, where)] if found.line else []


def _requirement(line: str, where: str) -> str:
    if len(line) > MAX_LINE_CHARACTERS:
        raise RequirementsRefused(f"{where}: the line is too long.", code="requirements_line")
    if line.startswith("-"):
        raise RequirementsRefused(
            f"{where}: options like {line.split(maxsplit=1)[0][:30]} are not allowed. Remove the line.",
            code="requirements_option",
        )
    # Loading it takes a sixth of an inspection, and many archives name no package.
    from packaging.requirements import InvalidRequirement, Requirement

    try:
        requirement = Requirement(line)
    except (InvalidRequirement, RecursionError):
        raise _no_package(line, where) from None
    if requirement.url:
        raise RequirementsRefused(f"{where}: only names are allowed, not addresses.", code="requirements_url")
    if requirement.name.lower().endswith(FILE_ENDINGS):
        raise RequirementsRefused(
            f"{where}: {line[:60]!r} is the name of a file. Name the package.", code="requirements_line"
        )
    plain = str(requirement)
    if not _PLAIN.fullmatch(plain):
        raise RequirementsRefused(
            f"{where}: {line[:60]!r} has characters that are not allowed in a requirement.", code="requirements_line"
        )
    return plain


def _no_package(line: str, where: str) -> RequirementsRefused:
    hint = " Write == instead of =." if re.fullmatch(r"[\w.-]+\s*=\s*[\w.*]+", line) else ""
    return RequirementsRefused(
        f"{where}: {line[:60]!r} is not a package name with a version.{hint} Addresses and paths are not allowed.",
        code="requirements_line",
    )


def _collected(lines: Iterable[str], name: str, notes: Iterable[str]) -> Requirements:
    unique = tuple(sorted(set(lines), key=str.lower))
    if len(unique) > MAX_REQUIREMENTS:
        raise RequirementsRefused(
            f"{name} asks for more than {MAX_REQUIREMENTS} packages.", code="too_many_requirements"
        )
    return Requirements(unique, tuple(notes))
