"""Agents as they come: how they get the prompt, how they fail, what they print, what they leak."""

from __future__ import annotations

import json
import os
import shlex
import stat
from pathlib import Path

import pytest

from tests.engine.project_builder import git, marked_processes, run_ralph, write_agent
from tests.engine.ralph_runner import Project, told

pytestmark = pytest.mark.slow

NASTY = (
    "Handle 漢字 🎈 \"two\" 'one' $(touch x) `touch y` ; touch z && %s \\n {prompt} {{TASK}} <b>"
)
REPORT = "report 'STATUS: IN_PROGRESS'"


def script(project: Project, body: str) -> str:
    """An agent that keeps nothing by itself: its command line."""
    return write_agent(project.kept / "bin", body.format(kept=shlex.quote(str(project.kept))))


PROMPTS = {
    "stdin": ("stdin", "", "cat >{kept}/got; printf '%s' \"$#\" >{kept}/count", "0"),
    "argument-at-the-end": (
        "argument",
        " --print",
        "printf '%s' \"$2\" >{kept}/got; printf '%s' \"$#\" >{kept}/count; cat >{kept}/stdin",
        "2",
    ),
    "argument-in-its-place": (
        "argument",
        " '--say={{prompt}}' --last",
        "printf '%s' \"${{1#--say=}}\" >{kept}/got; printf '%s' \"$#\" >{kept}/count",
        "2",
    ),
    "file-at-the-end": (
        "file",
        " --file",
        'cat "$2" >{kept}/got; printf \'%s\' "$#" >{kept}/count; cat >{kept}/stdin',
        "2",
    ),
    "file-by-its-placeholder-alone": (
        "stdin",
        " '--file={{prompt_file}}'",
        'cat "${{1#--file=}}" >{kept}/got; printf \'%s\' "$#" >{kept}/count; cat >{kept}/stdin',
        "1",
    ),
    "file-in-its-place": (
        "file",
        " '--file={{prompt_file}}'",
        'cat "${{1#--file=}}" >{kept}/got; printf \'%s\' "$#" >{kept}/count',
        "1",
    ),
}


@pytest.mark.parametrize(
    ("way", "more", "body", "count"),
    [pytest.param(*value, id=name) for name, value in PROMPTS.items()],
)
def test_the_prompt_reaches_the_agent_whole_and_never_a_shell(
    project: Project, way: str, more: str, body: str, count: str
) -> None:
    project.plan(NASTY)
    command = script(project, body + "; echo done") + more.replace("{{", "{").replace("}}", "}")
    done = project.tell("run", "1", "--agent-command", command, "--agent-prompt", way)
    assert done.exit_code == 1, done.stderr
    got = (project.kept / "got").read_text(encoding="utf-8")
    assert f"Task: {told(done, 'iterationStarted')[0].task.title}\n" in got
    assert "漢字 🎈" in got
    assert "$(touch x) `touch y` ; touch z && %s" in got
    assert got.rstrip("\n") == (project.run_folder() / "iteration-001.prompt.md").read_text(
        encoding="utf-8"
    ).rstrip("\n")
    assert (project.kept / "count").read_text(encoding="utf-8") == count
    if (project.kept / "stdin").exists():
        assert (project.kept / "stdin").read_bytes() == b""
    assert git(project.repository, "status", "--porcelain") == ""


def test_an_agent_that_does_not_read_its_prompt_is_no_problem(project: Project) -> None:
    project.plan(*(f"Task {number} {'long ' * 300}" for number in range(3)))
    done = project.tell("run", "1", "--agent-command", script(project, "exec <&-; echo done"))
    assert done.exit_code == 1
    assert told(done, "agentExited")[0].exit_code == 0


class TestThatCannotStart:
    def test_one_that_is_not_found_is_reported_with_the_path_that_was_searched(
        self, project: Project
    ) -> None:
        project.plan()
        path = os.pathsep.join(["/usr/bin", "/bin", "relative/bin", "/opt/my tools/bin"])
        done = project.ralph(
            project.repository, "run", "--agent-command", "no-such-agent", env={"PATH": path}
        )
        assert (done.exit_code, done.stdout, done.events) == (5, "", ())
        assert done.stderr == (
            "ralph: the agent's program 'no-such-agent' was not found on PATH, which is:\n  "
            "/usr/bin\n  /bin\n  /opt/my tools/bin\nrelative entries of PATH are not searched\n"
            "install it, give its full path, or choose another agent with --agent\n"
        )

    def test_one_that_is_not_executable_is_reported_with_what_to_do(self, project: Project) -> None:
        project.plan()
        program = project.kept / "agent"
        program.write_text("#!/bin/sh\n", encoding="utf-8")
        done = project.tell("run", "--agent-command", shlex.quote(str(program)))
        assert (done.exit_code, done.events) == (5, ())
        assert f"{program} is not executable; run: chmod +x {program}\n" in done.stderr

    @pytest.mark.parametrize(
        ("text", "message"),
        [
            pytest.param(
                "#!/no/such/interpreter\n",
                "the interpreter in its first line does not exist",
                id="no-interpreter",
            ),
            pytest.param(
                "echo no first line\n",
                "a script needs a first line such as #!/bin/sh",
                id="no-line",
            ),
        ],
    )
    def test_one_that_the_system_refuses_ends_the_run_with_its_words(
        self, project: Project, text: str, message: str
    ) -> None:
        project.plan()
        program = project.kept / "agent"
        program.write_text(text, encoding="utf-8")
        program.chmod(0o755)
        done = project.tell("run", "--agent-command", shlex.quote(str(program)))
        assert done.exit_code == 5
        assert message in told(done, "runEnded")[0].message

    def test_one_that_vanishes_between_two_iterations_ends_the_run(self, project: Project) -> None:
        project.agent('work; commit; rm "$0"; ' + REPORT)
        done = project.run("9")
        assert done.exit_code == 5
        assert "does not exist" in told(done, "runEnded")[0].message
        assert len(told(done, "iterationEnded")) == 1


class TestThatFails:
    def test_a_crash_is_tried_again_once_and_reported(self, project: Project) -> None:
        project.agent(
            'if [ ! -e "$kept/crashed" ]; then : >"$kept/crashed"; exit 7; fi\nwork; commit; '
            + REPORT
        )
        done = project.run("1")
        assert done.exit_code == 1
        assert [(event.attempt, event.exit_code) for event in told(done, "agentExited")] == [
            (1, 7),
            (2, 0),
        ]
        (warned,) = (event for event in told(done, "warned") if event.code == "agent-failed")
        assert warned.message == ("the agent ended with 7 without a result; starting it once more")
        assert [event.outcome for event in told(done, "iterationEnded")] == ["progress"]
        folder = project.run_folder()
        assert (folder / "iteration-001.out").read_bytes() == b""
        assert b"STATUS: IN_PROGRESS" in (folder / "iteration-001-2.out").read_bytes()

    def test_one_that_reports_is_believed_whatever_its_exit_code(self, project: Project) -> None:
        project.agent(f"work; {REPORT}; exit 1")
        done = project.run("2", "--max-stuck", "9")
        assert (done.exit_code, len(told(done, "agentStarted"))) == (1, 2)

    def test_one_that_kills_itself_is_reported_by_its_signal(self, project: Project) -> None:
        project.agent("kill -9 $$")
        done = project.run("9")
        assert done.exit_code == 5
        assert told(done, "runEnded")[0].message.endswith("the last one was ended by signal 9")

    def test_what_was_done_before_the_time_was_up_is_progress(self, project: Project) -> None:
        project.agent("work; commit; echo begun; exec sleep 600")
        done = project.run("1", "--timeout", "8s")
        assert done.exit_code == 1
        assert [event.timed_out for event in told(done, "agentExited")] == [True]
        assert [event.outcome for event in told(done, "iterationEnded")] == ["progress"]
        assert marked_processes(done.events[0].run) == []

    def test_one_that_says_nothing_for_too_long_is_ended(self, project: Project) -> None:
        project.plan(files={".ralph/config.toml": 'idle_timeout = "200ms"\n'})
        project.agent("echo begun; exec sleep 600")
        done = project.run("1")
        assert [event.idle for event in told(done, "agentExited")] == [True]
        assert "The agent printed nothing for too long and was ended\n" in done.stdout


class TestThatPrints:
    def test_odd_encodings_are_kept_as_they_are_and_read_all_the_same(
        self, project: Project
    ) -> None:
        project.agent(
            r"printf '\377\376 caf\351 \000\000 \033[31mred\033[0m \357\277\275 \355\240\200\r\n';"
            + REPORT
        )
        done = project.run("1")
        assert done.exit_code == 1
        raw = (project.run_folder() / "iteration-001.out").read_bytes()
        assert raw.startswith(b"\xff\xfe caf\xe9 \0\0 \x1b[31mred")
        assert told(done, "ralphStatusUpdate")[0].report.fields["STATUS"] == "IN_PROGRESS"
        lines = (project.run_folder() / "messages.jsonl").read_text(encoding="utf-8").splitlines()
        assert "".join(json.loads(line)["text"] for line in lines) == raw.decode(
            "utf-8", errors="replace"
        )

    def test_a_character_that_is_cut_in_two_writes_stays_whole_for_users(
        self, project: Project
    ) -> None:
        project.agent(r"printf '\346\274'; wait_here; printf '\242\345\255\227\n'; " + REPORT)
        project.make_gate()
        running = project.start("1")
        running.wait_for("agentStarted")
        project.open_gate()
        done = running.wait()
        assert "漢字\n" in done.stdout
        assert "�" not in done.stdout
        text = (project.run_folder() / "messages.jsonl").read_text(encoding="utf-8")
        assert "漢字" in text

    def test_a_flood_of_twenty_megabytes_is_taken_and_the_end_of_it_read(
        self, project: Project
    ) -> None:
        project.agent(
            "head -c 20000000 /dev/zero | tr '\\0' 'x' | fold -w 1000; echo; "
            "head -c 100000 /dev/zero; echo; work; " + REPORT
        )
        done = project.run("1", "--json")
        assert done.exit_code == 1
        exited = told(done, "agentExited")[0]
        assert exited.stdout_bytes > 20_100_000
        assert (project.run_folder() / "iteration-001.out").stat().st_size == exited.stdout_bytes
        assert len(told(done, "ralphStatusUpdate")) == 1
        (log,) = project.file(".ralph/logs").glob("*.log")
        assert log.stat().st_size > exited.stdout_bytes

    def test_one_that_prints_no_line_end_at_all_is_read(self, project: Project) -> None:
        project.agent("printf '<promise>BLOCKED:no line end</promise>'")
        assert project.run("1").exit_code == 2
        assert project.file(".ralph/blocked.txt").read_text(encoding="utf-8") == "no line end\n"


class TestThatLeaks:
    SECRET = "hunter2-hunter2-hunter2"

    def test_nor_does_a_question_hold_one(self, project: Project) -> None:
        project.agent('say "<promise>DECIDE:is $MY_API_TOKEN right?</promise>"')
        assert project.start("3", env={"MY_API_TOKEN": self.SECRET}).wait().exit_code == 3
        asked = project.file(".ralph/decide.txt").read_text(encoding="utf-8")
        assert "\nis [redacted MY_API_TOKEN] right?\n" in asked

    def test_a_secret_is_written_nowhere(self, project: Project) -> None:
        project.agent(
            'echo "token $MY_API_TOKEN."; echo "on stderr $MY_API_TOKEN" >&2\n'
            "printf '%s' 'hunter2-hun'; wait_here; printf '%s\\n' 'ter2-hunter2'\n"
            'echo "$MY_API_TOKEN" >leak.txt; git add leak.txt; git commit -qm "Use $MY_API_TOKEN"\n'
            'rm leak.txt; git commit -qam "Forget it"\n'
            'say "Error: denied for $MY_API_TOKEN"\n'
            'report "RECOMMENDATION: use $MY_API_TOKEN"\n'
            'say "<promise>BLOCKED:$MY_API_TOKEN expired</promise>"'
        )
        project.make_gate()
        running = project.start("3", env={"MY_API_TOKEN": self.SECRET})
        running.wait_for("agentStarted")
        project.tell("note", f"the token is {self.SECRET}")
        project.open_gate()
        done = running.wait()
        assert done.exit_code == 2
        wherever = [path for path in self.everything(project) if path.is_file()]
        assert {"journal.jsonl", "messages.jsonl", "state.json", "blocked.txt"} <= {
            path.name for path in wherever
        }
        for path in wherever:
            assert self.SECRET.encode() not in path.read_bytes(), path
        assert self.SECRET not in done.stdout + done.stderr
        name = "[redacted MY_API_TOKEN]"
        out = (project.run_folder() / "iteration-001.out").read_text(encoding="utf-8")
        assert out.startswith(f"token {name}.\n{name}\n")
        assert f"on stderr {name}\n" in (project.run_folder() / "iteration-001.err").read_text(
            encoding="utf-8"
        )
        assert project.file(".ralph/blocked.txt").read_text(encoding="utf-8") == f"{name} expired\n"
        (log,) = project.file(".ralph/logs").glob("*.log")
        assert log.read_text(encoding="utf-8").count(name) >= 6
        assert f"token {name}." in done.stdout
        assert {
            commit.subject for commit in told(done, "evidenceGathered")[0].evidence.commits
        } == {
            f"Use {name}",
            "Forget it",
        }
        assert [event.text for event in told(done, "noteAdded")] == [f"the token is {name}"]

    def test_one_in_the_answer_or_the_plan_is_written_nowhere_either(
        self, project: Project
    ) -> None:
        project.agent(
            f"if [ -e .ralph/decide.txt ]; then {REPORT}; exit; fi\n"
            "say '<promise>DECIDE:which one?</promise>'"
        )
        environment = {"MY_API_TOKEN": self.SECRET}
        assert project.run("9", env=environment).exit_code == 3
        decide = project.file(".ralph/decide.txt")
        decide.write_text(decide.read_text(encoding="utf-8") + self.SECRET, encoding="utf-8")
        plan = project.file("@fix_plan.md")
        plan.write_text(f"- [ ] Log in with {self.SECRET}\n", encoding="utf-8")
        done = project.ralph(project.repository, "run", "2", "--resume", env=environment)
        assert done.exit_code == 1, done.stdout
        for path in self.everything(project):
            if path.is_file():
                assert self.SECRET.encode() not in path.read_bytes(), path
        assert self.SECRET not in done.stdout

    def test_the_state_is_its_owners_alone(self, project: Project) -> None:
        project.agent(REPORT)
        # One that inherits what we are lax about.
        old = os.umask(0)
        try:
            run_ralph(project.repository, "run", "1", "--agent-command", project.command)
            run_ralph(project.repository, "note", "mine")
        finally:
            os.umask(old)
        for path in self.state_files():
            mode = stat.S_IMODE(path.stat().st_mode)
            assert mode == (0o700 if path.is_dir() else 0o600), path

    def everything(self, project: Project) -> list[Path]:
        return [*self.state_files(), *project.file(".ralph").rglob("*")]

    def state_files(self) -> list[Path]:
        folder = Path(os.environ["RALPH_STATE_DIR"])
        return [folder, *folder.rglob("*")]


def test_the_environment_is_the_callers_without_what_is_ours(project: Project) -> None:
    project.plan(files={".ralph/config.toml": "max_iterations = 1\n"}).agent(
        'env >"$kept/env"; ' + REPORT
    )
    project.run(
        env={
            "RALPH_BREAKER_NO_PROGRESS_OPEN": "7",
            "VSCODE_PID": "1",
            "PYTHONHOME": "/x",
            "MINE": "kept",
            "LANG": "C",
        }
    )
    found = dict(
        line.split("=", 1)
        for line in (project.kept / "env").read_text(encoding="utf-8").splitlines()
        if "=" in line
    )
    assert (found["MINE"], found["LANG"]) == ("kept", "C")
    assert found["RALPH_ITERATION"] == "1"
    assert found["RALPH_MAX_ITERATIONS"] == "1"
    assert found["RALPH_ITERATION_ID"].endswith("/1")
    assert not {name for name in found if name.startswith("VSCODE_")}
    assert not {"PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV"} & found.keys()
    assert "RALPH_STATE_DIR" not in found
    assert "RALPH_BREAKER_NO_PROGRESS_OPEN" not in found


def test_its_folder_is_also_in_the_variable_that_some_agents_go_by(project: Project) -> None:
    project.plan().command = "env"
    done = project.run("1", env={"PWD": "/elsewhere"})
    assert f"PWD={project.repository.resolve()}\n" in done.stdout
