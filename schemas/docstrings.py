"""What our docstrings say of the models, their fields and the members of enums.

pydantic can put them into the models itself, but at every start of every program; here they are
read from the source once, when schemas and documents are made.
"""

from __future__ import annotations

import ast
import functools
import importlib
import inspect
import itertools
import pkgutil
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from enum import Enum, EnumMeta, StrEnum

from msgspec import structs
from pydantic import BaseModel

import ralph_ls.protocol
from ralph_ls.protocol.base import WireModel
from ralph_ls.protocol.run.messages import WireStruct

Model = type[BaseModel] | type[WireStruct]
"""A model, or a struct that takes the place of one."""


def member_docstrings(word: Model | type[Enum]) -> dict[str, str]:
    """The string below each field or member, by its name and as JSON has it, parents included."""
    said = {
        name: plain(text)
        for parent in reversed(word.__mro__)
        if parent in words().values()
        for name, text in _strings_below_members(parent.__module__)[parent.__name__].items()
    }
    if isinstance(word, EnumMeta):
        members: Iterable[Enum] = word
        return {str(member.value): said[member.name] for member in members if member.name in said}
    in_json = {alias: said[name] for name, alias in fields_of(word).items() if name in said}
    return said | in_json


def fields_of(model: Model) -> dict[str, str]:
    """The names of a model's fields, and each as JSON has it."""
    if issubclass(model, BaseModel):
        return {name: field.alias or name for name, field in model.model_fields.items()}
    return {field.name: field.encode_name for field in structs.fields(model)}


def kind_of(model: Model) -> str:
    """The ``kind`` of one member of a union."""
    if issubclass(model, BaseModel):
        return str(model.model_fields["kind"].default)
    return str(next(field.default for field in structs.fields(model) if field.name == "kind"))


@functools.cache
def words() -> Mapping[str, Model | type[Enum]]:
    """Every model and every enum of the vocabulary, by its name."""
    modules = pkgutil.walk_packages(ralph_ls.protocol.__path__, "ralph_ls.protocol.")
    return {
        name: value
        for module in modules
        for name, value in vars(importlib.import_module(module.name)).items()
        if isinstance(value, type) and issubclass(value, WireModel | WireStruct | StrEnum)
    }


def plain(text: str) -> str:
    """A docstring as one paragraph a line, with single back quotes."""
    paragraphs = re.split(r"\n\s*\n", inspect.cleandoc(text))
    return "\n\n".join(" ".join(part.split()) for part in paragraphs).replace("``", "`")


@functools.cache
def _strings_below_members(module_name: str) -> Mapping[str, Mapping[str, str]]:
    """For each class of a module, each member with a string below it, and that string."""
    source = inspect.getsource(importlib.import_module(module_name))
    classes = [node for node in ast.parse(source).body if isinstance(node, ast.ClassDef)]
    return {node.name: dict(_named_strings(node.body)) for node in classes}


def _named_strings(body: Sequence[ast.stmt]) -> Iterator[tuple[str, str]]:
    for member, below in itertools.pairwise(body):
        match member, below:
            case (
                ast.AnnAssign(target=ast.Name(id=name)) | ast.Assign(targets=[ast.Name(id=name)]),
                ast.Expr(value=ast.Constant(value=str(text))),
            ):
                yield name, text
