"""The real agents that tests run, one recipe each."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Sequence
from pathlib import Path

from ralph_ls.protocol.config.agent_catalog import Dialect
from tests.e2e import agents
from tests.e2e.recipe import KEY, MODEL, Environment, Recipe, call, write_files
from tests.fakes.model_stub import ToolCall


def _set_up_claude(url: str, home: Path) -> Environment:
    return {
        "ANTHROPIC_BASE_URL": url,
        "ANTHROPIC_API_KEY": KEY,
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "DISABLE_AUTOUPDATER": "1",
        "CLAUDE_CODE_MAX_RETRIES": "1",
    }


_CLAUDE_STREAM = ("--output-format", "stream-json", "--verbose")

CLAUDE = Recipe(
    name="claude",
    dialect=Dialect.CLAUDE,
    set_up=_set_up_claude,
    freely=("claude", "-p", "--dangerously-skip-permissions", *_CLAUDE_STREAM),
    guarded=("claude", "-p", "--permission-mode", "dontAsk", *_CLAUDE_STREAM),
    resume=("--resume", "{session}"),
    session_key="session_id",
    write=lambda path, text: call("Write", file_path=str(path), content=text),
    edit=lambda path, old, new: call("Edit", file_path=str(path), old_string=old, new_string=new),
    read=lambda path: call("Read", file_path=str(path)),
    shell=lambda command: call("Bash", command=command),
    overloaded=529,
    tries=2,
    uncached=1200,
)

_CODEX_SETTINGS = """\
model = "gpt-5.5"
model_provider = "stub"
[model_providers.stub]
name = "stub"
base_url = "{url}/v1"
env_key = "STUB_KEY"
wire_api = "responses"
supports_websockets = false
request_max_retries = 1
stream_max_retries = 1
"""


def _set_up_codex(url: str, home: Path) -> Environment:
    write_files(home, {".codex/config.toml": _CODEX_SETTINGS.format(url=url)})
    return {"STUB_KEY": KEY}


def _patch(*lines: str) -> ToolCall:
    text = "\n".join(["*** Begin Patch", *lines, "*** End Patch", ""])
    return ToolCall(name="apply_patch", input={"input": text}, custom=True)


def _codex_write(path: Path, text: str) -> ToolCall:
    return _patch(f"*** Add File: {path}", *[f"+{line}" for line in text.splitlines()])


def _codex_edit(path: Path, old: str, new: str) -> ToolCall:
    lines = path.read_text(encoding="utf-8").splitlines()
    (line,) = [found for found in lines if old in found]
    return _patch(f"*** Update File: {path}", "@@", f"-{line}", f"+{line.replace(old, new)}")


CODEX = Recipe(
    name="codex",
    dialect=Dialect.CODEX,
    set_up=_set_up_codex,
    freely=("codex", "exec", "--json", "--dangerously-bypass-approvals-and-sandbox"),
    guarded=("codex", "exec", "--json", "--sandbox", "read-only"),
    resume=("resume", "{session}", "-"),
    session_key="thread_id",
    write=_codex_write,
    edit=_codex_edit,
    read=lambda path: call("exec_command", cmd=f"cat {path.name}"),
    shell=lambda command: call("exec_command", cmd=command),
)


def _set_up_gemini(url: str, home: Path) -> Environment:
    settings = {
        "security": {"auth": {"selectedType": "gemini-api-key"}},
        "privacy": {"usageStatisticsEnabled": False},
        "general": {"enableAutoUpdate": False, "maxAttempts": 2},
    }
    write_files(home, {".gemini/settings.json": json.dumps(settings)})
    return {
        "GOOGLE_GEMINI_BASE_URL": url,
        "GEMINI_API_KEY": KEY,
        # Without a model it asks another one first which to take.
        "GEMINI_MODEL": "gemini-2.5-pro",
        "GEMINI_CLI_TRUST_WORKSPACE": "true",
    }


def _gemini_edit(path: Path, old: str, new: str) -> ToolCall:
    return call(
        "replace", file_path=str(path), instruction="Tick it", old_string=old, new_string=new
    )


def _gemini_todo(steps: Sequence[tuple[str, str]]) -> ToolCall:
    todos = [{"description": step, "status": status} for step, status in steps]
    return call("write_todos", todos=todos)


_GEMINI_STREAM = ("-o", "stream-json", "-m", "gemini-2.5-pro")

GEMINI = Recipe(
    name="gemini",
    dialect=Dialect.GEMINI,
    set_up=_set_up_gemini,
    freely=("gemini", "-p", "", "--yolo", *_GEMINI_STREAM),
    guarded=(),
    resume=("--resume", "{session}"),
    session_key="session_id",
    write=lambda path, text: call("write_file", file_path=str(path), content=text),
    edit=_gemini_edit,
    read=lambda path: call("read_file", file_path=str(path)),
    shell=lambda command: call("run_shell_command", command=command),
    todo=_gemini_todo,
    tries=2,
)


def _set_up_qwen(url: str, home: Path) -> Environment:
    settings = {
        "security": {"auth": {"selectedType": "openai"}},
        "general": {"enableAutoUpdate": False},
        "privacy": {"usageStatisticsEnabled": False},
        # Its requests beside the work look like the work's own, and would take their answers.
        "ui": {"enableFollowupSuggestions": False},
        "memory": {"enableManagedAutoMemory": False, "enableManagedAutoDream": False},
        "model": {"generationConfig": {"maxRetries": 0}},
    }
    write_files(home, {".qwen/settings.json": json.dumps(settings)})
    return {
        "OPENAI_BASE_URL": f"{url}/v1",
        "OPENAI_API_KEY": KEY,
        "OPENAI_MODEL": MODEL,
    }


_QWEN_STREAM = ("--auth-type", "openai", "-o", "stream-json")

QWEN = Recipe(
    name="qwen",
    dialect=Dialect.QWEN,
    set_up=_set_up_qwen,
    freely=("qwen", "--yolo", *_QWEN_STREAM),
    guarded=(),
    resume=("--resume", "{session}"),
    session_key="session_id",
    write=lambda path, text: call("write_file", file_path=str(path), content=text),
    edit=lambda path, old, new: call("edit", file_path=str(path), old_string=old, new_string=new),
    read=lambda path: call("read_file", file_path=str(path)),
    shell=lambda command: call("run_shell_command", command=command),
    tries=7,
)


def _set_up_opencode(url: str, home: Path) -> Environment:
    provider = {
        "npm": "@ai-sdk/openai-compatible",
        "name": "stub",
        "options": {"baseURL": f"{url}/v1", "apiKey": KEY},
        "models": {MODEL: {"name": MODEL}},
    }
    settings = {
        "autoupdate": False,
        "share": "disabled",
        "model": f"stub/{MODEL}",
        "provider": {"stub": provider},
    }
    write_files(home, {"opencode.json": json.dumps(settings)})
    return {
        "OPENCODE_CONFIG": str(home / "opencode.json"),
        "OPENCODE_DISABLE_AUTOUPDATE": "1",
        "OPENCODE_DISABLE_MODELS_FETCH": "1",
    }


def _opencode_todo(steps: Sequence[tuple[str, str]]) -> ToolCall:
    todos = [{"content": step, "status": status, "priority": "medium"} for step, status in steps]
    return call("todowrite", todos=todos)


_OPENCODE_READS = {"*": "deny", "read": "allow", "bash": "ask"}

OPENCODE = Recipe(
    name="opencode",
    dialect=Dialect.OPENCODE,
    set_up=_set_up_opencode,
    freely=("opencode", "run", "--format", "json", "--auto"),
    # Its agent named plan runs touch, so what it may do is said as rules. It asks for commands,
    # which nobody answers: it does not offer the model a tool that is denied.
    guarded=("opencode", "run", "--format", "json"),
    guarded_by={"OPENCODE_PERMISSION": json.dumps(_OPENCODE_READS)},
    resume=("-s", "{session}"),
    session_key="sessionID",
    write=lambda path, text: call("write", filePath=str(path), content=text),
    edit=lambda path, old, new: call("edit", filePath=str(path), oldString=old, newString=new),
    read=lambda path: call("read", filePath=str(path)),
    shell=lambda command: call("bash", command=command),
    todo=_opencode_todo,
    fatal=400,
    gives_up=False,
)


def _set_up_cline(url: str, home: Path) -> Environment:
    # It stores its settings in its own format, so its own command writes them.
    flags = ("-p", "openai-compatible", "-k", KEY, "-m", MODEL, "-b", f"{url}/v1")
    subprocess.run(
        [agents.program("cline"), "auth", *flags],
        env={"HOME": str(home), "PATH": os.environ["PATH"]},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        check=True,
        timeout=100,
    )
    return {}


def _cline_edit(path: Path, old: str, new: str) -> ToolCall:
    return call("editor", path=str(path), old_text=old, new_text=new)


CLINE = Recipe(
    name="cline",
    dialect=Dialect.CLINE,
    set_up=_set_up_cline,
    freely=("cline", "--json", "--auto-approve", "true"),
    guarded=("cline", "--json", "--auto-approve", "false"),
    resume=(),
    session_key="taskId",
    write=lambda path, text: call("editor", path=str(path), new_text=text),
    edit=_cline_edit,
    read=lambda path: call("read_files", files=[{"path": str(path)}]),
    shell=lambda command: call("run_commands", commands=[command]),
    ask=lambda question: call("ask_question", question=question, options=["Tabs", "Spaces"]),
    by_argument=True,
    tries=6,
    knows_limits=False,
)


def _set_up_copilot(url: str, home: Path) -> Environment:
    return {
        "COPILOT_OFFLINE": "true",
        "COPILOT_PROVIDER_BASE_URL": f"{url}/v1",
        "COPILOT_MODEL": MODEL,
        "COPILOT_AUTO_UPDATE": "false",
    }


_COPILOT_STREAM = ("--output-format", "json", "--no-ask-user")

COPILOT = Recipe(
    name="copilot",
    dialect=Dialect.COPILOT,
    set_up=_set_up_copilot,
    freely=("copilot", "--allow-all", *_COPILOT_STREAM),
    guarded=("copilot", *_COPILOT_STREAM),
    resume=("--resume={session}",),
    session_key="sessionId",
    write=lambda path, text: call("create", path=str(path), file_text=text),
    edit=lambda path, old, new: call("edit", path=str(path), old_str=old, new_str=new),
    read=lambda path: call("view", path=str(path)),
    shell=lambda command: call("bash", command=command, description="Run it"),
    tries=6,
)

RECIPES = {
    recipe.name: recipe for recipe in (CLAUDE, CODEX, GEMINI, QWEN, OPENCODE, CLINE, COPILOT)
}
