"""The frame of the project keeps its own promises: packaging, lock, set-up, files and names."""

from __future__ import annotations

import ast
import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import ralph_ls

ROOT = Path(__file__).resolve().parents[3]
PACKAGE = ROOT / "server" / "ralph_ls"
# The sample project of the demo is somebody else's project, as far as these rules go.
SAMPLE = PACKAGE / "engine" / "demo" / "files"

FRAGMENT_NAME = re.compile(r"\+[a-z0-9]+(-[a-z0-9]+)*\.(feature|fix|breaking|doc|misc)(\.\d+)?\.md")
# Folders that only exist on some machine; `/home/ada` and the like are people in examples.
MACHINE_PATH = re.compile(
    r"(?<![\w.~:/-])/(?:work|root)/\w|/home/(?!(?:ada|alice|bob|dev|me|someone|u|user|you)\b)\w"
)
REGISTRY_HOST = re.compile(r"pypi[.]org|pythonhosted[.]org|registry[.]npmjs|debian[.]org")


@pytest.fixture(scope="session")
def pyproject() -> dict[str, object]:
    return tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


@pytest.fixture(scope="session")
def project_files() -> list[Path]:
    """Every file that is, or could be, committed."""
    # The work tree may belong to another user than the one who runs the tests, as in a container.
    command = ["git", "-c", "safe.directory=*", "ls-files", "-z", "--cached", "--others"]
    listing = subprocess.run(
        [*command, "--exclude-standard"], cwd=ROOT, check=True, capture_output=True
    ).stdout
    paths = [ROOT / os.fsdecode(name) for name in listing.split(b"\0") if name]
    return [path for path in paths if path.is_file()]


def texts(paths: list[Path]) -> list[tuple[Path, str]]:
    readable = []
    for path in paths:
        try:
            readable.append((path.relative_to(ROOT), path.read_text(encoding="utf-8")))
        except UnicodeDecodeError:
            continue
    return readable


def unexplained(array_name: str) -> list[str]:
    """The entries of a top-level array in pyproject.toml that have no comment right above."""
    lines = (ROOT / "pyproject.toml").read_text(encoding="utf-8").splitlines()
    start = lines.index(f"{array_name} = [")
    body = lines[start + 1 : lines.index("]", start)]
    entries = [
        (line.strip(), body[number - 1].strip() if number else "")
        for number, line in enumerate(body)
        if line.strip().startswith('"')
    ]
    assert entries, f"{array_name} is empty"
    return [entry for entry, above in entries if not re.fullmatch(r"# .{15,}", above)]


class TestDependencies:
    @pytest.mark.parametrize("array_name", ["dependencies", "build", "dev", "docs", "release"])
    def test_each_one_says_why_it_is_here(self, array_name: str) -> None:
        assert unexplained(array_name) == []

    def test_each_one_is_in_the_lock(self, pyproject: dict[str, object]) -> None:
        locked = re.findall(r"^([a-z0-9-]+)==", lock_text(), flags=re.MULTILINE)
        project, groups = pyproject["project"], pyproject["dependency-groups"]
        assert isinstance(project, dict)
        assert isinstance(groups, dict)
        wanted = [*project["dependencies"], *groups["build"]]
        wanted += [entry for entry in groups["dev"] if isinstance(entry, str)]
        names = {re.split(r"[\[><=~!;]", entry)[0].lower() for entry in wanted}
        assert names - set(locked) == set()


def lock_text() -> str:
    return (ROOT / "requirements.lock").read_text(encoding="utf-8")


class TestLock:
    def test_every_package_has_a_version_and_hashes(self) -> None:
        blocks = re.split(r"^(?=[a-z0-9])", lock_text(), flags=re.MULTILINE)[1:]
        assert len(blocks) > 20
        for block in blocks:
            assert re.match(r"[a-z0-9-]+==\S+ ", block), block.splitlines()[0]
            assert "--hash=sha256:" in block, block.splitlines()[0]

    def test_it_names_no_place_to_fetch_from(self) -> None:
        assert not re.search(r"://|--(extra-)?index|--find-links|@ file", lock_text())


class TestPackage:
    def test_the_version_is_written_once(self, pyproject: dict[str, object]) -> None:
        project = pyproject["project"]
        assert isinstance(project, dict)
        assert "version" in project["dynamic"]
        assert re.fullmatch(r"\d+\.\d+\.\d+", ralph_ls.__version__)

    def test_it_is_marked_as_typed(self) -> None:
        assert (PACKAGE / "py.typed").is_file()

    def test_every_package_has_an_init_that_says_why_it_exists(self) -> None:
        folders = {path.parent for path in PACKAGE.rglob("*.py") if SAMPLE not in path.parents}
        silent = [
            str(folder.relative_to(ROOT))
            for folder in sorted(folders)
            if not has_docstring(folder / "__init__.py")
        ]
        assert silent == []


def has_docstring(path: Path) -> bool:
    return path.is_file() and bool(ast.get_docstring(ast.parse(path.read_bytes())))


class TestFiles:
    def test_none_holds_a_path_of_somebodys_machine(self, project_files: list[Path]) -> None:
        found = [
            f"{path}: {match.group()}"
            for path, text in texts(project_files)
            for match in MACHINE_PATH.finditer(text)
        ]
        assert found == []

    def test_none_names_a_package_registry(self, project_files: list[Path]) -> None:
        found = [
            f"{path}: {match.group()}"
            for path, text in texts(project_files)
            for match in REGISTRY_HOST.finditer(text)
        ]
        assert found == []

    def test_changelog_fragments_are_named_for_a_subject_and_a_kind(self) -> None:
        others = {"README.md", "template.md.jinja"}
        fragments = [path.name for path in (ROOT / "changes").iterdir() if path.name not in others]
        assert [name for name in fragments if not FRAGMENT_NAME.fullmatch(name)] == []

    def test_the_scripts_of_ci_can_be_executed(self) -> None:
        for name in ("run", "matrix", "find-python"):
            assert os.access(ROOT / ".ci" / name, os.X_OK), name


class TestMakefile:
    def test_help_is_what_make_does_when_asked_for_nothing(self) -> None:
        result = make(ROOT, dict(os.environ))
        assert result.returncode == 0
        assert result.stdout == make(ROOT, dict(os.environ), "help").stdout

    @pytest.mark.parametrize(
        "target",
        [
            "demo",
            "test",
            "check",
            "fix",
            "generate",
            "bench",
            "e2e",
            "build",
            "release",
            "lock",
            "clean",
        ],
    )
    def test_help_lists(self, target: str) -> None:
        shown = make(ROOT, dict(os.environ), "help").stdout
        assert re.search(rf"^  make {target} +\w", shown, flags=re.MULTILINE)


class TestSetUp:
    """``make`` in a copy of the frame, with nothing on PATH but Pythons made for the case."""

    def test_it_names_the_package_that_debian_keeps_apart(self, bare_machine: BareMachine) -> None:
        bare_machine.add_python("python3", version=(3, 12), has_venv=False)
        result = bare_machine.make()
        assert result.returncode != 0
        assert "apt install python3.12-venv" in result.stderr

    def test_it_says_what_is_needed_where_no_python_is_new_enough(
        self, bare_machine: BareMachine
    ) -> None:
        bare_machine.add_python("python3", version=(3, 9), has_venv=True)
        result = bare_machine.make()
        assert result.returncode != 0
        assert "No Python 3.11 or newer was found" in result.stderr

    def test_it_says_so_where_there_is_no_python_at_all(self, bare_machine: BareMachine) -> None:
        result = bare_machine.make()
        assert result.returncode != 0
        assert "No Python 3.11 or newer was found" in result.stderr

    def test_a_shim_that_fails_an_old_one_and_a_half_one_are_passed_over(
        self, bare_machine: BareMachine
    ) -> None:
        bare_machine.add_broken("python3")
        bare_machine.add_broken("python3.14")
        bare_machine.add_python("python3.13", version=(3, 13), has_venv=False)
        bare_machine.add_python("python3.12", version=(3, 12), has_venv=True)
        bare_machine.add_python("python3.11", version=(3, 11), has_venv=True)
        result = bare_machine.make()
        assert "python3.12 .ci/set_up.py" in result.stdout
        assert result.returncode == 0

    def test_the_python_that_is_named_is_taken(self, bare_machine: BareMachine) -> None:
        bare_machine.add_python("python3", version=(3, 12), has_venv=True)
        mine = bare_machine.add_python("my python", version=(3, 13), has_venv=True)
        assert "my python .ci/set_up.py" in bare_machine.make(f"PYTHON={mine}").stdout

    def test_the_python_that_is_named_is_the_only_one_looked_at(
        self, bare_machine: BareMachine
    ) -> None:
        bare_machine.add_python("python3", version=(3, 12), has_venv=True)
        result = bare_machine.make("PYTHON=python2")
        assert result.returncode != 0
        assert "PYTHON=python2 is no Python 3.11 or newer" in result.stderr

    def test_a_set_up_that_fails_shows_why_and_leaves_no_half_made_environment(
        self, bare_machine: BareMachine
    ) -> None:
        shutil.copy(ROOT / ".ci" / "set_up.py", bare_machine.folder / ".ci")
        bare_machine.add_this_python_with_little_room()
        result = bare_machine.make()
        assert result.returncode != 0
        assert "File too large" in result.stderr
        assert ".venv is not ready" in result.stdout
        assert not (bare_machine.folder / ".venv").exists()


class BareMachine:
    """A folder with a space in its name that holds the frame, and a PATH with the barest tools."""

    def __init__(self, folder: Path, programs: Path) -> None:
        self.folder = folder
        self.programs = programs
        self.environment = {**os.environ, "PATH": str(programs)}
        self.environment.pop("PYTHON", None)

    def add_python(self, name: str, *, version: tuple[int, int], has_venv: bool) -> Path:
        """A fake that answers what .ci/find-python asks, and prints what it is run with."""
        major, minor = version
        return self._add(
            name,
            f'case "$2" in\n'
            f"  *exit*version_info*) exit {int(version < (3, 11))} ;;\n"
            f"  *ensurepip*) exit {int(not has_venv)} ;;\n"
            f"  *print*) echo {major}.{minor} ;;\n"
            f'  *) echo "${{0##*/}} $*" ;;\n'
            f"esac\n",
        )

    def add_broken(self, name: str) -> Path:
        return self._add(name, "echo 'shim: no version is set' >&2\nexit 127\n")

    def add_this_python_with_little_room(self) -> None:
        """Room for the files of an environment, which are small, but not for those of pip."""
        self._add("python3", f"ulimit -f 200; exec '{sys.executable}' \"$@\"\n")

    def make(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        return make(self.folder, self.environment, ".venv/.set-up", *arguments)

    def _add(self, name: str, script: str) -> Path:
        path = self.programs / name
        path.write_text(f"#!/bin/sh\n{script}", encoding="utf-8")
        path.chmod(0o755)
        return path


@pytest.fixture
def bare_machine(tmp_path: Path) -> BareMachine:
    folder, programs = tmp_path / "a project", tmp_path / "bin"
    programs.mkdir()
    (folder / ".ci").mkdir(parents=True)
    for name in ("Makefile", "pyproject.toml", "requirements.lock", ".ci/find-python"):
        shutil.copy(ROOT / name, folder / name)
    # The fakes have no need of the real one, but make wants to see it.
    (folder / ".ci" / "set_up.py").write_text("", encoding="utf-8")
    for tool in ("sh", "make", "cat"):
        found = shutil.which(tool)
        assert found is not None
        (programs / tool).symlink_to(found)
    return BareMachine(folder, programs)


def make(
    folder: Path, environment: dict[str, str], *arguments: str
) -> subprocess.CompletedProcess[str]:
    """Run make as the user would: the make around these tests has no say in it."""
    clean = {name: value for name, value in environment.items() if "MAKE" not in name}
    return subprocess.run(
        ["make", "--no-print-directory", *arguments],
        cwd=folder,
        env=clean,
        check=False,
        capture_output=True,
        text=True,
    )


class TestEveryTest:
    def test_has_a_separate_home(self, isolated_home: Path) -> None:
        assert Path.home() == isolated_home
        assert [path.name for path in isolated_home.iterdir()] == [".gitconfig"]

    def test_has_a_separate_state_folder_that_is_not_there_yet(
        self, isolated_home: Path, state_dir: Path
    ) -> None:
        assert isolated_home in state_dir.parents
        assert not state_dir.exists()

    def test_commits_as_somebody_and_signs_nothing(self, isolated_home: Path) -> None:
        def git(*arguments: str) -> str:
            command = ["git", *arguments]
            return subprocess.run(
                command, cwd=isolated_home, check=True, capture_output=True, text=True
            ).stdout.strip()

        git("init", "--quiet")
        git("commit", "--quiet", "--allow-empty", "--message", "first")
        assert git("log", "--format=%an <%ae> %G? %D") == (
            "Ada Example <ada@example.com> N HEAD -> main"
        )
