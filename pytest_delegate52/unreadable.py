"""A file in which a domain's `emit` keeps what `parse` could not understand, so that it comes back as it was."""

from __future__ import annotations

import json
from collections.abc import Sequence

from pytest_delegate52.schema import Files, squeeze

NAME = "unreadable.txt"
_FIRST_LINE = "%unreadable"  # told by content, since names mean nothing


def write(problems: Sequence[str]) -> Files:
    """No file for no problems, else one with a JSON string a line."""
    return {NAME: "\n".join([_FIRST_LINE, *map(json.dumps, problems), ""])} if problems else {}


def take(files: Files) -> tuple[Files, list[str]]:
    """The other files, with line ends as `\\n`, no byte order marks and no lone surrogates, and the problems kept."""
    others: Files = {}
    problems: list[str] = []
    for name, text in sorted(files.items()):
        text = sound(text).replace("\ufeff", "").replace("\r\n", "\n").replace("\r", "\n")
        if text.startswith(_FIRST_LINE):
            problems += filter(None, map(_read, text.split("\n")[1:]))
        else:
            others[name] = text
    return others, problems


def sound(text: str) -> str:
    """`text` without lone surrogates, which no encoding can hold."""
    return text if text.isascii() else text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _read(line: str) -> str:
    try:
        found = json.loads(line)
    except (ValueError, RecursionError):
        found = line
    return sound(found) if isinstance(found, str) and found.strip() else squeeze(line)
