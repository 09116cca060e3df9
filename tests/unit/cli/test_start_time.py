"""Start time: a verb loads no module that answering it does not take."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

from ralph_ls.cli.verbs import VERBS
from tests.engine.project_builder import ROOT

SERVER = ROOT / "server"

FOR_NO_VERB = (
    "asyncio",
    "git",
    "lsprotocol",
    "psutil",
    "pygls",
    "ralph_ls.core.views.report",
    "ralph_ls.editor",
    "ralph_ls.engine.run",
    "rich",
    "textual",
    "watchdog",
)
"""Packages that a verb loads when it is called, if at all."""

STATE = ("ralph_ls.store.run.runs",)
PLANS = ("ralph_ls.core.plan.formats.dispatch", "ralph_ls.store.project.plan_file")
DECODERS = ("msgspec", "ralph_ls.core.agent.decode")
ROWS = ("ralph_ls.core.views.panel.rows",)
SETTINGS = ("tomllib",)
NEARLY_ALL = ("logging", "ralph_ls.engine", *STATE, *PLANS, *DECODERS, *ROWS, *SETTINGS)

NOT_LOADED = {
    "run": (*DECODERS, *ROWS),
    "watch": (*DECODERS, *SETTINGS),
    "status": (*DECODERS, *ROWS, *PLANS, *SETTINGS),
    "prompt": NEARLY_ALL,
    "plan": ROWS,
    "simulate": (*ROWS, *STATE),
    "stop": (*DECODERS, *ROWS, *PLANS),
    "prune": (*DECODERS, *ROWS, *STATE),
    "runs": (*DECODERS, *ROWS, *PLANS, *SETTINGS),
    "dashboard": (*DECODERS, *ROWS, *PLANS, *SETTINGS),
    "show": (*DECODERS, *ROWS, *PLANS, *SETTINGS),
    "export": (*DECODERS, *ROWS, *PLANS, *SETTINGS),
    "logs": (*ROWS, *PLANS, *SETTINGS),
    "attach": (*ROWS, *PLANS),
    "pr": (*DECODERS, *ROWS, *SETTINGS),
    "ps": (*DECODERS, *ROWS, *PLANS, *SETTINGS),
    "inbox": (*DECODERS, *ROWS, *PLANS),
    "learn": (*DECODERS, *ROWS),
    "lessons": (*DECODERS, *ROWS),
    "notify": (*STATE, *PLANS, *DECODERS, *ROWS, *SETTINGS, "ralph_ls.engine"),
    "config": (*DECODERS, *ROWS, *PLANS),
    "doctor": NEARLY_ALL,
    "help": NEARLY_ALL,
    "init": (*DECODERS, *ROWS, "ralph_ls.engine"),
    "propose": NEARLY_ALL,
    "hook": NEARLY_ALL,
    "fleet": (*STATE, *DECODERS, *ROWS, *PLANS, *SETTINGS, "ralph_ls.engine", "dbos", "sqlalchemy"),
    "serve": (*STATE, *PLANS, *DECODERS, *SETTINGS, "ralph_ls.engine"),
}
"""What one verb of each module loads only when it is called, beside ``FOR_NO_VERB``."""

QUICK = ("status", "runs", "show", "ps", "inbox", "doctor", "help", "hook")
"""Verbs that are called often: they build no model before they know what they are asked."""

PROGRAM = """
import json, os, sys, typer
from ralph_ls.cli.command_line import make_command
from ralph_ls.protocol.base import WireModel
for verb in sys.argv[1:]:
    if (child := os.fork()) == 0:
        make_command(verb)
        models = [WireModel]
        for model in models:
            models.extend(model.__subclasses__())
        built = [model.__name__ for model in models if model.__pydantic_complete__]
        os.write(1, json.dumps([verb, [list(sys.modules), built]]).encode() + b"\\n")
        os._exit(0)
    os.waitpid(child, 0)
"""
"""Prints the modules that each verb loads, and the models that it builds before it is called.

One process that has loaded typer is the parent of all.
"""


def loaded() -> dict[str, tuple[list[str], list[str]]]:
    done = subprocess.run(
        [sys.executable, "-P", "-c", PROGRAM, *NOT_LOADED],
        env={**os.environ, "PYTHONPATH": str(SERVER)},
        check=True,
        capture_output=True,
    )
    return dict(json.loads(line) for line in done.stdout.splitlines())


def test_every_module_of_verbs_is_measured() -> None:
    assert {VERBS[verb].module for verb in NOT_LOADED} == {
        *(entry.module for entry in VERBS.values())
    }


@pytest.mark.slow
def test_a_verb_loads_what_it_needs() -> None:
    found = loaded()
    assert set(found) == set(NOT_LOADED)
    unwanted = {verb: _unwanted(verb, modules) for verb, (modules, _) in found.items()}
    assert {verb: names for verb, names in unwanted.items() if names} == {}
    assert {verb: found[verb][1] for verb in QUICK if found[verb][1]} == {}


def _unwanted(verb: str, modules: list[str]) -> list[str]:
    unwanted = (*FOR_NO_VERB, *NOT_LOADED[verb])
    return [name for name in modules if name.startswith(tuple(f"{one}." for one in unwanted))] + [
        name for name in unwanted if name in modules
    ]
