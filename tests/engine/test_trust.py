"""A repository that tries to run something: nothing of it runs before ``ralph allow`` (SPEC §2).

Whatever the hostile clone brings writes its own name into a marker file outside the clone.
"""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

import pytest

from ralph_ls.engine.demo import project
from tests.engine.loop import git, make_repository, run_ralph, write_agent
from tests.unit.cli.calling import Ralph, caller

CONFIG = """\
agent = "claude"
[agents.claude]
argv = ["./tools/agent.sh"]
env = { LD_PRELOAD = "./tools/preload.so" }
[agents.command]
argv = ["sh", "-c", "exec ./tools/helper.sh"]
"""

GOOD_PLAN = "# Plan\n\n- [ ] First task\n"


@pytest.fixture
def ralph(capsys: pytest.CaptureFixture[str]) -> Ralph:
    return caller(capsys)


@pytest.fixture
def marker(tmp_path: Path) -> Path:
    """Where whatever runs without leave writes its name."""
    return tmp_path / "marker"


@pytest.fixture
def clone(tmp_path: Path, marker: Path) -> Path:
    """A clone of a repository that brings commands, scripts and a prompt."""
    files = {
        ".ralph/config.toml": CONFIG,
        ".ralph/prompts/PROMPT_build.md": "Do as {{TASK}} says\n",
        ".ralph/validate.sh": leaving(marker, "validate"),
        "tools/agent.sh": leaving(marker, "agent"),
        "tools/helper.sh": leaving(marker, "helper"),
        "tools/preload.so": "no library\n",
    }
    return clone_of(tmp_path, files)


def leaving(marker: Path, name: str) -> str:
    return f"#!/bin/sh\necho {name} >>'{marker}'\n"


def clone_of(tmp_path: Path, files: dict[str, str]) -> Path:
    origin = make_repository(tmp_path / "origin", ["First task"], files=files)
    for path in files:
        if path.endswith((".sh", "/git", "git")):
            (origin / path).chmod(0o755)
    git(origin, "add", "-A")
    git(origin, "commit", "-q", "--allow-empty", "-m", "Executable")
    git(tmp_path, "clone", "-q", str(origin), "clone")
    return tmp_path / "clone"


CLAUDE = [
    "agents.claude",
    "agents.claude: ./tools/agent.sh",
    "agents.claude: ./tools/preload.so",
]
ALWAYS = [".ralph/prompts/PROMPT_build.md", ".ralph/validate.sh"]
COMMAND = ["agents.command", "agents.command: ./tools/helper.sh"]


class TestNothingRunsWithoutLeave:
    @pytest.mark.parametrize(
        ("arguments", "keys"),
        [
            pytest.param(["run", "1"], [*ALWAYS, *CLAUDE], id="run"),
            pytest.param(["run", "1", "--json"], [*ALWAYS, *CLAUDE], id="run-json"),
            pytest.param(["run", "1", "--agent", "command"], [*ALWAYS, *COMMAND], id="other-agent"),
            pytest.param(["run", "1", "--agent", "demo"], ALWAYS, id="built-in-agent"),
            pytest.param(["run", "1", "--agent-command", "true"], ALWAYS, id="own-agent"),
            pytest.param(["run", "1", "--detach"], [*ALWAYS, *CLAUDE], id="detached"),
        ],
    )
    def test_a_run_is_refused_and_names_every_key(
        self, ralph: Ralph, clone: Path, marker: Path, arguments: list[str], keys: list[str]
    ) -> None:
        said = ralph(clone, *arguments)
        assert said.code == 78
        assert said.out == ""
        named = said.err.partition("not allowed: ")[2].partition("; look")[0].split(", ")
        assert named == sorted(keys)
        assert "ralph allow" in said.err
        assert not marker.exists()
        assert git(clone, "status", "--porcelain", "--ignored") == ""

    @pytest.mark.parametrize(
        ("arguments", "code"),
        [
            pytest.param([], 0, id="nothing"),
            pytest.param(["--help"], 0, id="help"),
            pytest.param(["status"], 0, id="status"),
            pytest.param(["status", "--json"], 0, id="status-json"),
            pytest.param(["plan"], 0, id="plan"),
            pytest.param(["plan", "--json"], 0, id="plan-json"),
            pytest.param(["read", "tools/agent.sh"], 0, id="read"),
            pytest.param(["run", "--dry-run"], 0, id="dry-run"),
            pytest.param(["run", "--dry-run", "--json"], 0, id="dry-run-json"),
            pytest.param(["run", "--resume"], 64, id="resume-run"),
            pytest.param(["run", "--resume", "--detach"], 5, id="resume-detached"),
            pytest.param(["watch"], 5, id="watch"),
            pytest.param(["stop"], 5, id="stop"),
            pytest.param(["stop", "--now"], 5, id="stop-now"),
            pytest.param(["pause"], 5, id="pause"),
            pytest.param(["resume"], 5, id="resume"),
            pytest.param(["reset"], 5, id="reset"),
            pytest.param(["answer", "yes"], 5, id="answer"),
            pytest.param(["note", "look at this"], 0, id="note"),
            pytest.param(["allow"], 64, id="allow-without-a-terminal"),
            pytest.param(["allow", "--json"], 0, id="allow-json"),
            pytest.param(["init"], 0, id="init"),
        ],
    )
    def test_no_other_verb_runs_anything(
        self, ralph: Ralph, clone: Path, marker: Path, arguments: list[str], code: int
    ) -> None:
        said = ralph(clone, *arguments)
        assert (said.code, said.err if code == 0 else "") == (code, "")
        assert not marker.exists()
        assert ralph(clone, "run", "1").code == 78

    def test_a_dry_run_shows_what_would_run_and_what_is_not_allowed(
        self, ralph: Ralph, clone: Path
    ) -> None:
        shown = ralph(clone, "run", "--dry-run", "--json").json
        assert shown["argv"] == ["./tools/agent.sh"]
        assert shown["notAllowed"] == sorted([*ALWAYS, *CLAUDE])
        assert shown["prompt"] == "Do as Task: First task says\n"

    def test_what_the_file_says_of_an_agent_never_reaches_one_that_a_person_gives(
        self, ralph: Ralph, tmp_path: Path
    ) -> None:
        config = '[agents.command]\nargv = ["false"]\nenv = { INJECTED = "yes" }\n'
        clone = clone_of(tmp_path, {".ralph/config.toml": config})
        seen = tmp_path / "environment"
        agent = write_agent(tmp_path / "agents", f"env >'{seen}'")
        assert ralph(clone, "run", "1", "--agent-command", agent).code == 1
        assert "INJECTED" not in seen.read_text(encoding="utf-8")


class TestAllowing:
    def test_what_was_allowed_runs(self, ralph: Ralph, tmp_path: Path, marker: Path) -> None:
        files = {
            ".ralph/config.toml": 'agent = "command"\n[agents.command]\nargv = ["./agent.sh"]\n',
            ".ralph/validate.sh": leaving(marker, "validate"),
            ".ralph/prompts/PROMPT_build.md": "Do as {{TASK}} says\n",
            "agent.sh": leaving(marker, "agent"),
        }
        clone = clone_of(tmp_path, files)
        assert ralph(clone, "allow", "--yes").code == 0
        assert ralph(clone, "run", "1").code == 1
        assert marker.read_text(encoding="utf-8") == "agent\nvalidate\n"

    @pytest.mark.parametrize(
        ("path", "text", "key"),
        [
            pytest.param(
                ".ralph/config.toml",
                CONFIG.replace("./tools/preload.so", "./tools/other.so"),
                "agents.claude",
                id="a-setting",
            ),
            pytest.param(
                "tools/agent.sh", "#!/bin/sh\n", "agents.claude: ./tools/agent.sh", id="a-program"
            ),
            pytest.param(
                "tools/preload.so", "x\n", "agents.claude: ./tools/preload.so", id="a-library"
            ),
            pytest.param(
                ".ralph/validate.sh", "#!/bin/sh\n", ".ralph/validate.sh", id="the-validation"
            ),
            pytest.param(
                ".ralph/prompts/PROMPT_build.md",
                "Do no harm\n",
                ".ralph/prompts/PROMPT_build.md",
                id="a-prompt",
            ),
        ],
    )
    def test_a_change_asks_again(
        self, ralph: Ralph, clone: Path, marker: Path, path: str, text: str, key: str
    ) -> None:
        assert ralph(clone, "allow", "--yes").code == 0
        (clone / path).write_text(text, encoding="utf-8")
        said = ralph(clone, "run", "1")
        assert said.code == 78
        assert f"not allowed: {key}; " in said.err
        assert not marker.exists()
        shown = ralph(clone, "allow", "--json").json
        assert [claim["key"] for claim in shown["claims"] if not claim["allowed"]] == [key]

    def test_a_file_that_comes_later_is_asked_for(self, ralph: Ralph, clone: Path) -> None:
        (clone / "tools/agent.sh").unlink()
        assert ralph(clone, "allow", "--yes").code == 0
        (clone / "tools/agent.sh").write_text("#!/bin/sh\n", encoding="utf-8")
        assert "agents.claude: ./tools/agent.sh" in ralph(clone, "run", "1").err

    def test_leave_is_given_for_one_work_tree_alone(
        self, ralph: Ralph, clone: Path, tmp_path: Path
    ) -> None:
        assert ralph(clone, "allow", "--yes").code == 0
        shutil.copytree(clone, tmp_path / "copy")
        assert ralph(tmp_path / "copy", "run", "1").code == 78

    def test_the_leave_lies_outside_the_tree_for_its_owner_alone(
        self, ralph: Ralph, clone: Path, state_dir: Path
    ) -> None:
        assert ralph(clone, "allow", "--yes").code == 0
        (record,) = state_dir.glob("worktrees/*/trust.json")
        assert record.stat().st_mode & 0o777 == 0o600
        assert record.parent.stat().st_mode & 0o777 == 0o700
        assert git(clone, "status", "--porcelain", "--ignored") == ""
        record.write_text("{", encoding="utf-8")
        assert ralph(clone, "run", "1").code == 78

    def test_everything_that_would_run_is_shown_to_its_end(
        self, ralph: Ralph, clone: Path
    ) -> None:
        lines = [f"echo {number}" for number in range(500)]
        (clone / "tools/agent.sh").write_text("\n".join(lines), encoding="utf-8")
        shown = ralph(clone, "allow", "--yes").out
        assert "── agents.claude: ./tools/agent.sh (not allowed yet)\n   echo 0\n" in shown
        assert "   echo 499\n" in shown
        assert '"LD_PRELOAD": "./tools/preload.so"' in shown

    def test_nothing_hides_behind_an_escape_sequence(self, ralph: Ralph, clone: Path) -> None:
        hidden = "\x1b[8mrm -rf ~\x1b[0m\r\u202elive\u200b"
        (clone / "tools/agent.sh").write_text(f"{hidden}\n", encoding="utf-8")
        config = CONFIG + '[agents."a\\u001b[2Jb"]\nargv = ["x"]\n'
        (clone / ".ralph/config.toml").write_text(config, encoding="utf-8")
        shown = ralph(clone, "allow", "--yes").out
        assert "   \\x1b[8mrm -rf ~\\x1b[0m\\x0d\\u202elive\\u200b\n" in shown
        assert "── agents.a\\x1b[2Jb (not allowed yet)\n" in shown
        assert "\x1b" not in shown

    @pytest.mark.parametrize(
        ("data", "words"),
        [
            pytest.param(b"\x7fELF\x00\x01", "no text", id="a-program"),
            pytest.param(b"x" * 100_001, "longer than 100000 bytes", id="a-long-text"),
        ],
    )
    def test_what_nobody_can_read_is_named_by_its_hash(
        self, ralph: Ralph, clone: Path, data: bytes, words: str
    ) -> None:
        (clone / "tools/agent.sh").write_bytes(data)
        shown = ralph(clone, "allow", "--yes").out
        assert f"({words}; SHA-256 " in shown

    def test_a_repository_that_brings_nothing_needs_no_leave(
        self, ralph: Ralph, tmp_path: Path
    ) -> None:
        clone = clone_of(tmp_path, {})
        assert ralph(clone, "allow").out == f"{clone} brings nothing that would run\n"
        assert ralph(clone, "allow", "--json").json == {"allowed": True, "claims": []}


class TestWhatIsFoundOnThePath:
    """A shell may have the work tree on its PATH; a repository must gain nothing by that."""

    @pytest.fixture
    def booby_trapped(self, tmp_path: Path, marker: Path) -> Path:
        """A clone with programs and modules named like those that a run needs; no config."""
        module = f"import os\nos.open({str(marker)!r}, os.O_CREAT)\n"
        files = {
            "git": leaving(marker, "git"),
            "bin/git": leaving(marker, "bin/git"),
            "ralph_ls/__init__.py": module,
            "ralph_ls/__main__.py": module,
            "json.py": module,
            "sitecustomize.py": module,
            "usercustomize.py": module,
        }
        return clone_of(tmp_path, files)

    @pytest.mark.parametrize("where", ["relative", "inside"])
    @pytest.mark.parametrize("extra", [(), ("--detach", "--on-halt", "exit")], ids=["here", "away"])
    def test_no_git_and_no_module_of_the_tree_is_taken(
        self, booby_trapped: Path, tmp_path: Path, marker: Path, where: str, extra: tuple[str, ...]
    ) -> None:
        done = tmp_path / "done"
        os.mkfifo(done)
        agent = write_agent(tmp_path / "agents", f"echo ran >'{done}'")
        first = ["", "."] if where == "relative" else [str(booby_trapped / "bin")]
        environment = {"PATH": os.pathsep.join([*first, os.environ["PATH"]])}
        reader = os.open(done, os.O_RDONLY | os.O_NONBLOCK)
        ran = run_ralph(
            booby_trapped, "run", "1", "--agent-command", agent, *extra, env=environment
        )
        os.close(reader)
        assert ran.exit_code == (0 if extra else 1), ran.stderr
        assert not marker.exists()

    def test_an_agent_of_the_tree_is_not_run_for_its_name(
        self, ralph: Ralph, tmp_path: Path, marker: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        files = {
            ".ralph/config.toml": 'agent = "claude"\n[agents.claude]\nargv = ["claude"]\n',
            "bin/claude.sh": leaving(marker, "claude"),
        }
        clone = clone_of(tmp_path, files)
        (clone / "bin/claude").symlink_to("claude.sh")
        assert ralph(clone, "allow", "--yes").code == 0
        monkeypatch.setenv("PATH", os.pathsep.join([str(clone / "bin"), os.environ["PATH"]]))
        said = ralph(clone, "run", "1")
        assert said.code == 78
        assert "was found on PATH inside the work tree" in said.err
        assert not marker.exists()
        # Who names it for this run has looked for it there.
        assert ralph(clone, "run", "1", "--agent-command", "claude").code == 1
        assert marker.read_text(encoding="utf-8") == "claude\n"


class TestGitsOwnSettings:
    def test_a_look_at_the_tree_runs_no_monitor_and_no_hook(
        self, ralph: Ralph, tmp_path: Path, marker: Path
    ) -> None:
        clone = clone_of(tmp_path, {"evil.sh": leaving(marker, "evil")})
        evil = str(clone / "evil.sh")
        for key in ("core.fsmonitor", "core.pager", "core.editor", "diff.external", "gpg.program"):
            git(clone, "config", key, evil)
        git(clone, "config", "log.showSignature", "true")
        hooks = clone / ".git" / "hooks"
        hooks.mkdir(exist_ok=True)
        for name in ("post-index-change", "post-checkout", "reference-transaction", "pre-commit"):
            shutil.copy(evil, hooks / name)
        agent = write_agent(tmp_path / "agents", "echo more >>README.md")
        for arguments in (["status"], ["plan"], ["init"], ["run", "2", "--agent-command", agent]):
            assert ralph(clone, *arguments).code in {0, 1}
        assert not marker.exists()

    def test_a_git_folder_out_of_an_archive_cannot_bring_a_run_to_go_on_with(
        self, ralph: Ralph, tmp_path: Path, marker: Path, state_dir: Path
    ) -> None:
        """``ralph.json`` would name a journal whose settings count as given by a person."""
        clone = clone_of(tmp_path, {"evil.sh": leaving(marker, "evil")})
        agent = write_agent(tmp_path / "agents", "true")
        assert ralph(clone, "run", "1", "--agent-command", agent).code == 1
        (state,) = state_dir.glob("worktrees/*")
        for journal in state.glob("runs/*/journal.jsonl"):
            text = journal.read_text(encoding="utf-8").replace(agent, str(clone / "evil.sh"))
            journal.write_text(text, encoding="utf-8")
        for brought in (clone / "state", clone / ".git" / "state"):
            shutil.copytree(state, brought)
        shutil.rmtree(state)
        owner = (clone / ".git" / "ralph.json").read_text(encoding="utf-8")
        for named in ("state", ".git/state", str(clone / "state"), str(clone / ".git/state")):
            (clone / ".git" / "ralph.json").write_text(
                owner.replace(str(state), named), encoding="utf-8"
            )
            assert ralph(clone, "run", "--resume").code == 64
            assert ralph(clone, "status").out.startswith("There was never a run")
        assert not marker.exists()


class TestTheSample:
    def test_a_clone_that_looks_like_the_sample_gets_nothing_run_by_the_demo_agent(
        self, ralph: Ralph, tmp_path: Path, marker: Path
    ) -> None:
        sample = project.lay_out(tmp_path / "sample")
        (sample / ".ralph").mkdir()
        (sample / ".ralph/config.toml").write_text('agent = "demo"\n', encoding="utf-8")
        (sample / "tests/test_evil.py").write_text(
            f"open({str(marker)!r}, 'w').close()\n", encoding="utf-8"
        )
        git(sample, "add", "-A")
        git(sample, "commit", "-q", "-m", "More tests")
        git(tmp_path, "clone", "-q", str(sample), "clone")
        said = ralph(tmp_path / "clone", "run", "2")
        assert said.code == 4
        assert not marker.exists()
        assert git(tmp_path / "clone", "status", "--porcelain") == ""


class TestNothingIsWrittenOutside:
    @pytest.fixture
    def outside(self, tmp_path: Path) -> Path:
        """A folder that a link of the repository leads to."""
        folder = tmp_path / "outside"
        folder.mkdir()
        for name in ("decide.txt", "blocked.txt", "summary.csv", "config.toml", "profile"):
            (folder / name).write_text("mine\n", encoding="utf-8")
        return folder

    @staticmethod
    def content(folder: Path) -> dict[str, str]:
        return {path.name: path.read_text(encoding="utf-8") for path in sorted(folder.iterdir())}

    @pytest.mark.parametrize(
        ("link", "target"),
        [
            pytest.param(".ralph", "", id="ralph-folder"),
            pytest.param(".ralph/logs", "", id="logs"),
            pytest.param(".ralph/decide.txt", "decide.txt", id="decide"),
            pytest.param(".ralph/decide.txt", "missing.txt", id="decide-to-nothing"),
            pytest.param(".ralph/blocked.txt", "blocked.txt", id="blocked"),
            pytest.param(".ralph/blocked.txt", "missing.txt", id="blocked-to-nothing"),
        ],
    )
    def test_a_link_out_of_the_tree_is_refused_before_anything_runs(
        self, ralph: Ralph, tmp_path: Path, outside: Path, link: str, target: str
    ) -> None:
        clone = clone_of(tmp_path, {})
        (clone / link).parent.mkdir(exist_ok=True)
        (clone / link).symlink_to(outside / target)
        if link == ".ralph":
            (outside / "config.toml").unlink()
        before = self.content(outside)
        ran = tmp_path / "ran"
        agent = write_agent(
            tmp_path / "agents", f"touch '{ran}'; echo '<promise>DECIDE:Which?</promise>'"
        )
        said = ralph(clone, "run", "1", "--agent-command", agent)
        assert said.code == 5
        assert "leads out of the work tree" in said.err
        assert not ran.exists()
        for arguments in (["init"], ["note", "x"], ["answer", "x"], ["resume"], ["plan"]):
            ralph(clone, *arguments)
        assert self.content(outside) == before

    @pytest.mark.parametrize("name", ["@fix_plan.md", ".ralph", ".ralph/config.toml", ".gitignore"])
    def test_setting_up_writes_through_no_link(
        self, ralph: Ralph, tmp_path: Path, outside: Path, name: str
    ) -> None:
        clone = clone_of(tmp_path, {})
        (clone / "@fix_plan.md").unlink()
        (clone / name).parent.mkdir(exist_ok=True)
        target = outside if name == ".ralph" else outside / "new"
        (clone / name).symlink_to(target)
        before = self.content(outside)
        said = ralph(clone, "init")
        assert said.code == 5
        assert "leads out of the work tree" in said.err
        assert self.content(outside) == before
        assert git(clone, "ls-files", "--others", "--directory").splitlines() in (
            [name],
            [f"{name}/"],
            [".ralph/"],
        ) or name == "@fix_plan.md"

    def test_a_log_that_became_a_link_leads_nowhere(
        self, ralph: Ralph, tmp_path: Path, outside: Path
    ) -> None:
        clone = clone_of(tmp_path, {})
        logs = clone / ".ralph" / "logs"
        logs.mkdir(parents=True)
        (logs / "summary.csv").symlink_to(outside / "summary.csv")
        (logs / "iteration-001.log").symlink_to(outside / "profile")
        before = self.content(outside)
        agent = write_agent(tmp_path / "agents", "echo said")
        for number in range(2):
            link = logs / "iteration-001.log"
            said = ralph(clone, "run", "1", "--agent-command", agent, "--json")
            assert said.code == 1, number
            assert (logs / "summary.csv").is_file()
            assert not (logs / "summary.csv").is_symlink()
            assert not link.exists()
        assert self.content(outside) == before


class TestAHostileConfig:
    @pytest.mark.parametrize(
        ("text", "words"),
        [
            pytest.param(
                '\n[paths]\ndecide = "../../x"\n',
                "line 3: paths.decide: '../../x' must be a path inside the work tree",
                id="out-of-the-tree",
            ),
            pytest.param(
                '[paths]\nlogs = ".git/hooks"\n',
                "line 2: paths.logs: '.git/hooks' lies in git's own folder",
                id="into-git",
            ),
            pytest.param(
                '[paths]\nblocked = ".ralph/decide.txt"\n',
                "line 1: paths: blocked and decide are both '.ralph/decide.txt'",
                id="two-in-one",
            ),
            pytest.param(
                '[paths]\ndecide = ".ralph/config.toml"\n',
                "line 1: paths: decide and the settings are both '.ralph/config.toml'",
                id="over-the-settings",
            ),
            pytest.param('x = 1\n', "line 1: x: there is no such setting", id="unknown-key"),
            pytest.param("a = [\n", "line 2: this is not TOML: ", id="no-toml"),
            pytest.param("a = " + "[" * 100_000, "this is no sensible TOML", id="too-deep"),
            pytest.param("a = " + "9" * 5000, "this is no sensible TOML", id="too-long"),
        ],
    )
    def test_it_ends_with_78_and_says_where(
        self, ralph: Ralph, tmp_path: Path, text: str, words: str
    ) -> None:
        clone = clone_of(tmp_path, {".ralph/config.toml": text})
        for arguments in (["run", "1", "--agent-command", "true"], ["allow", "--yes"]):
            said = ralph(clone, *arguments)
            assert said.code == 78
            assert said.err.startswith(f"ralph: {clone / '.ralph/config.toml'}")
            assert words in said.err

    @pytest.mark.parametrize(
        "target", ["/dev/zero", "/dev/stdin", "/"], ids=["endless", "stdin", "folder"]
    )
    def test_a_link_to_what_is_no_file_is_not_read(
        self, ralph: Ralph, tmp_path: Path, target: str
    ) -> None:
        clone = clone_of(tmp_path, {})
        (clone / ".ralph").mkdir()
        (clone / ".ralph/config.toml").symlink_to(target)
        said = ralph(clone, "run", "1", "--agent-command", "true")
        assert said.code == 78
        assert "is no regular file" in said.err

    def test_a_pipe_is_not_waited_for(self, ralph: Ralph, tmp_path: Path) -> None:
        clone = clone_of(tmp_path, {})
        (clone / ".ralph").mkdir()
        for name in ("config.toml", "validate.sh", "decide.txt", "blocked.txt"):
            path = clone / ".ralph" / name
            os.mkfifo(path)
            said = ralph(clone, "run", "1", "--agent-command", "true")
            assert said.code in {1, 5, 78}, name
            path.unlink()

    def test_a_file_that_is_too_large_to_be_shown_is_refused(
        self, ralph: Ralph, tmp_path: Path
    ) -> None:
        clone = clone_of(tmp_path, {})
        (clone / ".ralph").mkdir()
        with (clone / ".ralph/validate.sh").open("wb") as file:
            file.truncate((64 << 20) + 1)
        said = ralph(clone, "allow", "--yes")
        assert said.code == 5
        assert "is larger than" in said.err


def test_titles_and_reasons_of_strangers_steer_no_terminal(ralph: Ralph, tmp_path: Path) -> None:
    clone = clone_of(tmp_path, {})
    (clone / "@fix_plan.md").write_text(
        "# Plan\n\n- [ ] Title\x1b]0;owned\x07 \x1b[2J\u202eevil\n", encoding="utf-8"
    )
    agent = write_agent(tmp_path / "agents", r"printf '<promise>BLOCKED:\033[2Jgone</promise>\n'")
    said = ralph(clone, "run", "1", "--agent-command", agent)
    assert said.code == 2
    for shown in (said.err, ralph(clone, "plan").out, ralph(clone, "status").out):
        assert "\x1b" not in shown
        assert "\u202e" not in shown


@pytest.mark.skipif(sys.platform == "win32", reason="links and pipes as POSIX has them")
def test_the_platform_is_one_on_which_these_tests_say_something() -> None:
    assert hasattr(os, "mkfifo")
