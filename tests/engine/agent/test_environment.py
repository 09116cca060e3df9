from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from ralph_ls.engine.agent.environment import agent_environment, find_program
from ralph_ls.protocol.errors import AgentUnavailable

CALLER = {"HOME": "/home/ada", "PATH": "/usr/bin:/bin", "LANG": "C.UTF-8"}
ITERATION = {"RALPH_ITERATION_ID": "run-1/3", "RALPH_ITERATION": "3", "RALPH_START": "4"}


def build(
    caller: Mapping[str, str] = CALLER,
    *,
    extra: Mapping[str, str] | None = None,
    only: list[str] | None = None,
    max_iterations: int | None = None,
    scratch: Path | None = None,
) -> dict[str, str]:
    return agent_environment(
        caller,
        marker="run-1/3",
        start=4,
        iteration=3,
        max_iterations=max_iterations,
        scratch=scratch,
        extra=extra,
        only=only,
    )


def put_program(folder: Path, name: str, *, mode: int = 0o755) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    program = folder / name
    program.write_text("#!/bin/sh\n", encoding="utf-8")
    program.chmod(mode)
    return program


@pytest.fixture
def own_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A virtual environment that this interpreter believes to run in."""
    folder = tmp_path / "own-venv"
    (folder / "bin").mkdir(parents=True)
    monkeypatch.setattr(sys, "prefix", str(folder))
    return folder


def test_the_callers_environment_is_kept_and_the_iteration_is_added(tmp_path: Path) -> None:
    assert build(max_iterations=20, scratch=tmp_path) == {
        **CALLER,
        **ITERATION,
        "RALPH_MAX_ITERATIONS": "20",
        "RALPH_SCRATCH": str(tmp_path),
    }


def test_without_a_limit_and_a_scratch_folder_neither_variable_is_set() -> None:
    assert build() == {**CALLER, **ITERATION}


@pytest.mark.parametrize(
    "name",
    [
        "VSCODE_IPC_HOOK",
        "VSCODE_GIT_IPC_HANDLE",
        "ELECTRON_RUN_AS_NODE",
        "PYTHONPATH",
        "PYTHONHOME",
        "RALPH_STATE_DIR",
        "RALPH_LOG",
        "RALPH_MAX_ITERATIONS",
        "RALPH_SCRATCH",
        "GIT_DIR",
        "GIT_WORK_TREE",
        "GIT_INDEX_FILE",
        "GIT_COMMON_DIR",
    ],
)
def test_what_belongs_to_others_is_left_out(name: str) -> None:
    assert name not in build({**CALLER, name: "x"})


@pytest.mark.parametrize(
    "name",
    [
        "PYTHONUNBUFFERED",
        "GIT_AUTHOR_NAME",
        "GIT_SSH_COMMAND",
        "GIT_ASKPASS",
        "GIT_CONFIG_COUNT",
        "RALPH_DEMO_PACE",
    ],
)
def test_what_belongs_to_the_user_is_kept(name: str) -> None:
    assert build({**CALLER, name: "x"})[name] == "x"


def test_an_outer_iterations_marker_is_replaced() -> None:
    assert build({**CALLER, "RALPH_ITERATION_ID": "outer/1", "RALPH_ITERATION": "1"}) == {
        **CALLER,
        **ITERATION,
    }


def test_the_editors_way_to_ask_for_a_password_goes_with_the_editor() -> None:
    caller = {**CALLER, "GIT_ASKPASS": "/editor/askpass.sh", "VSCODE_GIT_ASKPASS_NODE": "/node"}
    assert "GIT_ASKPASS" not in build(caller)


def test_our_own_virtual_environment_is_left(own_environment: Path) -> None:
    caller = {
        "VIRTUAL_ENV": str(own_environment),
        "VIRTUAL_ENV_PROMPT": "own",
        "PATH": os.pathsep.join(["/usr/bin", f"{own_environment}/bin/", "/bin"]),
    }
    assert build(caller) == {"PATH": os.pathsep.join(["/usr/bin", "/bin"]), **ITERATION}


def test_our_programs_leave_path_also_when_the_environment_was_not_activated(
    own_environment: Path,
) -> None:
    caller = {"PATH": os.pathsep.join([f"{own_environment}/bin", "/bin"])}
    assert build(caller)["PATH"] == "/bin"


def test_the_projects_virtual_environment_is_kept(own_environment: Path, tmp_path: Path) -> None:
    project = tmp_path / "project" / ".venv"
    (project / "bin").mkdir(parents=True)
    caller = {
        "VIRTUAL_ENV": str(project),
        "VIRTUAL_ENV_PROMPT": "project",
        "PATH": os.pathsep.join([f"{project}/bin", "", "/bin"]),
    }
    assert build(caller) == {**caller, **ITERATION}


def test_without_a_path_none_is_made_up(own_environment: Path) -> None:
    assert build({"HOME": "/home/ada"}) == {"HOME": "/home/ada", **ITERATION}


def test_an_interpreter_outside_a_virtual_environment_leaves_none(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(sys, "prefix", sys.base_prefix)
    caller = {"VIRTUAL_ENV": sys.base_prefix, "PATH": f"{sys.base_prefix}/bin"}
    assert build(caller) == {**caller, **ITERATION}


def test_an_allow_list_keeps_only_what_it_names() -> None:
    caller = {**CALLER, "LC_ALL": "C", "LC_TIME": "C", "SSH_AUTH_SOCK": "/run/agent"}
    assert build(caller, only=["PATH", "LC_*"]) == {
        "PATH": CALLER["PATH"],
        "LC_ALL": "C",
        "LC_TIME": "C",
        **ITERATION,
    }


def test_the_allow_list_does_not_bring_back_what_was_removed() -> None:
    assert build({**CALLER, "GIT_DIR": "/x"}, only=["GIT_*"]) == ITERATION


def test_configured_variables_win_over_the_callers_and_pass_the_allow_list() -> None:
    environment = build(extra={"LANG": "de_DE", "MODE": "fast"}, only=[])
    assert environment == {"LANG": "de_DE", "MODE": "fast", **ITERATION}


def test_the_marker_cannot_be_configured_away() -> None:
    assert build(extra={"RALPH_ITERATION_ID": "none"})["RALPH_ITERATION_ID"] == "run-1/3"


def test_a_program_is_found_on_the_agents_path(tmp_path: Path) -> None:
    put_program(tmp_path / "one", "other")
    program = put_program(tmp_path / "two", "agent")
    path = os.pathsep.join([str(tmp_path / "one"), str(tmp_path / "two")])
    assert find_program("agent", {"PATH": path}, tmp_path) == program


def test_a_program_is_called_by_its_link(tmp_path: Path) -> None:
    put_program(tmp_path / "store", "agent-1.0")
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "agent").symlink_to(tmp_path / "store" / "agent-1.0")
    found = find_program("agent", {"PATH": str(tmp_path / "bin")}, tmp_path)
    assert found == tmp_path / "bin" / "agent"


def test_a_missing_program_shows_the_path_that_was_searched(tmp_path: Path) -> None:
    path = os.pathsep.join(["/nowhere/bin", "bin", "", str(tmp_path)])
    with pytest.raises(AgentUnavailable) as caught:
        find_program("agent", {"PATH": path}, tmp_path)
    assert caught.value.message == (
        "the agent's program 'agent' was not found on PATH, which is:\n  /nowhere/bin\n  "
        f"{tmp_path}\nrelative entries of PATH are not searched\ninstall it, give its full path, "
        "or choose another agent with --agent"
    )


@pytest.mark.parametrize("environment", [{}, {"PATH": ""}])
def test_an_empty_path_is_reported_as_such(environment: dict[str, str], tmp_path: Path) -> None:
    with pytest.raises(AgentUnavailable, match=r"\(nothing\)"):
        find_program("sh", environment, tmp_path)


def test_a_repository_cannot_bring_the_program_by_a_relative_entry(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put_program(tmp_path, "agent")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(AgentUnavailable, match="relative entries"):
        find_program("agent", {"PATH": f".{os.pathsep}"}, tmp_path)


def test_a_name_with_a_slash_is_relative_to_the_folder_of_the_agent(tmp_path: Path) -> None:
    program = put_program(tmp_path / "tools", "agent.sh")
    assert find_program("./tools/agent.sh", {}, tmp_path) == program
    assert find_program("tools/agent.sh", {}, tmp_path) == program
    assert find_program(str(program), {}, Path("/")) == program


@pytest.mark.parametrize(
    ("name", "words"),
    [
        pytest.param("./plain.sh", "is not executable; run: chmod \\+x ", id="not-executable"),
        pytest.param("./missing.sh", "does not exist; fix the path", id="missing"),
        pytest.param("./folder", "is a folder; name the program in it", id="folder"),
        pytest.param("", "command is empty; set argv", id="empty"),
    ],
)
def test_what_cannot_be_started_is_reported_with_what_to_do(
    name: str, words: str, tmp_path: Path
) -> None:
    put_program(tmp_path, "plain.sh", mode=0o644)
    (tmp_path / "folder").mkdir()
    with pytest.raises(AgentUnavailable, match=words):
        find_program(name, {"PATH": str(tmp_path)}, tmp_path)


def test_git_finds_the_repository_around_it(tmp_path: Path) -> None:
    for name in ("here", "elsewhere"):
        subprocess.run(["git", "init", "-q", tmp_path / name], check=True)
    caller = {**os.environ, "GIT_DIR": str(tmp_path / "elsewhere" / ".git")}
    shown = subprocess.run(
        ["git", "rev-parse", "--absolute-git-dir"],
        cwd=tmp_path / "here",
        env=build(caller),
        check=True,
        capture_output=True,
        text=True,
    )
    assert shown.stdout.strip() == str(tmp_path / "here" / ".git")
