"""Settings: how durations and paths are read, and that nothing unknown slips through."""

from __future__ import annotations

import json
import re
from operator import attrgetter
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter, ValidationError

from ralph_ls.protocol.config.config import (
    AttemptCounts,
    Committer,
    Config,
    EvidenceKind,
    GateRule,
    LogForm,
    OnBlocked,
)
from ralph_ls.protocol.config.tables import Duration, StateConfig, TreePath, to_bytes, to_seconds
from ralph_ls.protocol.run.state import RunState

DURATION: TypeAdapter[float] = TypeAdapter(Duration)
(DURATION_PATTERN,) = (
    choice["pattern"] for choice in DURATION.json_schema()["anyOf"] if choice["type"] == "string"
)
TREE_PATH: TypeAdapter[str] = TypeAdapter(TreePath)


def load(settings: dict[str, Any]) -> Config:
    """As a config file is read: by the names, not by the keys of JSON."""
    return Config.model_validate(settings, by_alias=False, by_name=True)


class TestSize:
    @pytest.mark.parametrize(
        ("written", "size"),
        [
            ("5 GB", 5_000_000_000),
            ("1.5kb", 1500),
            (" 2 GiB ", 2 << 30),
            ("12", 12),
            ("7B", 7),
            (300, 300),
            ("0", 0),
        ],
    )
    def test_a_text_is_bytes(self, written: object, size: int) -> None:
        assert StateConfig.model_validate({"max_bytes": written}).max_bytes == size

    @pytest.mark.parametrize("written", ["", "GB", "5 gigs", "-1", "1.5", "9" * 400 + "GB"])
    def test_a_text_that_is_none_is_refused_with_what_to_write(self, written: str) -> None:
        with pytest.raises(
            ValueError, match="is not a size; write 5 GB, 500 MB or a number of bytes"
        ):
            to_bytes(written)

    @pytest.mark.parametrize("given", [-1, True, None, 1.5, "9" * 30, [5]])
    def test_what_is_no_size_of_a_file_is_refused(self, given: object) -> None:
        with pytest.raises(ValidationError):
            StateConfig.model_validate({"max_bytes": given})


class TestDuration:
    @pytest.mark.parametrize(
        ("written", "seconds"),
        [
            ("30m", 1800.0),
            ("90s", 90.0),
            ("90", 90.0),
            (" 1h30m ", 5400.0),
            ("1H30M", 5400.0),
            ("1.5h", 5400.0),
            ("250ms", 0.25),
            ("2d", 172_800.0),
            ("5 m", 300.0),
            ("0", 0.0),
            ("1d2h3m4s5ms", 93_784.005),
        ],
    )
    def test_a_text_is_seconds(self, written: str, seconds: float) -> None:
        assert to_seconds(written) == pytest.approx(seconds)
        assert DURATION.validate_python(written) == pytest.approx(seconds)

    @pytest.mark.parametrize("given", [0, 90, 1.5])
    def test_a_number_is_seconds(self, given: float) -> None:
        assert to_seconds(given) == DURATION.validate_python(given) == given

    @pytest.mark.parametrize(
        "written",
        [
            "",
            "  ",
            "soon",
            "30 minutes",
            "-5m",
            "m",
            "1h30",
            "30 5",
            ".5h",
            "1,5h",
            "1h 30m",
            "1e3",
        ],
    )
    def test_a_text_that_is_none_is_refused_with_what_to_write(self, written: str) -> None:
        with pytest.raises(ValueError, match="is not a duration; write 30m, 90s or 1h30m"):
            to_seconds(written)

    @pytest.mark.parametrize("given", [-1, float("nan"), float("inf"), "9" * 400, None, [90]])
    def test_what_is_no_time_that_can_pass_is_refused(self, given: object) -> None:
        with pytest.raises(ValidationError):
            DURATION.validate_python(given)

    @given(
        text=st.text(" .0159smhdMSHDx", max_size=12)
        | st.lists(
            st.sampled_from(["0", "5", "1.5", "30", "m", "H", "ms", "S", "d", " "]), max_size=6
        ).map("".join)
    )
    def test_the_schema_takes_the_same_texts(self, text: str) -> None:
        try:
            to_seconds(text)
        except ValueError:
            assert not re.search(DURATION_PATTERN, text)
        else:
            assert re.search(DURATION_PATTERN, text)


class TestTreePath:
    @pytest.mark.parametrize(
        "path",
        ["plan.md", "@fix_plan.md", ".ralph/decide.txt", "a b/ü.md", "..hidden", "a..b/c", "a/c:d"],
    )
    def test_a_path_in_the_tree_stays_as_it_is(self, path: str) -> None:
        assert TREE_PATH.validate_python(path) == path

    @pytest.mark.parametrize(
        "path",
        [
            "",
            "..",
            "../x",
            "a/../b",
            "a/..",
            "a\\..\\b",
            "/x",
            "\\x",
            "\\\\server\\x",
            "~x",
            "~/x",
            "C:x",
            "C:\\x",
            "a\0b",
            "a\nb",
            ".",
            "./",
        ],
    )
    def test_one_that_may_leave_it_is_refused(self, path: str) -> None:
        with pytest.raises(ValidationError, match="must be a path inside the work tree"):
            TREE_PATH.validate_python(path)

    @pytest.mark.parametrize(
        ("written", "path"),
        [("./a//b/", "a/b"), ("a\\b", "a/b"), ("a/./b", "a/b"), (".ralph/logs/", ".ralph/logs")],
    )
    def test_one_path_has_one_form(self, written: str, path: str) -> None:
        assert TREE_PATH.validate_python(written) == path

    @pytest.mark.parametrize(
        "path", [".git", ".git/hooks/pre-commit", "sub/.GIT/config", ".git. /x", "GIT~1/config"]
    )
    def test_one_in_gits_own_folder_is_refused(self, path: str) -> None:
        with pytest.raises(ValidationError, match="is in git's own folder; choose another path"):
            TREE_PATH.validate_python(path)


class TestConfig:
    def test_keys_of_a_file_are_snake_case(self) -> None:
        config = load({"max_iterations": 3, "breaker": {"no_progress_open": 4}, "timeout": "5m"})
        assert (config.max_iterations, config.breaker.no_progress_open) == (3, 4)
        assert config.timeouts.iteration == 300

    @pytest.mark.parametrize(
        ("settings", "location"),
        [
            ({"maxIterations": 3}, ("maxIterations",)),
            ({"max_iteration": 3}, ("max_iteration",)),
            ({"breaker": {"noProgressOpen": 3}}, ("breaker", "noProgressOpen")),
            ({"paths": {"plans": "x"}}, ("paths", "plans")),
            ({"gate": {"complete_word": "DONE"}}, ("gate", "complete_word")),
            ({"breaker": {"blocked_opens": True}}, ("breaker", "blocked_opens")),
            ({"attempts": {"max": 3}}, ("attempts", "max")),
            ({"session": {"continue": True}}, ("session", "continue")),
            ({"logs": {"weeks": 4}}, ("logs", "weeks")),
            ({"promise": {"blocked": "STOP"}}, ("promise", "blocked")),
            ({"agents": {"mine": {"flags": []}}}, ("agents", "mine", "flags")),
        ],
    )
    def test_a_key_that_is_not_known_is_refused_and_named(
        self, settings: dict[str, Any], location: tuple[str, ...]
    ) -> None:
        with pytest.raises(ValidationError) as refused:
            load(settings)
        (error,) = refused.value.errors()
        assert (error["loc"], error["type"]) == (location, "extra_forbidden")

    @pytest.mark.parametrize(
        ("settings", "location"),
        [
            ({"max_iterations": 0}, ("max_iterations",)),
            ({"max_stuck": 0}, ("max_stuck",)),
            ({"review_cap": 0}, ("review_cap",)),
            ({"min_iterations": -1}, ("min_iterations",)),
            ({"profile": "mine"}, ("profile",)),
            ({"timeout": "soon"}, ("timeouts", "iteration")),
            ({"cooldown": -1}, ("cooldown",)),
            ({"paths": {"decide": "../decide.txt"}}, ("paths", "decide")),
            ({"gate": {"indicators": 0}}, ("gate", "indicators")),
            ({"gate": {"rule": "hope"}}, ("gate", "rule")),
            ({"gate": {"rule": "DUAL"}}, ("gate", "rule")),
            ({"gate": {"marker": "Project complete"}}, ("gate", "marker")),
            ({"gate": {"marker": ""}}, ("gate", "marker")),
            ({"promise": {"complete": "done!"}}, ("promise", "complete")),
            ({"promise": {"complete": ""}}, ("promise", "complete")),
            ({"on_blocked": "ignore"}, ("on_blocked",)),
            ({"on_blocked": "set_aside"}, ("on_blocked",)),
            ({"breaker": {"denials_open": -1}}, ("breaker", "denials_open")),
            ({"breaker": {"set_aside_open": -1}}, ("breaker", "set_aside_open")),
            ({"attempts": {"limit": -1}}, ("attempts", "limit")),
            ({"attempts": {"limit": 2.5}}, ("attempts", "limit")),
            ({"attempts": {"counts": "all"}}, ("attempts", "counts")),
            ({"attempts": {"mark": "perhaps"}}, ("attempts", "mark")),
            ({"session": {"resume": "always"}}, ("session", "resume")),
            ({"session": {"max_age": "a day"}}, ("session", "max_age")),
            ({"session": {"max_age": -1}}, ("session", "max_age")),
            ({"max_tokens": 0}, ("max_tokens",)),
            ({"max_tokens": "many"}, ("max_tokens",)),
            ({"max_cost_usd": 0}, ("max_cost_usd",)),
            ({"max_cost_usd": -0.5}, ("max_cost_usd",)),
            ({"max_cost_usd": float("inf")}, ("max_cost_usd",)),
            ({"max_cost_usd": float("nan")}, ("max_cost_usd",)),
            ({"limit_wait": "until noon"}, ("limit_wait",)),
            ({"limit_wait": -1}, ("limit_wait",)),
            ({"logs": {"form": "lines"}}, ("logs", "form")),
            ({"logs": {"days": -1}}, ("logs", "days")),
            ({"log_retention": {"newest": -1}}, ("logs", "newest")),
            ({"logs": 30}, ("logs",)),
            ({"commits": "person"}, ("commits",)),
            ({"push": "maybe"}, ("push",)),
            ({"progress": {"evidence": ["heads"]}}, ("progress", "evidence", 0)),
            ({"progress": {"evidence": ["hope"]}}, ("progress", "evidence", 0)),
            ({"agents": {"mine": {"argv": "run me"}}}, ("agents", "mine", "argv")),
        ],
    )
    def test_a_value_that_cannot_be_is_refused_and_named(
        self, settings: dict[str, Any], location: tuple[str | int, ...]
    ) -> None:
        with pytest.raises(ValidationError) as refused:
            load(settings)
        (error,) = refused.value.errors()
        assert error["loc"] == location

    @pytest.mark.parametrize(
        ("settings", "key", "value"),
        [
            *(({"gate": {"rule": rule.value}}, "gate.rule", rule) for rule in GateRule),
            ({"gate": {"marker": "ALL_DONE_2"}}, "gate.marker", "ALL_DONE_2"),
            ({"promise": {"complete": "SHIPPED_1"}}, "promise.complete", "SHIPPED_1"),
            *(({"on_blocked": answer.value}, "on_blocked", answer) for answer in OnBlocked),
            ({"breaker": {"denials_open": 0}}, "breaker.denials_open", 0),
            ({"breaker": {"set_aside_open": 0}}, "breaker.set_aside_open", 0),
            ({"attempts": {"limit": 0}}, "attempts.limit", 0),
            *(({"attempts": {"counts": it.value}}, "attempts.counts", it) for it in AttemptCounts),
            ({"attempts": {"mark": False}}, "attempts.mark", False),
            ({"session": {"resume": True}}, "session.resume", True),
            ({"session": {"max_age": "12h"}}, "session.max_age", 43_200.0),
            ({"max_tokens": 1}, "max_tokens", 1),
            ({"max_cost_usd": 0.01}, "max_cost_usd", 0.01),
            ({"limit_wait": "1h"}, "limit_wait", 3600.0),
            ({"limit_wait": 0}, "limit_wait", 0.0),
            *(({"log_form": form.value}, "logs.form", form) for form in LogForm),
            ({"log_retention": {"days": 0}}, "logs.days", 0),
            ({"log_retention": {"newest": 0}}, "logs.newest", 0),
            *(({"commits": who.value}, "commits", who) for who in Committer),
            ({"push": True}, "push", True),
            ({"progress": {"evidence": ["head"]}}, "progress.evidence", (EvidenceKind.HEAD,)),
        ],
    )
    def test_a_value_that_is_just_possible_is_taken(
        self, settings: dict[str, Any], key: str, value: object
    ) -> None:
        config = load(settings)
        assert attrgetter(key)(config) == value
        # And it comes back out of JSON, as the journal has it.
        assert Config.model_validate_json(config.model_dump_json(by_alias=True)) == config

    @pytest.mark.parametrize(
        ("paths", "told"),
        [
            ({"decide": "a.txt", "blocked": "a.txt"}, "blocked and decide are both 'a.txt'"),
            ({"plan": "notes.md", "logs": "./notes.md"}, "logs and plan are both 'notes.md'"),
            ({"decide": ".ralph/config.toml"}, "decide and the settings are both"),
        ],
    )
    def test_two_of_the_loops_files_cannot_be_one(self, paths: dict[str, str], told: str) -> None:
        with pytest.raises(ValidationError, match=told):
            load({"paths": paths})

    def test_in_json_the_keys_are_camel_case_and_come_back(self) -> None:
        config = load({"max_iterations": 3, "on_halt": "wait", "env": {"only": ["PATH"]}})
        text = config.model_dump_json(by_alias=True)
        assert {"maxIterations", "onHalt", "onValidateFail"} <= json.loads(text).keys()
        assert Config.model_validate_json(text) == config

    def test_a_run_state_shares_the_settings_that_it_begins_with(self) -> None:
        # To copy them took a third of each fold.
        assert RunState().config is RunState().config
