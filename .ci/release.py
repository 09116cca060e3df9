"""Makes a release: one commit and one tag, once everything that it holds was built and tried.

    RALPH_REPOSITORY_URL=https://host/owner/name .venv/bin/python .ci/release.py VERSION

The version is written where it is kept (the package) and where it follows (the extension), and the
fragments of changes/ become the newest part of CHANGELOG.md, all in a scratch work tree. Only when
`artifacts.py` is content does this branch move to the new commit and the tag appear; otherwise
nothing has changed. Nothing is pushed: the workflow publishes what is pushed with a tag.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import tempfile
from datetime import UTC, datetime
from pathlib import Path

from artifacts import require_address

ROOT = Path(__file__).resolve().parents[1]
VERSION = re.compile(r"\d+\.\d+\.\d+")
RELATIVE_LINK = re.compile(r"\[([^\[\]]+)\]\((?!https?:|#)(\S+?)\)")
KEPT_IN = "server/ralph_ls/__init__.py"
"""Where the version is kept; the build backend reads it there."""

FOLLOWS_IN = {"client-vscode/package.json": 1, "client-vscode/package-lock.json": 2}
"""Where it follows, and how many times from the top of the file."""


def main() -> int:
    """Make the release; 1 with the reason where there cannot be one."""
    parser = argparse.ArgumentParser(prog="release.py", description=__doc__)
    parser.add_argument("version")
    version = parser.parse_args().version
    try:
        check(version)
        release(version)
    except ValueError as error:
        print(f"release: {error}", file=sys.stderr)
        return 1
    except subprocess.CalledProcessError as error:
        print(f"release: {error}\n{error.stderr or ''}", file=sys.stderr)
        return 1
    return 0


def check(version: str) -> None:
    """Raises ValueError where this repository cannot make that release now."""
    if not VERSION.fullmatch(version):
        raise ValueError("name the version: make release VERSION=1.2.3")
    require_address()
    if git("status", "--porcelain"):
        raise ValueError("there are uncommitted changes: commit or stash them first")
    if not git("branch", "--show-current"):
        raise ValueError("no branch is checked out: switch to the one that is released")
    if git("tag", "--list", f"v{version}"):
        raise ValueError(f"v{version} is released already: name a later version")
    now = read_version(ROOT)
    if _numbers(version) < _numbers(now):
        raise ValueError(f"this is version {now} already: name a later one than {version}")
    if not any((ROOT / "changes").glob("+*.md")):
        raise ValueError("changes/ has no fragment: there is nothing to release")


def release(version: str) -> None:
    """Prepare it in a scratch work tree, try it, then move the branch and set the tag."""
    with tempfile.TemporaryDirectory(prefix="ralph-release-") as scratch:
        tree = Path(scratch, "tree")
        git("worktree", "add", "--quiet", "--detach", str(tree), "HEAD")
        try:
            write_version(tree, version)
            write_changelog(tree, version)
            git("add", "--all", cwd=tree)
            # The hooks run tools of a .venv, which this work tree has not.
            git("commit", "--quiet", "--no-verify", "--message", f"Release {version}", cwd=tree)
            commit = git("rev-parse", "HEAD", cwd=tree)
            artifacts = [str(ROOT / ".ci" / "artifacts.py"), "--release", version]
            tried = [sys.executable, *artifacts, "--source", str(tree)]
            if subprocess.run(tried, check=False).returncode:
                raise ValueError("not released: nothing has changed in this repository")
        finally:
            git("worktree", "remove", "--force", str(tree))
    git("merge", "--quiet", "--ff-only", commit)
    git("tag", "--annotate", f"v{version}", "--message", f"Ralph Loop {version}", commit)
    branch = git("branch", "--show-current")
    print(f"v{version} is committed and tagged here; publish it with")
    print(f"  git push --atomic origin {branch} v{version}")


def read_version(tree: Path) -> str:
    """The version that the package of a work tree has.

    Raises ValueError where it has none.
    """
    found = re.search(r'^__version__ = "(.+)"$', (tree / KEPT_IN).read_text("utf-8"), re.MULTILINE)
    if found is None:
        raise ValueError(f"{KEPT_IN} has no __version__")
    return found[1]


def write_version(tree: Path, version: str) -> None:
    """Write the version in every place that has one."""
    old = read_version(tree)
    for name, times in {KEPT_IN: 1, **FOLLOWS_IN}.items():
        path = tree / name
        text = path.read_text(encoding="utf-8")
        path.write_text(text.replace(f'"{old}"', f'"{version}"', times), encoding="utf-8")


def write_changelog(tree: Path, version: str) -> None:
    """Move the fragments of changes/ into CHANGELOG.md, and its copy in the documentation."""
    build = ["build", "--yes", "--version", version, "--date", f"{datetime.now(UTC):%Y-%m-%d}"]
    subprocess.run(
        [sys.executable, "-m", "towncrier", *build], cwd=tree, check=True, capture_output=True
    )
    text = (tree / "CHANGELOG.md").read_text(encoding="utf-8")
    (tree / "docs" / "changelog.md").write_text(as_page(text), encoding="utf-8")


def as_page(changelog: str) -> str:
    """The changelog as a page in docs/, whose links stay in that folder."""
    return RELATIVE_LINK.sub(_within_docs, changelog)


def _within_docs(link: re.Match[str]) -> str:
    label, target = link.groups()
    is_page = target.startswith("docs/")
    return f"[{label}]({target.removeprefix('docs/')})" if is_page else label


def git(*arguments: str, cwd: Path = ROOT) -> str:
    """What git printed."""
    done = subprocess.run(["git", *arguments], cwd=cwd, check=True, capture_output=True, text=True)
    return done.stdout.strip()


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(map(int, version.split(".")))


if __name__ == "__main__":
    sys.exit(main())
