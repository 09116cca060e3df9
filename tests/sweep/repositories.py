"""Hostile repositories: each one of ``repositories/`` is made, and every verb is used on it.

Whatever a description brings that could run leaves its name with the canary. Nothing may have done
so before ``ralph allow``, every verb and the language server answer in time, and nobody is shown a
traceback. A run that the user starts follows the repository's own git settings, as the agent's git
does anyway; descriptions of which that is true say ``run_trusts``.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tests.engine.project_builder import write_agent
from tests.sweep.editors import Editor
from tests.sweep.engines import Engine
from tests.sweep.processes import wait_until
from tests.sweep.runner import Case, Scenario, read_descriptions
from tests.sweep.violations import Kind, Violation, require

FOLDER = Path(__file__).with_name("repositories")
VERB_SECONDS = 180.0
"""In which each verb has answered, with 10^5 files, and where git itself waits for a pipe, which
is ended after a minute."""
CODES = {0, 1, 2, 3, 4, 5, 64, 75, 77, 78, 130}
"""What ``ralph`` may end with; a signal or the 1 of an exception is seen by its traceback."""
PLAN = "# Plan\n\n- [ ] First task\n- [ ] Second task\n"

LOOKS: tuple[tuple[str, ...], ...] = (
    (),
    ("status",),
    ("status", "--json"),
    ("plan",),
    ("plan", "--json"),
    ("doctor",),
    ("doctor", "--json"),
    ("prompt",),
    ("stats",),
    ("export",),
    ("report",),
    ("run", "--dry-run"),
    ("allow",),
    ("init", "--dry-run"),
    ("rollback", "1", "--dry-run"),
    ("archive", "--dry-run"),
    ("simulate",),
    ("read",),
    ("stop",),
    ("note", "a note"),
    ("hook", "stop"),
)
RUNS: tuple[tuple[str, ...], ...] = (
    ("run", "1", "--agent-command", "AGENT"),
    ("run", "--resume"),
    ("status",),
    ("stats",),
)


ALL = read_descriptions(FOLDER)


def run(case: Case) -> None:
    name, description = ALL[case.number % len(ALL)]
    case.note(f"{name}: {description['does']}")
    canary = case.folder / "canary"
    canary.mkdir()
    repository = make(case, name, description, canary)
    agent = write_agent(case.folder / "bin", "cat >/dev/null; echo 'nothing to do'")
    path = os.pathsep.join([*_extra_path(description, repository), os.environ["PATH"]])
    environment = {"PATH": path, **description.get("env", {})}
    try:
        for verb in LOOKS:
            _use(case, repository, verb, environment)
            _expect_silence(name, canary, f"{verb}")
        _edit(case, repository)
        _expect_silence(name, canary, "the language server")
        for verb in RUNS:
            words = [agent if word == "AGENT" else word for word in verb]
            _use(case, repository, words, environment)
            if not description.get("run_trusts"):
                _expect_silence(name, canary, f"{verb}")
    except Violation as violation:
        text = f"{name} ({description['does']}): {violation}"
        raise Violation(violation.kind, text) from violation
    finally:
        _clean(description, case)
    case.count("attacks")
    case.count("verbs", len(LOOKS) + len(RUNS))


def _use(case: Case, repository: Path, verb: Sequence[str], environment: Mapping[str, str]) -> None:
    ended = Engine(case, repository, *verb, env=environment).wait(VERB_SECONDS)
    require(ended.code in CODES, Kind.WRONG, f"{verb} ended with {ended.code}")


def _expect_silence(name: str, canary: Path, what: str) -> None:
    ran = sorted(one.name for one in canary.iterdir())
    require(not ran, Kind.RAN, f"{name}: {what} ran {ran}")


def make(case: Case, name: str, description: Mapping[str, Any], canary: Path) -> Path:
    """Create the repository, as it is after somebody unpacked or cloned it."""
    repository = case.folder / "repository"
    repository.mkdir()
    mark = case.folder / "mark"
    write_agent(
        mark.parent,
        f'#!/bin/sh\n: >"{canary}/${{1:-{name}}}"\ncat >/dev/null 2>&1 </dev/null\n',
        name="mark",
    )
    fill = {"MARK": str(mark), "HERE": str(case.folder), "REPO": str(repository)}
    files = {"README.md": "A project\n", "@fix_plan.md": PLAN, **description.get("files", {})}
    for path, text in files.items():
        if text == "":
            continue
        target = repository / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(_filled(text, fill), encoding="utf-8", errors="surrogateescape")
    for path in description.get("executable", ()):
        (repository / path).chmod(0o755)
    for path, target in description.get("links", {}).items():
        (repository / path).parent.mkdir(parents=True, exist_ok=True)
        (repository / path).unlink(missing_ok=True)
        (repository / path).symlink_to(_filled(target, fill))
    _sh(repository, f"git init -q {description.get('init', '')}", fill)
    if description.get("commit", True):
        _sh(repository, "git add -A . && git commit -q --allow-empty -m 'The beginning'", fill)
    for path in description.get("fifos", ()):
        (repository / path).parent.mkdir(parents=True, exist_ok=True)
        (repository / path).unlink(missing_ok=True)
        os.mkfifo(repository / path)
    for key, value in description.get("config", {}).items():
        _sh(repository, f'git config --add {key} "$VALUE"', {**fill, "VALUE": _filled(value, fill)})
    for hook, body in description.get("hooks", {}).items():
        write_agent(repository / ".git" / "hooks", f"#!/bin/sh\n{_filled(body, fill)}\n", name=hook)
    if setup := description.get("setup"):
        _sh(repository, setup, fill)
    work_in: str = description.get("work_in", "")
    return repository / work_in


def _filled(text: str, fill: Mapping[str, str]) -> str:
    for key, value in fill.items():
        text = text.replace(f"{{{key}}}", value)
    return text


def _sh(folder: Path, script: str, around: Mapping[str, str]) -> None:
    ran = subprocess.run(
        ["sh", "-euc", script],
        cwd=folder,
        env={**os.environ, **around},
        capture_output=True,
        check=False,
        timeout=120,
    )
    assert ran.returncode == 0, f"{script}: {ran.stderr.decode(errors='replace')}"


def _extra_path(description: Mapping[str, Any], repository: Path) -> list[str]:
    return [_filled(one, {"REPO": str(repository)}) for one in description.get("path", ())]


def _edit(case: Case, repository: Path) -> None:
    """Open everything that the language server has features for."""
    editor = Editor(case, case.folder)
    editor.initialize(repository)
    names = ["@fix_plan.md", "IMPLEMENTATION_PLAN.md", "ralph/tasks.json", ".ralph/config.toml"]
    for name in names:
        document = {"uri": (repository / name).as_uri()}
        opened = {**document, "languageId": "markdown", "version": 1, "text": PLAN}
        editor.notify("textDocument/didOpen", {"textDocument": opened})
        for method in ("codeLens", "documentSymbol", "documentLink", "inlayHint"):
            given: dict[str, Any] = {"textDocument": document}
            if method == "inlayHint":
                ends = {"line": 0, "character": 0}, {"line": 9, "character": 0}
                given["range"] = dict(zip(("start", "end"), ends, strict=True))
            editor.request(f"textDocument/{method}", given)
    editor.request("ralph/state", {})
    editor.request("ralph/setup", {})
    editor.close()


def _clean(description: Mapping[str, Any], case: Case) -> None:
    if description.get("files_many"):
        shutil.rmtree(case.folder / "repository", ignore_errors=True)
    wait_until(lambda: not case.watcher.left(), seconds=1)


SCENARIO = Scenario(
    name="repositories",
    run=run,
    quick=[number for number, (_, one) in enumerate(ALL) if one.get("quick")],
    share=1.0,
)
