"""The shape of the house: no circles of imports, no room named in a string below it, and short views."""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import grimp
import networkx
import pytest

ROOT = Path(__file__).parents[1]
ROOMS = (
    "web", "builder", "duel_runner", "tournament_manager", "publisher", "rollout_runner", "executor", "core",
    "arena_kit", "tests", "benchmarks",
)  # fmt: skip
NAME_OF_ROOM = re.compile(
    r"(web|builder|duel_runner|tournament_manager|publisher|rollout_runner|executor)(\.[a-z_]+)+|(web|admin):[a-z_]+"
)
"""A string that names a module of a room or a page of the site."""
QUOTED_ROOM = re.compile(
    r"[\"'](web|builder|duel_runner|tournament_manager|publisher|rollout_runner|executor|admin)[.:]"
)
"""What only sources with such a string have: reading a source's tree takes a hundred times as long."""
LOWER = {"arena_kit": (), "core": ("core/settings",), "builder": (), "duel_runner": (), "tournament_manager": (),
         "publisher": (), "rollout_runner": (), "executor": ()}  # fmt: skip
"""Packages below the site, with folders that may name rooms: Django's settings name middleware and handlers."""
READERS = {
    "core/settings/base.py",  # the only reader of the arena's variables
    "core/management/operated.py",  # who is behind sudo
    "core/management/commands/demo.py",  # sets variables for the processes that it starts
    "executor/examples/run_sample_match.py",  # a program of its own
}
"""Modules of the site that ask for a variable of the environment by its name."""
VIEWS = ("views.py", "*_views.py", "*_page.py", "api.py", "*_api.py")
"""Names of the modules of views."""
VIEWS_OF_OTHERS = re.compile(r"web\.\w+\.(\w+\.)*(\w+_)?(views|api)")
"""The name of a module of the site that holds views, of pages or of the API."""
GROUND = {"arena_kit": {"environment"}, "core": {"jobs", "models"}, "web": {"api", "site", "templatetags"}}
"""Packages on which all others of their room stand: a test of any noun may import more from them than from its own."""
TOOLS = 2
"""The most names by which another package may be ahead: so few are the tools of a test, not its subject."""
VIEW_LINES = 25
"""The most lines of a view, from `def` to its last statement, with its docstring and without its decorators."""


def circles() -> list[list[str]]:
    """Groups of modules that import each other in a circle, late imports included (those for types never run)."""
    graph = grimp.build_graph(*ROOMS, exclude_type_checking_imports=True, cache_dir=None)
    arrows = networkx.DiGraph()
    for module in graph.modules:
        arrows.add_edges_from((module, other) for other in graph.find_modules_directly_imported_by(module))
    return [sorted(group) for group in networkx.strongly_connected_components(arrows) if len(group) > 1]


def named_rooms(source: str, own: str) -> list[str]:
    """The strings of a module that name a room other than its own, docstrings left out."""
    if not QUOTED_ROOM.search(source):
        return []
    tree = ast.parse(source)
    words = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    return [
        node.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant)
        and isinstance(node.value, str)
        and id(node) not in words
        and NAME_OF_ROOM.fullmatch(node.value)
        and not node.value.startswith(f"{own}.")
    ]


def reads_variables(source: str) -> bool:
    """Return whether a module takes anything from `os.environ` but a copy of all, or changes it by more than a
    default."""
    if not re.search(r"\b(environ|getenv)\b", source):
        return False
    tree = ast.parse(source)
    harmless: set[int] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Dict):
            harmless |= {id(value) for key, value in zip(node.keys, node.values, strict=True) if key is None}
        elif isinstance(node, ast.Call) and ast.unparse(node.func) in {"dict", "os.environ.setdefault"}:
            harmless |= {id(part) for part in ast.walk(node)}
        elif isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store):
            harmless |= {id(node.value)}
    found = (node for node in ast.walk(tree) if isinstance(node, ast.Attribute | ast.Name | ast.alias))
    return any(
        getattr(node, "attr", getattr(node, "id", getattr(node, "name", ""))) in {"environ", "getenv"}
        and id(node) not in harmless
        for node in found
    )


def views(source: str) -> Iterator[tuple[str, int]]:
    """Yield the name and number of lines of every function of a module that takes `request`, methods included."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            given = (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs)
            if any(argument.arg == "request" for argument in given):
                yield node.name, (node.end_lineno or 0) - node.lineno + 1


def long_views(source: str) -> list[str]:
    return [f"{name}: {lines} lines" for name, lines in views(source) if lines > VIEW_LINES]


def test_no_module_imports_itself_by_way_of_others() -> None:
    assert circles() == []


def views_of_others(graph: grimp.ImportGraph) -> list[str]:
    """Imports of views or of an API from another noun of the site; only tables of addresses may name those."""
    return sorted(
        f"{module} imports {other}"
        for module in graph.find_descendants("web")
        if ".tests" not in module and not module.endswith(".urls")
        for other in graph.find_modules_directly_imported_by(module)
        if VIEWS_OF_OTHERS.fullmatch(other) and other.split(".")[1] != module.split(".")[1]
    )


def test_no_noun_of_the_site_imports_views_of_another() -> None:
    graph = grimp.build_graph("web", cache_dir=None)
    assert views_of_others(graph) == []
    graph.add_import(importer="web.sittings.parts", imported="web.duels.replay_views")
    assert views_of_others(graph) == ["web.sittings.parts imports web.duels.replay_views"]


def test_a_string_that_names_a_room_or_a_page_is_found() -> None:
    source = '"""web.urls"""\nTASK = "duel_runner.tasks.work"\nOWN = "builder.tasks"\nreverse("web:home")\n'
    assert named_rooms(source, "builder") == ["duel_runner.tasks.work", "web:home"]


def test_no_room_is_named_in_a_string_below_it() -> None:
    found = {
        str(path.relative_to(ROOT)): named
        for package, exceptions in LOWER.items()
        for path in (ROOT / package).rglob("*.py")
        if "tests" not in path.parts
        and str(path.relative_to(ROOT).parent) not in exceptions
        and (named := named_rooms(path.read_text(), package))
    }
    assert found == {}


@pytest.mark.parametrize(
    ("source", "reads"),
    [
        ("import os\nvalue = os.environ['NAME']", True),
        ("import os\nvalue = os.environ.get('NAME')", True),
        ("import os\nvalue = os.getenv('NAME')", True),
        ("from os import environ", True),
        ("import os\nrun(env={**os.environ, 'NAME': 'value'})", False),
        ("import os\nos.environ.setdefault('NAME', 'value')", False),
        ("import os\nos.environ['NAME'] = 'value'", False),
    ],
)
def test_a_module_that_reads_a_variable_is_told_from_one_that_hands_them_on(source: str, reads: bool) -> None:
    assert reads_variables(source) is reads


def test_only_the_settings_read_variables_of_the_environment() -> None:
    found = {
        str(path.relative_to(ROOT))
        for package in (*LOWER, "web")
        if package != "arena_kit"
        for path in (ROOT / package).rglob("*.py")
        if "tests" not in path.parts and reads_variables(path.read_text())
    }
    assert found == READERS


def test_a_view_with_a_line_too_many_is_found() -> None:
    body = "    pass\n" * VIEW_LINES
    source = f"def long(request):\n{body}\ndef fits(request):\n{body[9:]}\ndef other(rows):\n{body}"
    assert long_views(source) == [f"long: {VIEW_LINES + 1} lines"]


def test_no_view_is_longer_than_the_house_allows() -> None:
    modules = {path for name in VIEWS for path in ROOT.joinpath("web").rglob(name) if "tests" not in path.parts}
    found = {str(path.relative_to(ROOT)): path.read_text() for path in modules}
    assert {"web/tournaments/bracket_page.py", "web/tournaments/api.py", "web/api/compatible/views.py"} <= found.keys()
    assert {path: long_views(source) for path, source in found.items() if long_views(source)} == {}


def test_the_makefile_uses_no_variable_that_is_not_there() -> None:
    """Make reads a name that nobody has given as nothing, and goes on."""
    text = (ROOT / "Makefile").read_text()
    used = set(re.findall(r"\$\((?:call )?([A-Za-z_]+)[),]", text))
    own = set(re.findall(r"^(?:[a-z-]+: export )?([A-Za-z_]+) *[:?]?=", text, re.MULTILINE))
    of_callers = set(re.findall(r"([A-Z]+)=", text.partition("\n\n")[0]))
    assert "BIN" in used
    assert used <= own | of_callers


CLOCKS = {name + end for name in ("monotonic", "perf_counter", "process_time", "time") for end in ("", "_ns")}
TAKEN = re.compile(r"(?:monotonic|perf_counter|process_time|time\.time)(?:_ns)?\(\) - ")


def timed_asserts(source: str) -> list[int]:
    """Lines of a test's asserts that compare with a bound how long something took by a clock."""

    def is_taken(node: ast.AST) -> bool:
        spans = (each.left for each in ast.walk(node) if isinstance(each, ast.BinOp) and isinstance(each.op, ast.Sub))
        calls = (each.func for each in spans if isinstance(each, ast.Call))
        return any(
            (each.attr if isinstance(each, ast.Attribute) else getattr(each, "id", "")) in CLOCKS for each in calls
        )

    lines = []
    for function in (each for each in ast.walk(ast.parse(source)) if isinstance(each, ast.FunctionDef)):
        taken = {
            target.id
            for each in ast.walk(function)
            if isinstance(each, ast.Assign) and is_taken(each.value)
            for target in each.targets
            if isinstance(target, ast.Name)
        }
        lines += [
            each.lineno
            for each in ast.walk(function)
            if isinstance(each, ast.Assert)
            and any(
                isinstance(part, ast.Compare)
                and any(isinstance(operator, ast.Lt | ast.LtE) for operator in part.ops)
                and (is_taken(part) or any(isinstance(name, ast.Name) and name.id in taken for name in ast.walk(part)))
                for part in ast.walk(each)
            )
        ]
    return lines


@pytest.mark.parametrize(
    ("body", "is_timed"),
    [
        ("assert time.monotonic() - began < 2", True),
        ("took = perf_counter() - began; assert took <= 2", True),
        ("assert time.monotonic() < deadline", False),
        ("left = until - time.monotonic(); assert left < 2", False),
    ],
)
def test_an_assert_about_how_long_something_took_is_found(body: str, is_timed: bool) -> None:
    assert bool(timed_asserts(f"def test_speed() -> None:\n    {body}")) == is_timed


def test_no_test_asserts_how_fast_anything_is() -> None:
    folders = (each for each in ROOT.iterdir() if each.is_dir() and each.name[0] != "." and each.name != "node_modules")
    sources = {path: path.read_text() for folder in folders for path in folder.rglob("test_*.py")}
    found = {path.name: timed_asserts(text) for path, text in sources.items() if TAKEN.search(text)}
    assert {name: lines for name, lines in found.items() if lines} == {}


def imported_names(source: str, room: str) -> Counter[str]:
    """Count the names that a test imports from each package of a room; helpers of tests do not count."""
    parts = [
        (*(node.module or "").split("."), name.name)
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.ImportFrom)
        for name in node.names
    ]
    found = (each for each in parts if each[0] == room and len(each) > 2 and "tests" not in each)
    return Counter(each[1] for each in found if (ROOT / room / each[1]).is_dir())


def package_of(path: Path) -> str:
    """Return the package in whose tests a file lies; empty for those that go across the packages of its room."""
    folders = path.relative_to(ROOT).parts[1:-1]
    named = folders[1:] if folders[0] == "tests" else folders
    return named[0] if named else ""


def belongs_to(own: str, names: Counter[str], ground: set[str]) -> str:
    """Return the package in whose tests a file should lie by what it imports: `own`, or the one that is ahead of it."""
    others = {each: count for each, count in names.items() if each != own and each not in ground}
    if not others:
        return own
    first = max(others, key=others.__getitem__)
    # Across a room there is no own package, so one has to be ahead of all others together.
    most = names[own] if own else names.total() - others[first]
    return first if others[first] > most + TOOLS else own


@pytest.mark.parametrize(
    ("own", "names", "found"),
    [
        ("duels", {"duels": 1, "ratings": 3}, "duels"),
        ("duels", {"duels": 1, "ratings": 4}, "ratings"),
        ("duels", {"duels": 1, "jobs": 9}, "duels"),
        ("", {"duels": 5, "ratings": 3}, ""),
        ("", {"duels": 5, "ratings": 1}, "duels"),
        ("", {"jobs": 5}, ""),
    ],
)
def test_a_test_belongs_to_what_it_imports_most(own: str, names: dict[str, int], found: str) -> None:
    assert belongs_to(own, Counter(names), {"jobs"}) == found


def test_each_test_lies_with_the_package_that_it_imports_most() -> None:
    found = {}
    for room, ground in GROUND.items():
        for path in (ROOT / room).rglob("test_*.py"):
            own, names = package_of(path), imported_names(path.read_text(), room)
            if (better := belongs_to(own, names, ground)) != own:
                found[str(path.relative_to(ROOT))] = better
    assert found == {}


WORKERS = ("builder", "duel_runner", "rollout_runner", "tournament_manager", "publisher")


def sources(*packages: str) -> Iterator[tuple[str, str]]:
    """Yield path and text of every module of these packages, tests left out."""
    for package in packages:
        for path in sorted((ROOT / package).rglob("*.py")):
            if "tests" not in path.parts and "migrations" not in path.parts:
                yield str(path.relative_to(ROOT)), path.read_text()


def test_rooms_of_workers_hold_no_rules_about_rows() -> None:
    refusing = [path for path, text in sources(*WORKERS) if "raise Refused" in text]
    selecting = [path for path, _ in sources(*WORKERS) if path.endswith("selectors.py")]
    assert (refusing, selecting) == ([], [])


def test_the_open_states_of_a_job_stand_in_one_place() -> None:
    pair = re.compile(r"[(\[{]\s*JobState\.(QUEUED|RUNNING),\s*JobState\.(QUEUED|RUNNING),?\s*[)\]}]")
    assert [path for path, text in sources("core", "web", "executor", *WORKERS) if pair.search(text)] == [
        "core/jobs/states.py"
    ]


def test_every_exception_to_the_linter_has_its_reason_beside_it() -> None:
    bare = re.compile(r"# noqa: [A-Z0-9, ]+$")
    found = {
        f"{path}:{number}"
        for path, text in sources(*ROOMS)
        for number, line in enumerate(text.splitlines(), start=1)
        if bare.search(line)
    }
    assert found == set()


def late_imports(source: str) -> Iterator[int]:
    """Yield the lines of imports of our own modules within functions that no comment explains."""
    lines = source.splitlines()
    for function in ast.walk(ast.parse(source)):
        if not isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef) or function.name == "ready":
            continue
        for node in ast.walk(function):
            if not isinstance(node, ast.ImportFrom | ast.Import):
                continue
            names = [node.module or ""] if isinstance(node, ast.ImportFrom) else [alias.name for alias in node.names]
            if not {name.partition(".")[0] for name in names} & set(ROOMS):
                continue
            first = node.lineno - 1
            while lines[first - 1].strip().startswith(("from ", "import ")):
                first -= 1
            if "#" not in lines[node.lineno - 1] and not lines[first - 1].strip().startswith("#"):
                yield node.lineno


def test_a_late_import_has_its_reason_beside_it() -> None:
    assert list(late_imports("def f():\n    from core.jobs import worker\n")) == [2]
    assert list(late_imports("def f():\n    # Late: it is slow.\n    from core.jobs import worker\n")) == []
    rooms = [room for room in ROOMS if room not in {"tests", "benchmarks"}]
    found = {f"{path}:{number}" for path, text in sources(*rooms) for number in late_imports(text)}
    assert found == set()


def test_few_lines_are_kept_from_the_formatter() -> None:
    rooms = [room for room in ROOMS if room not in {"tests", "benchmarks"}]
    assert sum(text.count("# fmt: skip") for _, text in sources(*rooms)) <= 50


def test_every_page_that_alarms_and_letters_lead_to_is_registered() -> None:
    rooms = [room for room in ROOMS if room not in {"tests", "benchmarks"}]
    named = {name for _, text in sources(*rooms) for name in re.findall(r"\bpage\(\"([a-z_]+)\"", text)}
    registered = set(re.findall(r'^    "([a-z_]+)": "', (ROOT / "web" / "apps.py").read_text(), re.MULTILINE))
    assert len(named) > 15
    assert named - registered == set()


def test_long_lines_of_templates_become_fewer() -> None:
    """`long_lines.txt` has for each template how many of its lines are longer than 160 characters."""
    templates = ROOT / "web" / "templates"
    counts = {
        str(path.relative_to(templates)): sum(len(line) > 160 for line in path.read_text().splitlines())
        for path in sorted(templates.rglob("*.html"))
    }
    known = dict(line.rsplit(" ", 1) for line in (ROOT / "tests" / "long_lines.txt").read_text().splitlines())
    more = {name: count for name, count in counts.items() if count > int(known.get(name, 0))}
    assert more == {}, "Break the new lines: a line that is mended elsewhere pays for none."
    found = {name: str(count) for name, count in counts.items() if count}
    assert found == known, "Write the smaller number down, so that it stays so small."


def classes(source: str) -> Iterator[str]:
    """Yield the name of every class of a module, those within others included."""
    return (node.name for node in ast.walk(ast.parse(source)) if isinstance(node, ast.ClassDef))


GIVEN_NAMES = {"Command", "Media", "Meta"}
"""Names of classes that Django looks for by themselves."""


def test_class_names_are_unique_in_their_room() -> None:
    assert list(classes("class Board:\n    class Row: ...\n")) == ["Board", "Row"]
    found = {
        room: sorted(name for name, count in counts.items() if count > 1 and name not in GIVEN_NAMES)
        for room in ROOMS
        if room not in {"tests", "benchmarks"}
        for counts in [
            Counter(name for path, text in sources(room) for name in classes(text) if "generated" not in path)
        ]
    }
    assert {room: names for room, names in found.items() if names} == {}


SECOND_WORDS = {
    "alert": "alarm", "deaf": "without engine", "hindrance": "obstacle", "news": "notices", "park": "delay",
    "parked": "delayed", "postpone": "delay", "postponed": "delayed", "verify": "recheck", "verifying": "rechecking",
    "wish": "options", "held back": "withheld", "hand back": "give back", "put off": "delay",
}  # fmt: skip
"""Words that named a thing which has another word already, with that word."""
NAMES_OF_OTHERS = {"access_news", "verify", "verify_code", "verify_message", "verify_ssl"}
"""Names of libraries, and a module that notices logins."""


def second_words(source: str) -> set[str]:
    """Return the names in a source, imported modules included, of which a part is one of SECOND_WORDS."""
    parts = re.compile(rf"(^|_)({'|'.join(word.replace(' ', '_') for word in SECOND_WORDS)})s?(_|$)")
    names = set(re.findall(r"\b[A-Za-z_]+\b", re.sub(r'"[^"\n]*"|#.*', "", re.sub(r'"""[\s\S]*?"""', "", source))))
    plain = {name: re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).lower() for name in names - NAMES_OF_OTHERS}
    return {name for name, words in plain.items() if parts.search(words)}


def test_each_thing_has_one_word() -> None:
    source = "from a import job_park\nclass VerifyLater: ...\n# news\nALERTS = 1\n"
    assert second_words(source) == {"job_park", "VerifyLater", "ALERTS"}
    rooms = [room for room in ROOMS if room not in {"tests", "benchmarks"}]
    found = {path: names for path, text in sources(*rooms) if (names := second_words(f"{Path(path).stem}\n{text}"))}
    assert found == {}
