"""What ARCHITECTURE.md says of imports holds, and an unused start imports nothing heavy."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

import pytest_delegate52
from pytest_delegate52 import domains, environments

PACKAGE = Path(pytest_delegate52.__file__).parent
ROOT = PACKAGE.parent
HEAVY = ("litellm", "numpy", "scipy", "tiktoken", "rapidfuzz", "asyncio", "click", "yaml", "hypothesis")


def rooms() -> dict[str, set[str]]:
    """Module -> modules of the project that it may import, from the table in ARCHITECTURE.md."""
    rows = re.findall(r"(?m)^\| `([\w./]+)` \|[^|]*\| ([^|]*) \|$", (ROOT / "ARCHITECTURE.md").read_text("utf-8"))
    return {name: set(re.findall(r"`([\w./]+)`", allowed)) for name, allowed in rows}


def imported(path: Path) -> set[str]:
    """Modules of the project that a file imports anywhere, type checking aside."""
    found: set[str] = set()
    tree = ast.parse(path.read_text("utf-8"))
    for node in ast.walk(tree):
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            node.body = []
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("pytest_delegate52"):
            inner = node.module.partition(".")[2]
            if inner:
                found.add(inner.replace(".", "/"))
            else:
                found |= {alias.name for alias in node.names if not alias.name.startswith("__")}
    return found


def test_every_module_is_in_the_table_and_imports_what_it_may() -> None:
    allowed = rooms()
    paths = {path.relative_to(PACKAGE).with_suffix("").as_posix(): path for path in PACKAGE.rglob("*.py")}
    paths = {name.removesuffix("/__init__"): path for name, path in paths.items() if name != "__init__"}
    assert set(paths) == set(allowed), set(paths) ^ set(allowed)
    wrong = {name: imported(path) - allowed[name] for name, path in paths.items()}
    assert not {name: names for name, names in wrong.items() if names}


def test_domains_import_the_schema_and_nothing_else() -> None:
    for path in Path(domains.__file__).parent.glob("*.py"):
        if path.stem != "__init__":
            assert imported(path) <= {"schema", "unreadable"}, path


def test_reference_edits_import_domains_and_families_only() -> None:
    for path in Path(environments.__file__).parent.rglob("*.py"):
        assert imported(path) <= {"schema", "domains", "environments"}, path


@pytest.mark.parametrize("arguments", [["--co", "-q"], ["--version"], ["--help"]])
def test_an_unused_start_imports_nothing_heavy(tmp_path: Path, arguments: list[str]) -> None:
    code = (
        f"import sys, pytest; pytest.main({arguments!r}); "
        f"print('LOADED', [name for name in {HEAVY!r} if name in sys.modules])"
    )
    command = [sys.executable, "-c", code]
    plugins = ["-p", "pytest_delegate52.plugin"]
    env = {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PYTEST_ADDOPTS": " ".join(plugins), "PATH": "/usr/bin:/bin"}
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, env=env, timeout=60)
    assert "LOADED []" in done.stdout, done.stdout + done.stderr


def test_no_module_is_too_long_to_read() -> None:
    for path in [*PACKAGE.rglob("*.py"), *Path(domains.__file__).parent.glob("*.py")]:
        assert len(path.read_text("utf-8").splitlines()) <= 480, path
