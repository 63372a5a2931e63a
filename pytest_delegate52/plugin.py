"""The pytest plugin: hooks that delegate. Nothing heavy is imported until it is used."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from pytest_delegate52 import options

if TYPE_CHECKING:
    from pytest_delegate52.session import Delegation

RUN: pytest.StashKey[Delegation] = pytest.StashKey()


def pytest_addoption(parser: pytest.Parser) -> None:
    options.add(parser)


@pytest.hookimpl(trylast=True)
def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "delegate52: a round trip or an environment check of pytest-delegate52")
    if options.models(config):
        from pytest_delegate52.session import Delegation

        config.stash[RUN] = Delegation(config)
        config.pluginmanager.register(config.stash[RUN], "delegate52-run")


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> Any:
    # Without a model, environment folders that are given as paths are checked; with one, they are run instead.
    if file_path.name != "environment.toml" or RUN in parent.config.stash:
        return None
    from pytest_delegate52 import validation

    return validation.collect(file_path, parent)
