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

from ralph_ls.core.setup.settings import duration_text
from ralph_ls.protocol.config.config import Config
from ralph_ls.protocol.config.tables import to_bytes, to_seconds
from schemas.docstrings import member_docstrings, plain
from schemas.profile_table import profile_table


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """One key of ``.ralph/config.toml``."""

    table: str
    """``breaker`` for ``breaker.enabled``; empty for what is in no table."""
    key: str
    kind: str
    """The type in words, such as ``list of texts``."""
    values: dict[str, str]
    """Each allowed word and its meaning; empty where any value of the type will do."""
    default: str
    """As TOML has it; empty where there is none."""
    about: str


def profile_parts() -> dict[str, str]:
    """The parts of the page by their names."""
    return {"profiles": _matrix(profile_table())}


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
                kind=_type_of(field.annotation, field),
                values=_values_of(field.annotation),
                default=_default(field),
                about=_about(said.get(name, ""), field.annotation),
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
        return "text or table"
    if get_origin(only) is tuple:
        inside = _type_of(get_args(only)[0], field)
        return "list of texts" if inside == "text" else f"list of {inside}s"
    if get_origin(only) is dict:
        return "table of texts" if len(_alternatives(get_args(only)[1])) == 1 else "table"
    if isinstance(only, type) and issubclass(only, StrEnum):
        return "word"
    # A mark such as the one of a duration is at the field, or inside of an optional one.
    if to_seconds.__name__ in repr(field) + repr(only):
        return "duration"
    if to_bytes.__name__ in repr(field) + repr(only):
        return "size"
    named = {bool: "true or false", int: "whole number", float: "number"}
    return named.get(only, "text")


def _default(field: FieldInfo) -> str:
    value = field.get_default(call_default_factory=True, validated_data={})
    if value is None:
        return ""
    if isinstance(value, Enum):
        value = value.value
    if to_seconds.__name__ in repr(field) and value:
        hours = value / 3600
        return json.dumps(f"{hours:g}h" if hours == int(hours) else duration_text(value))
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return "{}" if isinstance(value, dict) else json.dumps(value)


def _values_of(kind: Any) -> dict[str, str]:
    """The words that a setting takes, with their meanings."""
    word = _enum_in(kind)
    if word is None:
        return {}
    said = member_docstrings(word)
    return {str(member.value): said.get(str(member.value), "") for member in word}


def _enum_in(kind: Any) -> type[Enum] | None:
    *_, last = _alternatives(kind)
    if get_origin(last) is tuple:
        last = get_args(last)[0]
    return last if isinstance(last, type) and issubclass(last, Enum) else None


def _about(said: str, kind: Any) -> str:
    """Its own words, else those of the words that it takes."""
    word = _enum_in(kind)
    return plain(said or (word.__doc__ or "" if word is not None else ""))


def _in_a_cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")
