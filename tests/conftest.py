"""What all tests share: a third party's package on the path, and a way to run the plugin as a user does."""

from __future__ import annotations

import importlib
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from chat_server import files_in

from pytest_delegate52 import environment
from pytest_delegate52.files import fenced

# litellm brings this back-port, which takes the place of the standard finder of distributions. pytester puts
# sys.meta_path back after each test and would leave none, unless the back-port was there before the first one.
importlib.import_module("importlib_metadata")

THIRD_PARTY = Path(__file__).parent / "thirdparty"


@pytest.fixture
def environments(tmp_path: Path) -> Path:
    """A folder with one small environment of a third party's domain: `tram/night-line`, five edits, ten stops."""
    return Path(shutil.copytree(THIRD_PARTY / "environments", tmp_path / "environments"))


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

    shutil.copytree(environments, pytester.path / "environments", dirs_exist_ok=True)

    def run(*arguments: str, bundled: bool = False) -> pytest.RunResult:
        shutil.copytree(environments, pytester.path / "environments", dirs_exist_ok=True)  # as the test left it
        roots = [] if bundled else ["environments"]
        return pytester.runpytest_subprocess(*roots, "-p", "no:cacheprovider", *arguments, timeout=120)

    return run


@pytest.fixture
def perfect(environments: Path) -> Callable[[int, str], str]:
    """A script that answers every prompt as the reference functions would."""
    found = environment.load(environments / "tram" / "night-line")

    def script(number: int, prompt: str) -> str:
        files = {name: text for name, text in files_in(prompt).items() if name not in found.distractors}
        for edit in found.edits:
            functions = found.reference(edit)
            assert functions is not None
            ways = ((edit.forward, edit.forward_targets), (edit.backward, edit.backward_targets))
            for (instruction, targets), function in zip(ways, functions, strict=True):
                if instruction in prompt:
                    made = function(files, list(targets))
                    return "Here you are.\n\n" + "\n".join(fenced(name, text) for name, text in made.items())
        raise AssertionError("an unknown instruction")

    return script
