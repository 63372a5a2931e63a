"""The registry of domains: one sorted line each, imported on first use.

A domain is a module with `parse(files) -> Document`, `emit(document) -> files` and `SCHEMA`, and, where the format
asks for them, `SURFACE` (name to function: rewritings that must not change the score), `DERIVED` (regular
expressions for text that carries no meaning of its own, such as a running number), `MEANING` (names of the generic
rewritings of `conformance` that do change the meaning in this format) and `documents()` (a Hypothesis strategy of valid
files). Other packages add domains through the entry point group `pytest_delegate52.domains`.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import dataclass
from importlib.metadata import entry_points
from types import ModuleType
from typing import Any

from pytest_delegate52.schema import Document, Files, Schema

CATEGORIES = ("code", "science", "creative", "records", "everyday")

#: name -> category; the module is `pytest_delegate52.domains.<name>`.
BUNDLED = {
    "accounting": "records",
    "json": "code",
    "recipe": "everyday",
    "subtitles": "creative",
}


@dataclass(frozen=True)
class Domain:
    """One document type: its codec, its schema, and what the conformance suite must know about its surface."""

    name: str
    category: str
    parse: Callable[[Files], Document]
    emit: Callable[[Document], Files]
    schema: Schema
    surface: dict[str, Callable[[Files], Files]]
    derived: tuple[str, ...]
    meaning: tuple[str, ...]
    documents: Callable[[], Any] | None
    doc: str

    @classmethod
    def of(cls, name: str, category: str, module: ModuleType) -> Domain:
        """The domain that `module` holds (see the module docstring for the names it must have)."""
        return cls(
            name=name,
            category=category,
            parse=module.parse,
            emit=module.emit,
            schema=module.SCHEMA,
            surface=getattr(module, "SURFACE", {}),
            derived=tuple(getattr(module, "DERIVED", ())),
            meaning=tuple(getattr(module, "MEANING", ())),
            documents=getattr(module, "documents", None),
            doc=module.__doc__ or "",
        )


def names() -> list[str]:
    """All domain names, bundled and installed, sorted."""
    return sorted({*BUNDLED, *(entry.name for entry in _installed())})


def get(name: str) -> Domain:
    """The domain called `name`; `KeyError` with the nearest names when there is none."""
    if name in BUNDLED:
        return Domain.of(name, BUNDLED[name], importlib.import_module(f"pytest_delegate52.domains.{name}"))
    for entry in _installed():
        if entry.name == name:
            module = entry.load()
            return Domain.of(name, getattr(module, "CATEGORY", "other"), module)
    import difflib

    near = difflib.get_close_matches(name, names(), n=3, cutoff=0.4) or names()
    raise KeyError(f"no domain {name!r}; did you mean {', '.join(near)}?")


def _installed() -> list:
    return list(entry_points(group="pytest_delegate52.domains"))
