"""What an approved script runs of the repository is approved with it, and not without."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.engine.hostile_repository import clone_of, leaving
from tests.engine.project_builder import git, write_agent
from tests.unit.cli.cli_runner import Ralph, caller

VALIDATE = """\
#!/bin/bash
HERE=$(cd "$(dirname "$0")" && pwd)
. "$HERE/../scripts/lib.sh"
python3 -I tools/check.py
"""


@pytest.fixture
def ralph(capsys: pytest.CaptureFixture[str]) -> Ralph:
    return caller(capsys)


@pytest.fixture
def marker(tmp_path: Path) -> Path:
    """Where whatever runs writes its name."""
    return tmp_path / "marker"


@pytest.fixture
def clone(tmp_path: Path, marker: Path) -> Path:
    """One whose validation is spread over three files."""
    files = {
        ".ralph/validate.sh": VALIDATE,
        "scripts/lib.sh": f". scripts/more.sh\necho lib >>'{marker}'\n",
        "scripts/more.sh": f"echo more >>'{marker}'\n",
        "tools/check.py": f"open({str(marker)!r}, 'a').write('check\\n')\n",
    }
    return clone_of(tmp_path, files)


FILES = ["scripts/lib.sh", "scripts/more.sh", "tools/check.py"]


def ran(marker: Path) -> list[str]:
    return marker.read_text(encoding="utf-8").split() if marker.exists() else []


def test_all_of_it_is_shown_before_it_is_allowed(ralph: Ralph, clone: Path) -> None:
    said = ralph(clone, "allow")
    for name in FILES:
        assert f"── .ralph/validate.sh: {name} (not approved yet)" in said.out
        for line in (clone / name).read_text(encoding="utf-8").splitlines():
            assert f"   {line}" in said.out
    assert "what tools/check.py imports or runs in turn" in said.out


@pytest.mark.parametrize("name", FILES)
def test_a_change_of_one_asks_again(
    ralph: Ralph, clone: Path, tmp_path: Path, marker: Path, name: str
) -> None:
    agent = write_agent(tmp_path / "agents", "echo more >>README.md")
    assert ralph(clone, "allow", "--yes").code == 0
    assert ralph(clone, "run", "1", "--agent-command", agent).code == 1
    assert ran(marker) == ["more", "lib", "check"]
    marker.unlink()
    (clone / name).write_text(leaving(marker, "evil"), encoding="utf-8")
    said = ralph(clone, "run", "1", "--agent-command", agent)
    assert said.code == 78
    assert f"you haven't approved: .ralph/validate.sh: {name};" in said.err
    assert ran(marker) == []
    assert ralph(clone, "allow", "--yes").code == 0
    git(clone, "checkout", "-q", "--", ".")
    assert ralph(clone, "run", "1", "--agent-command", agent).code == 78


def test_what_an_agent_makes_of_it_is_not_run(
    ralph: Ralph, clone: Path, tmp_path: Path, marker: Path
) -> None:
    assert ralph(clone, "allow", "--yes").code == 0
    evil = f"echo evil >>'{marker}'"
    change = f'for f in {" ".join(FILES)}; do echo "{evil}" >$f; done; echo x >>README.md'
    agent = write_agent(tmp_path / "agents", change)
    said = ralph(clone, "run", "1", "--agent-command", agent)
    assert said.code == 1, said.err
    assert ran(marker) == ["more", "lib", "check"]
    assert "evil" not in (clone / "scripts/lib.sh").read_text(encoding="utf-8")


def test_a_file_that_an_agent_adds_where_the_script_looks_is_not_run(
    ralph: Ralph, tmp_path: Path, marker: Path
) -> None:
    script = "#!/bin/sh\n[ -f local.sh ] && . ./local.sh\ntrue\n"
    clone = clone_of(tmp_path, {".ralph/validate.sh": script})
    assert ralph(clone, "allow", "--yes").code == 0
    agent = write_agent(tmp_path / "agents", f"echo \"echo evil >>'{marker}'\" >local.sh")
    said = ralph(clone, "run", "1", "--agent-command", agent)
    assert said.code not in {0, 1}
    assert "local.sh" in said.err + said.out
    assert ran(marker) == []


def test_what_may_change_changes(ralph: Ralph, tmp_path: Path, marker: Path) -> None:
    """Files that the agent works on all day do not stop a run where the script says so."""
    script = "#!/bin/sh\n# ralph: may-change = src/**\npython3 -I src/main.py\n"
    clone = clone_of(tmp_path, {".ralph/validate.sh": script, "src/main.py": "pass\n"})
    assert ralph(clone, "allow", "--yes").code == 0
    line = f"open({str(marker)!r}, 'a').write('new')"
    agent = write_agent(
        tmp_path / "agents", f"cat >src/main.py <<'X'\n{line}\nX", name="changes.sh"
    )
    assert ralph(clone, "run", "1", "--agent-command", agent).code == 1
    assert ran(marker) == ["new"]


def test_what_git_ignores_is_named_by_its_hash(ralph: Ralph, tmp_path: Path) -> None:
    script = "#!/bin/sh\n[ -f .env ] && . ./.env\n"
    clone = clone_of(tmp_path, {".ralph/validate.sh": script, ".gitignore": ".env\n"})
    (clone / ".env").write_text("TOKEN=very-secret\n", encoding="utf-8")
    for arguments in (["allow"], ["allow", "--json"]):
        said = ralph(clone, *arguments)
        assert "very-secret" not in said.out + said.err
        assert ".env" in said.out


class TestTheApproval:
    def test_it_carries_the_hash_of_what_was_shown(self, ralph: Ralph, clone: Path) -> None:
        shown = json.loads(ralph(clone, "allow", "--json").out)["sha256"]
        (clone / "scripts/more.sh").write_text("echo other\n", encoding="utf-8")
        said = ralph(clone, "allow", "--yes", "--shown", shown)
        assert said.code == 78
        assert "changed since they were shown, so nothing was approved" in said.err
        assert not json.loads(ralph(clone, "allow", "--json").out)["allowed"]
        shown = json.loads(ralph(clone, "allow", "--json").out)["sha256"]
        assert ralph(clone, "allow", "--yes", "--shown", shown).code == 0
        assert json.loads(ralph(clone, "allow", "--json").out)["allowed"]

    @pytest.mark.parametrize("changes", [True, False], ids=["changed", "as-it-was"])
    def test_what_changed_while_it_was_read_is_refused(
        self, ralph: Ralph, clone: Path, monkeypatch: pytest.MonkeyPatch, *, changes: bool
    ) -> None:
        def read_and_agree(*_given: object, **_named: object) -> bool:
            if changes:
                (clone / "scripts/lib.sh").write_text("echo other\n", encoding="utf-8")
            return True

        asked: Callable[..., bool] = read_and_agree
        monkeypatch.setattr("typer.confirm", asked)
        monkeypatch.setattr(sys.stdin, "isatty", lambda: True)
        said = ralph(clone, "allow")
        assert said.code == (78 if changes else 0)
        assert json.loads(ralph(clone, "allow", "--json").out)["allowed"] is not changes
