"""What the reference edits of several domains share: hand-made keys, tables, numbered names."""

from __future__ import annotations

import csv
import io
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from pytest_delegate52.schema import Files

UNSORTED = "unsorted"


@cache
def _keys(path: Path) -> dict[str, dict[str, Any]]:
    return tomllib.loads(path.read_text("utf-8")) if path.is_file() else {}


def decide(reference: str, slug: str, edit: str, record: str) -> str:
    """The hand-made decision for a record (`<slug>.keys.toml` beside `reference.py`), `unsorted` for one it lacks."""
    return str(key(reference, slug, edit).get(record, UNSORTED))


def key(reference: str, slug: str, edit: str) -> dict[str, Any]:
    """All hand-made decisions for an edit: record to decision."""
    return _keys(Path(reference).with_name(f"{slug}.keys.toml")).get(edit, {})


def table(columns: Sequence[str], rows: Iterable[Mapping[str, Any]]) -> str:
    """Rows as CSV with a header; absent cells are empty."""
    sink = io.StringIO()
    writer = csv.DictWriter(sink, columns, restval="", extrasaction="ignore", lineterminator="\n")
    writer.writeheader()
    writer.writerows({name: "" if row.get(name) is None else row[name] for name in columns} for row in rows)
    return sink.getvalue()


def rows(text: str) -> list[dict[str, str]]:
    """The rows of a CSV with a header, every cell a string; a table too broken for `csv` ends where it breaks."""
    found: list[dict[str, str]] = []
    try:
        for row in csv.DictReader(io.StringIO(text.removeprefix("\ufeff"))):
            found.append({str(name): cell if isinstance(cell, str) else "" for name, cell in row.items()})
    except csv.Error:
        pass
    return found


def named(files: Files, ending: str) -> str:
    """The text of the first file whose name ends so; empty where there is none."""
    return next((text for name, text in sorted(files.items()) if name.endswith(ending)), "")


def number(text: str, default: int = 0) -> int:
    """A whole number of at most nine digits, or the default."""
    return int(text) if text.strip().lstrip("-").isdecimal() and len(text.strip()) <= 9 else default
