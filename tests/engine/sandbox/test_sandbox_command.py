"""A sandbox around the agent: its command line, its prompt, and the end of what runs in there."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from ralph_ls.engine.agent import environment as sandbox
from ralph_ls.engine.agent.description import Agent
from ralph_ls.engine.agent.environment import end_in_sandbox, in_sandbox, stop_command
from ralph_ls.engine.agent.selection import choose_agent, fill_argv, flags_for
from ralph_ls.engine.doctor.start import check_sandbox
from ralph_ls.protocol.config.agent import PromptBy, SandboxConfig
from ralph_ls.protocol.config.agent_catalog import Dialect
from ralph_ls.protocol.config.config import Config
from ralph_ls.protocol.errors import ConfigError
from tests.engine.project_builder import git, write_agent
from tests.engine.ralph_runner import Project, told, warnings

BOX = ("docker", "sandbox", "run", "box", "--")
FREELY = ("--dangerously-skip-permissions",)
STREAM = ("--output-format", "stream-json", "--verbose")


def config(**settings: Any) -> Config:
    return Config.model_validate({"agent": "claude", **settings})


def filled(agent: Agent, *, model: str | None = None, session: str | None = None) -> Any:
    more = flags_for(agent, session=session, model=model)
    return fill_argv(agent, "Do it.", Path("prompt.md"), more)


@pytest.mark.parametrize(
    ("table", "argv"),
    [
        pytest.param({}, ("claude", "-p", *FREELY, *STREAM), id="none"),
        pytest.param({"name": "box"}, (*BOX, "-p", "Do it.", *FREELY, *STREAM), id="as R has it"),
        pytest.param(
            {"kind": "docker"},
            ("docker", "sandbox", "run", "claude", "--", "-p", "Do it.", *FREELY, *STREAM),
            id="of the folder",
        ),
        pytest.param(
            {"kind": "sbx", "name": "box"},
            ("sbx", "run", "box", "--", "-p", "Do it.", *FREELY, *STREAM),
            id="sbx",
        ),
        pytest.param(
            {"name": "box", "prompt": "stdin"}, (*BOX, "-p", *FREELY, *STREAM), id="on stdin"
        ),
        pytest.param(
            {"prefix": ["env", "A=b"]},
            ("env", "A=b", "claude", "-p", *FREELY, *STREAM),
            id="prefix",
        ),
        pytest.param(
            {"prefix": ["box"], "prompt": "argument"},
            ("box", "claude", "-p", "Do it.", *FREELY, *STREAM),
            id="prefix with the prompt as an argument",
        ),
    ],
)
def test_the_command_line_of_claude(table: dict[str, Any], argv: tuple[str, ...]) -> None:
    assert filled(choose_agent(config(sandbox=table))) == argv


def test_model_session_and_tools_are_where_they_cannot_swallow_the_prompt() -> None:
    agent = choose_agent(config(sandbox={"name": "box"}, tools={"deny": ["WebFetch"]}))
    assert filled(agent, model="small", session="s1") == (
        *(*BOX, "-p", "Do it.", *FREELY, *STREAM, "--disallowedTools", "WebFetch"),
        *("--model", "small", "--resume", "s1"),
    )


CODEX = Agent(name="codex", argv=("codex", "exec"), dialect=Dialect.CODEX, tail=("-",))
ACP = Agent(
    name="x", argv=("python", "-m", "c"), dialect=Dialect.ACP, tail=("--", "gemini", "--acp")
)


@pytest.mark.parametrize(
    ("agent", "table", "argv"),
    [
        pytest.param(CODEX, {"name": "box"}, (*BOX, "exec", "-"), id="codex"),
        pytest.param(
            CODEX, {"name": "box", "prompt": "argument"}, (*BOX, "exec", "Do it."), id="argument"
        ),
        pytest.param(
            ACP,
            {"prefix": ["box", "--"]},
            ("python", "-m", "c", "--", "box", "--", "gemini", "--acp"),
            id="our own client stays outside",
        ),
        pytest.param(
            ACP, {"name": "box"}, ("python", "-m", "c", "--", *BOX, "--acp"), id="in docker"
        ),
    ],
)
def test_the_command_line_of_other_agents(
    agent: Agent, table: dict[str, Any], argv: tuple[str, ...]
) -> None:
    assert filled(in_sandbox(agent, config(agent=agent.name, sandbox=table))) == argv


def test_a_program_that_docker_does_not_know_needs_a_prefix() -> None:
    own = {"agent": "mine", "agents": {"mine": {"argv": ["./mine"]}}}
    for settings in (own, {"agent": "codex-acp"}):
        with pytest.raises(
            ConfigError, match=r"docker sandbox run has no agent '(mine|codex-acp)'"
        ):
            choose_agent(config(**settings, sandbox={"name": "box"}))
    assert choose_agent(config(**own, sandbox={"prefix": ["box"]})).argv == ("box", "./mine")
    by_file = Agent(name="f", argv=("f",), prompt=PromptBy.FILE)
    with pytest.raises(ConfigError, match="which is not visible in the sandbox"):
        in_sandbox(by_file, config(sandbox={"prefix": ["box"]}))


@pytest.mark.parametrize(
    "table",
    [
        {"prefix": ["box"], "name": "box"},
        {"prefix": ["box"], "kind": "sbx"},
        {"prefix": [""]},
        {"name": "box", "stop": [""]},
        {"name": "--privileged"},
        {"name": "a/b"},
        {"kind": "podman"},
        {"prompt": "file"},
    ],
)
def test_a_table_that_cannot_be_meant_is_refused(table: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        SandboxConfig.model_validate(table)


@pytest.mark.parametrize(
    ("table", "stop", "status", "words"),
    [
        ({"name": "box"}, ("docker", "sandbox", "stop", "box"), "ok", "sandbox stop box"),
        ({"kind": "sbx", "name": "b"}, ("sbx", "stop", "b"), "ok", "started with: sbx run b;"),
        ({"kind": "docker"}, (), "warning", "nothing ends what runs inside"),
        ({"name": "box", "stop": []}, (), "warning", "hooks, state and the agent's environment"),
        ({"prefix": ["box", "in"]}, (), "ok", "started with: box in; hooks"),
        ({"prefix": ["box"], "stop": ["box", "x"]}, ("box", "x"), "ok", "ended with: box x"),
    ],
)
def test_what_ends_it_and_what_doctor_says(
    table: dict[str, Any], stop: tuple[str, ...], status: str, words: str
) -> None:
    settings = config(sandbox=table)
    assert stop_command(settings.sandbox) == stop
    (told_of,) = check_sandbox(settings, choose_agent(settings))
    assert told_of.status.value == status
    assert words in f"{told_of.message} {told_of.remedy}"


def test_doctor_says_nothing_of_a_sandbox_that_is_not_there() -> None:
    assert check_sandbox(config(), choose_agent(config())) == []


def test_a_stop_that_fails_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def ended(*stop: str) -> str:
        settings = config(sandbox={"prefix": ["box"], "stop": stop})
        return end_in_sandbox(settings, tmp_path, os.environ) or ""

    assert ended("true") == ""
    assert "ended with 1; check whether" in ended("false")
    assert "'no-such-program' was not found" in ended("no-such-program")
    monkeypatch.setattr(sandbox, "STOP_SECONDS", 0.05)
    assert "took longer than 0.05 s" in ended("sleep", "60")
    assert end_in_sandbox(config(), tmp_path, os.environ) is None


DOCKER = """\
echo "$*" >>"$KEPT/docker"
[ "$1 $2" = "sandbox run" ] && [ "$3 $4" = "box --" ] || exit 0
shift 4
cat >"$KEPT/stdin"
IN_SANDBOX=1 exec claude "$@"
"""

IN_BOX = """
[ "$1" = -p ] && printf '%s' "$2" >"$KEPT/prompt"
echo "${IN_SANDBOX-}${OUTSIDE-}" >"$KEPT/around"
if [ -e "$KEPT/hang" ]; then echo started; exec sleep 600; fi
work; commit; says s1 0.1 done
"""


@pytest.mark.slow
def test_a_run_in_docker_and_behind_a_prefix(project: Project) -> None:
    project.plan(files={".ralph/config.toml": '[sandbox]\nname = "box"\n'})
    write_agent(project.kept / "bin", DOCKER, name="docker")
    os.environ["KEPT"] = str(project.kept)
    refused = project.run_claude(IN_BOX, "1")
    assert refused.exit_code != 0
    assert "you haven't approved: sandbox" in refused.stderr
    assert project.tell("allow", "--yes").exit_code == 0
    done = project.run_claude(IN_BOX, "1")
    assert [event.outcome for event in told(done, "iterationEnded")] == ["progress"]
    (started,) = told(done, "agentStarted")
    assert started.argv[1:7] == ("sandbox", "run", "box", "--", "-p", "{prompt}")
    assert "First task" in (project.kept / "prompt").read_text()
    assert (project.kept / "stdin").read_text() == ""
    assert (project.kept / "around").read_text() == "1\n"
    # What runs in there is no child of ours: it is ended by the sandbox's own program.
    (project.kept / "hang").touch()
    late = project.run_claude(IN_BOX, "1", "--timeout", "1s")
    assert [event.timed_out for event in told(late, "agentExited")] == [True]
    assert (project.kept / "docker").read_text().splitlines()[-1] == "sandbox stop box"
    assert "sandbox-not-ended" not in warnings(late)
    (project.kept / "hang").unlink()
    # The user's own prefix needs no permission.
    project.file(".ralph/config.toml").write_text("")
    git(project.repository, "commit", "-qam", "No box")
    os.environ["RALPH_SANDBOX_PREFIX"] = "env,OUTSIDE=around"
    try:
        again = project.run_claude(IN_BOX, "1")
    finally:
        del os.environ["RALPH_SANDBOX_PREFIX"], os.environ["KEPT"]
    assert [event.outcome for event in told(again, "iterationEnded")] == ["progress"]
    assert (project.kept / "around").read_text() == "around\n"
    report = json.loads(project.tell("doctor", "--json").stdout)
    assert "sandbox" not in {check["code"] for check in report["checks"]}
