from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from ralph_ls.core.loop.profiles import OPTIONAL_SECTIONS, profile_of
from ralph_ls.protocol.config.agent import AgentConfig
from ralph_ls.protocol.config.config import (
    Config,
    EvidenceKind,
    GateRule,
    LogForm,
    LogsConfig,
    ProfileName,
)
from ralph_ls.protocol.errors import ConfigError, UsageError
from ralph_ls.store.project.config_file import (
    LARGEST_FILE,
    LoadedSettings,
    load_settings,
)
from ralph_ls.store.project.environment_settings import read_environment, unknown_variables


def write(root: Path, text: str | bytes) -> Path:
    path = root / ".ralph" / "config.toml"
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path


def load(root: Path, environment: dict[str, str] | None = None, **flags: Any) -> LoadedSettings:
    given = {key.replace("__", "."): value for key, value in flags.items()}
    return load_settings(root, environment or {}, given)


def value_of(config: Config, key: str) -> Any:
    found: Any = config
    for name in key.split("."):
        found = getattr(found, name)
    return found


def dotted(tables: dict[str, Any], above: str = "") -> dict[str, Any]:
    """Each value of nested tables by its dotted key."""
    found: dict[str, Any] = {}
    for key, value in tables.items():
        deeper = dotted(value, f"{above}{key}.") if isinstance(value, dict) else {}
        found |= deeper or {above + key: value}
    return found


def problem_of(root: Path, text: str | bytes) -> str:
    """What is wrong with a config file, without the path in front."""
    path = write(root, text)
    with pytest.raises(ConfigError) as caught:
        load(root)
    assert caught.value.exit_code == 78
    message = caught.value.message
    assert not message.endswith(".")
    return message.removeprefix(f"{path}").removeprefix(".ralph/config.toml")


class TestPrecedence:
    """Flag over environment over file over profile over default, for each kind of value."""

    @pytest.mark.parametrize(
        ("key", "default", "file", "variable", "flag"),
        [
            pytest.param(
                "max_stuck",
                None,
                ("max_stuck = 3", 3),
                ("4", 4),
                (5, 5),
                id="scalar-without-preset",
            ),
            pytest.param(
                "max_iterations", 20, ("max_iterations = 3", 3), ("4", 4), (5, 5), id="preset"
            ),
            pytest.param(
                "timeouts.iteration",
                1800.0,
                ('[timeouts]\niteration = "1m"', 60.0),
                ("2m", 120.0),
                (3.0, 3.0),
                id="duration",
            ),
            pytest.param(
                "breaker.no_progress_open",
                3,
                ("[breaker]\nno_progress_open = 7", 7),
                ("8", 8),
                (9, 9),
                id="nested",
            ),
            pytest.param(
                "breaker.enabled",
                True,
                ("[breaker]\nenabled = false", False),
                ("true", True),
                (False, False),
                id="nested-preset",
            ),
            pytest.param(
                "optional_sections",
                OPTIONAL_SECTIONS,
                ('optional_sections = ["Later"]', ("Later",)),
                ("Some day, Never", ("Some day", "Never")),
                (["Maybe"], ("Maybe",)),
                id="list",
            ),
            pytest.param(
                "env.only",
                None,
                ('[env]\nonly = ["PATH"]', ("PATH",)),
                ("LC_*", ("LC_*",)),
                (["A"], ("A",)),
                id="nested-list",
            ),
            pytest.param(
                "paths.decide",
                ".ralph/decide.txt",
                ('[paths]\ndecide = "a.txt"', "a.txt"),
                ("b.txt", "b.txt"),
                ("c.txt", "c.txt"),
                id="path",
            ),
            pytest.param(
                "logs.form",
                LogForm.RUN,
                ('[logs]\nform = "iteration"', LogForm.ITERATION),
                ("run", LogForm.RUN),
                ("iteration", LogForm.ITERATION),
                id="word",
            ),
        ],
    )
    def test_the_nearer_one_wins(
        self,
        tmp_path: Path,
        key: str,
        default: Any,
        file: tuple[str, Any],
        variable: tuple[str, Any],
        flag: tuple[Any, Any],
    ) -> None:
        environment = {"RALPH_" + key.replace(".", "_").upper(): variable[0]}
        assert value_of(load(tmp_path).config, key) == default
        write(tmp_path, file[0])
        assert value_of(load(tmp_path).config, key) == file[1]
        assert value_of(load(tmp_path, environment).config, key) == variable[1]
        given = load_settings(tmp_path, environment, {key: flag[0]})
        assert value_of(given.config, key) == flag[1]
        assert given.overrides == {key: flag[0]}

    def test_the_sources_add_up_inside_a_table(self, tmp_path: Path) -> None:
        write(tmp_path, "[breaker]\nno_progress_open = 7\nsame_error_open = 8\n")
        config = load(
            tmp_path, {"RALPH_BREAKER_SAME_ERROR_OPEN": "9"}, breaker__failing_tests_open=10
        ).config
        assert config.breaker.no_progress_open == 7
        assert config.breaker.same_error_open == 9
        assert config.breaker.failing_tests_open == 10
        assert config.breaker.no_progress_half_open == 2

    def test_a_list_is_replaced_whole(self, tmp_path: Path) -> None:
        write(tmp_path, '[progress]\nevidence = ["commits", "declared"]\n')
        config = load(tmp_path, {"RALPH_PROGRESS_EVIDENCE": "worktree"}).config
        assert config.progress.evidence == (EvidenceKind.WORKTREE,)

    def test_a_flag_that_was_not_given_hides_nothing(self, tmp_path: Path) -> None:
        write(tmp_path, "max_stuck = 3\n")
        settings = load(tmp_path, max_stuck=None)
        assert settings.config.max_stuck == 3
        assert settings.overrides == {}

    def test_an_agent_that_the_user_gives_replaces_the_files_table_whole(
        self, tmp_path: Path
    ) -> None:
        write(
            tmp_path,
            '[agents.command]\nargv = ["./theirs"]\nprompt = "file"\nenv = { LD_PRELOAD = "x" }\n'
            '[agents.other]\nargv = ["other"]\n',
        )
        settings = load(tmp_path, agent="command", agents__command={"argv": ["./mine"]})
        assert settings.config.agents == {
            "command": AgentConfig(argv=("./mine",)),
            "other": AgentConfig(argv=("other",)),
        }
        assert settings.from_file["agents"]["command"]["argv"] == ["./theirs"]

    def test_without_anything_the_profile_holds(self, tmp_path: Path) -> None:
        settings = load(tmp_path)
        assert settings.from_file == {}
        kept = LogsConfig(days=30, newest=30)
        assert settings.config == Config(
            max_iterations=20, logs=kept, optional_sections=OPTIONAL_SECTIONS
        )

    @pytest.mark.parametrize("source", ["flag", "environment", "file"])
    @pytest.mark.parametrize("profile", ProfileName, ids=[name.value for name in ProfileName])
    def test_each_profile_brings_its_settings_wherever_it_is_named(
        self, tmp_path: Path, source: str, profile: ProfileName
    ) -> None:
        environment = {"RALPH_PROFILE": profile.value} if source == "environment" else {}
        flags = {"profile": profile.value} if source == "flag" else {}
        if source == "file":
            write(tmp_path, f'profile = "{profile.value}"\n')
        config = load(tmp_path, environment, **flags).config
        assert config.profile is profile
        settings = profile_of(profile).settings
        assert settings
        flat = dotted(config.model_dump(mode="json", by_alias=False))
        assert {key: flat[key] for key in settings} == {
            key: list(value) if isinstance(value, tuple) else value
            for key, value in settings.items()
        }

    def test_what_a_profile_says_can_be_overridden(self, tmp_path: Path) -> None:
        write(tmp_path, 'profile = "stories"\n[gate]\nrule = "dual"\n')
        config = load(tmp_path, {"RALPH_MAX_STUCK": "9"}, breaker__enabled=True).config
        assert config.profile is ProfileName.STORIES
        assert config.gate.rule is GateRule.DUAL
        assert config.max_stuck == 9
        assert config.breaker.enabled
        assert config.logs.form is LogForm.ITERATION


class TestEnvironment:
    def test_other_variables_are_none_of_ours(self) -> None:
        others = {
            "RALPH_STATE_DIR": "/x",
            "RALPH_DEMO_PACE": "0",
            "RALPH_BREAKER": "no",
            "RALPH_LOOPS_DONE": "no",
            "RALPH_MODES_X": "no",
            "RALPH_LANE": "1",
            "RALPH_LOGXY": "1",
            "RALPH_MAX_STUCK": "",
            "RALPH_MAX_STUK": "",
            "RALPH_EVENT": "question",
            "RALPH_ITERATION_ID": "r/1",
            "MAX_STUCK": "3",
            "ralph_max_stuck": "3",
        }
        assert read_environment(others) == {}

    def test_those_that_have_no_effect_are_known_by_name(self) -> None:
        given = {"RALPH_LANE": "1", "RALPH_EVENT": "x", "RALPH_X": "", "RALPH_DEMO_X": "1"}
        assert unknown_variables({**given, "RALPH_AGENT": "x", "LANE": "1"}) == ("RALPH_LANE",)

    @pytest.mark.parametrize(
        ("name", "meant"),
        [
            ("RALPH_AGNT", "RALPH_AGENT"),
            ("RALPH_AGNET", "RALPH_AGENT"),
            ("RALPH_MAX_ITERATION", "RALPH_MAX_ITERATIONS"),
            ("RALPH_MAX_STUKC", "RALPH_MAX_STUCK"),
            ("RALPH_BREAKER_NO_PROGRES_OPENS", "RALPH_BREAKER_NO_PROGRESS_OPEN"),
            ("RALPH_STATEDIRS", "RALPH_STATE_DIR"),
        ],
    )
    def test_one_that_resembles_ours_is_refused_like_a_misspelt_key(
        self, name: str, meant: str
    ) -> None:
        with pytest.raises(ConfigError, match=rf"{name}; did you mean {meant}\?.*unset {name}"):
            read_environment({name: "secret"})

    def test_names_are_the_keys_in_upper_case(self) -> None:
        given = {
            "RALPH_AGENT": "demo",
            "RALPH_MAX_DURATION": "1h30m",
            "RALPH_PATHS_VALIDATE_SCRIPT": "check.sh",
            "RALPH_PROMISE_COMPLETE": "DONE",
            "RALPH_MAX_COST_USD": "2.5",
            "RALPH_LOG_RETENTION_DAYS": "7",
            "RALPH_LOG_RETENTION": "no",
        }
        assert read_environment(given) == {
            "agent": "demo",
            "max_duration": "1h30m",
            "paths": {"validate_script": "check.sh"},
            "promise": {"complete": "DONE"},
            "max_cost_usd": "2.5",
            "logs": {"days": "7"},
        }

    @pytest.mark.parametrize(
        ("name", "value", "words"),
        [
            ("RALPH_MAX_STUCK", "many", " must be a whole number, such as 3; it is "),
            ("RALPH_TIMEOUTS_IDLE", "1 week", ": '1 week' is not a duration; write 30m"),
            ("RALPH_TIMEOUT", "1 week", ": '1 week' is not a duration; write 30m"),
            ("RALPH_LOGS_FORM", "all", " must be one of run, iteration, jsonl; it is "),
            ("RALPH_PROGRESS_EVIDENCE", "commits,luck", "a list of commits, worktree, tasks"),
            ("RALPH_PATHS_LOGS", "../logs", "must be a path inside the work tree"),
            ("RALPH_BREAKER_ENABLED", "perhaps", " must be true or false; it is "),
        ],
    )
    def test_a_wrong_value_names_its_variable(self, name: str, value: str, words: str) -> None:
        with pytest.raises(ConfigError) as caught:
            read_environment({name: value})
        assert caught.value.message.startswith(f"the environment variable {name}")
        assert words in caught.value.message


class TestFlags:
    @pytest.mark.parametrize(
        ("flags", "words"),
        [
            ({"profile": "fast"}, "--profile must be one of spec, fixplan"),
            ({"on_halt": "stay"}, '--on-halt must be one of exit, wait; it is "stay"'),
            ({"paths__plan": "/etc/passwd"}, "--plan: '/etc/passwd' must be a path inside"),
            ({"max_stuck": 0}, "--max-stuck must be at least 1; it is 0"),
        ],
    )
    def test_a_wrong_one_is_a_usage_error(
        self, tmp_path: Path, flags: dict[str, Any], words: str
    ) -> None:
        with pytest.raises(UsageError) as caught:
            load(tmp_path, **flags)
        assert caught.value.message.startswith(words)


class TestFile:
    @pytest.mark.parametrize(
        "text",
        [
            pytest.param("", id="empty"),
            pytest.param("# nothing\n", id="comment"),
            pytest.param("\ufeffmax_stuck = 3\r\n", id="bom-and-crlf"),
        ],
    )
    def test_it_is_read_however_it_was_saved(self, tmp_path: Path, text: str) -> None:
        write(tmp_path, text)
        assert load(tmp_path).config.max_stuck == (3 if "max_stuck" in text else None)

    @pytest.mark.parametrize(
        ("written", "seconds"),
        [
            ('"30m"', 1800.0),
            ('"90s"', 90.0),
            ('"1h30m"', 5400.0),
            ('"250ms"', 0.25),
            ('"90"', 90.0),
            ("90", 90.0),
            ("1.5", 1.5),
            ("0", 0.0),
            ('" 1D "', 86400.0),
        ],
    )
    def test_durations(self, tmp_path: Path, written: str, seconds: float) -> None:
        write(tmp_path, f"[timeouts]\niteration = {written}\n")
        assert load(tmp_path).config.timeouts.iteration == seconds

    @pytest.mark.parametrize("written", ['"soon"', '"1h30"', '""', "-1", "nan", "inf", "true"])
    def test_what_is_no_duration(self, tmp_path: Path, written: str) -> None:
        message = problem_of(tmp_path, f"[timeouts]\niteration = {written}\n")
        assert message.startswith(":2: timeouts.iteration")

    @pytest.mark.parametrize(
        ("text", "message"),
        [
            pytest.param(
                "max_stuck = 3\nmax_iteration = 5\n",
                ":2: unknown setting max_iteration; did you mean max_iterations?",
                id="unknown-key",
            ),
            pytest.param(
                "max_stuck = 1\n\n[breaker]\nno_progres_open = 3\n",
                ":4: unknown setting breaker.no_progres_open; "
                "did you mean breaker.no_progress_open?",
                id="unknown-nested-key",
            ),
            pytest.param(
                "[nonsense]\na = 1\n",
                ":1: unknown table nonsense; list them with: ralph config show --all",
                id="unknown-table",
            ),
            pytest.param(
                "[nonsense.deep]\na = 1\n",
                ":1: unknown table nonsense; list them with: ralph config show --all",
                id="unknown-table-by-its-child",
            ),
            pytest.param(
                "[timeout]\nidle = 1\n",
                ":1: unknown table timeout; did you mean timeouts?",
                id="misspelt-table",
            ),
            pytest.param(
                "maxStuck = 3\n",
                ":1: unknown setting maxStuck; did you mean max_stuck?",
                id="camel-case",
            ),
            pytest.param(
                "[agents.x]\ndialekt = 3\n",
                ":2: unknown setting agents.x.dialekt; did you mean agents.x.dialect?",
                id="key-of-an-agent",
            ),
            pytest.param(
                '[agents.x]\ncommand = ["a.sh"]\n',
                ":2: unknown setting agents.x.command; did you mean agents.x.argv?",
                id="key-of-an-agent-in-other-words",
            ),
            pytest.param(
                "[prices.x]\nidle = 3\n",
                ":2: unknown setting prices.x.idle; [prices.x] takes input, cached, output",
                id="key-of-a-named-table",
            ),
            pytest.param(
                'max_stuck = "many"\n',
                ':1: max_stuck must be a whole number, such as 3; it is "many"',
                id="wrong-type",
            ),
            pytest.param(
                "max_stuck = 0\n", ":1: max_stuck must be at least 1; it is 0", id="out-of-bounds"
            ),
            pytest.param(
                "max_cost_usd = 0\n",
                ":1: max_cost_usd must be more than 0; it is 0",
                id="out-of-open-bounds",
            ),
            pytest.param(
                "max_cost_usd = inf\n",
                ":1: max_cost_usd must be a finite number; it is inf",
                id="infinite",
            ),
            pytest.param(
                "cooldown = 1e8\n",
                ":1: cooldown must be less than a year; it is 100000000.0",
                id="years",
            ),
            pytest.param(
                "[state]\nmax_bytes = 9000000000000000000\n",
                ":2: state.max_bytes must be smaller; it is 9000000000000000000",
                id="huge-size",
            ),
            pytest.param(
                'log_form = "all"\n',
                ':1: log_form must be one of run, iteration, jsonl; it is "all"',
                id="off-the-list-by-its-old-key",
            ),
            pytest.param(
                'profile = "specs"\n',
                ":1: profile must be one of spec, fixplan, stories, beads, issue; "
                'it is "specs"; did you mean spec?',
                id="off-the-list",
            ),
            pytest.param(
                "breaker = 3\n",
                ":1: breaker must be a table, such as [breaker]; it is 3",
                id="no-table",
            ),
            pytest.param(
                'a = "x"\n"breaker" . \'enabledd\' = 1\n',
                ":2: unknown setting breaker.enabledd; did you mean breaker.enabled?",
                id="dotted-and-quoted",
            ),
            pytest.param(
                "breaker = { enabled = true, enabledd = 3 }\n",
                ":1: unknown setting breaker.enabledd; did you mean breaker.enabled?",
                id="inline-table",
            ),
            pytest.param(
                "[agents.command]\n[agents.'a b']\nargv = 3\n",
                ":3: agents.a b.argv must be a list of texts, "
                'such as ["./agent.sh", "--fast"]; it is 3',
                id="quoted-table",
            ),
            pytest.param(
                '[agents.x]\nargv = [\n  "a",\n  3,\n]\n',
                ":2: agents.x.argv must be a list of texts, "
                'such as ["./agent.sh", "--fast"]; item 2 is 3',
                id="item-of-a-list",
            ),
            pytest.param(
                "[agents.x]\n[agents.x.env]\nA = 1\n",
                ":3: agents.x.env.A must be a text in quotes; it is 1",
                id="variable",
            ),
            pytest.param(
                "[models.mode]\nplan = 3\n",
                ":2: models.mode.plan must be a model in quotes, or a table such as "
                '{ agent = "codex", model = "…" }; it is 3',
                id="model",
            ),
            pytest.param(
                '[gate]\nmarker = "all done"\n',
                ":2: gate.marker must be a word of A to Z, 0 to 9 and _, such as ALL_DONE; "
                'it is "all done"',
                id="pattern",
            ),
            pytest.param(
                'agent = """\n[breaker]\nidle = 1\n"""\n\n[breaker]\nidle = 3\n',
                ":7: unknown setting breaker.idle; did you mean timeouts.idle?",
                id="after-a-long-text",
            ),
            pytest.param(
                "agent = '''\nx\n'''\nidle = 3\n",
                ":4: unknown setting idle; did you mean timeouts.idle?",
                id="after-a-long-literal",
            ),
            pytest.param(
                f'on_halt = "{"x" * 200}"\n',
                f':1: on_halt must be one of exit, wait; it is "{"x" * 58}…',
                id="long-value",
            ),
            pytest.param(
                'push = 3\nmax_stuck = "x"\n',
                " has 2 problems:\n  .ralph/config.toml:1: push must be true or false; it is 3\n"
                '  .ralph/config.toml:2: max_stuck must be a whole number, such as 3; it is "x"',
                id="two-problems",
            ),
        ],
    )
    def test_a_wrong_setting_is_named_with_its_line(
        self, tmp_path: Path, text: str, message: str
    ) -> None:
        told = problem_of(tmp_path, text.replace('a = "x"\n', "# x\n"))
        assert told == message

    @pytest.mark.parametrize(
        ("text", "start"),
        [
            pytest.param("max_stuck = \n", ":1: the value is missing or not in quotes", id="value"),
            pytest.param("a = 1\n\n[b\n", ":3: the [table] is not closed with ]", id="header"),
            pytest.param("a = 1\na = 2\n", ":2: this key is set twice", id="twice"),
            pytest.param("a = [\n", ":2: the file ends before", id="unfinished"),
            pytest.param("a = 2020-13-45\n", ":1: there is something after", id="date"),
            pytest.param(b"a = 1\nb = '\xff'\n", ":2: this is not UTF-8", id="latin-1"),
            pytest.param(b"\x7fELF\x00\x01\x02", ":1: ", id="binary"),
            pytest.param(
                "a = " + "[" * 100_000, ": its values are nested too deeply or too long", id="deep"
            ),
            pytest.param(
                "a = " + "9" * 10_000,
                ": its values are nested too deeply or too long",
                id="long-number",
            ),
            pytest.param(
                "x = 1\n" + "a." * 50_000 + "b = 1",
                ": the key in line 2 has more than 50 parts; change it",
                id="long-key",
            ),
            pytest.param(
                "a = {" + '"b" . ' * 50_000 + "c = 1}",
                ": the key in line 1 has more than 50 parts; change it",
                id="long-quoted-key",
            ),
            pytest.param(
                "max_iterations = 0x" + "f" * 400_000,
                ": the number at max_iterations is too large",
                id="huge-number",
            ),
            pytest.param(
                '[agents.x]\nargv = ["a", "b\\u0000"]',
                ": the text at agents.x.argv contains a NUL character",
                id="nul",
            ),
            pytest.param("#" * (LARGEST_FILE + 1), " is larger than 1 MB", id="huge"),
        ],
    )
    def test_what_is_no_config_is_reported_with_its_line(
        self, tmp_path: Path, text: str | bytes, start: str
    ) -> None:
        assert problem_of(tmp_path, text).startswith(start)

    def test_as_large_as_it_may_be_it_is_read(self, tmp_path: Path) -> None:
        write(tmp_path, "max_stuck = 3\n".ljust(LARGEST_FILE, "#"))
        assert load(tmp_path).config.max_stuck == 3

    @pytest.mark.parametrize("make", [Path.mkdir, os.mkfifo], ids=["folder", "pipe"])
    def test_what_is_no_file_is_not_read(self, tmp_path: Path, make: Any) -> None:
        path = write(tmp_path, "")
        path.unlink()
        make(path)
        with pytest.raises(ConfigError, match="not a regular file"):
            load(tmp_path)
