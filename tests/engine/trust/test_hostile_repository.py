"""What a repository may bring beside commands: links, programs on PATH, settings that do harm."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from ralph_ls.engine.demo import project
from tests.engine.hostile_repository import clone_of, leaving
from tests.engine.project_builder import git, run_ralph, wait_for, write_agent
from tests.unit.cli.cli_runner import Ralph, caller


@pytest.fixture
def ralph(capsys: pytest.CaptureFixture[str]) -> Ralph:
    return caller(capsys)


@pytest.fixture
def marker(tmp_path: Path) -> Path:
    """Where whatever runs without leave writes its name."""
    return tmp_path / "marker"


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

    @pytest.mark.slow
    @pytest.mark.parametrize(
        ("where", "extra"),
        [
            pytest.param("relative", (), id="relative"),
            pytest.param("inside", ("--detach", "--on-halt", "exit"), id="inside-and-detached"),
        ],
    )
    def test_no_git_and_no_module_of_the_tree_is_taken(
        self, booby_trapped: Path, tmp_path: Path, marker: Path, where: str, extra: tuple[str, ...]
    ) -> None:
        agent = write_agent(tmp_path / "agents", "echo ran")
        first = ["", "."] if where == "relative" else [str(booby_trapped / "bin")]
        environment = {"PATH": os.pathsep.join([*first, os.environ["PATH"]])}
        ran = run_ralph(
            booby_trapped, "run", "1", "--agent-command", agent, *extra, env=environment
        )
        assert ran.exit_code == (0 if extra else 1), ran.stderr
        wait_for(booby_trapped, "runEnded", exit_code=1)
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
        assert "is inside the work tree" in said.err
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

    def test_a_git_folder_out_of_an_archive_cannot_bring_a_run_to_resume(
        self, ralph: Ralph, tmp_path: Path, marker: Path, state_dir: Path
    ) -> None:
        """``ralph.json`` would name a journal whose settings count as given by the user."""
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
            assert ralph(clone, "status").out.startswith("No run in ")
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
        git(sample, "add", "-A", "--force")
        git(sample, "commit", "-q", "-m", "More tests")
        git(tmp_path, "clone", "-q", str(sample), "clone")
        said = ralph(tmp_path / "clone", "run", "2")
        assert said.code == 2
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
        if name == ".ralph":
            (outside / "config.toml").unlink()
        (clone / name).symlink_to(target)
        before = self.content(outside)
        said = ralph(clone, "init")
        assert said.code == 5
        assert "leads out of the work tree" in said.err
        assert self.content(outside) == before
        assert (
            git(clone, "ls-files", "--others", "--directory").splitlines()
            in (
                [name],
                [f"{name}/"],
                [".ralph/"],
            )
            or name == "@fix_plan.md"
        )

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
                "toml:3: paths.decide: '../../x' must be a path inside the work tree",
                id="out-of-the-tree",
            ),
            pytest.param(
                '[paths]\nlogs = ".git/hooks"\n',
                "toml:2: paths.logs: '.git/hooks' is in git's own folder",
                id="into-git",
            ),
            pytest.param(
                '[paths]\nblocked = ".ralph/decide.txt"\n',
                "toml:1: paths: blocked and decide are both '.ralph/decide.txt'",
                id="two-in-one",
            ),
            pytest.param(
                '[paths]\ndecide = ".ralph/config.toml"\n',
                "toml:1: paths: decide and the settings are both '.ralph/config.toml'",
                id="over-the-settings",
            ),
            pytest.param("x = 1\n", "toml:1: unknown setting x", id="unknown-key"),
            pytest.param("a = [\n", "toml:2: the file ends before", id="no-toml"),
            pytest.param("a = " + "[" * 100_000, "nested too deeply or too long", id="too-deep"),
            pytest.param("a = " + "9" * 5000, "nested too deeply or too long", id="too-long"),
        ],
    )
    def test_it_ends_with_78_and_says_where(
        self, ralph: Ralph, tmp_path: Path, text: str, words: str
    ) -> None:
        clone = clone_of(tmp_path, {".ralph/config.toml": text})
        for arguments in (["run", "1", "--agent-command", "true"], ["allow", "--yes"]):
            said = ralph(clone, *arguments)
            assert said.code == 78
            assert said.err.startswith("ralph: .ralph/config.toml:")
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
        assert "not a regular file" in said.err

    def test_a_pipe_is_not_waited_for(self, ralph: Ralph, tmp_path: Path) -> None:
        clone = clone_of(tmp_path, {})
        (clone / ".ralph").mkdir()
        for name in ("config.toml", "validate.sh", "decide.txt", "blocked.txt"):
            path = clone / ".ralph" / name
            os.mkfifo(path)
            said = ralph(clone, "run", "1", "--agent-command", "true")
            code = {"config.toml": 78, "validate.sh": 1}.get(name, 5)
            assert (said.code, "not a regular file" in said.err) == (code, code != 1), name
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
