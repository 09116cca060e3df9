"""One secret, in every written form, through everything that leaves the engine."""

from __future__ import annotations

import base64
import json
import os
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

from tests.engine.issue.request_project import issue_project
from tests.engine.issue.test_announcements import HOOK, write_hook
from tests.engine.project_builder import git
from tests.engine.ralph_runner import Project
from tests.fakes import gh

SECRET = "s3cr3t/Value+With=Every&Thing"
ENVIRONMENT = {"SERVICE_CREDENTIAL": SECRET}
SHOWN = "[redacted SERVICE_CREDENTIAL]"


def forms() -> dict[str, str]:
    data = SECRET.encode()
    return {
        "raw": SECRET,
        "hex": data.hex(),
        "upper hex": data.hex().upper(),
        "quoted": quote(SECRET, safe=""),
        "json": json.dumps({"a": SECRET}),
        **{f"base64 {n}": base64.b64encode(b"abc"[:n] + data).decode() for n in range(3)},
        "url base64": base64.urlsafe_b64encode(b"x" + data).decode(),
        "wrapped": f"{SECRET[:12]}\n  {SECRET[12:]}",
        "coloured": "\x1b[31m".join((SECRET[:9], SECRET[9:])),
    }


def leaks() -> Iterator[bytes]:
    """What must appear nowhere."""
    for name, form in forms().items():
        if name not in {"json", "wrapped", "coloured"} and not name.startswith("base64"):
            yield form.encode()
    for n_before in range(3):
        yield base64.b64encode(b"abc"[:n_before] + SECRET.encode())[4:-4]


def agent_that_prints_all() -> str:
    lines = "\n".join(f"{name}: {form}" for name, form in forms().items())
    return f"""
cat <<'END'
{lines}
END
echo "error: denied for $SERVICE_CREDENTIAL" >&2
echo "$SERVICE_CREDENTIAL" >leak.txt; git add leak.txt; git commit -qm "Use $SERVICE_CREDENTIAL"
git rm -q leak.txt; git commit -qm 'Forget it'; echo more >>work.txt
echo ---RALPH_STATUS---
echo STATUS: IN_PROGRESS
echo EXIT_SIGNAL: false
printf 'RECOMMENDATION: use %s\\n' "$(printf %s "$SERVICE_CREDENTIAL" | base64 -w0)"
echo ---END_RALPH_STATUS---
echo "<promise>DECIDE:is $SERVICE_CREDENTIAL right?</promise>"
"""


def assert_clean(text: str | bytes, where: object) -> None:
    data = text.encode() if isinstance(text, str) else text
    for leak in leaks():
        assert leak not in data, (where, leak)


def files_of(project: Project) -> list[Path]:
    folders = [Path(os.environ["RALPH_STATE_DIR"]), project.file(".ralph")]
    return [path for folder in folders for path in folder.rglob("*") if path.is_file()]


def test_it_leaves_the_engine_in_no_form(project: Project) -> None:
    settings = 'profile = "issue"\ncommits = "loop"\nnotify.command = ["./hook.sh"]\n'
    config = settings + HOOK
    issue_project(project, agent_that_prints_all(), config=config)
    write_hook(
        project, f'cat >"{project.kept}/told"; env >"{project.kept}/env"; echo "$RALPH_TEXT"'
    )
    project.tell("allow", "--yes")
    before = git(project.repository, "rev-parse", "HEAD").strip()
    done = project.run("2", env=ENVIRONMENT)
    assert done.exit_code == 3, done.stdout + done.stderr
    assert_clean(done.stdout + done.stderr, "terminal")
    assert done.stdout.count(SHOWN) >= len(forms())
    for path in files_of(project):
        assert_clean(path.read_bytes(), path)
    assert_clean((project.kept / "told").read_bytes(), "the notification")
    given = (project.kept / "env").read_text(encoding="utf-8")
    assert_clean(
        "\n".join(line for line in given.splitlines() if "RALPH_" in line), "its variables"
    )
    # What the agent commits is its own; the loop's commits must leak nothing.
    bodies = git(project.repository, "log", "--format=%an%n%B", f"{before}..", "--grep", "Ralph-")
    assert_clean(bodies, "commits of the loop")
    for verb in (
        *(("status",), ("status", "--json"), ("export",), ("export", "--json"), ("stats",)),
        *(("report",), ("report", "--format", "html")),
        *(("watch",), ("watch", "--json"), ("prompt",), ("plan", "--json"), ("doctor", "--json")),
    ):
        told = project.ralph(project.repository, *verb, env=ENVIRONMENT)
        assert_clean(told.stdout + told.stderr, verb)


def test_it_is_in_no_comment_on_the_issue(project: Project, github: Path) -> None:
    config = 'profile = "issue"\nnotify.github = true\n[issue]\ngithub = "ada/invoice#12"\n'
    issue_project(project, agent_that_prints_all(), config=config)
    assert project.run("2", env=ENVIRONMENT).exit_code == 3
    (comment,) = gh.posted(github)
    assert_clean(comment["body"], "the comment")
    assert SHOWN in comment["body"]
