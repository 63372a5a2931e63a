"""Stops of a tram line: `09.40 Harbour Gate | ramp at the north door | zone 1`, a line each, in the order of travel.

A third party's domain, as another package would bring it. It follows no standard: the format is the tests' own.
"""

from __future__ import annotations

import re
from decimal import Decimal

from pytest_delegate52.schema import Document, Exact, Files, Number, Records, Schema, Text, squeeze, weighted

CATEGORY = "everyday"
MEANING = ("file-name",)  # files are read in the order of their names, and order is meaning
DERIVED = (r"^(?:00|99)\.",)

FIELDS = {"time": Number(scale=Decimal(30), group="timing"), "name": Text(), "note": Text(), "zone": Exact()}
SCHEMA = Schema(
    stops=Records(fields=FIELDS, identity=("name",), ordered=True, name="stop"),
    combine=lambda c: weighted(
        (0.2, c.stops.coverage),
        (0.3, c.stops.timing),
        (0.3, c.stops.accuracy),
        (0.1, c.stops.name),
        (0.1, c.stops.order),
    ),
)
_STOP = re.compile(r"(\d\d)\.(\d\d) ([^|]*)\|([^|]*)\|\s*zone (\d{1,9})")


def parse(files: Files) -> Document:
    stops, problems = [], []
    for line in "\n".join(files[name] for name in sorted(files)).replace("\ufeff", "").splitlines():
        line = squeeze(line)
        match = _STOP.fullmatch(line)
        if match and squeeze(match.group(3)):
            hours, minutes, name, note, zone = match.groups()
            stop = {
                "time": int(hours) * 60 + int(minutes),
                "name": squeeze(name),
                "note": squeeze(note),
                "zone": int(zone),
            }
            stops.append(stop)
        elif line:
            problems.append(line)
    return Document({"stops": stops}, problems)


def emit(document: Document) -> Files:
    lines = [
        f"{stop['time'] // 60 % 100:02d}.{stop['time'] % 60:02d} {stop['name']} | {stop['note']} | zone {stop['zone']}"
        for stop in document.collections.get("stops", [])
    ]
    return {"line.txt": "\n".join([*lines, *document.problems, ""])}
