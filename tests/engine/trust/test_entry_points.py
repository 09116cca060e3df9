"""Every way in, started within a repository that would like to run something: nothing of it runs.

The repository brings modules, programs, settings of git and of editors. Each of them leaves its
name behind when it is run or imported. What the user starts is asked first: see ``ralph allow``.
"""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from ralph_ls.protocol.errors import NotAllowed
from ralph_ls.store.external.git_safety import programs_named
from ralph_ls.store.layout import find_worktree, state_folder, state_root
from ralph_ls.store.own_python import own_command
from ralph_ls.store.run.launch import launch_detached
from ralph_ls.store.setup.hook_launcher import own_launcher
from tests.engine.forked_ralph import Launches, fork_server
from tests.engine.hostile_repository import clone_of, leaving
from tests.engine.project_builder import git

pytestmark = pytest.mark.slow

MODULES = (
    *("ralph_ls/__init__.py", "ralph_ls/__main__.py", "sitecustomize.py", "usercustomize.py"),
    *("typer.py", "json.py", "pydantic.py", "git.py", "encodings.py", "site.py", "asyncio.py"),
    *(
        "conftest.py",
        "setup.py",
        "unittest.py",
        "venv.py",
        "pip.py",
        "pygls.py",
        "rich/__init__.py",
    ),
)

PROGRAMS = (
    *("git", "bin/git", "bin/python3", "bin/bd", "bin/gh", "bin/ralph", "bin/claude", "bin/sh"),
    *(".venv/bin/python", ".venv/bin/ralph", ".venv/bin/ralph-ls", "node_modules/.bin/claude"),
    *(".ralph/validate.sh", ".ralph/validate.d/10.sh", ".beads/hooks/on_update", "notify.sh"),
    *(".husky/pre-commit", "filter.sh"),
)

SETTINGS = {
    ".ralph/config.toml": (
        'profile = "fixplan"\nagent = "mine"\nnotify.command = ["./notify.sh"]\n'
        '[agents.mine]\nargv = ["./bin/claude"]\nenv = { PATH = "bin" }\n'
        '[sandbox]\nprefix = ["./bin/sh"]\n'
    ),
    "@fix_plan.md": "# Plan\n\n- [ ] Task\n  Acceptance: `./notify.sh` exits 0\n",
    "README.md": "# Read me\n",
    ".env": "PYTHONPATH=.\nRALPH_AGENT_COMMAND=./notify.sh\nPATH=bin\n",
    ".envrc": "./notify.sh\n",
    ".python-version": "../../bin\n",
    "pyproject.toml": '[tool.pytest.ini_options]\naddopts = "-p conftest"\n',
    ".claude/settings.json": json.dumps(
        {"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "./ralph hook stop"}]}]}}
    ),
    ".vscode/settings.json": json.dumps(
        {"ralphLoop.server.path": "./bin/ralph", "ralphLoop.server.importStrategy": "environment"}
    ),
    ".gitattributes": "* filter=evil diff=evil merge=evil\nREADME.md filter=a=b\n",
    "included.gitconfig": "",
}

GIT_SETTINGS = {
    "core.fsmonitor": "{}",
    "core.sshCommand": "{}",
    "core.pager": "{}",
    "core.editor": "{}",
    "core.askPass": "{}",
    "core.hooksPath": ".husky",
    "core.alternateRefsCommand": "{}",
    "diff.external": "{}",
    "diff.evil.textconv": "{}",
    "diff.evil.command": "{}",
    "filter.evil.clean": "{}",
    "filter.evil.smudge": "{}",
    "filter.evil.process": "{}",
    "filter.evil.required": "true",
    "filter.a=b.clean": "{}",
    "merge.evil.driver": "{}",
    "gpg.program": "{}",
    "commit.gpgSign": "true",
    "log.showSignature": "true",
    "credential.helper": "!{}",
    "alias.status": "!{}",
    "alias.version": "!{}",
    "remote.origin.url": "ext::{}",
    "remote.origin.uploadpack": "{}",
    "remote.origin.promisor": "true",
    "protocol.ext.allow": "always",
    "uploadpack.packObjectsHook": "{}",
    "include.path": "../included.gitconfig",
}


REALLY_STARTED = (["status"], ["run", "1"], ["run", "1", "--detach"], ["hook", "stop"])
"""Verbs that import their modules in this repository; the others are forked, see below."""

IMPORT_ALL = """
import importlib, pkgutil, ralph_ls
names = [one.name for one in pkgutil.walk_packages(ralph_ls.__path__, "ralph_ls.")]
for name in names:
    if not name.endswith("__main__"):
        importlib.import_module(name)
print(len(names))
"""


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What all tests here share: the repository, made once, and the canary that it knows."""
    return tmp_path_factory.mktemp("entry-points")


@pytest.fixture
def canary(shared: Path) -> Path:
    """Where whatever runs writes its name."""
    (shared / "canary").unlink(missing_ok=True)
    return shared / "canary"


@pytest.fixture
def repository(shared: Path, canary: Path, tmp_path: Path) -> Path:
    """One that does all that a repository can, with the ``.git`` of an archive."""
    if not (shared / "clone").exists():
        make_repository(shared, canary)
    assert not canary.exists()
    return shutil.copytree(shared / "clone", tmp_path / "clone", symlinks=True)


def make_repository(folder: Path, canary: Path) -> None:
    module = "import os, sys\nwith open({!r}, 'a') as file: file.write({!r})\nraise ImportError\n"
    files = {name: module.format(str(canary), f"{name}\n") for name in MODULES}
    clone = clone_of(folder, {**files, **SETTINGS})
    for name in PROGRAMS:
        path = clone / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(leaving(canary, name), encoding="utf-8")
        path.chmod(0o755)
    git(clone, "add", "-A")
    git(clone, "-c", "core.hooksPath=/dev/null", "commit", "-q", "-m", "Programs")
    (clone / ".git" / "hooks").mkdir(exist_ok=True)
    for name in ("post-checkout", "post-index-change", "pre-commit", "reference-transaction"):
        hook = clone / ".git" / "hooks" / name
        hook.write_text(leaving(canary, f"hook {name}"), encoding="utf-8")
        hook.chmod(0o755)
    program = str(clone / "filter.sh")
    included = f'[filter "evil"]\n\tclean = {program}\n[filter "more"]\n\tclean = {program}\n'
    (clone / "included.gitconfig").write_text(included, encoding="utf-8")
    for key, value in GIT_SETTINGS.items():
        git(clone, "config", key, value.format(program))
    for path in (clone / "README.md", clone / "@fix_plan.md", clone / "pyproject.toml"):
        # What was touched is compared, and what is compared is filtered.
        os.utime(path, (1, 1))


@pytest.fixture
def around(repository: Path) -> Mapping[str, str]:
    """What a careless user has set: the current folder on two search paths."""
    path = os.pathsep.join(["", ".", "bin", str(repository / "bin"), os.environ["PATH"]])
    search = os.pathsep.join([str(repository / "nothing"), ""])
    return {**os.environ, "PATH": path, "PYTHONPATH": search}


def start(
    words: list[str], cwd: Path, environment: Mapping[str, str], given: bytes = b""
) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        words,
        cwd=cwd,
        env=dict(environment),
        input=given,
        capture_output=True,
        check=False,
        timeout=100,
    )


def ran(canary: Path) -> str:
    return canary.read_text(encoding="utf-8") if canary.exists() else ""


@pytest.mark.parametrize(
    ("arguments", "codes"),
    [
        (["allow"], {64}),
        (["allow", "--json"], {0}),
        (["status"], {0}),
        (["plan"], {0}),
        (["plan", "--json"], {0}),
        (["doctor"], {1}),
        (["doctor", "--network"], {1}),
        (["stats"], {0}),
        (["prompt"], {0, 5, 78}),
        (["run", "1"], {78}),
        (["run", "1", "--detach"], {78}),
        (["run", "--dry-run"], {0, 5, 78}),
        (["replan"], {78}),
        (["propose"], {0, 5, 64, 78}),
        (["init", "--dry-run"], {0, 5}),
        (["rollback", "--dry-run"], {0, 1, 2, 4, 5, 64}),
        (["hook", "stop"], {0}),
        (["read", "README.md"], {0, 5, 64}),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_no_verb_runs_anything(
    repository: Path,
    around: Mapping[str, str],
    canary: Path,
    arguments: list[str],
    codes: set[int],
) -> None:
    words = own_command("-m", "ralph_ls", *arguments)
    if arguments in REALLY_STARTED:
        done = start(words, repository, around, b"{}")
    else:
        done = Launches(fork_server()).run(words, cwd=repository, env=around)
    assert done.returncode in codes, done.stderr
    assert ran(canary) == ""


def test_no_module_is_imported_from_the_repository(
    repository: Path, around: Mapping[str, str], canary: Path
) -> None:
    """Whatever some verb imports on its way, all of it in one process."""
    done = start(own_command("-c", IMPORT_ALL), repository, around)
    assert (done.returncode, done.stderr) == (0, b"")
    assert int(done.stdout) > 500
    assert ran(canary) == ""


def test_the_installed_program_runs_nothing(repository: Path, canary: Path) -> None:
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    program = Path(sys.executable).with_name("ralph")
    for arguments, code in ((["allow", "--json"], 0), (["run", "1"], 78), (["doctor"], 1)):
        done = start([str(program), *arguments], repository, environment)
        assert done.returncode == code, done.stderr
    assert ran(canary) == ""


def test_the_demo_is_run_somewhere_else(
    repository: Path, around: Mapping[str, str], canary: Path, tmp_path: Path
) -> None:
    words = own_command("-m", "ralph_ls", "demo", str(tmp_path / "sample"))
    path = os.pathsep.join(["", ".", "bin", os.environ["PATH"]])
    done = start(words, repository, {**around, "PATH": path, "RALPH_DEMO_PACE": "0"})
    assert done.returncode == 0, done.stderr
    assert ran(canary) == ""


def test_the_stop_hook_imports_nothing(
    repository: Path, around: Mapping[str, str], canary: Path
) -> None:
    """As an agent's program starts it: by a shell, in the work tree."""
    assert {"-I", "-P"} & {*shlex.split(own_launcher())}
    done = start(["/bin/sh", "-c", own_launcher()], repository, around, b'{"cwd": "."}')
    assert done.returncode == 0, done.stderr
    assert ran(canary) == ""


def test_the_server_shows_the_repository_and_runs_nothing(
    repository: Path, around: Mapping[str, str], canary: Path
) -> None:
    """As both editors start it, and also within the folder."""
    uri = repository.as_uri()
    plan = (repository / "@fix_plan.md").as_uri()
    folder = {"uri": uri, "name": "it"}
    document = {"uri": plan, "languageId": "markdown", "version": 1, "text": "- [ ] Task\n"}
    messages: list[dict[str, object]] = [
        {
            "id": 1,
            "method": "initialize",
            "params": {
                "processId": None,
                "rootUri": uri,
                "capabilities": {},
                "workspaceFolders": [folder],
            },
        },
        {"method": "initialized", "params": {}},
        {"method": "textDocument/didOpen", "params": {"textDocument": document}},
        {"id": 2, "method": "textDocument/codeLens", "params": {"textDocument": {"uri": plan}}},
        {"id": 3, "method": "ralph/start", "params": {"workspace": uri}},
        {"id": 4, "method": "shutdown"},
        {"method": "exit"},
    ]
    bodies = [json.dumps({"jsonrpc": "2.0", **one}).encode() for one in messages]
    given = b"".join(b"Content-Length: %d\r\n\r\n%s" % (len(one), one) for one in bodies)
    code = "from ralph_ls.cli.main import run_language_server as run; run()"
    for words in (own_command("-c", code), own_command("-m", "ralph_ls", "serve")):
        done = start(words, repository, around, given)
        assert done.returncode == 0, done.stderr
        assert b'"id":3' in done.stdout.replace(b" ", b"")
        assert ran(canary) == ""


def test_an_engine_in_the_background_begins_with_nothing(
    repository: Path, around: Mapping[str, str], canary: Path
) -> None:
    files = state_folder(state_root(around), find_worktree(repository)).run("20260131T120000Z-0a1b")
    launched = launch_detached(["run", "1"], cwd=repository, environment=around, files=files)
    assert (launched.started, launched.exit_code) == (False, NotAllowed.exit_code)
    assert ran(canary) == ""


def test_what_git_would_run_is_named(repository: Path) -> None:
    """The settings of the repository's own that name a program, and no switches."""

    def ask(*arguments: str) -> bytes:
        return git(repository, "--no-pager", *arguments).encode()

    named = {key for key, _ in programs_named(ask)}
    switches = {"filter.evil.required", "commit.gpgSign", "log.showSignature", "include.path"}
    others = {"remote.origin.url", "remote.origin.promisor"}
    wanted = {key.lower() for key in GIT_SETTINGS.keys() - switches - others}
    assert {key.lower() for key in named} == wanted | {"filter.more.clean"}
