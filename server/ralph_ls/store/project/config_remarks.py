"""Remarks on a config file for an editor: what is wrong in it, and which keys have a new name."""

from __future__ import annotations

import tomllib

from pydantic import ValidationError

from ralph_ls.core.views.model.diagnostic import Diagnostic, DiagnosticCode, Severity
from ralph_ls.protocol.config.renamed import DROPPED_IN
from ralph_ls.store.project.environment_settings import validated_tables
from ralph_ls.store.project.old_keys import BOM, find_old_keys
from ralph_ls.store.project.setting_problems import find_problems, toml_problem
from ralph_ls.store.toml_text import line_of_key, parse_toml


def config_remarks(text: str) -> list[Diagnostic]:
    """The remarks on this text, those of a line in order. Total."""
    body = text.removeprefix(BOM)
    try:
        tables = parse_toml(body)
    except tomllib.TOMLDecodeError as error:
        return [_wrong(text, *toml_problem(body, error))]
    except ValueError as error:
        return [_wrong(text, 1, str(error))]
    found = [
        Diagnostic(
            line=one.line,
            start=one.start,
            end=one.end,
            severity=Severity.WARNING,
            code=DiagnosticCode.SETTING_RENAMED,
            message=f"{one.old} is now {one.new}; ralph {DROPPED_IN} no longer reads the old key",
        )
        for one in find_old_keys(text)
    ]
    try:
        validated_tables(tables)
    except ValidationError as error:
        for problem in find_problems(error, tables):
            line = line_of_key(body, problem.key.split(".")) or 1
            found.append(_wrong(text, line, problem.text))
    return sorted(found, key=lambda one: one.line)


def _wrong(text: str, number: int, message: str) -> Diagnostic:
    lines = text.split("\n")
    line = lines[min(number, len(lines)) - 1].rstrip()
    return Diagnostic(
        line=number - 1,
        start=len(line) - len(line.lstrip()),
        end=len(line),
        severity=Severity.ERROR,
        code=DiagnosticCode.SETTING_WRONG,
        message=message,
    )
