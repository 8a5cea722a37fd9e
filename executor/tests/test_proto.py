"""The proto files: what clients have never changes, the generated code is theirs, and no other process loads gRPC."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from google.protobuf.descriptor_pb2 import (
    DescriptorProto,
    EnumDescriptorProto,
    FieldDescriptorProto,
    FileDescriptorProto,
    FileDescriptorSet,
)

from executor.generate import GENERATED, RELEASED, descriptors, generate
from executor.generated.executor import executor_pb2 as old

ROOT = Path(__file__).parents[2]
FIRST_NEW_NUMBER = 20
FIELDS = {
    "MatchRequest": "1 match_id string, 2 environment string, 3 agents AgentData*, 4 timeout_sec uint32, "
    "5 record_replay bool",
    "AgentData": "1 agent_id string, 2 code_url string, 3 version string, 4 metadata MetadataEntry*, "
    "5 docker_image string",
    "MatchResponse": "1 match_id string, 2 status MatchStatus, 3 winner_agent_id string, 4 agent_results AgentResult*, "
    "5 replay_url string, 6 error_message string, 7 total_steps uint32, 8 execution_time_sec double, "
    "9 replay_html_url string",
    "AgentResult": "1 agent_id string, 2 score double, 3 errors uint32, 4 error_message string",
    "ValidationRequest": "1 agent_id string, 2 code_zip bytes, 3 environment string",
    "ValidationResponse": "1 valid bool, 2 errors string*, 3 warnings string*",
    "HealthCheckRequest": "",
    "HealthCheckResponse": "1 healthy bool, 2 version string, 3 active_matches uint32",
}
"""The messages of the older executor, as its clients were compiled with."""
TYPES = {1: "double", 8: "bool", 9: "string", 12: "bytes", 13: "uint32"}
REPEATED = 3


def shown(message: DescriptorProto) -> str:
    """Return the fields of a message below FIRST_NEW_NUMBER as FIELDS has them."""
    fields = sorted(message.field, key=lambda field: field.number)
    named = (
        f"{field.number} {field.name} {TYPES.get(field.type) or field.type_name.rpartition('.')[2]}"
        + "*" * (field.label == REPEATED)
        for field in fields
        if field.number < FIRST_NEW_NUMBER
    )
    return ", ".join(named)


def test_clients_of_the_older_executor_find_its_names_types_and_numbers() -> None:
    file = FileDescriptorProto()
    old.DESCRIPTOR.CopyToProto(file)
    added = {"Finding"}
    assert {one.name: shown(one) for one in file.message_type if one.name not in added} == FIELDS
    (service,) = file.service
    calls = [(one.name, one.input_type, one.output_type) for one in service.method]
    assert (file.package, service.name, file.syntax) == ("executor", "Executor", "proto3")
    assert calls == [
        ("RunMatch", ".executor.MatchRequest", ".executor.MatchResponse"),
        ("ValidateAgent", ".executor.ValidationRequest", ".executor.ValidationResponse"),
        ("HealthCheck", ".executor.HealthCheckRequest", ".executor.HealthCheckResponse"),
    ]
    statuses = ("UNKNOWN", "SUCCESS", "TIMEOUT", "ERROR", "CANCELLED")
    assert old.MatchStatus.items() == [(f"STATUS_{name}", number) for number, name in enumerate(statuses)]


def breaks(before: FileDescriptorSet, after: FileDescriptorSet) -> list[str]:
    """Return what a client of `before` would miss, or read wrongly, in `after`."""
    old_ones, new_ones = facts(before), facts(after)
    return [
        f"{name}: {fact} became {new_ones.get(name)}" for name, fact in old_ones.items() if new_ones.get(name) != fact
    ]


def facts(files: FileDescriptorSet) -> dict[str, str]:
    """Return everything that clients rely on, by its name."""
    found: dict[str, str] = {}
    for file in files.file:
        if file.package.startswith("google."):
            continue
        for message in file.message_type:
            of_message(f"{file.package}.{message.name}", message, found)
        for enum in file.enum_type:
            of_enum(f"{file.package}.{enum.name}", enum, found)
        for service in file.service:
            for call in service.method:
                streams = f"{call.client_streaming}/{call.server_streaming}"
                found[f"{file.package}.{service.name}/{call.name}"] = f"{call.input_type} {call.output_type} {streams}"
    return found


def of_message(name: str, message: DescriptorProto, found: dict[str, str]) -> None:
    found[name] = "message"
    for field in message.field:
        place = f"{field.oneof_index}" if field.HasField("oneof_index") else ""
        found[f"{name}#{field.number}"] = f"{field.name} {field.type} {field.type_name} {field.label} {place}"
    for inner in message.nested_type:
        of_message(f"{name}.{inner.name}", inner, found)


def of_enum(name: str, enum: EnumDescriptorProto, found: dict[str, str]) -> None:
    found |= {f"{name}#{value.number}": value.name for value in enum.value}


def test_nothing_that_clients_have_is_changed() -> None:
    assert (
        breaks(FileDescriptorSet.FromString(RELEASED.read_bytes()), FileDescriptorSet.FromString(descriptors())) == []
    )


@pytest.mark.parametrize("change", ["number", "type", "name", "gone", "stream", "value"])
def test_a_change_that_breaks_clients_is_found(change: str) -> None:
    before, after = (FileDescriptorSet.FromString(RELEASED.read_bytes()) for _ in range(2))
    (file,) = (file for file in after.file if file.package == "executor")
    message = next(one for one in file.message_type if one.name == "MatchRequest")
    match change:
        case "number":
            message.field[0].number = 99
        case "type":
            message.field[0].type = FieldDescriptorProto.TYPE_INT32
        case "name":
            message.field[0].name = "match"
        case "gone":
            del message.field[0]
        case "stream":
            file.service[0].method[0].server_streaming = True
        case "value":
            file.enum_type[0].value[1].name = "STATUS_RESTING"
    assert len(breaks(before, after)) == 1
    message = next(one for one in file.message_type if one.name == "Finding")
    message.field.add(name="colour", number=9, type=9, label=1)  # string, optional
    assert len(breaks(before, after)) == 1, "A new field breaks nothing."


def test_the_generated_code_is_that_of_the_proto_files(tmp_path: Path) -> None:
    generate(tmp_path)
    made, kept = (
        {
            path.relative_to(folder).as_posix(): path.read_text()
            for path in folder.rglob("*.py*")
            if path.suffix != ".pyc"
        }
        for folder in (tmp_path, GENERATED)
    )
    assert made == kept, "Run executor/generate.py."


@pytest.mark.slow
def test_neither_the_site_nor_its_commands_load_grpc() -> None:
    program = """
import sys, django
django.setup()
from django.core.management import get_commands, load_command_class
from django.urls import get_resolver
get_resolver().url_patterns
import core.checks.schema
core.checks.schema.refuse_unfit_schema = lambda: None  # There is no database here.
import core.wsgi, executor.listening
for name, app in get_commands().items():
    if app in {"core", "executor", "builder", "duel_runner", "tournament_manager", "publisher", "rollout_runner"}:
        load_command_class(app, name)
print([name for name in sys.modules if name == "grpc" or name.startswith(("grpc.", "google.protobuf"))])
"""
    environment = {"DJANGO_SETTINGS_MODULE": "core.settings", "DEBUG": "true", "PATH": "/usr/bin:/bin"}
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, env=environment, capture_output=True, text=True, check=False
    )
    assert done.stdout.strip() == "[]", done.stderr
