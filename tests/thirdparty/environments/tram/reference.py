"""Reference edits for the tests' tram line."""

from __future__ import annotations

import csv
import io
import os
import re
import signal

import tram_domain as domain

from pytest_delegate52.environment import EditFunction
from pytest_delegate52.schema import Document, Files, Record


def _stops(files: Files) -> list[Record]:
    return domain.parse(files).collections["stops"]


def _line(stops: list[Record], targets: list[str]) -> Files:
    return {targets[0]: domain.emit(Document({"stops": stops}))["line.txt"]}


def _clock(time: int) -> str:
    return f"{time // 60:02d}.{time % 60:02d}"


def _lines(files: Files, name: str) -> list[str]:
    return [line for line in files.get(name, "").splitlines() if line.strip()]


def to_csv(files: Files, targets: list[str]) -> Files:
    sink = io.StringIO()
    rows = csv.writer(sink, lineterminator="\n")
    rows.writerow(["order", "hour", "minute", "stop", "remark", "zone"])
    for order, stop in enumerate(_stops(files), 1):
        rows.writerow([order, stop["time"] // 60, stop["time"] % 60, stop["name"], stop["note"], stop["zone"]])
    return {"stops.csv": sink.getvalue()}


def from_csv(files: Files, targets: list[str]) -> Files:
    stops = []
    for row in csv.DictReader(io.StringIO(files.get("stops.csv", ""))):
        try:
            time = int(row["hour"]) * 60 + int(row["minute"])
            stop = {"time": time, "name": row["stop"], "note": row["remark"], "zone": int(row["zone"])}
            stops.append((int(row["order"]), stop))
        except (KeyError, TypeError, ValueError):
            continue
    return _line([stop for _, stop in sorted(stops, key=lambda pair: pair[0])], targets)


def by_zone(files: Files, targets: list[str]) -> Files:
    made: Files = {}
    for stop in _stops(files):
        name = f"zone-{stop['zone']}.txt"
        clock = _clock(stop["time"]).replace(".", ":")
        made[name] = made.get(name, "") + f"{clock} - {stop['name']} ({stop['note']})\n"
    return {**made, "order.txt": "".join(f"{stop['name']}\n" for stop in _stops(files))}


def from_zones(files: Files, targets: list[str]) -> Files:
    places = {name: place for place, name in enumerate(_lines(files, "order.txt"))}
    stops = []
    for name, text in sorted(files.items()):
        zone = re.fullmatch(r"zone-(\d{1,9})\.txt", name)
        for match in re.finditer(r"(?m)^(\d\d):(\d\d) - (.*) \(([^()\n]*)\)$", text) if zone else ():
            time = int(match.group(1)) * 60 + int(match.group(2))
            stops.append({"time": time, "name": match.group(3), "note": match.group(4), "zone": int(zone.group(1))})
    return _line(sorted(stops, key=lambda stop: (places.get(stop["name"], 9999), stop["time"])), targets)


def alphabetical(files: Files, targets: list[str]) -> Files:
    stops = sorted(_stops(files), key=lambda stop: stop["name"])
    rows = (f"{stop['name']}: {_clock(stop['time'])}; {stop['note']}; zone {stop['zone']}\n" for stop in stops)
    return {"index.txt": "".join(rows)}


def from_index(files: Files, targets: list[str]) -> Files:
    stops = []
    for match in re.finditer(r"(?m)^(.*): (\d\d)\.(\d\d); ([^;\n]*); zone (\d{1,9})$", files.get("index.txt", "")):
        name, hours, minutes, note, zone = match.groups()
        stops.append({"time": int(hours) * 60 + int(minutes), "name": name, "note": note, "zone": int(zone)})
    return _line(sorted(stops, key=lambda stop: stop["time"]), targets)


def minutes(files: Files, targets: list[str]) -> Files:
    stops = _stops(files)
    start = stops[0]["time"] if stops else 0
    rows = (f"+{stop['time'] - start} {stop['name']} | {stop['note']} | zone {stop['zone']}\n" for stop in stops)
    return {"timetable.txt": f"start {_clock(start)}\n" + "".join(rows)}


def from_minutes(files: Files, targets: list[str]) -> Files:
    text = files.get("timetable.txt", "")
    found = re.search(r"(?m)^start (\d\d)\.(\d\d)$", text)
    start = int(found.group(1)) * 60 + int(found.group(2)) if found else 0
    stops = []
    for match in re.finditer(r"(?m)^\+(-?\d{1,6}) ([^|\n]*) \| ([^|\n]*) \| zone (\d{1,9})$", text):
        after, name, note, zone = match.groups()
        stops.append({"time": start + int(after), "name": name, "note": note, "zone": int(zone)})
    return _line(stops, targets)


def remarks_apart(files: Files, targets: list[str]) -> Files:
    stops = _stops(files)
    return {
        "short.txt": "".join(f"{_clock(stop['time'])} {stop['name']}\n" for stop in stops),
        "remarks.txt": "".join(f"{stop['name']} = {stop['note']} = zone {stop['zone']}\n" for stop in stops),
    }


def with_remarks(files: Files, targets: list[str]) -> Files:
    remarks = {}
    for match in re.finditer(r"(?m)^(.*) = (.*) = zone (\d{1,9})$", files.get("remarks.txt", "")):
        remarks[match.group(1)] = (match.group(2), int(match.group(3)))
    stops = []
    for match in re.finditer(r"(?m)^(\d\d)\.(\d\d) (.*)$", files.get("short.txt", "")):
        note, zone = remarks.get(match.group(3), ("", 0))
        time = int(match.group(1)) * 60 + int(match.group(2))
        stops.append({"time": time, "name": match.group(3), "note": note, "zone": zone})
    return _line(stops, targets)


def _killing(edit: EditFunction) -> EditFunction:
    """`TRAM_KILL_AT=5:flag` kills the process in the fifth call, once (the flag is a file): for tests of crashes."""

    def carry_out(files: Files, targets: list[str]) -> Files:
        step, _, flag = os.environ.get("TRAM_KILL_AT", "").partition(":")
        if step and not os.path.exists(flag):
            _calls.append(1)
            if len(_calls) >= int(step):
                open(flag, "x").close()
                os.kill(os.getpid(), signal.SIGKILL)
        return edit(files, targets)

    return carry_out


_calls: list[int] = []

EDITS = {
    "night-line/to-csv": (_killing(to_csv), _killing(from_csv)),
    "night-line/by-zone": (_killing(by_zone), _killing(from_zones)),
    "night-line/alphabetical": (_killing(alphabetical), _killing(from_index)),
    "night-line/minutes": (_killing(minutes), _killing(from_minutes)),
    "night-line/remarks-apart": (_killing(remarks_apart), _killing(with_remarks)),
}
