"""Lane process: runs the engine of a lane, or forks one for each order that it reads.

Run as a module, it reads orders from its standard input, one JSON object a line. With ``--fork``
it imports the engine once, forks a process for each order, answers its pid in a line, and ends when
its input is closed; what it started lives on. It has one thread, so forking is safe, and a fork
shares the memory of what was imported. Without ``--fork`` it runs the engine for one order itself,
for systems that cannot fork.
"""

from __future__ import annotations

import functools
import gc
import json
import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ralph_ls.core.plan.formats.dispatch import parse_plan
from ralph_ls.core.plan.model import PlanKind
from ralph_ls.core.redaction.redactor import Redactor
from ralph_ls.engine.run.lease import LeasedEffectRunner, lease_in
from ralph_ls.engine.run.preparation import RunRequest, Start
from ralph_ls.engine.run.runner import Engine, run_engine
from ralph_ls.protocol.base import WireModel
from ralph_ls.protocol.errors import RalphError
from ralph_ls.protocol.run.commands import COMMAND_ADAPTER
from ralph_ls.protocol.run.events import EVENT_ADAPTER
from ralph_ls.store.files import PRIVATE_FILE
from ralph_ls.store.project.environment_settings import unknown_variables
from ralph_ls.store.project.prompt_texts import built_in_texts
from ralph_ls.store.run.launch import reporting_refusals


def run_lane(order: dict[str, Any]) -> int:
    """Run the engine that an order asks for, to its end; its exit code."""
    os.environ.clear()
    os.environ.update(order["environment"])
    os.chdir(order["folder"])
    request = RunRequest(
        folder=Path(order["folder"]),
        environment=order["environment"],
        overrides=order["overrides"],
        resume=order["resume"],
        run_id=order["run"],
        by=order["by"],
    )
    try:
        with reporting_refusals():
            return run_engine(request, engine_of=_engine_of)
    except RalphError as error:
        sys.stderr.write(f"ralph: {error.message}\n")
        return error.exit_code


def _engine_of(start: Start) -> Callable[..., Engine]:
    """The engine of a lane; that of a fleet's task works only as long as its lease is held."""
    lease = lease_in(start.workspace.environment)
    if lease is None:
        return Engine
    return functools.partial(
        Engine, performer_type=functools.partial(LeasedEffectRunner, lease=lease)
    )


def _become_lane(order: dict[str, Any]) -> None:
    """Detach this forked process from the one that forked it."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    gc.enable()
    os.setsid()
    null = os.open(os.devnull, os.O_RDWR)
    flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND
    errors = os.open(order["errors"], flags, PRIVATE_FILE)
    os.dup2(null, 0)
    os.dup2(null, 1)
    os.dup2(errors, 2)


def _prepare_all() -> None:
    """Import and build what every lane needs, so that all of them share the memory of it."""
    # Each is imported where it is first needed, as most processes need none of them.
    import concurrent.futures.thread

    import filelock
    import platformdirs
    import psutil
    import watchdog.observers

    import ralph_ls.engine.plan.markdown
    import ralph_ls.engine.plan.stories
    import ralph_ls.engine.plan.structured

    del concurrent, filelock, psutil, watchdog, ralph_ls
    platformdirs.user_state_dir()
    models: list[type[WireModel]] = [WireModel]
    for model in models:
        models.extend(model.__subclasses__())
        model.model_rebuild()
    EVENT_ADAPTER.rebuild()
    COMMAND_ADAPTER.rebuild()
    # Each fills a cache that every lane would otherwise fill separately.
    unknown_variables({})
    built_in_texts()
    Redactor(secrets={}).redact("")
    parse_plan("- [ ] A task\n", PlanKind.MARKDOWN)


def _serve() -> None:
    _prepare_all()
    # Lanes are not awaited here, so the system may reap them.
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    # Ctrl-C in the terminal is for the parallel run, which stops the lanes.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    gc.collect()
    gc.disable()
    # What was imported stays shared, as the collector of a fork does not touch it.
    gc.freeze()
    for line in sys.stdin.buffer:
        order = json.loads(line)
        pid = os.fork()
        if pid == 0:
            code = RalphError.exit_code
            try:
                _become_lane(order)
                code = run_lane(order)
            finally:
                sys.stderr.flush()
                os._exit(code)
        sys.stdout.write(f"{pid}\n")
        sys.stdout.flush()


def main() -> None:
    """Entry point of this module, which ``lane_starter`` runs."""
    if "--fork" in sys.argv[1:]:
        _serve()
        return
    sys.exit(run_lane(json.loads(sys.stdin.buffer.readline())))


if __name__ == "__main__":
    main()
