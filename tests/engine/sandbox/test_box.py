"""A box of bubblewrap around an agent: what works in there, and what a hostile one cannot do."""

from __future__ import annotations

import contextlib
import json
import os
import shlex
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

import psutil
import pytest

from ralph_ls.engine.sandbox.selection import find_bubblewrap, remedy_for
from tests.engine.project_builder import git, worktree_of, write_agent
from tests.engine.ralph_runner import Project, told, wait_until, warnings
from tests.engine.sandbox.box_attacks import ATTACKS, SECRET
from tests.engine.sandbox.conditions import BWRAP, needs_bubblewrap
from tests.engine.steered_run import inbox_of

SECRETS = (
    *(".ssh/id", ".aws/credentials", ".netrc", ".config/gh/hosts.yml", ".git-credentials"),
    *(".config/git/credentials", ".docker/config.json", ".kube/config", ".npmrc"),
    *(".mozilla/profile", ".local/share/keyrings/login", ".bash_history", ".codex/auth.json"),
    "dotfiles/gnupg/key",
)

FINISHED = "mark x First; report 'STATUS: COMPLETE' 'EXIT_SIGNAL: true' 'TESTS_STATUS: PASSING'"


CONTROL = """
import os, sys
from ralph_ls.cli.command_line import make_command
from ralph_ls.cli.main import run

codes = os.dup(1)
os.dup2(2, 1)
for words in map(str.split, sys.argv[1:]):
    make_command(words[0])
    for is_marked in (True, False):
        if (child := os.fork()) == 0:
            if not is_marked:
                del os.environ["RALPH_ITERATION_ID"]
            sys.argv = ["ralph", *words]
            run()
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        os.write(codes, f"{code}\\n".encode())
"""
"""Runs each command line of ``ralph`` twice, the second time without the mark of its iteration.

Forked from one process, for the start is not what this is about; prints their exit codes.
"""


@pytest.fixture
def home(project: Project, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The user's home folder, with secrets and settings."""
    home = Path.home()
    monkeypatch.setenv("RALPH_SANDBOX_WRITABLE", str(project.kept))
    for name in SECRETS:
        path = home / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(SECRET)
    (home / ".gnupg").symlink_to("dotfiles/gnupg")
    (home / ".bashrc").write_text("alias ll='ls -l'\n")
    (home / ".claude").mkdir()
    (home / ".claude" / "settings.json").write_text("{}\n")
    return home


def content_of(folder: Path) -> dict[str, bytes]:
    """Every file of a home folder but for the loop's state, and where links lead."""
    return {
        str(path.relative_to(folder)): bytes(path.readlink())
        if path.is_symlink()
        else path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if "state" not in path.parts and (path.is_symlink() or path.is_file())
    }


@contextlib.contextmanager
def listening(*paths: Path) -> Iterator[None]:
    """Sockets of services that act for the user."""
    with contextlib.ExitStack() as stack:
        here = os.open(".", os.O_RDONLY)
        stack.callback(os.close, here)
        for path in paths:
            path.parent.mkdir(parents=True, exist_ok=True)
            server = stack.enter_context(socket.socket(socket.AF_UNIX))
            os.chdir(path.parent)
            server.bind(path.name)
            os.fchdir(here)
            server.listen()
        yield


def has_committed(project: Project) -> bool:
    """Whether the agent's commit is the last one."""
    return git(project.repository, "log", "-1", "--format=%s") == "Work 1\n"


def script_of(attacks: Mapping[str, str]) -> str:
    """sh that tries one after the other, and keeps what each has found."""
    lines = ["mkdir -p found"]
    for number, (name, line) in enumerate(attacks.items()):
        lines.append(f"echo {shlex.quote(name)} > found/{number}.name")
        lines.append(
            f"timeout 10 sh -c {shlex.quote(line)} > found/{number}.out 2>&1 < /dev/null || true"
        )
    return "\n".join(lines)


@needs_bubblewrap
class TestHostile:
    @pytest.mark.slow
    @pytest.mark.timeout(300)
    def test_nothing_that_is_hidden_is_read_and_nothing_outside_changes(
        self, project: Project, home: Path, tmp_path: Path
    ) -> None:
        escaped, outside, sockets = tmp_path / "escaped", tmp_path / "outside", tmp_path / "sockets"
        for folder in (escaped, outside):
            folder.mkdir()
        (outside / "secret").write_text(SECRET)
        project.plan("First")
        worktree = worktree_of(project.repository)
        state = inbox_of(project).parent
        state.mkdir(parents=True)
        (state / "secret").write_text(SECRET)
        environment = {
            "ESCAPED": str(escaped),
            "OUTSIDE": str(outside),
            "SOCKETS": str(sockets),
            "STATE": str(state.parents[1]),
            "SSH_AUTH_SOCK": str(sockets / "ssh.sock"),
            "DBUS_SESSION_BUS_ADDRESS": f"unix:path={sockets / 'bus'}",
        }
        project.agent(
            "ENGINE=$(sed -E 's/.*\"pid\": ?([0-9]+).*/\\1/' .git/ralph.json); "
            "export ENGINE\n" + script_of(ATTACKS) + "\n" + FINISHED
        )
        git_files = ("config", "hooks", "info", "commondir", "config.worktree")
        before = content_of(home)
        with listening(sockets / "ssh.sock", sockets / "bus", home / "agent.sock"):
            started = project.start("1", "--sandbox", "--json", env=environment)
            done = started.wait()
        assert done.exit_code in {0, 1}, done.stderr
        assert len(told(done, "iterationEnded")) == 1
        outputs = {
            (path.with_suffix(".name")).read_text().strip(): path.read_text(errors="replace")
            for path in (project.repository / "found").glob("*.out")
        }
        assert set(outputs) == set(ATTACKS)
        for name, printed in outputs.items():
            for won in (SECRET, "CONNECTED", "TRACED", "TYPED", "86397 pytest"):
                assert won not in printed, (name, printed)
        for name in ("own question", "own approval", "own stop"):
            assert '"exitCode": 77' in outputs[name], outputs[name]
        assert str(started.pid) not in outputs["processes"].split()
        assert content_of(home) == before
        assert list(escaped.iterdir()) == []
        assert [path.name for path in outside.iterdir()] == ["secret"]
        left = [name for name in git_files if (worktree.git_dir / name).exists()]
        assert left == ["config", "hooks", "info"]
        assert "evil" not in "".join(
            path.read_text(errors="replace")
            for path in (worktree.git_dir / "config", *(worktree.git_dir / "info").iterdir())
        )
        assert not any("sample" not in path.name for path in (worktree.git_dir / "hooks").iterdir())
        assert not (worktree.git_dir / "worktrees").exists()
        assert not told(done, "commandAccepted")
        assert not list((state / "inbox").iterdir())
        assert not (state / "trust.json").exists()
        assert not any(
            Path(folder, "ralph-box-escaped").exists()
            for folder in ("/dev/shm", "/var/tmp", "/etc")
        )
        assert not [one for one in psutil.process_iter(["cmdline"]) if "86397" in str(one.info)]

    def test_what_the_agent_wrote_is_validated_in_a_box_too(
        self, project: Project, home: Path
    ) -> None:
        project.plan(
            "First",
            # What it runs is made later, so it is not part of what was allowed.
            files={".ralph/validate.sh": "#!/bin/sh\nls *.test | xargs cat | sh\n"},
        )
        (project.repository / ".ralph/validate.sh").chmod(0o755)
        git(project.repository, "commit", "-qam", "Executable")
        assert project.tell("allow", "--yes").exit_code == 0
        project.agent(
            "echo 'echo escaped > ~/escaped; echo evil >> ~/.bashrc; cat ~/.ssh/id > seen; true' "
            "> a.test; commit; " + FINISHED
        )
        done = project.run("1", "--sandbox", "--json")
        assert told(done, "validated"), done.stderr
        assert not (home / "escaped").exists()
        assert "evil" not in (home / ".bashrc").read_text()
        assert (project.repository / "seen").read_text() == ""

    @pytest.mark.parametrize("folder", [".git/hooks", ".husky"])
    def test_hooks_of_the_loops_commits_run_in_a_box_too(
        self, project: Project, home: Path, folder: str
    ) -> None:
        project.plan("First", files={"check.sh": "true\n"})
        hooks = project.repository / folder
        hooks.mkdir(exist_ok=True)
        for name in ("pre-commit", "commit-msg"):
            (hooks / name).write_text(f"#!/bin/sh\necho $# >> ran-{name}\nexec sh ./check.sh\n")
            (hooks / name).chmod(0o755)
        if folder == ".husky":
            git(project.repository, "config", "core.hooksPath", folder)
        project.agent(
            "echo 'echo evil >> ~/.bashrc; cat ~/.ssh/id; echo \"agent:$SSH_AUTH_SOCK\"; true' "
            f"> check.sh; echo evil >> {folder}/pre-commit || true; " + FINISHED
        )
        around = {"RALPH_COMMITS": "loop", "SSH_AUTH_SOCK": "/nowhere"}
        done = project.run("1", "--sandbox", "--json", env=around)
        assert git(project.repository, "log", "--format=%an").count("\n") == 2, done.stdout
        assert (project.repository / "ran-pre-commit").read_text() == "0\n"
        assert (project.repository / "ran-commit-msg").read_text() == "1\n"
        assert "evil" not in (home / ".bashrc").read_text()
        printed = "".join(path.read_text() for path in project.run_folder().glob("commit-*.*"))
        assert SECRET not in printed
        assert "agent:\n" in printed
        assert git(project.repository, "fsck", "--strict").strip() == ""

    @pytest.mark.parametrize(
        "links",
        [
            pytest.param((".git/COMMIT_EDITMSG",), id="message"),
            pytest.param((".git/logs/HEAD", ".git/logs/refs/heads/main"), id="reflog"),
            pytest.param((".git/logs",), id="folder of reflogs"),
            pytest.param((".git/ORIG_HEAD", ".git/gc.log", ".git/FETCH_HEAD"), id="other files"),
            pytest.param((".git/index",), id="index"),
            pytest.param((".git/refs/heads",), id="branches"),
            pytest.param((".git/objects/info", ".git/objects/pack"), id="objects"),
            pytest.param(("PROGRESS.md", ".ralph-active", ".gitignore"), id="files of the loop"),
            pytest.param((".ralph/logs/summary.csv", ".ralph/logs/iteration-002.log"), id="logs"),
            pytest.param((".ralph/logs",), id="folder of logs"),
        ],
    )
    def test_no_link_leads_what_is_written_later_out_of_the_tree(
        self, project: Project, home: Path, tmp_path: Path, links: tuple[str, ...]
    ) -> None:
        outside = tmp_path / "outside"
        outside.mkdir()
        project.plan("First", "Second", "Third")
        git(project.repository, "branch", "-M", "main")
        for number, link in enumerate(links):
            path = project.repository / link
            if path.is_dir() or link == ".ralph/logs":
                (outside / str(number)).mkdir()
            else:
                (outside / str(number)).write_text("as it was\n")
        project.agent(
            'work; echo change >> "f$RALPH_START"; git add -A; '
            + "; ".join(
                f"mkdir -p $(dirname {link}); rm -rf {link}; ln -sfn {outside}/{number} {link}"
                for number, link in enumerate(links)
            )
            + "; report 'STATUS: IN_PROGRESS'"
        )
        project.run("2", "--sandbox", "--json", env={"RALPH_COMMITS": "loop"})
        for path in outside.iterdir():
            if path.is_dir():
                assert list(path.iterdir()) == []
            else:
                assert path.read_text(errors="replace") == "as it was\n"

    def test_what_a_killed_engine_left_is_cleared_up_by_the_next(
        self, project: Project, home: Path, tmp_path: Path
    ) -> None:
        outside = tmp_path / "outside"
        outside.write_text("as it was\n")
        project.make_gate()
        project.agent(
            f'if [ "$RALPH_START" = 1 ]; then ln -sf {outside} .git/COMMIT_EDITMSG; wait_here; fi; '
            "work; " + FINISHED
        )
        started = project.start("2", "--sandbox", "--json")
        wait_until(project.kept, (project.kept / "here").exists)
        assert (project.repository / ".git/commondir").exists()
        started.kill()
        started.wait()
        done = project.run("2", "--resume", "--json", env={"RALPH_COMMITS": "loop"})
        assert done.exit_code in {0, 1}, done.stderr
        assert outside.read_text() == "as it was\n"
        assert not (project.repository / ".git/commondir").exists()

    def test_links_that_the_agent_makes_in_its_work_stay(
        self, project: Project, home: Path
    ) -> None:
        project.plan("First", files={"docs/plan.md": "- [ ] First\n", "a": "a\n"})
        project.agent("ln -s ../a docs/a; git add -A; commit; report 'STATUS: IN_PROGRESS'")
        project.run("1", "--sandbox", "--plan", "docs/plan.md", "--json")
        assert (project.repository / "docs/a").readlink() == Path("../a")

    def test_a_repository_within_the_tree_runs_nothing_when_the_engine_looks(
        self, project: Project, home: Path
    ) -> None:
        project.agent(
            "git init -q sub; cd sub; git commit -q --allow-empty -m sub; "
            f"git config core.fsmonitor 'echo fsmonitor >> {home}/escaped; false'; "
            f"git config core.hooksPath {home}; "
            f"git config filter.e.clean 'echo filter  >> {home}/escaped; cat'; "
            "echo '* filter=e' > .gitattributes; echo a > f; git add -A; git commit -qm f; "
            "echo b > f; cd ..; git add -A; git commit -qm all; " + FINISHED
        )
        project.run("2", "--sandbox", "--json")
        assert not (home / "escaped").exists(), (home / "escaped").read_text()


@needs_bubblewrap
class TestWork:
    def test_an_agent_works_commits_and_leaves_nothing_behind(
        self, project: Project, home: Path
    ) -> None:
        project.agent('work; commit; echo scratch > "$RALPH_SCRATCH/f"; ' + FINISHED)
        done = project.run("1", "--sandbox", "--json")
        assert has_committed(project), done.stderr
        assert told(done, "runStarted")[0].choices.sandbox == "bwrap"
        assert warnings(done) == ["excluded", "main-branch", "left-uncommitted"]
        assert not (project.repository / ".git" / "commondir").exists()
        assert (
            git(project.repository, "status", "--short", "--untracked-files=all")
            == " M @fix_plan.md\n"
        )

    def test_the_work_tree_may_be_a_linked_one(self, project: Project, home: Path) -> None:
        project.plan("First")
        linked = project.repository.parent / "linked"
        git(project.repository, "worktree", "add", "-q", str(linked))
        common = project.repository / ".git"
        project.agent(
            "echo /tmp > .git || true; mv .git g || true; git config a.b evil || true; "
            f"echo evil >> {common}/config || true; echo evil > {common}/hooks/pre-commit || true; "
            f"echo evil > {common}/commondir || true; echo evil > {project.repository}/f || true; "
            f"echo evil > {common}/worktrees/linked/config.worktree || true; "
            f"echo evil > {common}/worktrees/linked/commondir || true; "
            f"mkdir {common}/worktrees/other || true; work; commit; " + FINISHED
        )
        before = {path: path.read_bytes() for path in (common / "config", linked / ".git")}
        project.repository = linked
        done = project.run("1", "--sandbox", "--json")
        assert has_committed(project), done.stderr
        assert {path: path.read_bytes() for path in before} == before
        assert not (common / "hooks" / "pre-commit").exists()
        assert not (common / "commondir").exists()
        assert not (common.parent / "f").exists()
        assert (common / "worktrees/linked/commondir").read_text() == "../..\n"
        assert [path.name for path in (common / "worktrees").iterdir()] == ["linked"]

    def test_submodules_keep_their_settings_and_hooks(self, project: Project, home: Path) -> None:
        project.plan("First")
        other = project.repository.parent / "other"
        shutil.copytree(project.repository, other)
        git(
            project.repository,
            "-c",
            "protocol.file.allow=always",
            "submodule",
            "add",
            "-q",
            str(other),
            "lib/sub",
        )
        git(project.repository, "commit", "-qm", "A submodule")
        module = project.repository / ".git/modules/lib/sub"
        before = (module / "config").read_bytes()
        project.agent(
            "M=.git/modules/lib; mv $M .git/modules/x || true; mv $M/sub $M/y || true; "
            "echo evil >> $M/sub/config || true; echo evil > $M/sub/hooks/post-checkout || true; "
            "echo /tmp > $M/sub/commondir || true; echo 'gitdir: /tmp' > lib/sub/.git || true; "
            "(cd lib/sub; echo a > a; git add a; git commit -qm a); work; commit; " + FINISHED
        )
        done = project.run("1", "--sandbox", "--json")
        assert has_committed(project), done.stderr
        assert (module / "config").read_bytes() == before
        assert not (module / "hooks" / "post-checkout").exists()
        assert not (module / "commondir").exists()
        assert git(project.repository / "lib/sub", "log", "-1", "--format=%s") == "a\n"

    def test_without_a_network_nothing_can_be_reached(self, project: Project, home: Path) -> None:
        with socket.create_server(("127.0.0.1", 0)) as server:
            port = server.getsockname()[1]
            project.agent(
                "python3 -Sc 'import socket; "
                f'socket.create_connection(("127.0.0.1", {port}), 5); print("reached")\' '
                "> net 2>&1 || true; " + FINISHED
            )
            for words, reached in ((("--sandbox",), True), (("--no-network",), False)):
                done = project.run("1", *words, "--json")
                assert done.exit_code in {0, 1}, done.stderr
                said = (project.repository / "net").read_text()
                assert ("reached" in said) is reached, said
                git(project.repository, "checkout", "-q", "--", ".")

    def test_control_from_inside_is_refused_there_too(self, project: Project, home: Path) -> None:
        asked = ("stop", "answer yes", "allow --yes", "note x", "reset", "run 1")
        python = f"{shlex.quote(sys.executable)} -P -c {shlex.quote(CONTROL)}"
        project.agent(f"{python} {shlex.join(asked)} > codes 2> said\n{FINISHED}")
        project.run("1", "--sandbox", "--json")
        codes = (project.repository / "codes").read_text().split()
        assert codes == ["77"] * 12, (project.repository / "said").read_text()

    def test_settings_that_are_replaced_from_outside_are_reported(
        self, project: Project, home: Path
    ) -> None:
        project.make_gate()
        project.agent("wait_here; work; commit; " + FINISHED)
        started = project.start("1", "--sandbox", "--json")
        wait_until(project.kept, (project.kept / "here").exists)
        git(project.repository, "config", "some.thing", "else")
        project.open_gate()
        assert "sandbox-left" in warnings(started.wait())

    def test_the_stop_hook_asks_the_engine(self, project: Project, home: Path) -> None:
        stories = json.dumps(
            {
                "project": "p",
                "userStories": [
                    {"id": f"US-{n}", "title": f"Story {n}", "priority": n, "passes": False}
                    for n in (1, 2)
                ],
            }
        )
        project.plan("First", files={"prd.json": stories})
        ralph = f"{shlex.quote(sys.executable)} -P -m ralph_ls"
        project.agent(
            f'printf \'{{"hook_event_name": "Stop"}}\' | {ralph} hook stop > answer 2> said; '
            f"printf '{{\"stop_hook_active\": true}}' | {ralph} hook stop > again 2>> said; "
            "cp .git/ralph-stops.json stops; say done"
        )
        project.run("1", "--sandbox", "--profile", "stories", "--plan", "prd.json", "--json")
        said = (project.repository / "said").read_text()
        answer = (project.repository / "answer").read_text()
        assert json.loads(answer)["decision"] == "block", said
        assert json.loads((project.repository / "stops").read_text())["nActive"] == 1, said

    def test_a_stop_gives_the_agent_time_to_end_itself(self, project: Project, home: Path) -> None:
        project.agent(
            "trap 'echo ended > ended; exit 7' TERM; : > here; while :; do sleep 0.05 || true; done"
        )
        started = project.start("1", "--sandbox", "--json")
        started.wait_for("agentStarted")
        wait_until(project.repository, (project.repository / "here").exists)
        assert project.tell("stop", "--now").exit_code == 0
        started.wait()
        assert (project.repository / "ended").read_text() == "ended\n"


class TestAsked:
    """A sandbox that the user asked for is there, or nothing starts."""

    def without_bwrap(self, tmp_path: Path) -> dict[str, str]:
        folder = tmp_path / "programs"
        folder.mkdir()
        for name in ("git", "sh", "sed", "cat", "env", "python3"):
            (folder / name).symlink_to(shutil.which(name) or name)
        return {"PATH": str(folder)}

    @pytest.mark.parametrize(
        ("words", "variables"),
        [
            (("--sandbox",), {}),
            (("--sandbox", "bwrap"), {}),
            (("--no-network",), {}),
            ((), {"RALPH_SANDBOX": "bwrap"}),
        ],
    )
    def test_nothing_starts_where_it_cannot_be_had(
        self, project: Project, tmp_path: Path, words: tuple[str, ...], variables: dict[str, str]
    ) -> None:
        project.agent("echo ran > ran")
        done = project.run("1", *words, env={**self.without_bwrap(tmp_path), **variables})
        assert done.exit_code == 5
        assert "bubblewrap is not installed" in done.stderr
        assert "apt-get install bubblewrap" in done.stderr
        assert not (project.repository / "ran").exists()

    def test_auto_in_the_settings_runs_without_and_says_so(
        self, project: Project, tmp_path: Path
    ) -> None:
        project.agent("work; commit; " + FINISHED)
        around = {**self.without_bwrap(tmp_path), "RALPH_SANDBOX": "auto"}
        done = project.run("1", env=around)
        assert done.exit_code in {0, 1}, done.stderr
        assert "Sandbox: none (bubblewrap is not installed; install it: sudo apt-get" in done.stdout

    @needs_bubblewrap
    def test_the_repository_cannot_open_what_the_user_asked_for(
        self, project: Project, home: Path
    ) -> None:
        settings = 'kind = "none"\nshow = ["~/.ssh"]\nwritable = ["~/"]\nchecks = false\n'
        project.plan("First", files={".ralph/config.toml": f"[sandbox]\n{settings}"})
        project.agent("cat ~/.ssh/id > seen || true; work; commit; " + FINISHED)
        done = project.run("1", "--sandbox", "--json")
        assert told(done, "runStarted")[0].choices.sandbox == "bwrap", done.stderr
        assert (project.repository / "seen").read_text() == ""

    def test_without_a_word_of_the_user_the_repositorys_is_to_be_allowed(
        self, project: Project
    ) -> None:
        project.plan("First", files={".ralph/config.toml": 'sandbox = "auto"\n'})
        project.agent("work; commit; " + FINISHED)
        done = project.run("1")
        assert done.exit_code == 78
        assert "sandbox" in done.stderr
        assert project.tell("allow", "--yes").exit_code == 0
        assert project.run("1").exit_code in {0, 1}


@needs_bubblewrap
def test_an_ordinary_user_has_it_too() -> None:
    if os.geteuid() != 0 or shutil.which("setpriv") is None:
        pytest.skip("it is an ordinary user that runs these tests, or setpriv is not here")
    trial = (BWRAP.program, "--ro-bind", "/", "/", "--proc", "/proc", "--dev", "/dev")
    isolation = ("--unshare-user-try", "--unshare-pid", "--die-with-parent", "--new-session")
    done = subprocess.run(
        (
            *("setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups"),
            *(*trial, *isolation, "--cap-drop", "ALL", "id", "-u"),
        ),
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout) == (0, "65534\n"), done.stderr


@pytest.mark.parametrize(
    ("switch", "value", "word"),
    [
        ("kernel/apparmor_restrict_unprivileged_userns", "1", "apparmor_parser"),
        ("kernel/unprivileged_userns_clone", "0", "sysctl kernel.unprivileged_userns_clone=1"),
        ("user/max_user_namespaces", "0", "sysctl user.max_user_namespaces"),
        ("kernel/other", "0", "--security-opt"),
    ],
)
def test_what_forbids_it_is_named(tmp_path: Path, switch: str, value: str, word: str) -> None:
    path = tmp_path / switch
    path.parent.mkdir(parents=True)
    path.write_text(f"{value}\n")
    assert word in remedy_for(
        "No permissions to create new namespace: Operation not permitted", tmp_path
    )


def test_a_bwrap_that_fails_is_reported_by_what_it_says(tmp_path: Path) -> None:
    write_agent(
        tmp_path, "echo 'bwrap: setting up uid map: Permission denied' >&2; exit 1", name="bwrap"
    )
    found = find_bubblewrap(str(tmp_path))
    assert not found.works
    assert "setting up uid map: Permission denied" in found.problem
    assert found.remedy
