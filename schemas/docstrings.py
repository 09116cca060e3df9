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
from collections.abc import Iterator, Mapping, Sequence
from enum import Enum, StrEnum

from pydantic import BaseModel

import ralph_ls.protocol
from ralph_ls.protocol.base import WireModel


def member_docstrings(word: type[BaseModel] | type[Enum]) -> dict[str, str]:
    """The string below each field or member, by its name and as JSON has it, parents included."""
    said = {
        name: plain(text)
        for parent in reversed(word.__mro__)
        if parent in words().values()
        for name, text in _strings_below_members(parent.__module__)[parent.__name__].items()
    }
    if issubclass(word, Enum):
        return {str(member.value): said[member.name] for member in word if member.name in said}
    in_json = {
        field.alias or name: said[name] for name, field in word.model_fields.items() if name in said
    }
    return said | in_json


@functools.cache
def words() -> Mapping[str, type[BaseModel] | type[Enum]]:
    """Every model and every enum of the vocabulary, by its name."""
    modules = pkgutil.walk_packages(ralph_ls.protocol.__path__, "ralph_ls.protocol.")
    return {
        name: value
        for module in modules
        for name, value in vars(importlib.import_module(module.name)).items()
        if isinstance(value, type) and issubclass(value, WireModel | StrEnum)
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
