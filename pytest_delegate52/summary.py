"""The summary of a run that a person reads in a terminal, at 80 columns."""

from __future__ import annotations

import math
import textwrap
from typing import Any

from pytest_delegate52.results import CATASTROPHIC, READINESS_AT


def percent(value: float | None, width: int = 5) -> str:
    """A share in percent with one decimal, rounded down, so that what is below 1 never prints as 100."""
    if value is None:
        return "-".rjust(width)
    return f"{math.floor(value * 1000 + 1e-9) / 10 if value < 1 else 100.0:.1f}".rjust(width)


def lines(found: dict[str, Any], seconds: float | None = None) -> list[str]:
    """The summary at 80 columns: one table for each model."""
    shown = [""]
    for group in found["models"]:
        shown += [*_table(found, group, seconds), ""]
    return shown[:-1]


def _table(found: dict[str, Any], group: dict[str, Any], seconds: float | None) -> list[str]:
    overall, settings = group["overall"], found["settings"]
    steps = [int(k) for k in overall["rs"]]
    picked = sorted({steps[0], steps[(len(steps) - 1) // 2], steps[-1]}) if steps else []
    factors = [group["model"], group["harness"], *([group["prompt"]] if group["prompt"] != "plain" else [])]
    size = [
        _count(overall["environments"], "environment"),
        _count(overall["round_trips"], "round trip"),
        _count(overall["calls"], "call"),
        f"${overall['cost']:.2f}",
        *([f"{overall['unpriced_calls']} calls of unknown price"] if overall["unpriced_calls"] else []),
        *([_time(seconds)] if seconds is not None else []),
    ]
    rows = [_wrap(f"delegate52: {', '.join(factors)}, seed {settings['seed']}: {', '.join(size)}")]
    if steps:
        heads = "".join(f"{f'RS@{k}':>7}" for k in picked)
        rows.append(f"{'domain':<14}{heads}   n  lossless  critical  del./corrupt  ready")
        for name, domain in group["domains"].items():
            rows.append(_row(name, domain, picked))
        total = "".join(percent(overall["rs"].get(str(k)), 7) for k in picked)
        span = overall["interval"].get(str(picked[-1]))
        between = f" ({percent(span[0], 0)} - {percent(span[1], 0)})" if span else ""
        ready = f"  ready: {overall['ready']} of {overall['domains']}" if overall["ready"] is not None else ""
        rows.append(f"{'overall':<14}{total}{between}  lossless: {overall['lossless']}/{overall['relays']}{ready}")
    return [line for row in [*rows, *_remarks(found, group)] for line in row.split("\n")]


def _row(name: str, domain: dict[str, Any], picked: list[int]) -> str:
    scores = "".join(percent(domain["rs"].get(str(k)), 7) for k in picked)
    elements = domain["elements"]
    gone = f"{100 * elements['deletion']:.1f} / {100 * elements['corruption']:.1f}" if elements else "-"
    lossless = f"{domain['lossless']}/{domain['relays']}"
    return (
        f"{name:<14}{scores}{domain['environments']:>4}  {lossless:<8}  {domain['critical']:<8}  {gone:<12}  "
        f"{domain['ready'] or '-'}"
    ).rstrip()


def _remarks(found: dict[str, Any], group: dict[str, Any]) -> list[str]:
    overall, settings = group["overall"], found["settings"]
    said = []
    compliance = overall["compliance"]
    if compliance["untried"] or compliance["undetermined"]:
        strict = percent(list(overall["rs_strict"].values())[-1], 0) if overall["rs_strict"] else "-"
        said.append(
            f"forward steps: {compliance['tried']} tried, {compliance['untried']} untried, "
            f"{compliance['undetermined']} undetermined; RS with untried relays at 0 from there: {strict}"
        )
    if overall["catastrophic"]:
        said.append(f"catastrophic (RS@{READINESS_AT} <= {CATASTROPHIC:.0%}): {', '.join(overall['catastrophic'])}")
    kinds = group["edits"]["by_kind"]
    if kinds["judgement"] is not None and kinds["other"] is not None and (kinds["judgement"] or kinds["other"]):
        said.append(
            f"mean loss: {kinds['judgement']:.3f} in edits that turn on judgement, {kinds['other']:.3f} in others"
        )
    if overall["errors"]:
        said.append(f"{overall['errors']} relays with infrastructure errors are left out of all averages")
    if overall["not_applicable"]:
        said.append(f"{overall['not_applicable']} relays do not fit the model's context window and are left out")
    if overall["not_run"]:
        said.append(f"{overall['not_run']} planned round trips were not run")
    if overall["not_covered"] and settings["mode"] == "relay":
        count = len(overall["not_covered"])
        said.append(f"{count} edit tasks not covered with {settings['round_trips']} round trips (see results.json)")
    said += found["said"]
    if found["cut"] and settings["mode"] == "relay":
        said.append("a cut run: not to be compared with full ones")
    said.append("authored seeds, stricter scorer: not comparable with the published table")
    return [_wrap(line) for line in said]


def _count(number: int, name: str) -> str:
    return f"{number} {name}{'' if number == 1 else 's'}"


def _wrap(line: str) -> str:
    return textwrap.fill(line, 80, subsequent_indent="  ", break_on_hyphens=False)


def _time(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 120 else f"{seconds / 60:.0f} min"
