"""What a person reads of one round trip: the failure text of an item, and the lines of its differences."""

from __future__ import annotations

import math
import os
import textwrap
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pytest_delegate52.relay import CRITICAL, Relay, RoundTrip

WIDTH = 78
SHOWN = 8


def score(value: float) -> str:
    """Three decimals, rounded down: what is below 1 never prints as 1."""
    return f"{math.floor(value * 1000 + 1e-9) / 1000 if value < 1 else 1:.3f}"


def text(trip: RoundTrip, relay: Relay, nodeid: str, run: Path) -> str:
    """The failure text: score and loss, why, what was lost in this round trip, what earlier ones lost."""
    before = relay.trips[: trip.number]
    critical = sum(each.lost >= CRITICAL for each in before)
    lines = [
        f"RS@{2 * trip.number} = {score(trip.value)}, this round trip lost {trip.lost:.3f} "
        f"(critical failures so far: {critical})"
    ]
    if trip.failure:
        lines += _wrapped(f"no usable answer: {trip.failure}")
    for reason in trip.untried:
        lines += _wrapped(f"the edit was not tried: {reason}")
    for note in trip.notes[:SHOWN]:
        lines += _wrapped(f"note: {note}")
    lines += differences(trip.differences[:SHOWN])
    left = len(trip.differences) - SHOWN
    if left > 0:
        lines.append(f"... and {left} more:")
    if trip.lost:
        where = os.path.relpath(run) if run.is_absolute() else str(run)
        lines.append(f"delegate52 show {where} '{nodeid}'")
    earlier = [f"{each.edit} {each.lost:.3f}" for each in before[:-1] if each.lost]
    if earlier:
        lines += _wrapped("earlier losses: " + ", ".join(earlier))
    return "\n".join(f"  {line}" for line in lines)


def differences(found: Sequence[Mapping[str, Any]], width: int = WIDTH) -> list[str]:
    """One line each: kind, where, both values, the loss."""
    lines = []
    for each in found:
        loss = f"-{each['loss']:.3f}" if each["loss"] >= 0.0005 else "-0.000"
        if each["kind"] == "missing":
            values = each["reference"]
        elif each["kind"] == "extra":
            values = each["candidate"]
        else:
            values = f"{_cut(each['reference'], 24)} -> {_cut(each['candidate'], 24)}"
        room = width - 9 - len(loss) - 4
        path = _cut(each["path"], max(20, room - min(len(values or ""), 40) - 2))
        shown = f"{path}  {values}" if values and values != path else path
        lines.append(f"{each['kind']:<8} {_cut(shown, room):<{room}}  {loss}")
    return lines


def _wrapped(line: str) -> list[str]:
    printable = "".join(character if character.isprintable() else " " for character in line)
    return textwrap.wrap(printable, WIDTH - 2, subsequent_indent="  ", break_on_hyphens=False)


def _cut(value: str | None, limit: int) -> str:
    if value is None:
        return "(nothing)"
    value = "".join(character if character.isprintable() else " " for character in value)
    return value if len(value) <= limit else value[: max(1, limit - 3)] + "..."
