"""Runs of the release before, put where a run of this version would be."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from dataclasses import dataclass
from pathlib import Path

from tests.engine.project_builder import Completed, git, write_agent
from tests.engine.ralph_runner import Ralph

RECORDED = Path(__file__).resolve().parent

NAMES = ("limit", "decide", "killed")


@dataclass(frozen=True)
class Before:
    """A recorded run, put where a run of this version would be."""

    root: Path
    run: Path
    environment: dict[str, str]
    ralph: Ralph

    def __call__(self, *words: str) -> Completed:
        return self.ralph(self.root, *words, env=self.environment)

    @property
    def journal(self) -> Path:
        return self.run / "journal.jsonl"

    def lines(self) -> list[dict[str, object]]:
        text = self.journal.read_text(encoding="utf-8")
        return [json.loads(line) for line in text.splitlines()]


def lay_out(name: str, folder: Path, ralph: Ralph, *, state: Path | None = None) -> Before:
    """Put the run ``name`` below ``folder``; its state there too, unless ``state`` is the root."""
    root, state = folder / "repository", state or folder / "state"
    bundle = RECORDED / name / "history.bundle"
    git(folder, "clone", "-q", "-b", "main", str(bundle), str(root))
    git(root, "remote", "remove", "origin")
    shutil.copytree(RECORDED / name / "tree", root, dirs_exist_ok=True)
    place = state / "worktrees" / hashlib.sha256(os.fsencode(root)).hexdigest()[:12]
    shutil.copytree(RECORDED / name / "state", place)
    shutil.copy(RECORDED / name / "ralph.json", root / ".git" / "ralph.json")
    for path in (*place.rglob("*"), root / ".git" / "ralph.json"):
        if path.is_file():
            data = path.read_bytes().replace(b"@ROOT@", os.fsencode(root))
            data = data.replace(b"@STATE@", os.fsencode(place))
            path.write_bytes(data.replace(b"@FOLDER@", os.fsencode(folder)))
    with (root / ".git" / "info" / "exclude").open("a", encoding="utf-8") as exclude:
        exclude.write("/.ralph/\n")
    git(root, "update-index", "-q", "--refresh")
    (run,) = (place / "runs").iterdir()
    (folder / "agent.sh").symlink_to(Path(write_agent(folder / "bin", AGENT)))
    return Before(root, run, {"RALPH_STATE_DIR": str(state)}, ralph)


AGENT = """
echo "$RALPH_START" >>work.txt; git add -A; git commit -q -m "Work $RALPH_START"
printf '%s\\n' RALPH_STATUS: 'STATUS: IN_PROGRESS' END_RALPH_STATUS
"""
