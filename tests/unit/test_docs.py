"""Pages that are made from the code: stale ones fail here, and DELEGATE52_UPDATE=1 writes them anew."""

from __future__ import annotations

import os
from pathlib import Path

import pytest_delegate52
from pytest_delegate52.options import OPTIONS

ROOT = Path(pytest_delegate52.__file__).parents[1]


def options_page() -> str:
    rows = [
        f"| `--delegate52-{option.name}{'=' + (option.metavar or option.name.upper()) if option.parse else ''}` "
        f"| `{option.dest}` | {option.help.replace('|', '/')} |"
        for option in OPTIONS
    ]
    head = "Every option has an ini twin; the command line wins. In the ini file a repeatable one takes a value a line."
    return "\n".join(["# Options", "", head, "", "| option | ini | meaning |", "| --- | --- | --- |", *rows, ""])


def test_the_page_of_options_is_not_stale() -> None:
    page = ROOT / "docs" / "options.md"
    if os.environ.get("DELEGATE52_UPDATE"):
        page.write_text(options_page(), "utf-8")
    assert page.read_text("utf-8") == options_page(), "docs/options.md is stale: DELEGATE52_UPDATE=1 pytest tests/unit"
