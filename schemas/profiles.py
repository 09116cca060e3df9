"""Generated tables: the profiles for docs/profiles.md, the settings for docs/configuration.md."""

from __future__ import annotations

import json
import re
import types
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import Enum, StrEnum
from typing import Any, Union, get_args, get_origin

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from ralph_ls.core.loop.profile_table import profile_table
from ralph_ls.protocol.config.config import Config
from ralph_ls.protocol.config.tables import to_bytes, to_seconds
from schemas.docstrings import member_docstrings, plain


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """One key of ``.ralph/config.toml``."""

    table: str
    """``breaker`` for ``breaker.enabled``; empty for what is in no table."""
    key: str
    type_name: str
    default: str
    """As TOML has it; empty where there is none."""
    what_for: str


def profile_parts() -> dict[str, str]:
    """The comparison of all profiles."""
    return {"profiles": _matrix(profile_table())}


def setting_parts() -> dict[str, str]:
    """Every setting with its type, default and purpose."""
    return {"settings": _settings()}


def settings(model: type[BaseModel] = Config, table: str = "") -> Iterator[Setting]:
    """Every setting there is, in the order of the models; tables come after what is in none."""
    said = member_docstrings(model)
    below: list[tuple[type[BaseModel], str]] = []
    for name, field in model.model_fields.items():
        inside = _model_in(field.annotation)
        if inside is None:
            yield Setting(
                table=table,
                key=name,
                type_name=_type_of(field.annotation, field),
                default=_default(field),
                what_for=_what_for(said.get(name, ""), field.annotation),
            )
        else:
            named = name if get_origin(field.annotation) is not dict else f"{name}.NAME"
            below.append((inside, f"{table}.{named}".removeprefix(".")))
    for inside, name in below:
        yield from settings(inside, name)


def _matrix(rows: Sequence[Sequence[str]]) -> str:
    header, *body = rows
    lines = [header, ["---"] * len(header), *body]
    shown = "\n".join(f"| {' | '.join(_in_a_cell(cell) for cell in line)} |" for line in lines)
    # Outside of code a tag would be taken for one.
    return re.sub(r"<(?=/?promise>)", "&lt;", shown)


def _settings() -> str:
    lines: list[str] = []
    table: str | None = None
    for setting in settings():
        if setting.table != table:
            table = setting.table
            lines += ["", f"### `[{table}]`", ""] if table else []
            lines += ["| setting | takes | default | what for |", "|---|---|---|---|"]
        cells = [f"`{setting.key}`", setting.type_name, setting.default, setting.what_for]
        lines.append(f"| {' | '.join(_in_a_cell(cell) for cell in cells)} |")
    return "\n".join(lines)


def _model_in(kind: Any) -> type[BaseModel] | None:
    """The table that a field holds, or of which it holds one under each name."""
    if len(_alternatives(kind)) > 1:
        # A word will do as well.
        return None
    for one in _alternatives(kind):
        if isinstance(one, type) and issubclass(one, BaseModel):
            return one
        if get_origin(one) is dict and (inside := _model_in(get_args(one)[1])):
            return inside
    return None


def _alternatives(kind: Any) -> tuple[Any, ...]:
    """What a union is made of, without None."""
    if get_origin(kind) in {Union, types.UnionType}:
        return tuple(each for each in get_args(kind) if each is not type(None))
    return (kind,)


def _type_of(kind: Any, field: FieldInfo) -> str:
    only, *others = _alternatives(kind)
    if others:
        return "text, or a table"
    if get_origin(only) is tuple:
        return f"list of {_type_of(get_args(only)[0], field)}"
    if get_origin(only) is dict:
        return "table of texts" if len(_alternatives(get_args(only)[1])) == 1 else "table of these"
    if isinstance(only, type) and issubclass(only, StrEnum):
        return ", ".join(f"`{member.value}`" for member in only)
    # A mark such as the one of a duration is at the field, or inside of an optional one.
    if to_seconds.__name__ in repr(field) + repr(only):
        return "duration"
    if to_bytes.__name__ in repr(field) + repr(only):
        return "size"
    named = {bool: "`true`, `false`", int: "whole number", float: "number"}
    return named.get(only, "text")


def _default(field: FieldInfo) -> str:
    value = field.get_default(call_default_factory=True, validated_data={})
    if value is None:
        return ""
    if isinstance(value, Enum):
        value = value.value
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return f"`{json.dumps(value)}`"


def _what_for(said: str, kind: Any) -> str:
    """Its own words, then those of its values; in TOML what is not given is None."""
    *_, last = _alternatives(kind)
    if get_origin(last) is tuple:
        last = get_args(last)[0]
    words = said
    if isinstance(last, type) and issubclass(last, Enum):
        members = [f"`{value}`: {meaning}" for value, meaning in member_docstrings(last).items()]
        words = " ".join([said or last.__doc__ or "", *members])
    inside = re.sub(r"(?<=; )None\b", "not given", plain(words))
    return re.sub(r"\bNone\b", "Not given", inside)


def _in_a_cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")
