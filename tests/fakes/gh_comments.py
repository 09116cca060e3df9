"""A ``gh`` for tests that also reads comments and permissions: ``gh api``, over two JSON files.

``FAKE_COMMENTS`` has the comments on every issue as GitHub's API gives them, where a time of
``NOW`` is that of the reading; ``FAKE_PERMISSIONS`` what each account may do. Everything else is
done by the other fake, whose folder this one is put into.
"""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from tests.fakes import gh
from tests.fakes.forked_program import install_forked


def install(folder: Path) -> Path:
    """Put this ``gh`` into the folder, which is made; gives its path."""
    folder.mkdir(parents=True, exist_ok=True)
    program = folder / "gh"
    install_forked(program, "tests.fakes.gh_comments")
    return program


def comment(
    number: int, body: str, login: str = "grace", kind: str = "User", **more: Any
) -> dict[str, Any]:
    """A comment that is written when it is read."""
    user = {"login": login, "type": kind}
    known = {"id": number, "user": user, "created_at": "NOW", "updated_at": "NOW", "body": body}
    return {**known, "performed_via_github_app": None, **more}


def main(words: Sequence[str]) -> int:
    """What the program does; gives its exit code."""
    if words[0] != "api":
        return gh.main(words)
    with Path(os.environ["FAKE_CALLS"]).open("a", encoding="utf-8") as calls:
        calls.write(json.dumps(list(words)) + "\n")
    path = words[-1]
    if found := re.fullmatch(r"repos/ada/invoice/collaborators/([^/]+)/permission", path):
        return _permission(found[1])
    if re.match(r"repos/ada/invoice/issues/12/comments\?per_page=100&since=\S+Z$", path):
        now = (datetime.now(UTC) + timedelta(seconds=2)).strftime("%Y-%m-%dT%H:%M:%SZ")
        text = Path(os.environ["FAKE_COMMENTS"]).read_text(encoding="utf-8")
        sys.stdout.write(text.replace('"NOW"', f'"{now}"'))
        return 0
    sys.stderr.write("gh: Not Found (HTTP 404)\n")
    return 1


def _permission(login: str) -> int:
    known: Mapping[str, str] = json.loads(
        Path(os.environ["FAKE_PERMISSIONS"]).read_text(encoding="utf-8")
    )
    if login not in known:
        sys.stderr.write("gh: Not Found (HTTP 404)\n")
        return 1
    sys.stdout.write(json.dumps({"permission": known[login], "user": {"login": login}}))
    return 0
