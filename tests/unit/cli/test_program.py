"""The program as such: no command, help, errors, streams, locales."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from ralph_ls import __version__
from ralph_ls.cli import main as program
from ralph_ls.cli.verbs import VERBS
from tests.engine.project_builder import RALPH, git, make_repository, write_agent
from tests.unit.cli.cli_runner import Ralph
from tests.unit.cli.shell_agents import IDLER

NO_OUTPUT = {"serve"}
"""It prints nothing itself, and works wherever it is started."""

ANYWHERE = {
    "read",
    "simulate",
    "demo",
    "help",
    "hook",
    "mcp",
    "doctor",
    "notify",
    "ps",
    "inbox",
    "lessons",
    "fleet",
}
"""They work outside a repository, too."""

SHOWN = [verb for verb in VERBS if verb not in NO_OUTPUT]


class TestNoCommand:
    """``ralph`` alone shows the state of the repository, and what to do next."""

    def test_outside_a_repository_it_shows_the_sample(self, ralph: Ralph, tmp_path: Path) -> None:
        said = ralph(tmp_path)
        assert said.code == 0
        assert said.out.startswith("Here:        no git repository\nNext:        ralph demo")

    def test_in_a_bare_repository_it_sets_up(self, ralph: Ralph, tmp_path: Path) -> None:
        repository = make_repository(tmp_path / "tree")
        (repository / "@fix_plan.md").unlink()
        said = ralph(repository)
        assert f"{repository}, no loop here yet\nNext:        ralph init\n" in said.out

    def test_with_a_plan_it_starts(self, ralph: Ralph, repository: Path) -> None:
        said = ralph(repository)
        assert "no run yet, plan @fix_plan.md\nNext:        ralph run\n" in said.out

    def test_what_waits_for_approval_comes_first(self, ralph: Ralph, repository: Path) -> None:
        (repository / ".ralph").mkdir()
        (repository / ".ralph/validate.sh").write_text("true\n", encoding="utf-8")
        said = ralph(repository)
        assert said.out.startswith("Approve:     1 command of this repository: .ralph/validate.sh")
        assert "Next:        ralph allow\n" in said.out

    def test_broken_settings_do_not_keep_it_from_answering(
        self, ralph: Ralph, repository: Path
    ) -> None:
        (repository / ".ralph").mkdir()
        (repository / ".ralph/config.toml").write_text("[", encoding="utf-8")
        assert ralph(repository).code == 0

    def test_after_a_run_it_shows_its_end(
        self, ralph: Ralph, repository: Path, tmp_path: Path
    ) -> None:
        agent = write_agent(tmp_path / "agents", IDLER)
        ralph(repository, "run", "1", "--agent-command", agent)
        (repository / "below").mkdir()
        said = ralph(repository / "below")
        assert said.out.startswith("Stopped:     ")
        assert "\nPlan:        0 of 2 tasks are done\nNext:        " in said.out


class TestHelp:
    @pytest.mark.parametrize("arguments", [["--help"], ["-h"], ["help"]])
    def test_it_names_every_verb(self, ralph: Ralph, tmp_path: Path, arguments: list[str]) -> None:
        said = ralph(tmp_path, *arguments)
        assert said.code == 0
        listed = re.findall(r"^  ([a-z][a-z-]*) +[A-Z]", said.out, re.MULTILINE)
        assert listed == list(VERBS)

    @pytest.mark.parametrize("verb", SHOWN)
    def test_every_verb_has_its_own(self, ralph: Ralph, tmp_path: Path, verb: str) -> None:
        said = ralph(tmp_path, verb, "--help")
        assert said.code == 0
        assert f"\nUsage: ralph {verb} " in said.out
        # What a hook says is for a program anyhow, and help and reports are for people.
        assert ("--json" in said.out) is (verb not in {"attach", "help", "hook", "mcp", "report"})
        assert "--run-id" not in said.out

    def test_help_of_a_verb_is_its_page(self, ralph: Ralph, tmp_path: Path) -> None:
        assert ralph(tmp_path, "help", "stop").out == ralph(tmp_path, "stop", "-h").out

    def test_the_version_is_printed(self, ralph: Ralph, tmp_path: Path) -> None:
        assert ralph(tmp_path, "--version").out == f"ralph {__version__}\n"
        assert ralph(tmp_path, "-V").out == f"ralph {__version__}\n"


def test_other_words_for_verbs_lead_to_verbs() -> None:
    assert not program.OTHER_WORDS.keys() & VERBS.keys()
    assert {words.split()[0] for words in program.OTHER_WORDS.values()} <= {*VERBS, "--version"}


def test_a_bare_repository_is_to_be_cloned(ralph: Ralph, tmp_path: Path) -> None:
    git(tmp_path, "init", "-q", "--bare", "it.git")
    said = ralph(tmp_path / "it.git" / "refs", "run")
    assert said.code == 5
    assert "it.git is a bare git repository, without files to work on; clone it: " in said.err


@pytest.mark.parametrize("data", [b"- [ ] caf\xe9\n", "- [ ] one\n".encode("utf-16")])
def test_a_plan_that_is_no_utf8_is_refused_where_it_is_shown(
    ralph: Ralph, repository: Path, data: bytes
) -> None:
    (repository / "@fix_plan.md").write_bytes(data)
    said = ralph(repository, "plan")
    assert said.code == 5
    assert "is not UTF-8 text, so its tasks cannot be read" in said.err


class TestErrors:
    @pytest.mark.parametrize(
        ("arguments", "words"),
        [
            (["nonsense"], "unknown command 'nonsense'\nTry: ralph --help"),
            (["runn"], "unknown command 'runn'; did you mean run?\nTry: ralph --help"),
            (["version"], "unknown command 'version'; did you mean: ralph --version?\n"),
            (["history"], "unknown command 'history'; did you mean: ralph runs?\n"),
            (["run", "-n", "5"], "unknown option -n; give the number alone, such as: ralph run 5"),
            (["help", "watc"], "there is no help for 'watc'; did you mean watch?"),
            (["--vers"], "unknown option --vers; did you mean --version?"),
            (["run", "--max-iteration", "3"], "did you mean --max-iterations?"),
            (["run", "--iterations", "3"], "did you mean --max-iterations?"),
            (["stop", "--now=3"], "--now takes no value"),
            (["run", "--max-cost", "much"], "--max-cost: write a number, such as 2.5"),
            (["--nonsense"], "unknown option --nonsense\nTry: ralph --help"),
            (["run", "--nonsense"], "unknown option --nonsense\nTry: ralph run --help"),
            (["run", "many"], "to work on a sentence: ralph run -p many"),
            (["run", "0"], "0 iterations are too few; give 1 or more"),
            (["run", "1", "2"], "unexpected 2;"),
            (["run", "--max-stuck", "0"], "--max-stuck: it must be at least 1"),
            (["run", "--task"], "--task needs a value"),
            (["note"], "ralph: TEXT is missing"),
            (["skip"], "TASK is missing; see the ids in: ralph plan\nTry: ralph skip --help"),
            (["run", "--timeout", "soon"], "--timeout: 'soon' is not a duration; write 30m"),
            (["run", "--profile", "fast"], "--profile must be one of spec, fixplan"),
            (["run", "--on-halt", "stay"], "--on-halt must be one of exit, wait"),
            (["run", "--agent-prompt", "stdin"], "--agent-prompt needs --agent-command"),
            (
                ["run", "--agent", "demo", "--agent-command", "x"],
                "give --agent or --agent-command, not both",
            ),
            (
                ["run", "--agent-command", "x", "--agent-prompt", "mail"],
                "unknown --agent-prompt 'mail'; use stdin, argument or file",
            ),
            (["run", "--agent-command", "'x"], "a quotation mark is not closed"),
            (["run", "--agent-command", " "], "--agent-command is empty; name a program"),
            (["run", "--task", "nope", "--agent", "demo"], "the plan has no task 'nope'; it has: "),
            (["run", "--plan", "../x", "--agent", "demo"], "--plan: '../x' must be a path"),
            (["run", "--resume"], "there is no run to resume here"),
            (["read", "nowhere.txt"], "there is no file nowhere.txt"),
            (["read", "--agent", "hal"], "unknown agent 'hal'; there is: "),
            (["read", "--profile", "fast"], "unknown profile 'fast'; there is: spec, fixplan"),
            (["init", "--profile", "fast"], "unknown profile 'fast'; there is: spec, fixplan"),
            (["note", " "], "the text is missing"),
            (["note", "x" * 100_001], "the text has 100001 characters; the most is 100000"),
        ],
    )
    def test_what_was_typed_wrongly_ends_with_64(
        self, ralph: Ralph, repository: Path, arguments: list[str], words: str
    ) -> None:
        said = ralph(repository, *arguments)
        assert said.code == 64
        assert said.out == ""
        assert said.err.startswith("ralph: ")
        assert words in said.err
        assert not said.err.rstrip("\n").endswith(".")

    def test_a_task_that_is_not_in_the_plan_is_answered_with_those_that_are(
        self, ralph: Ralph, repository: Path
    ) -> None:
        said = ralph(repository, "run", "--task", "nope", "--agent", "demo")
        tasks = ralph(repository, "plan", "--json").json["tasks"]
        assert f"it has: {tasks[0]['id']} (" in said.err

    @pytest.mark.parametrize(
        ("arguments", "code", "words"),
        [
            (
                ["run", "--agent", "nobody"],
                78,
                "there is no agent 'nobody'\nAgents: claude",
            ),
            (["run", "--agent", "command"], 78, "the agent 'command' has no command; set argv"),
            (["run", "--agent-command", "./nowhere"], 5, "nowhere does not exist; fix the path"),
            (["run", "--agent-command", "nowhere"], 5, "was not found on PATH, which is:"),
            (["run", "--plan", "none.md", "--agent", "demo"], 5, "there is no plan none.md"),
            (["plan", "none.md"], 5, "there is no plan none.md"),
            (["run", "--agent-command", "x", "--detach"], 5, "was not found on PATH"),
        ],
    )
    def test_what_cannot_be_done_has_its_own_code(
        self, ralph: Ralph, repository: Path, arguments: list[str], code: int, words: str
    ) -> None:
        said = ralph(repository, *arguments)
        assert said.code == code
        assert words in said.err
        assert not said.err.rstrip("\n").endswith(".")

    @pytest.mark.parametrize(
        "verb",
        [v for v in SHOWN if v not in ANYWHERE],
    )
    def test_outside_a_repository_every_verb_says_so(
        self, ralph: Ralph, tmp_path: Path, verb: str
    ) -> None:
        given = {
            "answer": "words",
            "note": "words",
            "skip": "a",
            "reset-task": "a",
            "rollback": "1",
        }
        text = [given[verb]] if verb in given else []
        said = ralph(tmp_path, verb, *text)
        assert (said.code, said.out) == (5, "")
        assert "is not in a git work tree; change into your repository" in said.err

    def test_a_background_run_needs_a_limit(
        self, ralph: Ralph, repository: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        from ralph_ls.protocol.config.config import Config
        from ralph_ls.store.project.config_file import LoadedSettings

        unlimited = LoadedSettings(config=Config(), from_file={}, overrides={})
        monkeypatch.setattr("ralph_ls.store.run.launch.load_settings", lambda *_, **__: unlimited)
        said = ralph(repository, "run", "--detach", "--agent", "demo")
        assert said.code == 64
        assert "a run in the background needs a limit, such as: ralph run 20 --detach" in said.err

    @pytest.mark.parametrize("error", [KeyboardInterrupt, EOFError])
    def test_an_interrupt_at_a_question_ends_with_130(
        self,
        ralph: Ralph,
        repository: Path,
        monkeypatch: pytest.MonkeyPatch,
        error: type[BaseException],
    ) -> None:
        def interrupted(*_: object) -> None:
            raise error

        (repository / ".ralph").mkdir()
        (repository / ".ralph/validate.sh").write_text("true\n", encoding="utf-8")
        monkeypatch.setattr("builtins.input", interrupted)
        monkeypatch.setattr("typer._click.termui.visible_prompt_func", interrupted, raising=False)
        monkeypatch.setattr(sys.stdin, "isatty", lambda: True, raising=False)
        assert ralph(repository, "allow").code == 130

    @pytest.mark.parametrize(
        "arguments", [["run", "1", "--agent", "demo"], ["note", "x"], ["allow", "--yes"]]
    )
    def test_a_state_folder_that_cannot_be_made_is_named(
        self,
        ralph: Ralph,
        repository: Path,
        tmp_path: Path,
        monkeypatch: pytest.MonkeyPatch,
        arguments: list[str],
    ) -> None:
        (repository / ".ralph").mkdir()
        (repository / ".ralph/config.toml").write_text("[agents.x]\n", encoding="utf-8")
        (tmp_path / "file").touch()
        monkeypatch.setenv("RALPH_STATE_DIR", str(tmp_path / "file"))
        said = ralph(repository, *arguments)
        assert said.code == 5
        assert f"the folder {tmp_path / 'file'}/worktrees/" in said.err
        assert said.err.endswith("; set RALPH_STATE_DIR to a folder that you can write to\n")

    def test_an_unforeseen_file_error_is_reported_in_a_line(
        self, ralph: Ralph, repository: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def broken() -> None:
            raise PermissionError(13, "Permission denied", "/some/file")

        monkeypatch.setattr("ralph_ls.cli.commands.status.current_worktree", broken)
        said = ralph(repository, "status")
        assert (said.code, said.err) == (5, "ralph: Permission denied: /some/file\n")

    def test_a_mistake_of_ours_is_not_hidden(
        self, ralph: Ralph, repository: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def broken() -> None:
            raise ZeroDivisionError

        monkeypatch.setattr("ralph_ls.cli.commands.status.current_worktree", broken)
        with pytest.raises(ZeroDivisionError):
            ralph(repository, "status")


class TestEntryPoints:
    def test_the_program_ends_with_the_code(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(sys, "argv", ["ralph", "nonsense"])
        with pytest.raises(SystemExit) as ended:
            program.run()
        assert ended.value.code == 64

    @pytest.mark.parametrize(
        ("arguments", "code", "out", "err"),
        [
            (["--version"], 0, f"ralph-ls {__version__}\n", ""),
            (["--nonsense"], 64, "", "ralph-ls: unknown argument '--nonsense'"),
            (["--tcp", "2087"], 64, "", "ralph-ls: the language server listens on no port"),
        ],
    )
    def test_the_language_server_says_what_it_is(
        self,
        monkeypatch: pytest.MonkeyPatch,
        capsys: pytest.CaptureFixture[str],
        arguments: list[str],
        code: int,
        out: str,
        err: str,
    ) -> None:
        monkeypatch.setattr(sys, "argv", ["ralph-ls", *arguments])
        with pytest.raises(SystemExit) as ended:
            program.run_language_server()
        said = capsys.readouterr()
        assert (ended.value.code, said.out) == (code, out)
        assert said.err.startswith(err)


def sh(command: str, cwd: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """A shell in which ``$RALPH`` is the real program."""
    words = " ".join(f"'{word}'" for word in RALPH)
    return subprocess.run(
        ["/bin/sh", "-c", command.replace("$RALPH", words)],
        cwd=cwd,
        env={**os.environ, **environment},
        capture_output=True,
        encoding="utf-8",
        check=False,
    )


class TestRealStreams:
    @pytest.mark.slow
    def test_it_is_a_module_as_well(self, tmp_path: Path) -> None:
        done = sh("$RALPH --version; $RALPH nonsense; echo $?", tmp_path)
        assert done.stdout == f"ralph {__version__}\n64\n"

    @pytest.mark.slow
    def test_a_reader_that_leaves_is_no_error(self, repository: Path) -> None:
        text = "# Plan\n" + "".join(f"- [ ] Task {number}\n" for number in range(20_000))
        (repository / "@fix_plan.md").write_text(text, encoding="utf-8")
        command = "{ $RALPH plan; echo $? >code; } | head -1; cat code"
        done = sh(command, repository)
        assert (done.stdout, done.stderr) == ("0 of 20000 tasks done. Next: Task 0\n0\n", "")
        assert sh("{ $RALPH --help; echo $? >code; } | true; cat code", repository).stderr == ""

    @pytest.mark.slow
    def test_closed_streams_are_no_error(self, repository: Path) -> None:
        command = "$RALPH status <&- >&-; echo $?; $RALPH nonsense 2>&-; echo $?"
        done = sh(command, repository)
        assert (done.stdout, done.stderr) == ("0\n64\n", "")
        # No file of the run has the number of a closed stream.
        run = "$RALPH run 1 --agent demo <&- >&- 2>&-; echo $?; $RALPH status --json"
        code, _, shown = sh(run, repository).stdout.partition("\n")
        assert code == "2"
        assert json.loads(shown)["state"]["end"]["reason"] == "blocked"

    @pytest.mark.slow
    @pytest.mark.parametrize(
        "environment",
        [
            {"LC_ALL": "C"},
            {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"},
            {"PYTHONIOENCODING": "latin-1", "PYTHONUTF8": "0"},
        ],
        ids=["c", "plain-c", "latin-1"],
    )
    def test_text_is_utf8_whatever_the_locale(
        self,
        repository: Path,
        tmp_path: Path,
        monkeypatch: pytest.MonkeyPatch,
        environment: dict[str, str],
    ) -> None:
        (repository / "@fix_plan.md").write_text("# 計画\n- [ ] 漢字 ✓ 👩‍💻\n", encoding="utf-8")
        agent = write_agent(tmp_path / "agents", "cat >/dev/null; echo 'かな said'")
        monkeypatch.delenv("PYTHONUTF8", raising=False)
        done = sh(f"$RALPH plan; $RALPH run 1 --agent-command {agent}", repository, **environment)
        assert "○ 漢字 ✓ 👩‍💻  [" in done.stdout
        assert "かな said\n" in done.stdout
        assert "▸ Iteration 1 of 1: 漢字 ✓ 👩‍💻 (0/1 tasks done, mode build, " in done.stdout
        assert done.stderr == ""
