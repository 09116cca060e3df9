"""A release has one version and one address, and what only runs elsewhere calls what runs here."""

from __future__ import annotations

import importlib
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parents[3]
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
ADDRESS = "https://forge.example/owner/name"
NOWHERE = "https://example.invalid/"

ROOT_PAPERS = {
    "CHANGELOG.md",
    "CODE_OF_CONDUCT.md",
    "CONTRIBUTING.md",
    "Containerfile",
    "LICENSE",
    "Makefile",
    "README.md",
    "SECURITY.md",
    "mkdocs.yml",
    "pyproject.toml",
    "requirements.lock",
}
ROOT_FOLDERS = {"changes", "client-vscode", "docs", "schemas", "server", "tests"}


@pytest.fixture(scope="module")
def scripts() -> Iterator[dict[str, ModuleType]]:
    """The modules of .ci, which import each other by their bare names."""
    sys.path.insert(0, str(ROOT / ".ci"))
    names = ["metadata_hook", "try_artifacts", "artifacts", "release"]
    yield {name: importlib.import_module(name) for name in names}
    sys.path.remove(str(ROOT / ".ci"))


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A repository with what a release writes, and one fragment."""
    names = ["server/ralph_ls/__init__.py", "client-vscode/package.json", "pyproject.toml"]
    names += ["client-vscode/package-lock.json", "CHANGELOG.md", "docs/changelog.md"]
    for name in [*names, "changes/template.md.jinja"]:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, tmp_path / name)
    fragment = tmp_path / "changes" / "+tea.feature.md"
    links = "[a](docs/a.md), [b](LICENSE), [c](https://c.example)"
    fragment.write_text(f"It makes tea: {links}.\n", encoding="utf-8")
    for command in (["init", "--quiet"], ["add", "--all"], ["commit", "--quiet", "-m", "first"]):
        subprocess.run(["git", *command], cwd=tmp_path, check=True)
    return tmp_path


class TestAddress:
    """Every address comes from one variable of the build."""

    def test_without_one_a_local_build_leads_nowhere(self, scripts: dict[str, ModuleType]) -> None:
        hook = scripts["metadata_hook"]
        assert hook.repository_url("") == NOWHERE
        assert set(hook.project_urls(NOWHERE, "1.2.3").values()) == {NOWHERE}
        text = "[a page](docs/page.md)"
        assert hook.with_absolute_links(text, NOWHERE, "1.2.3") == text

    @pytest.mark.parametrize("given", [ADDRESS, f"{ADDRESS}/", f"{ADDRESS}.git"])
    def test_with_one_everything_leads_to_it(
        self, scripts: dict[str, ModuleType], given: str
    ) -> None:
        hook = scripts["metadata_hook"]
        address = hook.repository_url(given)
        urls = hook.project_urls(address, "1.2.3")
        assert {"Homepage", "Documentation", "Source", "Issues", "Changelog"} == set(urls)
        assert all(url.startswith(ADDRESS) for url in urls.values())

    @pytest.mark.parametrize(
        ("link", "absolute"),
        [
            ("[a](docs/a.md#b)", f"[a]({ADDRESS}/blob/v1.2.3/docs/a.md#b)"),
            ("![a](docs/a.svg)", f"![a]({ADDRESS}/raw/v1.2.3/docs/a.svg)"),
            (
                "[![a](a.svg)](a.md)",
                f"[![a]({ADDRESS}/raw/v1.2.3/a.svg)]({ADDRESS}/blob/v1.2.3/a.md)",
            ),
            ("[a](https://other.example/)", "[a](https://other.example/)"),
            ("[a](#here)", "[a](#here)"),
        ],
    )
    def test_links_of_the_readme_lead_to_the_repository(
        self, scripts: dict[str, ModuleType], link: str, absolute: str
    ) -> None:
        hook = scripts["metadata_hook"]
        assert hook.with_absolute_links(link, ADDRESS, "1.2.3") == absolute

    @pytest.mark.parametrize("given", ["forge.example/a/b", "http://forge.example/a", "https://a"])
    def test_one_that_is_none_is_refused(self, scripts: dict[str, ModuleType], given: str) -> None:
        with pytest.raises(ValueError, match=r"RALPH_REPOSITORY_URL=.* is not the address"):
            scripts["metadata_hook"].repository_url(given)

    @pytest.mark.slow
    @pytest.mark.parametrize(("given", "homepage"), [("", NOWHERE), (ADDRESS, ADDRESS)])
    def test_package_and_extension_have_it(self, given: str, homepage: str) -> None:
        environment = {**os.environ, "RALPH_REPOSITORY_URL": given}

        def output(*arguments: str) -> dict[str, str]:
            command = [sys.executable, *arguments]
            found = subprocess.run(
                command, cwd=ROOT, env=environment, check=True, capture_output=True
            )
            value: dict[str, str] = json.loads(found.stdout)
            return value

        assert output("-m", "hatchling", "metadata")["urls"]["Homepage"] == homepage  # type: ignore[index]
        assert output(".ci/metadata_hook.py")["homepage"] == homepage

    def test_none_is_written_down(self) -> None:
        manifest = json.loads((ROOT / "client-vscode" / "package.json").read_text("utf-8"))
        assert {"repository", "bugs", "homepage"} & manifest.keys() == set()


class TestRelease:
    def test_it_is_refused_without_an_address(
        self, scripts: dict[str, ModuleType], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.delenv("RALPH_REPOSITORY_URL", raising=False)
        with pytest.raises(ValueError, match="set RALPH_REPOSITORY_URL, such as https://host/"):
            scripts["artifacts"].require_address()

    @pytest.mark.parametrize("version", ["", "1.2", "v1.2.3", "1.2.3rc1"])
    def test_it_is_refused_without_a_version(
        self, scripts: dict[str, ModuleType], version: str
    ) -> None:
        with pytest.raises(ValueError, match="name the version: make release"):
            scripts["release"].check(version)

    def test_a_version_is_written_wherever_there_is_one(
        self, scripts: dict[str, ModuleType], tree: Path
    ) -> None:
        scripts["release"].write_version(tree, "98.7.6")
        assert versions_in(tree) == ["98.7.6"] * 4

    @pytest.mark.slow
    def test_fragments_become_the_newest_part_of_the_changelog(
        self, scripts: dict[str, ModuleType], tree: Path
    ) -> None:
        scripts["release"].write_changelog(tree, "98.7.5")
        (tree / "changes" / "+milk.fix.md").write_text("It adds milk.\n", encoding="utf-8")
        subprocess.run(["git", "add", "--all"], cwd=tree, check=True)
        scripts["release"].write_changelog(tree, "98.7.6")
        text = (tree / "CHANGELOG.md").read_text(encoding="utf-8")
        found = [line for line in text.splitlines() if line.startswith(("#", "- "))]
        assert [line.partition(" (")[0] for line in found][:7] == [
            "# Changelog",
            "## 98.7.6",
            "### Fixes",
            "- It adds milk.",
            "## 98.7.5",
            "### Features",
            "- It makes tea: [a](docs/a.md), [b](LICENSE), [c](https://c.example).",
        ]
        page = (tree / "docs" / "changelog.md").read_text(encoding="utf-8")
        assert "tea: [a](a.md), b, [c](https://c.example)." in page
        assert list((tree / "changes").glob("+*")) == []


def versions_in(tree: Path) -> list[str]:
    """The version in each place that has one."""
    source = (tree / "server/ralph_ls/__init__.py").read_text(encoding="utf-8")
    found = re.search(r'^__version__ = "(.+)"$', source, re.MULTILINE)
    assert found is not None
    manifest = json.loads((tree / "client-vscode/package.json").read_text("utf-8"))
    lock = json.loads((tree / "client-vscode/package-lock.json").read_text("utf-8"))
    return [found[1], manifest["version"], lock["version"], lock["packages"][""]["version"]]


class TestPapers:
    def test_package_and_extension_have_one_version(self) -> None:
        assert len(set(versions_in(ROOT))) == 1

    def test_the_changelog_of_the_documentation_is_the_same(
        self, scripts: dict[str, ModuleType]
    ) -> None:
        text = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
        page = (ROOT / "docs" / "changelog.md").read_text(encoding="utf-8")
        assert page == scripts["release"].as_page(text)

    def test_only_the_usual_papers_are_at_the_top(self) -> None:
        command = ["git", "-c", "safe.directory=*", "ls-files", "-z"]
        names = subprocess.run(command, cwd=ROOT, check=True, capture_output=True).stdout
        tops = {os.fsdecode(name).partition("/")[0] for name in names.split(b"\0") if name}
        assert {top for top in tops if not top.startswith(".")} == ROOT_PAPERS | ROOT_FOLDERS

    def test_the_platforms_of_a_release_are_those_that_have_wheels(
        self, scripts: dict[str, ModuleType], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.syspath_prepend(str(ROOT / "client-vscode" / "scripts"))
        wheels = importlib.import_module("wheels")
        assert set(scripts["artifacts"].TARGETS) == set(wheels.TARGETS)
        assert scripts["try_artifacts"].PYTHONS == wheels.PYTHONS


class TestWorkflows:
    """They cannot run here, so they do nothing that was not tried here."""

    @pytest.mark.parametrize("path", WORKFLOWS, ids=[path.name for path in WORKFLOWS])
    def test_each_calls_what_anyone_can_call(self, path: Path) -> None:
        commands = re.findall(r"- run: (.+)", path.read_text(encoding="utf-8"))
        # What only the host can do: make a release of it, and hand over files.
        allowed = ("make ", "bash .ci/run", "gh release create ", "mkdir dist && cp ")
        assert [command for command in commands if not command.startswith(allowed)] == []

    @pytest.mark.parametrize("path", WORKFLOWS, ids=[path.name for path in WORKFLOWS])
    def test_each_action_is_pinned_by_its_commit(self, path: Path) -> None:
        uses = re.findall(r"uses: (.+)", path.read_text(encoding="utf-8"))
        pinned = re.compile(r"[\w/-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+")
        assert uses
        assert [action for action in uses if not pinned.fullmatch(action)] == []

    @pytest.mark.parametrize("path", WORKFLOWS, ids=[path.name for path in WORKFLOWS])
    def test_none_has_more_rights_than_it_needs(self, path: Path) -> None:
        text = path.read_text(encoding="utf-8")
        assert re.search(r"^permissions:( \{\}|\n  contents: read)\n\n", text, re.MULTILINE)
        rights = re.findall(r"^ +([a-z-]+): write", text, re.MULTILINE)
        assert rights == (["id-token", "contents"] if path.stem == "release" else [])

    def test_the_matrix_has_every_python_that_the_extension_has_wheels_for(
        self, scripts: dict[str, ModuleType]
    ) -> None:
        text = (ROOT / ".github" / "workflows" / "test.yml").read_text(encoding="utf-8")
        named = re.findall(r'"(3\.\d+)"', text)
        assert tuple(named) == scripts["try_artifacts"].PYTHONS
