"""Answer programs over gRPC. The only process of the arena that loads gRPC, and it never forks."""

from __future__ import annotations

import asyncio
import signal
from argparse import ArgumentParser
from typing import Any

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from django.core.management.base import BaseCommand, CommandError

from core.checks.schema import refuse_unfit_schema
from core.checks.startup import TAG
from core.monitoring.exposition import serve
from executor.listening import Listening, listening


class Command(BaseCommand):
    requires_system_checks = (TAG,)
    help = "Answer programs over gRPC until SIGTERM or Ctrl-C: run matches and validate agents."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "--address",
            default=settings.EXECUTOR_ADDRESS,
            help=f"HOST:PORT or unix:PATH (default: EXECUTOR_HOST and EXECUTOR_PORT, here {settings.EXECUTOR_ADDRESS})",
        )
        parser.add_argument(
            "--tls",
            default="",
            metavar="FOLDER",
            help="PEM files tls.crt and tls.key, and clients.crt for client "
            "certificates; without them only this machine can be served",
        )
        parser.add_argument(
            "--caller", default="", metavar="NAME", help="account of calls without a token; only on your own machine"
        )
        parser.add_argument(
            "--reflection", action="store_true", help="let clients ask for the names of services and messages"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        where = listening(options["address"], options["tls"])
        if problem := next(where.problems(), ""):
            raise CommandError(problem)
        if options["caller"] and not (settings.DEBUG and where.is_local):
            raise CommandError("--caller is for your own machine: it needs DEBUG=true and a local address.")
        try:
            refuse_unfit_schema()
        except ImproperlyConfigured as error:
            raise CommandError(str(error)) from None
        try:
            from executor.server import ExecutorServer  # only here: loading it loads gRPC
        except ModuleNotFoundError as error:
            raise CommandError(f"{error}. Install what gRPC needs: make extras EXTRAS=grpc") from error
        if settings.METRICS_PORT:
            serve(settings.METRICS_PORT)

        async def run() -> None:
            server = ExecutorServer(where, without_token=options["caller"], has_reflection=options["reflection"])
            asked_to_stop = asyncio.Event()
            for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
                asyncio.get_running_loop().add_signal_handler(number, asked_to_stop.set)
            port = await server.start()
            self._say(f"The executor listens on {_shown(where, port)}.")
            await asked_to_stop.wait()
            self._say("Stopping: no new calls, and those that wait may end.")
            await server.stop()

        try:
            asyncio.run(run())
        except (OSError, RuntimeError) as error:
            raise CommandError(f"The executor cannot listen on {where.address}: {error}") from error
        self._say("The executor has ended. Its runs go on.")

    def _say(self, line: str) -> None:
        self.stdout.write(line)
        self.stdout.flush()


def _shown(where: Listening, port: int) -> str:
    if where.address.startswith("unix:"):
        return where.address
    return f"{where.address.rpartition(':')[0]}:{port} ({'TLS' if where.is_encrypted else 'plain text'})"
