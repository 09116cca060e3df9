"""Documentation site: builds dist/site strictly from mkdocs.yml, in a separate environment.

The generator reports links and anchors that lead nowhere; tests/unit/project/test_documents.py
finds missing pictures and links that leave the folder. What the pages load from other hosts is
looked for here, in the pages as they were built.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
ENVIRONMENT = ROOT / ".venv-docs"
LOCK = ROOT / ".ci" / "docs.lock"
STAMP = ENVIRONMENT / ".set-up"
SITE = ROOT / "dist" / "site"

LOADED = re.compile(r"<(?:script|link|img|iframe)\b[^>]*?\b(?:src|href)=\"?(https?://[^\s\">]+)")
"""What a browser fetches with a page; links that a reader follows are not."""


def main() -> int:
    """Build the site; 0 if nothing was reported."""
    uv = Path(sys.executable).with_name("uv")
    if not _is_set_up():
        print("docs: installing the site generator (104 MB, once)", flush=True)
        _run(uv, "venv", "--quiet", "--clear", "--python", sys.executable, ENVIRONMENT)
        python = ENVIRONMENT / "bin" / "python"
        _run(uv, "pip", "sync", "--quiet", "--require-hashes", "--python", python, LOCK)
        STAMP.touch()
    # Left over pages would be checked again.
    shutil.rmtree(SITE, ignore_errors=True)
    built = subprocess.run(
        [ENVIRONMENT / "bin" / "zensical", "build", "--strict", "--clean"],
        cwd=ROOT,
        check=False,
        capture_output=True,
        text=True,
    )
    # A strict failure ends in a traceback, which says nothing more.
    print((built.stdout + built.stderr).partition("Traceback (most recent call last)")[0].strip())
    if built.returncode:
        return 1
    # Beside the pages that explain them.
    ignored = shutil.ignore_patterns("*.py", "VERSION", "__pycache__")
    shutil.copytree(ROOT / "schemas", SITE / "schemas", ignore=ignored)
    foreign = [f"{page.relative_to(SITE)} loads {url}" for page, url in _loaded()]
    print("\n".join([*foreign, f"{SITE.relative_to(ROOT)}/index.html"]))
    return 1 if foreign else 0


def _is_set_up() -> bool:
    return STAMP.is_file() and STAMP.stat().st_mtime >= LOCK.stat().st_mtime


def _run(*words: object) -> None:
    subprocess.run([str(word) for word in words], cwd=ROOT, check=True)


def _loaded() -> Iterator[tuple[Path, str]]:
    """Each page that loads something from another host, and its address."""
    for page in sorted(SITE.rglob("*.html")):
        for url in LOADED.findall(page.read_text(encoding="utf-8")):
            yield page, url


if __name__ == "__main__":
    raise SystemExit(main())
