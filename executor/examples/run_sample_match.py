"""Have one match played over gRPC, as clients of the older executor do.

    .venv/bin/python -m executor.examples.run_sample_match --environment tic-tac-toe agent:1 agent:2

With `make demo` and `make executor` running, nothing else is needed. Elsewhere, name the address and send a token:
EXECUTOR_TOKEN=... with --address arena.example.org:50051 --ca FILE.
"""

from __future__ import annotations

import argparse
import os
import sys
import uuid
from pathlib import Path

import grpc

from executor.generated.executor import executor_pb2, executor_pb2_grpc


def main() -> int:
    """Print the result; return 0 if the match was played."""
    options = _options()
    token = os.environ.get("EXECUTOR_TOKEN", "")
    metadata = (("authorization", f"Bearer {token}"),) if token else ()
    with _channel(options) as channel:
        client = executor_pb2_grpc.ExecutorStub(channel)
        health = client.HealthCheck(executor_pb2.HealthCheckRequest())
        print(f"Executor {health.version}: {'healthy' if health.healthy else 'cannot play now'}")
        agents = [executor_pb2.AgentData(agent_id=version, docker_image=version) for version in options.versions]
        request = executor_pb2.MatchRequest(
            match_id=options.match_id,
            environment=options.environment,
            agents=agents,
            timeout_sec=options.seconds,
            record_replay=True,
        )
        try:
            answer = client.RunMatch(request, metadata=metadata, timeout=options.seconds + 5)
        except grpc.RpcError as error:
            print(f"{error.code().name}: {error.details()}", file=sys.stderr)
            return 1
    print(_shown(answer))
    return 0 if answer.status == executor_pb2.STATUS_SUCCESS else 1


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Have one match played over gRPC.")
    parser.add_argument("versions", nargs=2, metavar="VERSION", help="submission:ID, agent:ID or an image's digest")
    parser.add_argument("--environment", required=True, help="its slug, e.g. tic-tac-toe")
    parser.add_argument("--address", default="127.0.0.1:50051")
    parser.add_argument("--ca", type=Path, help="certificate of the authority; without it plain text is spoken")
    parser.add_argument("--match-id", default=f"sample-{uuid.uuid4().hex[:12]}", help="the same id is played once")
    parser.add_argument("--seconds", type=int, default=120)
    return parser.parse_args()


def _channel(options: argparse.Namespace) -> grpc.Channel:
    if options.ca is None:
        return grpc.insecure_channel(options.address)
    return grpc.secure_channel(options.address, grpc.ssl_channel_credentials(options.ca.read_bytes()))


def _shown(answer: executor_pb2.MatchResponse) -> str:
    lines = [f"{answer.match_id}: {executor_pb2.MatchStatus.Name(answer.status)} {answer.error_message}".rstrip()]
    if answer.status == executor_pb2.STATUS_SUCCESS:
        lines.append(f"winner: {answer.winner_agent_id or 'none, a draw'}")
        lines += [f"  {one.agent_id}: score {one.score:g} {one.error_message}".rstrip() for one in answer.agent_results]
        lines.append(f"{answer.total_steps} steps in {answer.execution_time_sec:.2f} s")
        lines += [answer.replay_html_url, answer.replay_url]
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
