"""An agent that may only read, and whose model tries to write: in every way, nothing is written.

What an agent's own rules keep from writing is easily believed to be more than it is: a mode that is
named after planning runs ``touch``, and a command that only reads has an option that writes. So
each recipe of ``docs/agents.md`` for an agent that only reads is tried with the real program.
"""

from __future__ import annotations

import hashlib
import os
import re
import tomllib
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from ralph_ls.engine.agent.selection import choose_agent
from ralph_ls.protocol.config.config import Config
from tests.e2e import agents
from tests.e2e.agents import ROOT
from tests.e2e.conftest import need
from tests.e2e.recipe import Recipe
from tests.e2e.recipes import RECIPES
from tests.e2e.scene import Project, scene_of
from tests.e2e.test_agents import NAMES
from tests.engine.project_builder import git
from tests.fakes.model_stub import Answer, ToolCall

pytestmark = [pytest.mark.e2e, pytest.mark.slow, pytest.mark.timeout(900)]

Note = Callable[[str], None]

DOCUMENT = ROOT / "docs" / "agents.md"

HEADING = "### An agent that only reads\n"

PLAN = "@fix_plan.md"

COMMANDS = {
    "redirection": "echo written >written.txt",
    "touch": "touch written.txt",
    "git diff": "git diff --output=written.txt HEAD",
    "git log": "git log -p --output=written.txt",
    "git show": "git show --output=written.txt HEAD",
    "git branch": "git branch written",
    "git grep": "git grep -O'touch written.txt #' Plan",
    "git config": "git -c core.pager='tee written.txt' -p log",
    "find": f"find . -name '{PLAN}' -fprint written.txt",
    "find exec": f"find . -name '{PLAN}' -exec touch written.txt ';'",
    "find delete": f"find . -name '{PLAN}' -delete",
    "sed": f"sed -i 's/First/Gone/' {PLAN}",
    "sed script": f"sed -n 'w written.txt' {PLAN}",
    "sort": f"sort -o written.txt {PLAN}",
    "tee": f"cat {PLAN} | tee written.txt",
    "ripgrep": f"rg --pre 'touch written.txt;cat' First {PLAN}",
    "substitution": "ls $(touch written.txt)",
}
"""Commands that write, most of them by an option of one that reads."""

TRIES: dict[str, Callable[[Recipe, Path], ToolCall]] = {
    "write": lambda recipe, root: recipe.write(root / "written.txt", "written\n"),
    "edit": lambda recipe, root: recipe.edit(root / PLAN, "First", "Gone"),
    **{
        f"shell: {name}": lambda recipe, _root, command=command: recipe.shell(command)  # type: ignore[misc]
        for name, command in COMMANDS.items()
    },
}


@pytest.fixture
def project(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Project]:
    """A repository, and the real program beside it."""
    need(agents.what_is_missing())
    with scene_of(RECIPES[request.param], tmp_path, monkeypatch) as made:
        yield made


def picture(root: Path) -> dict[str, str]:
    """All files of the work tree, and git's own names."""
    files = [path for path in sorted(root.rglob("*")) if ".git" not in path.parts]
    found = {
        os.fspath(path.relative_to(root)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in files
        if path.is_file()
    }
    return {**found, "refs": git(root, "for-each-ref"), "head": git(root, "rev-parse", "HEAD")}


def documented() -> dict[str, dict[str, object]]:
    """The settings of the document, by agent."""
    section = DOCUMENT.read_text(encoding="utf-8").partition(HEADING)[2]
    blocks = re.findall(r"```toml\n(.*?)```", section.partition("\n- ")[0], re.DOTALL)
    settings = [tomllib.loads(block) for block in blocks]
    return {str(one["agent"]): one for one in settings}


def test_every_agent_has_a_recipe() -> None:
    assert documented().keys() == RECIPES.keys()


@pytest.mark.parametrize("project", NAMES, indirect=True)
def test_nothing_is_written(project: Project, note: Note) -> None:
    """As the loop starts it; one try a turn, and a look at the tree after the whole of it."""
    recipe, root = project.recipe, project.repository
    agent = choose_agent(Config.model_validate(documented()[recipe.name]))
    # The file for its usage is the loop's; its tail would precede the prompt as an argument.
    usage = str(root.parent / "usage.json")
    argv = [word.replace("{usage_file}", usage) for word in agent.argv]
    argv += () if recipe.by_argument else agent.tail
    before = picture(root)
    # Also what the model was not offered: it may make a name up.
    tries = [replace(make(recipe, root), deferred=True) for make in TRIES.values()]
    said: list[bytes] = []
    while tries:
        left = len(tries)
        project.stub.say(*[Answer(tools=(one,)) for one in tries], Answer(text="I may not."))
        done = project.call(*argv, environment=agent.env)
        said += [done.stdout[-2000:], done.stderr[-1000:]]
        # One that gives up after a refusal is started again with what is left.
        tries = tries[len(tries) + 1 - project.stub.n_left :] if project.stub.n_left > 1 else []
        project.stub.forget()
        assert len(tries) < left, said
    after = picture(root)
    changed = {name for name in before | after if before.get(name) != after.get(name)}
    assert changed == set(), said
    note(f"{len(TRIES)} tries, nothing written")


@pytest.mark.parametrize("project", NAMES, indirect=True)
def test_the_same_tries_write_where_nothing_forbids_it(project: Project, note: Note) -> None:
    """Or the test above would say nothing."""
    recipe, root = project.recipe, project.repository
    before = picture(root)
    tries = [
        make(recipe, root) for name, make in TRIES.items() if name in {"write", "shell: touch"}
    ]
    moves = recipe.shell("mv written.txt first.txt")
    answers = [Answer(tools=(one,)) for one in (tries[0], moves, tries[1])]
    project.stub.say(*answers, Answer(text="Done."))
    project.call(*recipe.freely)
    after = picture(root)
    changed = {name for name in before | after if before.get(name) != after.get(name)}
    assert changed == {"first.txt", "written.txt"}
    note("write and touch, both written")
