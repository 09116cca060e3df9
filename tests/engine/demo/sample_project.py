"""Laying out the sample, running the agent as the engine would, and looking at what it left."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import ralph_ls
from tests.engine.forked_ralph import fork_server
from tests.engine.project_builder import PATIENCE

AGENT = (sys.executable, "-P", "-m", "ralph_ls.engine.demo.agent")
PACKAGE_FOLDER = str(Path(ralph_ls.__file__).parents[1])


def agent_environment(**extra: str) -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": PACKAGE_FOLDER, "RALPH_DEMO_PACE": "0", **extra}


def run_agent(folder: Path, prompt: str = "", **extra: str) -> subprocess.CompletedProcess[str]:
    """One iteration; ``extra`` goes into the environment."""
    with (
        tempfile.TemporaryFile() as given,
        tempfile.TemporaryFile() as out,
        tempfile.TemporaryFile() as err,
    ):
        given.write(prompt.encode())
        given.seek(0)
        descriptors = [file.fileno() for file in (given, out, err)]
        process = fork_server().fork(
            folder, [], agent_environment(**extra), *descriptors, module=AGENT[-1]
        )
        try:
            code = process.wait(PATIENCE)
        finally:
            process.kill()
            process.close()
        said = []
        for file in (out, err):
            file.seek(0)
            said.append(file.read().decode())
    return subprocess.CompletedProcess(AGENT, code, *said)


def start_agent(folder: Path, prompt: str = "", **extra: str) -> subprocess.CompletedProcess[str]:
    """The same by the real start, which reads some of the environment before we do."""
    return subprocess.run(
        AGENT,
        cwd=folder,
        env=agent_environment(**extra),
        input=prompt,
        capture_output=True,
        encoding="utf-8",
        check=False,
    )


def git(folder: Path, *arguments: str) -> str:
    return subprocess.run(
        ["git", *arguments], cwd=folder, capture_output=True, encoding="utf-8", check=True
    ).stdout


def subjects(folder: Path) -> list[str]:
    """The subjects of all commits, oldest first."""
    return git(folder, "log", "--reverse", "--format=%s").splitlines()


def open_titles(folder: Path) -> list[str]:
    text = (folder / "@fix_plan.md").read_text(encoding="utf-8")
    return re.findall(r"^- \[ \] (.*)$", text, re.MULTILINE)


def report_of(output: str) -> dict[str, str]:
    """The fields of the block that ends ``output``."""
    found = re.search(r"---RALPH_STATUS---\n(.*)---END_RALPH_STATUS---\n\Z", output, re.DOTALL)
    assert found is not None, output
    return dict(line.split(": ", 1) for line in found.group(1).splitlines())


def run_to_the_end(folder: Path) -> list[str]:
    """Run iterations without a loop's environment until one signals its exit."""
    outputs: list[str] = []
    for _ in range(8):
        titles = open_titles(folder)
        finished = run_agent(folder, f"Task: {titles[0]}\n" if titles else "")
        assert (finished.returncode, finished.stderr) == (0, "")
        outputs.append(finished.stdout)
        report = report_of(finished.stdout)
        assert report["STATUS"] != "BLOCKED", finished.stdout
        if report["EXIT_SIGNAL"] == "true":
            return outputs
    raise AssertionError("\n".join(outputs))


def everything_in(folder: Path) -> dict[str, bytes | str]:
    """Every file below ``folder`` with its bytes, git's own included."""
    return {
        str(path.relative_to(folder)): str(path.readlink())
        if path.is_symlink()
        else path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_symlink() or path.is_file()
    }
