"""The command-line options and their ini twins, as one table; and the settled `Settings` of a run."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import pytest


@dataclass(frozen=True)
class Option:
    """`--delegate52-<name>` and, with underscores, the ini option `delegate52_<name>`."""

    name: str
    help: str
    default: Any = None
    parse: Callable[[str], Any] | None = str  # None: a flag
    repeatable: bool = False
    metavar: str | None = None
    field: str | None = None  # of Settings, where it is not the name

    @property
    def dest(self) -> str:
        return "delegate52_" + self.name.replace("-", "_")

    @property
    def setting(self) -> str:
        return self.field or self.name.replace("-", "_")


def _at_least(least: float, kind: type = int) -> Callable[[str], Any]:
    def parse(text: str) -> Any:
        value = kind(text)
        if not value >= least:
            raise argparse.ArgumentTypeError(f"expected a number of {least} or more, found {text}")
        return value

    return parse


def _share(text: str) -> float:
    value = float(text)
    if not 0 <= value <= 1:
        raise argparse.ArgumentTypeError(f"expected a number from 0 to 1, found {text}")
    return value


def _one_of(*known: str) -> Callable[[str], str]:
    def parse(text: str) -> str:
        if text not in known:
            raise argparse.ArgumentTypeError(f"expected {', '.join(known)}, found {text!r}")
        return text

    return parse


OPTIONS = (
    Option("model", "model to run: any litellm name, or reference, reference?fault_rate=0.1&seed=7, noop, "
           "local/smollm2-135m; repeatable", repeatable=True, metavar="NAME", field="models"),
    Option("mode", "relay: round trips in a row; isolated: each edit once, from the seed (default: relay)",
           "relay", _one_of("relay", "isolated")),
    Option("harness", "how the model is let at the files (default: direct)", "direct", _one_of("direct")),
    Option("prompt", "prompt variant, plain or preserve, or a file of your own (default: plain)", "plain"),
    Option("round-trips", "round trips in a relay (default: 10; small models: 2)", 10, _at_least(1), metavar="N"),
    Option("repeats", "relays for each environment and model (default: 1)", 1, _at_least(1), metavar="N"),
    Option("seed", "what everything random hangs on (default: 52)", 52, int, metavar="N"),
    Option("domain", "only domains that match this glob; repeatable", repeatable=True, metavar="GLOB", field="domains"),
    Option("environment", "only environments domain/slug that match this glob; repeatable", repeatable=True,
           metavar="GLOB", field="environments"),
    Option("no-distractors", "leave the distractor files out", False, None),
    Option("seed-tokens", "cut every seed to about N tokens, on record boundaries", None, _at_least(50), metavar="N"),
    Option("threshold", "a relay that falls below this is not kept (default: 0.98)", 0.98, _share, metavar="SCORE"),
    Option("gate", "what sets the exit status: every relay kept, every domain ready, or none (default: kept)",
           "kept", _one_of("kept", "ready", "none")),
    Option("temperature", "sampling temperature, where the model takes one (default: 1.0)", 1.0,
           _at_least(0, float), metavar="T"),
    Option("max-output-tokens", "most tokens in one answer (default: 20000; small models: 1200)", 20_000, _at_least(1),
           metavar="N"),
    Option("timeout", "seconds that one call may take (default: 600)", 600.0, _at_least(1, float), metavar="SECONDS"),
    Option("concurrency", "most calls in flight, over all workers (default: 16)", 16, _at_least(1), metavar="N"),
    Option("output", "folder for the record (default: .delegate52/runs/<n>)", "", str, metavar="DIR"),
)  # fmt: skip


def add(parser: pytest.Parser) -> None:
    """Register every option and its ini twin."""
    group = parser.getgroup("delegate52", "delegated edits (pytest-delegate52)")
    for option in OPTIONS:
        flag, ini = f"--delegate52-{option.name}", option.dest
        if option.parse is None:
            group.addoption(flag, dest=ini, action="store_true", default=None, help=option.help)
            parser.addini(ini, option.help, type="bool", default=None)
        else:
            group.addoption(
                flag, dest=ini, action="append" if option.repeatable else "store", default=None,
                type=option.parse, help=option.help, metavar=option.metavar,
            )  # fmt: skip
            kind: Literal["linelist", "string"] = "linelist" if option.repeatable else "string"
            parser.addini(ini, option.help, type=kind, default=None)


def given(config: pytest.Config, option: Option) -> Any:
    """What the user said, on the command line or in the ini file; None where nothing was said."""
    value = config.getoption(option.dest)
    if value is None or value == []:
        value = config.getini(option.dest)
        if value in (None, "", []):
            return None
        if option.parse is not None and isinstance(value, str):
            try:
                return option.parse(value)
            except (ValueError, argparse.ArgumentTypeError) as error:
                raise pytest.UsageError(f"ini option {option.dest}: {error}") from None
    return value


def models(config: pytest.Config) -> list[str]:
    """The models named; empty when the plugin has nothing to run."""
    return list(dict.fromkeys(given(config, OPTIONS[0]) or []))


def settings(config: pytest.Config) -> tuple[Any, set[str]]:
    """The run's `Settings`, and the names of the settings that the user chose."""
    from pytest_delegate52.settings import Settings

    said = {option.setting: given(config, option) for option in OPTIONS}
    chosen = {name for name, value in said.items() if value is not None}
    values = {option.setting: option.default for option in OPTIONS if option.default is not None}
    values |= {name: value for name, value in said.items() if value is not None}
    values["distractors"] = not values.pop("no_distractors")
    values = {name: tuple(value) if isinstance(value, list) else value for name, value in values.items()}
    values["models"] = tuple(models(config))
    return Settings(**values), chosen
