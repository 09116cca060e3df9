"""The documents say what is so: commands, flags, links, files, contracts and diagrams exist."""

from __future__ import annotations

import itertools
import json
import os
import re
import shlex
import subprocess
import tomllib
from collections import Counter
from collections.abc import Callable
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest
from pydantic import BaseModel

from ralph_ls.cli.command_line import make_command
from ralph_ls.cli.flags import with_sandbox_kind
from ralph_ls.cli.main import USAGE
from ralph_ls.cli.verbs import VERBS
from ralph_ls.core.loop.machine.run_flow import EXIT_CODES, TERM_EXIT_CODE
from ralph_ls.core.loop.machine.transitions import INPUTS, TAKE_UP, TRANSITIONS
from ralph_ls.core.loop.profiles import PROFILES
from ralph_ls.core.loop.rules.breaker import BreakerFacts, close_by_reset, count_iteration
from ralph_ls.core.plan.parse.markdown import parse_markdown
from ralph_ls.protocol.config.agent import AgentConfig, ToolsConfig
from ralph_ls.protocol.config.config import BreakerConfig, Config
from ralph_ls.protocol.errors import ConfigError, FromInside
from ralph_ls.protocol.run.values import Breaker, BreakerState, Phase
from ralph_ls.protocol.task_words import TaskState
from tests.engine.ralph_program import ralph_folder

ROOT = Path(__file__).resolve().parents[3]
PACKAGE = ROOT / "server" / "ralph_ls"
README = ROOT / "README.md"
QUICK_START = ROOT / "docs" / "quick-start.md"
OVERNIGHT = ROOT / "docs" / "overnight.md"
COMMANDS_PAGE = ROOT / "docs" / "commands.md"
EXIT_CODES_PAGE = ROOT / "docs" / "exit-codes.md"
SITE = ROOT / "mkdocs.yml"
ARCHITECTURE = ROOT / "docs" / "ARCHITECTURE.md"
LOOP_STATES = ROOT / "docs" / "loop-states.md"
PROFILES_PAGE = ROOT / "docs" / "profiles.md"
CONFIGURATION = ROOT / "docs" / "configuration.md"
SETTINGS_PAGES = [
    PROFILES_PAGE,
    *sorted((ROOT / "docs" / "profiles").glob("*.md")),
    *(ROOT / "docs" / name for name in ("checks.md", "commits.md", "limits.md")),
]
PICTURE = ROOT / "docs" / "pictures" / "demo.svg"
ADRS = sorted((ROOT / "docs" / "adr").glob("[0-9]*.md"))
OWN_FLAGS = [README, LOOP_STATES, *SETTINGS_PAGES]
"""Pages on which a flag without a command is one of ours."""
PAGES = [README, *sorted((ROOT / "docs").rglob("*.md"))]

ADR_HEADINGS = ["Context", "Decision", "Consequences", "What we gave up"]
ONE_PAGE = 60
"""Lines."""

FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
SPAN = re.compile(r"(?<!`)`([^`\n]+)`(?!`)")
LINK = re.compile(r"(?<!\\)\]\(([^)\s]+)\)")
FLAG = re.compile(r"--[a-z][a-z-]*")
EDGE = re.compile(r"^ *(\S+) --> (\S+)", re.MULTILINE)

# Typer brings its own click, which has no types to name.
COMMANDS: dict[str, Any] = make_command(*VERBS).commands


def read(path: Path) -> str:
    return path.read_text(encoding="utf-8")


def names(paths: list[Path]) -> list[str]:
    return [path.relative_to(ROOT).as_posix() for path in paths]


def fences(path: Path, language: str) -> list[str]:
    return [body for found, body in FENCE.findall(read(path)) if found == language]


def spans(path: Path) -> list[str]:
    """What is in code marks within the prose of a page."""
    return SPAN.findall(FENCE.sub("", read(path)))


def flags_of(verb: str) -> set[str]:
    command = COMMANDS[verb]
    return (
        {"--help"}
        | {flag for option in command.params for flag in option.opts}
        | {flag for option in command.params for flag in option.secondary_opts}
    )


def typed_lines(path: Path) -> list[list[str]]:
    """Every ``ralph`` command line in the page's shell blocks, as the shell would split it."""
    lines = [line for block in fences(path, "sh") for line in block.splitlines()]
    typed = [shlex.split(line, comments=True) for line in lines if line.startswith("ralph ")]
    # Where a shell puts the output is no argument; an option without a verb is none either.
    cut = [list(itertools.takewhile(lambda word: word != ">", words)) for words in typed]
    return [words for words in cut if words[1:2] and not words[1].startswith("-")]


class TestCommands:
    @pytest.mark.parametrize("page", PAGES, ids=names(PAGES))
    def test_each_verb_and_flag_that_a_page_names_exists(self, page: Path) -> None:
        wrong = []
        for span in spans(page):
            words = span.split()
            if words[0] != "ralph" or len(words) == 1 or words[1].startswith("-"):
                continue
            if words[1] not in COMMANDS:
                wrong.append(f"{span}: there is no such verb")
                continue
            # What is quoted belongs to another program.
            own = re.sub(r"'[^']*'|\"[^\"]*\"", "", span)
            unknown = set(FLAG.findall(own)) - flags_of(words[1])
            wrong += [f"{span}: {words[1]} has no {flag}" for flag in sorted(unknown)]
        assert wrong == []

    @pytest.mark.parametrize("page", PAGES, ids=names(PAGES))
    def test_each_command_line_that_is_shown_to_be_typed_can_be_parsed(self, page: Path) -> None:
        for _, verb, *arguments in typed_lines(page):
            COMMANDS[verb].make_context(verb, with_sandbox_kind(arguments))

    @pytest.mark.parametrize("page", OWN_FLAGS, ids=names(OWN_FLAGS))
    def test_each_flag_by_itself_belongs_to_a_verb(self, page: Path) -> None:
        known = set().union(*(flags_of(verb) for verb in COMMANDS))
        alone = {
            flag for span in spans(page) if span.startswith("--") for flag in FLAG.findall(span)
        }
        assert alone - known == set()

    def test_the_page_of_commands_has_a_section_for_each_verb(self) -> None:
        sections = re.findall(r"^### ralph ([a-z-]+)$", read(COMMANDS_PAGE), flags=re.MULTILINE)
        assert sections == list(VERBS)

    def test_the_readme_s_commands_for_make_are_in_the_makefile(self) -> None:
        typed = [line for block in fences(README, "sh") for line in block.splitlines()]
        targets = {line.removeprefix("make ") for line in typed if line.startswith("make ")}
        assert {"demo", "test"} <= targets
        for target in targets:
            assert re.search(rf"^{target}:", read(ROOT / "Makefile"), flags=re.MULTILINE), target


class TestReadme:
    def test_it_can_be_read_in_a_few_minutes(self) -> None:
        assert len(read(README).split()) <= 1200

    @pytest.mark.parametrize("page", [README, QUICK_START], ids=names([README, QUICK_START]))
    def test_the_plan_that_it_shows_is_one(self, page: Path) -> None:
        (block,) = fences(page, "markdown")
        parsed = parse_markdown(block)
        assert [task.state for task in parsed.plan.tasks] == [TaskState.TODO] * 2
        assert parsed.problems == ()


class TestExitCodes:
    def test_every_one_is_listed(self) -> None:
        table = re.findall(r"^\| ([0-9]+) \|", read(EXIT_CODES_PAGE), flags=re.MULTILINE)
        assert {int(code) for code in table} == {
            *EXIT_CODES.values(),
            TERM_EXIT_CODE,
            USAGE,
            ConfigError.exit_code,
            FromInside.exit_code,
        }


class TestSnippets:
    @pytest.mark.slow
    def test_the_first_loop_and_the_overnight_run_go_as_they_are_shown(
        self, tmp_path: Path
    ) -> None:
        init, agent, look = run_blocks(QUICK_START)
        (plan,) = fences(QUICK_START, "markdown")
        git(tmp_path, "init", "--quiet")
        assert shell(tmp_path, init).returncode == 0
        (tmp_path / "@fix_plan.md").write_text(plan, encoding="utf-8")
        ended = shell(tmp_path, agent)
        assert ended.returncode == 0, ended.stdout + ended.stderr
        tasks = parse_markdown(read(tmp_path / "@fix_plan.md")).plan.tasks
        assert {task.state for task in tasks} == {TaskState.DONE}
        assert git(tmp_path, "log", "--format=%s").splitlines() == [
            task.title for task in reversed(tasks)
        ]
        assert git(tmp_path, "status", "--porcelain") == ""
        assert "Iterations" in shell(tmp_path, look).stdout

        (tmp_path / "@fix_plan.md").write_text(plan.replace("Greeting", "Again"), "utf-8")
        with (tmp_path / ".ralph" / "config.toml").open("a", encoding="utf-8") as settings:
            settings.write('\nagent = "command"\n\n[agents.command]\nargv = ["sh", "agent.sh"]\n')
        branch, *blocks = run_blocks(OVERNIGHT)
        overnight = shell(
            tmp_path, "\n".join([branch, "git add --all", "git commit -qm Set", *blocks])
        )
        assert overnight.returncode == 0, overnight.stdout + overnight.stderr
        assert git(tmp_path, "branch", "--show-current") == "overnight\n"
        assert (tmp_path / "run.html").is_file()
        tasks = parse_markdown(read(tmp_path / "@fix_plan.md")).plan.tasks
        assert {task.state for task in tasks} == {TaskState.DONE}


def run_blocks(page: Path) -> list[str]:
    """The shell blocks of a page that are marked to be run, in their order."""
    return re.findall(r"^<!-- run -->\n\n```sh\n(.*?)^```$", read(page), re.MULTILINE | re.DOTALL)


def shell(folder: Path, script: str) -> subprocess.CompletedProcess[str]:
    """Run what a page shows, with ``ralph`` being the one under test."""
    return subprocess.run(
        ["bash", "-euc", script],
        cwd=folder,
        check=False,
        capture_output=True,
        text=True,
        env={**os.environ, "PATH": f"{ralph_folder()}{os.pathsep}{os.environ['PATH']}"},
        stdin=subprocess.DEVNULL,
    )


def git(folder: Path, *arguments: str) -> str:
    return subprocess.run(
        ["git", *arguments], cwd=folder, check=True, capture_output=True, text=True
    ).stdout


class TestLinks:
    @pytest.mark.parametrize("page", PAGES, ids=names(PAGES))
    def test_each_one_leads_somewhere_in_the_project(self, page: Path) -> None:
        targets = [target.split("#")[0] for target in LINK.findall(FENCE.sub("", read(page)))]
        inside = [target for target in targets if target and "://" not in target]
        assert [target for target in inside if not (page.parent / target).exists()] == []
        # The site's generator finds neither links that leave the folder nor missing pictures.
        root = ROOT if page == README else ROOT / "docs"
        places = [(page.parent / target).resolve() for target in inside]
        assert [place for place in places if not place.is_relative_to(root)] == []


class TestLists:
    def test_no_page_names_a_thing_twice_in_one_list(self) -> None:
        named = re.compile(r"^- \*\*([^*]+)\*\*", re.MULTILINE)
        twice = [
            (page.name, name)
            for page in PAGES
            for block in re.split(r"\n\s*\n", read(page))
            for name, count in Counter(named.findall(block)).items()
            if count > 1
        ]
        assert twice == []


class TestSite:
    def test_every_page_has_its_place_in_the_navigation(self) -> None:
        placed = re.findall(r": (\S+\.md)$", read(SITE), flags=re.MULTILINE)
        pages = {page.relative_to(ROOT / "docs").as_posix() for page in PAGES[1:]}
        decisions = {page.relative_to(ROOT / "docs").as_posix() for page in ADRS}
        assert sorted(placed) == sorted(pages - decisions)


class TestDecisions:
    def test_they_are_numbered_without_a_gap(self) -> None:
        numbers = [int(path.name[:4]) for path in ADRS]
        assert len(numbers) >= 11
        assert numbers == list(range(1, len(numbers) + 1))

    @pytest.mark.parametrize("page", ADRS, ids=[path.stem for path in ADRS])
    def test_each_has_its_number_its_four_headings_and_one_page(self, page: Path) -> None:
        text = read(page)
        assert text.startswith(f"# {page.name[:4]} ")
        assert re.findall(r"^## (.+)$", text, flags=re.MULTILINE) == ADR_HEADINGS
        sections = re.split(r"^## .+$", text, flags=re.MULTILINE)[1:]
        assert all(len(section.split()) > 20 for section in sections)
        assert len(text.splitlines()) <= ONE_PAGE


class TestArchitecture:
    def test_each_file_and_folder_that_it_names_is_there(self) -> None:
        tops = {path.name for folder in (ROOT, PACKAGE) for path in folder.iterdir()}
        named = [span for span in spans(ARCHITECTURE) if is_path(span, tops)]
        assert len(named) > 50
        missing = [
            span for span in named if not (ROOT / span).exists() and not (PACKAGE / span).exists()
        ]
        assert missing == []

    def test_each_contract_that_it_names_is_kept_by_a_tool(self) -> None:
        tables = tomllib.loads(read(ROOT / "pyproject.toml"))
        kept = {contract["name"] for contract in tables["tool"]["importlinter"]["contracts"]}
        named = set(re.findall(r"\"([^\"\n]+)\"", "\n".join(contract_lines())))
        assert named
        assert named - kept == set()

    def test_each_invariant_says_what_holds_it(self) -> None:
        paragraphs = read(ARCHITECTURE).split("\n\n")
        invariants = [text for text in paragraphs if text.startswith("**Architecture Invariant:**")]
        assert len(invariants) > 15
        held_by = re.compile(r"contracts? \"|`tests/|`make test`|`docs/adr/")
        assert [text for text in invariants if not held_by.search(text)] == []

    def test_each_package_of_ours_has_its_place_in_the_code_map(self) -> None:
        packages = {path.parent for path in PACKAGE.glob("*/__init__.py")}
        headings = set(re.findall(r"^### `([a-z]+)/`$", read(ARCHITECTURE), flags=re.MULTILINE))
        assert headings == {path.name for path in packages}


class TestEditorPages:
    """Settings that users copy: they can be read, and they start what is installed."""

    @pytest.mark.parametrize(
        "page", sorted((ROOT / "docs" / "editors").glob("*.md")), ids=lambda page: page.stem
    )
    def test_settings_can_be_read(self, page: Path) -> None:
        read_tables = [tomllib.loads(block) for block in fences(page, "toml")]
        read_tables += [json.loads(block) for block in fences(page, "json")]
        blocks = [*read_tables, *(fences(page, name) for name in ("lua", "elisp", "vim"))]
        assert page.stem in {"vscode", "jetbrains"} or "ralph-ls" in json.dumps(blocks)

    def test_the_program_that_they_start_is_installed(self) -> None:
        scripts = tomllib.loads(read(ROOT / "pyproject.toml"))["project"]["scripts"]
        assert "ralph-ls" in scripts


def is_path(span: str, tops: set[str]) -> bool:
    """Whether a code span names something of the project; ``runs/<run>/`` and the like do not."""
    head, slash, _ = span.partition("/")
    return " " not in span and (span in tops or (bool(slash) and head in tops))


def contract_lines() -> list[str]:
    return [line for line in read(ARCHITECTURE).splitlines() if re.search(r"\bcontracts? \"", line)]


class TestLoopStates:
    def test_every_phase_is_drawn_and_explained(self) -> None:
        phases = {phase.value for phase in Phase} - {Phase.CRASHED.value}
        drawn = {end for edge in edges(0) for end in edge} - {"[*]", "live"}
        explained = re.findall(r"^- `([a-z]+)`: ", read(LOOP_STATES), flags=re.MULTILINE)
        assert drawn == phases
        assert sorted(explained) == sorted(phases)

    def test_the_phases_are_drawn_as_the_loop_moves(self) -> None:
        drawn = {edge for edge in edges(0) if not set(edge) & {"[*]", "live"}}
        assert ("live", "ended") in edges(0)
        live = {phase for edge in drawn for phase in edge} - {"ended"}
        drawn |= {(phase, "ended") for phase in live}
        assert drawn == phase_moves() | {("ended", "starting")}

    def test_every_phase_and_input_has_its_answer_in_the_table(self) -> None:
        rows = {Phase.STARTING: TAKE_UP, **TRANSITIONS}
        wanted = {
            (phase.value, kind.__name__): answer
            if isinstance(answer, str)
            else {after.value for after in answer}
            for phase, row in rows.items()
            for kind, answer in row.items()
        }
        assert len(wanted) == len(rows) * len(INPUTS)
        assert answers_in_the_table() == wanted

    def test_every_input_is_explained(self) -> None:
        explained = [name for name, words in table(LOOP_STATES, "inputs") if words.endswith(".")]
        assert explained == [f"`{kind.__name__}`" for kind in INPUTS]

    def test_each_threshold_of_the_breaker_has_its_row(self) -> None:
        rows = {row[2].strip("`"): row for row in table(LOOP_STATES, "thresholds")}
        thresholds = {
            f"breaker.{name}": str(value)
            for name, value in BreakerConfig().model_dump().items()
            if name not in {"enabled", "same_error_warn"}
        }
        told = {key: row[1] for key, row in rows.items() if key.startswith("breaker.")}
        assert told == thresholds
        assert rows['on_blocked = "open"'][1] == "at once"

    @pytest.mark.parametrize(
        ("setting", "leads_to", "with_progress", "set_back_by"),
        [
            ("no_progress_half_open", "HALF_OPEN", "no", "progress, a task set aside"),
            ("no_progress_open", "OPEN", "no", "progress, a task set aside"),
            ("same_error_open", "OPEN", "counts", "one without it"),
            ("failing_tests_open", "OPEN", "counts", "tests that pass"),
            ("denials_open", "OPEN", "no", "one without it"),
            ("refused_completions_open", "OPEN", "no", "one without it"),
            ("set_aside_open", "OPEN", "no", "progress"),
        ],
    )
    def test_the_breaker_s_rows_are_those_of_the_specification(
        self, setting: str, leads_to: str, with_progress: str, set_back_by: str
    ) -> None:
        rows = {row[2]: row[3:] for row in table(LOOP_STATES, "thresholds")}
        assert rows[f"`breaker.{setting}`"] == [leads_to, with_progress, set_back_by]

    def test_the_breaker_is_drawn_as_it_moves(self) -> None:
        assert {edge for edge in edges(1) if "[*]" not in edge} == breaker_moves()
        assert [edge for edge in edges(1) if "[*]" in edge] == [("[*]", Breaker().state.value)]


def table(page: Path, part: str) -> list[list[str]]:
    """The cells of a generated table, without its head."""
    _, _, rest = read(page).partition(f"<!-- generated: {part} -->")
    lines = rest.partition("<!-- end of")[0].splitlines()
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in lines if line[:1] == "|"]
    return rows[2:]


def answers_in_the_table() -> dict[tuple[str, str], str | set[str]]:
    """Where each input leads in each phase, or why it is ignored, as the page says it."""
    found: dict[tuple[str, str], str | set[str]] = {}
    phase = ""
    for named, inputs, words in table(LOOP_STATES, "transitions"):
        phase = named.strip("`") or phase
        ignored = words.removeprefix("ignored, because ")
        led_to = {phase if word == "stays" else word.strip("`") for word in words.split(", ")}
        for name in inputs.split(", "):
            assert (phase, name.strip("`")) not in found
            found[phase, name.strip("`")] = ignored if ignored != words else led_to
    return found


def edges(diagram: int) -> list[tuple[str, str]]:
    return EDGE.findall(fences(LOOP_STATES, "mermaid")[diagram])


def phase_moves() -> set[tuple[str, str]]:
    """Every move of the loop's own table; an engine's first input finds the run starting."""
    rows = {**TRANSITIONS, Phase.STARTING: TAKE_UP}
    return {
        (before.value, after.value)
        for before, row in rows.items()
        for answer in row.values()
        if not isinstance(answer, str)
        for after in answer
        if after is not before
    }


def breaker_moves() -> set[tuple[str, str]]:
    """Every move that some iteration, or the user, can bring about."""
    now = datetime(2026, 1, 31, 12, tzinfo=UTC)
    afters: list[Callable[[Breaker], Breaker]] = [partial(close_by_reset, by="Ada", now=now)]
    for progress, tests, blocked, refused, aside in itertools.product(
        (True, False), ("PASSING", "FAILING"), (None, "no key"), (True, False), (True, False)
    ):
        facts = BreakerFacts(
            iteration=1,
            progress=progress,
            tests_status=tests,
            blocked_reason=blocked,
            completion_refused=refused,
            set_aside=aside,
        )
        afters.append(partial(count_iteration, facts=facts, config=BreakerConfig(), now=now))
    counts = [
        {"consecutive_no_progress": stalled, "consecutive_failing_tests": failing}
        for stalled in range(3)
        for failing in range(5)
    ]
    return {
        (before.value, after(Breaker(state=before).model_copy(update=count)).state.value)
        for before in BreakerState
        for count in counts
        for after in afters
    } - {(state.value, state.value) for state in BreakerState}


class TestProfiles:
    def test_each_has_its_column(self) -> None:
        header = read(PROFILES_PAGE).partition("<!-- generated: profiles -->")[2].split("\n")[2]
        assert re.findall(r"`([a-z]+)`", header) == [name.value for name in PROFILES]

    def test_the_settings_that_it_shows_are_settings(self) -> None:
        shown = [block for page in SETTINGS_PAGES for block in fences(page, "toml")]
        assert len(shown) > 5
        for block in shown:
            assert settings_of(tomllib.loads(block)) != Config(), block

    def test_every_setting_is_listed_with_its_default(self) -> None:
        listed = listed_settings()
        given = {key: json.loads(text.strip("`")) for key, text in listed.items() if text}
        top = {key: value for key, value in given.items() if key.count(".") < 2}
        nested: dict[str, Any] = {}
        for key, value in top.items():
            name, _, last = key.rpartition(".")
            (nested.setdefault(name, {}) if name else nested)[last] = value
        assert settings_of(nested) == Config()
        assert dotted(Config().model_dump()) - {"agents", "tools", "prices"} <= set(listed)
        tables: dict[str, type[BaseModel]] = {"agents.NAME": AgentConfig, "tools": ToolsConfig}
        for name, model in tables.items():
            within = [key.removeprefix(f"{name}.") for key in listed if key.startswith(f"{name}.")]
            inside = {key.partition(".")[0] for key in within}
            assert inside == set(model.model_fields)


def settings_of(tables: dict[str, Any]) -> Config:
    return Config.model_validate(tables, by_alias=False, by_name=True)


def listed_settings() -> dict[str, str]:
    """Each dotted key that the page has a section of, with its default as it is written there."""
    _, _, rest = read(CONFIGURATION).partition("<!-- generated: settings -->")
    sections = re.split(r"^#### `(.+)`$", rest.partition("<!-- end of")[0], flags=re.MULTILINE)[1:]
    found: dict[str, str] = {}
    for key, text in zip(sections[::2], sections[1::2], strict=True):
        default = re.search(r"^Type: .* Default: (not set|`.*`)\. Variable", text, re.MULTILINE)
        assert default is not None, key
        found[key] = "" if default[1] == "not set" else default[1]
    return found


def dotted(tables: dict[str, Any], above: str = "") -> set[str]:
    """The keys of all that is no table, empty ones included."""
    return {
        key
        for name, value in tables.items()
        for key in (
            dotted(value, f"{above}{name}.")
            if isinstance(value, dict) and value
            else {above + name}
        )
    }


class TestPicture:
    def test_it_shows_a_half_open_breaker_and_nothing_of_a_machine(self) -> None:
        root = ET.fromstring(PICTURE.read_bytes())
        shown = " ".join(root.itertext()).replace("\u00a0", " ")
        assert "CLOSED → HALF_OPEN" in shown
        assert "half-open" in shown
        assert not re.search(r"/(tmp|home|root|var|Users)/", shown)
