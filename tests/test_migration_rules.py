"""Migrations of a release run while the release before still does; and every release has left its dumps."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from django.apps import apps
from django.contrib.postgres.operations import AddIndexConcurrently
from django.db import models
from django.db.migrations import Migration, operations
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.state import ModelState, ProjectState

from tests.migration_rules import findings
from tests.releases import dumps_of, released_versions

ROOT = Path(__file__).resolve().parent.parent
INDEX = models.Index(fields=["name"], name="one_name")
CHECK = models.CheckConstraint(condition=models.Q(size__gte=0), name="one_size")


def state() -> ProjectState:
    made = ProjectState()
    fields: list[tuple[str, models.Field[Any, Any]]] = [
        ("id", models.BigAutoField(primary_key=True)),
        ("name", models.CharField(max_length=50)),
        ("size", models.IntegerField(null=True)),
    ]
    made.add_model(ModelState("core", "One", fields))
    return made


def found(*changes: Any, unused_since: str = "") -> list[str]:
    migration = type("Migration", (Migration,), {"operations": list(changes), "unused_since": unused_since})
    return findings(migration("0002_sample", "core"), state(), ["0.1.0"])


@pytest.mark.parametrize(
    "change",
    [
        operations.AddField("one", "note", models.TextField(null=True)),
        operations.AddField("one", "note", models.TextField(db_default="")),
        operations.AlterField("one", "name", models.CharField(max_length=80, help_text="Longer.")),
        operations.AlterField("one", "name", models.CharField(max_length=50, null=True)),
        operations.AlterModelOptions("one", {"ordering": ["name"]}),
        AddIndexConcurrently("one", INDEX),
        operations.RunPython(operations.RunPython.noop, operations.RunPython.noop),
    ],
    ids=lambda change: change.describe(),
)
def test_changes_that_the_release_before_does_not_notice_are_allowed(change: Any) -> None:
    assert found(change) == []


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (operations.AddField("one", "note", models.TextField(default="")), "Give it db_default"),
        (operations.RemoveField("one", "size"), "unused_since"),
        (operations.DeleteModel("One"), "unused_since"),
        (operations.RenameField("one", "size", "length"), "by that name"),
        (operations.RenameModel("One", "Two"), "by that name"),
        (operations.AlterField("one", "name", models.CharField(max_length=20)), "refuses"),
        (operations.AlterField("one", "size", models.IntegerField()), "refuses"),
        (operations.AlterField("one", "size", models.BigIntegerField(null=True)), "second field"),
        (operations.AddIndex("one", INDEX), "AddIndexConcurrently"),
        (operations.AddConstraint("one", CHECK), "AddConstraintNotValid"),
        (operations.RunPython(operations.RunPython.noop), "a way back"),
    ],
    ids=lambda value: value if isinstance(value, str) else value.describe(),
)
def test_changes_that_break_or_lock_the_release_before_are_refused(change: Any, sentence: str) -> None:
    assert any(sentence in line for line in found(change)), found(change)


def test_what_a_release_has_stopped_to_use_may_go_in_the_next() -> None:
    removal = operations.RemoveField("one", "size")
    assert found(removal, unused_since="0.1.0") == []
    assert found(removal, unused_since="0.2.0") != [], "that release is not out"


def test_a_new_table_is_made_as_a_whole_and_rows_are_changed_apart() -> None:
    new = operations.CreateModel("Two", [("id", models.BigAutoField(primary_key=True)), ("name", models.TextField())])
    assert found(new, operations.AddIndex("two", INDEX)) == []
    rows = operations.RunPython(operations.RunPython.noop, operations.RunPython.noop)
    assert any("migration of their own" in line for line in found(new, rows))


def test_the_arenas_own_migrations_keep_the_rules() -> None:
    loader = MigrationLoader(None)
    ours = {config.label for config in apps.get_app_configs() if Path(config.path).parent == ROOT}
    broken = {}
    for key, migration in loader.disk_migrations.items():
        if key[0] in ours and not migration.initial and not migration.replaces:
            before = loader.project_state(loader.graph.node_map[key].key, at_end=False)
            if lines := findings(migration, before, released_versions()):
                broken[key] = lines
    assert broken == {}


def test_every_release_has_left_a_dump_of_each_database() -> None:
    missing = [
        f"{version}-{kind}.tar"
        for version in released_versions()
        for kind in ("sqlite", "postgresql")
        if not any(path.name == f"{version}-{kind}.tar" for path in dumps_of(kind))
    ]
    assert missing == [], "docs/contributor/releases.md says how to store them, before the release"


def test_a_release_is_a_dated_heading_of_the_changelog() -> None:
    text = "# Changes\n\n## 0.3.0 (unreleased)\n\n- a\n\n## 0.2.1 (2027-01-31)\n\n## 0.1.0 (2026-12-01)\n"
    assert released_versions(text) == ["0.2.1", "0.1.0"]
    assert re.search(r"^## \S+ \(unreleased\)$", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)
