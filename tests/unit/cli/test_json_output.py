"""What verbs print with ``--json`` is what the published schemas say, field by field."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from lsprotocol import types

from ralph_ls.editor.connected import missing_features
from ralph_ls.protocol.json_output import ConnectedEditor
from ralph_ls.store.editors import announce_editor
from ralph_ls.store.layout import state_root
from ralph_ls.store.run.lock import own_start_time
from tests.engine.project_builder import end_run, make_repository, write_agent
from tests.unit.cli.cli_runner import Ralph
from tests.unit.cli.shell_agents import ASKER, TICK, WORKER
from tests.unit.protocol.json_schema import problems

SCHEMAS = Path(__file__).resolve().parents[3] / "schemas"

PRINTED = {
    "ps": ("ps",),
    "inbox": ("inbox",),
    "fleet-status": ("fleet", "status"),
    "runs": ("runs",),
    "show-run": ("show",),
    "show-iteration": ("show", "1"),
    "order": ("answer", "SQLite", "--no-continue"),
    "notify-test": ("notify", "test"),
    "learn": ("learn",),
    "lessons": ("lessons",),
    "lessons-decided": ("lessons", "accept", "button", "--yes"),
    "dashboard": ("dashboard",),
    "doctor": ("doctor",),
    "doctor-editor": ("doctor", "--editor"),
    "propose": ("propose", "--description", "Mail", "--agent-command", "{proposer}"),
    "status": ("status", "--why"),
    "plan": ("plan",),
    "plan-all": ("plan", "--all"),
    "prompt": ("prompt",),
    "read": ("read", "{output}"),
    "simulate": ("simulate", "{trace}"),
    "config-show": ("config", "show", "--all"),
    "config-get": ("config", "get", "paths.plan"),
    "config-explain": ("config", "explain", "profile"),
    "prune": ("prune", "--keep-days", "0", "--dry-run"),
    "archive": ("archive", "--dry-run"),
    "rollback": ("rollback", "1", "--dry-run"),
    "allow": ("allow",),
    "init": ("init", "--dry-run"),
    "init-hooks": ("init", "--hooks", "--dry-run"),
    "init-from-existing": ("init", "--from-existing"),
    "demo": ("demo", "--no-run", "{demo}"),
    "run-dry-run": ("run", "--dry-run"),
    "run-detach": ("run", "1", "--detach", "--resume"),
}

IN_OTHER = {"allow", "init-from-existing"}
"""Those that say more where another loop was, and a command waits for approval."""

ELSEWHERE = {"pr"}
"""Those that need a parallel run: ``tests/engine/parallel``."""

REPORT = "<promise>COMPLETE</promise>"


def schema(name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((SCHEMAS / f"{name}.schema.json").read_bytes())
    return found


def asking(folder: Path, ralph: Ralph) -> None:
    """A run that did a task, and has ended with a question."""
    make_repository(folder, ["A task", "Another"])
    worker = WORKER.removeprefix(TICK)
    agent = write_agent(folder.with_name("agents"), f"{TICK}\n{worker}\n{ASKER}")
    ralph(folder, "run", "1", "--agent-command", agent, "--on-halt", "exit")


@pytest.mark.slow
def test_every_document_fits_its_schema(
    ralph: Ralph, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    own = tmp_path / "config/ralph/config.toml"
    own.parent.mkdir(parents=True)
    own.write_text('[notify]\ncommand = ["true"]\n', encoding="utf-8")
    tree, other = tmp_path / "tree", make_repository(tmp_path / "other", ["A task"])
    asking(tree, ralph)
    (other / ".ralph").mkdir()
    (other / "@fix_plan.md").rename(other / ".ralph/fix_plan.md")
    script = other / ".ralph/validate.sh"
    script.write_text("exit 0\n", encoding="utf-8")
    script.chmod(0o755)
    files = {name: str(tmp_path / name) for name in ("output", "trace", "demo")}
    files["proposer"] = write_agent(tmp_path / "proposer", "cat >/dev/null\necho '- [ ] Send it'")
    lesson = own.parent / "lessons" / "button.md"
    lesson.parent.mkdir()
    lesson.write_text("---\nscope: everywhere\n---\n# Red\n", encoding="utf-8")
    editor = ConnectedEditor(
        name="Vim",
        pid=os.getpid(),
        started=own_start_time(),
        folders=(str(tree),),
        missing=missing_features(types.ClientCapabilities()),
    )
    announce_editor(state_root(os.environ), editor)
    (tmp_path / "output").write_text(f"{REPORT}\n> {REPORT}\n", encoding="utf-8")
    (tmp_path / "trace").write_text('{"evidence": {"commits": 1}}\n', encoding="utf-8")
    for name, arguments in PRINTED.items():
        words = [word.format_map(files) for word in arguments]
        said = ralph(other if name in IN_OTHER else tree, *words, "--json")
        assert said.out, (name, said.err)
        document = said.json
        known = schema(f"output/{name}")
        assert known["$id"] == f"urn:ralph:output:1:{name}"
        assert problems(document, known, known) == [], name
        # Nothing is printed that the schema does not name.
        assert set(document) <= set(known["properties"]), name
    end_run(tree)
    assert sorted({*PRINTED, *ELSEWHERE}) == sorted(
        path.name.partition(".")[0] for path in SCHEMAS.glob("output/*")
    )


@pytest.mark.slow
def test_each_line_of_the_logs_is_a_message(ralph: Ralph, tmp_path: Path) -> None:
    asking(tmp_path / "tree", ralph)
    known = schema("messages")
    lines = ralph(tmp_path / "tree", "logs", "--json").events
    assert lines
    assert [problems(line, known, known) for line in lines] == [[]] * len(lines)
