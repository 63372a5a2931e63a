"""What all tests share: a third party's package on the path, and a way to run the plugin as a user does."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

THIRD_PARTY = Path(__file__).parent / "thirdparty"


@pytest.fixture
def environments(pytester: pytest.Pytester) -> Path:
    """A folder with one small environment of a third party's domain: `tram/night-line`, five edits, ten stops."""
    return Path(shutil.copytree(THIRD_PARTY / "environments", pytester.path / "environments"))


@pytest.fixture
def delegate(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch, environments: Path
) -> Callable[..., pytest.RunResult]:
    """Run pytest in a process and a folder of its own, on the small environment unless told otherwise."""
    path = os.pathsep.join(filter(None, [str(THIRD_PARTY), os.environ.get("PYTHONPATH")]))
    monkeypatch.setenv("PYTHONPATH", path)
    monkeypatch.setenv("COLUMNS", "80")
    for name in ("PYTEST_ADDOPTS", "CI"):
        monkeypatch.delenv(name, raising=False)

    def run(*arguments: str, bundled: bool = False) -> pytest.RunResult:
        roots = [] if bundled else ["environments"]
        return pytester.runpytest_subprocess(*roots, "-p", "no:cacheprovider", *arguments, timeout=120)

    return run
