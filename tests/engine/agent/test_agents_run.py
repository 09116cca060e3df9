"""Whole runs with agents of other makers, chosen in each of the ways there are.

See docs/rules.md#agents.

The programs are scripts under the real ones' names; the real ones are tried by ``make agents``.
"""

from __future__ import annotations

import os

import pytest

from tests.engine.project_builder import Completed, write_agent
from tests.engine.ralph_runner import Project, told

CODEX = """\
work="$(cat)"
printf '%s\\n' "$*" >"{kept}/argv-$RALPH_START"
printf '%s\\n' "$work" >"{kept}/prompt-$RALPH_START"
echo "$RALPH_START" >>work.txt
echo '{{"type":"thread.started","thread_id":"0b5c-1"}}'
echo '{{"type":"item.completed","item":{{"id":"i","type":"agent_message","text":"Did it."}}}}'
echo '{{"type":"turn.completed","usage":{{"input_tokens":9,"output_tokens":3}}}}'
"""

CLINE = """\
printf '%s|' "$@" >"{kept}/argv"
cat >"{kept}/prompt"
echo work >work.txt
"""


def play(project: Project, name: str, body: str, *arguments: str, **environment: str) -> Completed:
    """A run with a program of that name on PATH."""
    write_agent(project.kept / "bin", body.format(kept=project.kept), name=name)
    path = os.pathsep.join([str(project.kept / "bin"), os.environ["PATH"]])
    return project.ralph(project.repository, "run", *arguments, env={"PATH": path, **environment})


@pytest.mark.slow
class TestRun:
    def test_the_environment_chooses_one_that_continues_in_its_session(
        self, project: Project
    ) -> None:
        table = '[agents.codex]\nmodel = "small"\nsystem_prompt = "Be brief."\n'
        given = f'mcp = "off"\n[session]\nresume = true\n{table}'
        settings = {".ralph/config.toml": given}
        project.plan(files=settings)
        assert project.ralph(project.repository, "allow", "--yes").exit_code == 0
        done = play(project, "codex", CODEX, "2", RALPH_AGENT="codex")
        standing = "exec --dangerously-bypass-approvals-and-sandbox --json"
        standing += ' -c developer_instructions="Be brief." -m small'
        argv = [(project.kept / f"argv-{number}").read_text("utf-8") for number in (1, 2)]
        assert argv == [f"{standing} -\n", f"{standing} resume 0b5c-1 -\n"]
        assert "First task" in (project.kept / "prompt-2").read_text("utf-8")
        started = told(done, "agentStarted")
        assert [(one.agent, one.dialect) for one in started] == [("codex", "codex")] * 2
        assert [one.session.id for one in told(done, "iterationEnded")] == ["0b5c-1"] * 2
        assert "Did it." in done.stdout

    def test_where_nobody_chooses_the_profile_spec_works_with_cline(self, project: Project) -> None:
        plan = "# Plan\n\n- [ ] First task\n"
        files = {"IMPLEMENTATION_PLAN.md": plan, "specs/a.md": "# A\n"}
        project.plan(files=files)
        done = play(project, "cline", CLINE, "1", "--profile", "spec", "--no-push")
        argv = (project.kept / "argv").read_text(encoding="utf-8")
        assert argv == "--auto-approve|true|--json|Follow the instructions on standard input:|"
        assert "IMPLEMENTATION_PLAN.md" in (project.kept / "prompt").read_text(encoding="utf-8")
        (started,) = told(done, "agentStarted")
        assert (started.agent, started.argv[0]) == ("cline", "cline")

    def test_one_that_is_not_there_says_how_it_is_installed(self, project: Project) -> None:
        project.plan()
        path = {"PATH": os.pathsep.join(["/usr/bin", "/bin"])}
        done = project.ralph(project.repository, "run", "1", "--agent", "opencode", env=path)
        assert (done.exit_code, done.events) == (5, ())
        assert "'opencode' was not found on PATH, which is:" in done.stderr
        assert "install it with npm install -g opencode-ai, give its full path" in done.stderr
