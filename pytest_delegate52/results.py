"""What a run came to, from its record alone: the figures of `results.json`."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Sequence
from statistics import fmean
from typing import Any

from pytest_delegate52.records import Event, Record, RunFolder
from pytest_delegate52.relay import CRITICAL
from pytest_delegate52.settings import rng

VERSION = 1
READY = 0.98
CATASTROPHIC = 0.80
READINESS_AT = 20  # interactions after which readiness is defined
RESAMPLES = 2_000
FEWEST_FOR_INTERVAL = 5


def figures(run: RunFolder) -> dict[str, Any]:
    """All figures of a run, as plain values; shares and scores in [0, 1], None where a figure is not defined."""
    header, record = run.header(), Record.read(run)
    settings = header["settings"]
    relays = [_relay(name, edits, header, record) for name, edits in header["relays"].items()]
    groups: dict[tuple[str, ...], list[dict[str, Any]]] = defaultdict(list)
    for relay in relays:
        groups[relay["model"], relay["harness"], relay["prompt"]].append(relay)
    return {
        "version": VERSION,
        "run": run.name,
        "settings": settings,
        "versions": header["versions"],
        "started": header["started"],
        "said": header["said"],
        "cut": settings["seed_tokens"] is not None or not settings["distractors"],
        "models": [
            {"model": model, "harness": harness, "prompt": prompt, **_group(members, header, settings)}
            for (model, harness, prompt), members in groups.items()
        ],
        "relays": relays,
    }


def write(run: RunFolder, found: dict[str, Any]) -> None:
    """Keep the figures beside the record, as `results.json`."""
    (run.path / "results.json").write_text(json.dumps(found, indent=1, ensure_ascii=False) + "\n", "utf-8")


# ------------------------------------------------------------------------------------------------------ one relay


def _relay(name: str, edits: Sequence[str], header: dict[str, Any], record: Record) -> dict[str, Any]:
    environment = name.partition("::")[0]
    steps = range(1, 2 * len(edits) + 1)
    answers = [record.answers[name, k] for k in steps if (name, k) in record.answers]
    done = {k: record.results[name, k] for k in steps if (name, k) in record.results}
    errors = [record.errors[name, k] for k in steps if (name, k) in record.errors]
    scores = {k: event["score"] for k, event in done.items() if "score" in event}
    verdicts = {k: event["compliance"] for k, event in done.items() if "compliance" in event}
    untried = [k for k, verdict in verdicts.items() if verdict["verdict"] == "untried"]
    about = header["environments"][environment]
    last = done[max(scores)] if scores else None
    drops = []
    for k in scores:
        edit = edits[k // 2 - 1]
        judgement = about["edits"][edit]["judgement"]
        drops.append({"edit": edit, "k": k, "lost": done[k]["lost"], "judgement": judgement})
    known = next(iter((*answers, *done.values(), *errors, *record.not_applicable.values())), {})
    threshold = header["settings"]["threshold"]
    return {
        "relay": name,
        "environment": environment,
        "domain": about["domain"],
        "category": about["category"],
        "model": known.get("model", name.partition("::")[2]),
        "harness": known.get("harness", header["settings"]["harness"]),
        "prompt": header["settings"]["prompt"],
        "round_trips": len(edits),
        "scores": {str(k): value for k, value in sorted(scores.items())},
        "first_untried": min(untried, default=None),
        "compliance": {
            verdict: sum(each["verdict"] == verdict for each in verdicts.values())
            for verdict in ("tried", "untried", "undetermined")
        },
        "drops": drops,
        "kept": len(scores) == len(edits) and not untried and min(scores.values()) >= threshold,
        "lossless": len(scores) == len(edits) and scores[2 * len(edits)] == 1.0,
        "elements": _elements(last),
        "error": errors[0]["error"] if errors else None,
        "not_applicable": record.not_applicable[name]["reason"] if name in record.not_applicable else None,
        "failures": [event["failure"] for event in done.values() if event.get("failure")],
        "calls": len(answers),
        "prompt_tokens": sum(event["prompt_tokens"] or 0 for event in answers),
        "completion_tokens": sum(event["completion_tokens"] or 0 for event in answers),
        "cost": sum(event["cost"] or 0.0 for event in answers),
        "unpriced_calls": sum(event["cost"] is None for event in answers),
        "seconds": round(sum(event["seconds"] for event in answers), 3),
    }


def _elements(event: Event | None) -> dict[str, float] | None:
    """Deletion and corruption as published, and with matched records in place of counted ones."""
    counts = (event or {}).get("counts", {}).values()
    ours, theirs, matched = (sum(each[side] for each in counts) for side in ("reference", "candidate", "matched"))
    if event is None or not ours:
        return None
    coverage, kept = min(theirs / ours, 1.0), min(matched / ours, 1.0)
    value = event["score"]
    return {
        "deletion": 1 - coverage,
        "corruption": coverage - value,
        "deletion_matched": 1 - kept,
        "corruption_matched": kept - value,
    }


# ----------------------------------------------------------------------------------------------- groups of relays


def _group(relays: list[dict[str, Any]], header: dict[str, Any], settings: dict[str, Any]) -> dict[str, Any]:
    by_domain: dict[str, list[dict[str, Any]]] = defaultdict(list)
    by_category: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for relay in relays:
        by_domain[relay["domain"]].append(relay)
        by_category[relay["category"]].append(relay)
    domains = {
        name: {**_figures(members, settings), **_verdict(members)} for name, members in sorted(by_domain.items())
    }
    overall = _figures(relays, settings)
    for k in overall["rs"]:
        overall["interval"][k] = interval(relays, k, settings["seed"])
    ready = [domain["ready"] for domain in domains.values()]
    covered = {(relay["environment"], drop["edit"]) for relay in relays for drop in relay["drops"]}
    environments = {relay["environment"] for relay in relays}
    planned = {(name, edit) for name in environments for edit in header["environments"][name]["edits"]}
    return {
        "overall": {
            **overall,
            "macro": {
                k: _mean([d["rs"][k] for d in domains.values() if d["rs"].get(k) is not None]) for k in overall["rs"]
            },
            "ready": sum(each == "yes" for each in ready) if any(each is not None for each in ready) else None,
            "domains": len(domains),
            "catastrophic": [name for name, domain in domains.items() if domain["catastrophic"]],
            "not_covered": sorted(f"{name}: {edit}" for name, edit in planned - covered),
        },
        "categories": {name: _figures(members, settings) for name, members in sorted(by_category.items())},
        "domains": domains,
        "edits": _by_edit(relays),
    }


def _figures(relays: list[dict[str, Any]], settings: dict[str, Any]) -> dict[str, Any]:
    counted = [relay for relay in relays if not relay["error"] and not relay["not_applicable"]]
    steps = sorted({int(k) for relay in counted for k in relay["scores"]})
    drops = [drop for relay in counted for drop in relay["drops"]]
    lost = sum(drop["lost"] for drop in drops)
    critical = [drop["lost"] for drop in drops if drop["lost"] >= CRITICAL]
    elements = [relay["elements"] for relay in counted if relay["elements"]]
    return {
        "rs": {str(k): _mean_of(counted, lambda relay, k=k: relay["scores"].get(str(k))) for k in steps},
        "rs_strict": {str(k): _mean_of(counted, lambda relay, k=k: _strict(relay, k)) for k in steps},
        "interval": {
            str(k): interval(counted, str(k), settings["seed"])
            for k in steps if len({relay["environment"] for relay in counted}) >= FEWEST_FOR_INTERVAL
        },
        "environments": len({relay["environment"] for relay in counted}),
        "relays": len(counted),
        "round_trips": len(drops),
        "not_run": sum(relay["round_trips"] - len(relay["scores"]) for relay in counted),
        "lossless": sum(relay["lossless"] for relay in counted),
        "kept": sum(relay["kept"] for relay in counted),
        "critical": len(critical),
        "critical_share": sum(critical) / lost if lost else None,
        "elements": {name: fmean(each[name] for each in elements) for name in elements[0]} if elements else None,
        "compliance": {
            name: sum(relay["compliance"][name] for relay in relays) for name in ("tried", "untried", "undetermined")
        },
        "errors": sum(relay["error"] is not None for relay in relays),
        "not_applicable": sum(relay["not_applicable"] is not None for relay in relays),
        **{
            name: sum(relay[name] for relay in relays)
            for name in ("calls", "prompt_tokens", "completion_tokens", "cost", "unpriced_calls", "seconds")
        },
    }  # fmt: skip


def _verdict(relays: list[dict[str, Any]]) -> dict[str, Any]:
    """Readiness of a domain: yes, no, untried or undecided; None below ten round trips."""
    if any(relay["error"] for relay in relays):
        return {"ready": "undecided", "catastrophic": False}
    counted = [relay for relay in relays if not relay["not_applicable"]]
    value = _mean_of(counted, lambda relay: relay["scores"].get(str(READINESS_AT)))
    whole = all(str(READINESS_AT) in relay["scores"] for relay in counted)
    if value is None or not whole:
        return {"ready": None, "catastrophic": False}
    untried = any(relay["first_untried"] and relay["first_untried"] <= READINESS_AT for relay in counted)
    ready = "untried" if untried else "yes" if value >= READY else "no"
    return {"ready": ready, "catastrophic": value <= CATASTROPHIC}


def _by_edit(relays: list[dict[str, Any]]) -> dict[str, Any]:
    """Mean loss per edit task, and for tasks that turn on judgement against the others."""
    losses: dict[str, list[float]] = defaultdict(list)
    kinds: dict[str, list[float]] = {"judgement": [], "other": []}
    for relay in relays:
        for drop in relay["drops"] if not relay["error"] else []:
            losses[f"{relay['environment']}: {drop['edit']}"].append(drop["lost"])
            kinds["judgement" if drop["judgement"] else "other"].append(drop["lost"])
    return {
        "mean_loss": {name: fmean(values) for name, values in sorted(losses.items())},
        "by_kind": {name: _mean(values) for name, values in kinds.items()},
    }


def _strict(relay: dict[str, Any], k: int) -> float | None:
    """RS@k with everything from the first untried step on at 0."""
    value: float | None = relay["scores"].get(str(k))
    first = relay["first_untried"]
    return 0.0 if value is not None and first is not None and first <= k else value


def _mean_of(relays: list[dict[str, Any]], value: Callable[..., float | None]) -> float | None:
    """Mean over environments, each the mean of its relays."""
    by_environment: dict[str, list[float]] = defaultdict(list)
    for relay in relays:
        if (found := value(relay)) is not None:
            by_environment[relay["environment"]].append(found)
    return _mean([fmean(values) for values in by_environment.values()])


def _mean(values: Sequence[float | None]) -> float | None:
    present = [value for value in values if value is not None]
    return fmean(present) if present else None


def interval(relays: list[dict[str, Any]], k: str, seed: int) -> tuple[float, float] | None:
    """95 % percentile bootstrap interval of the mean over environments.

    Environments are resampled within domains; where every domain has one environment, domains are resampled.
    """
    by_domain: dict[str, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    for relay in relays:
        if k in relay["scores"] and not relay["error"] and not relay["not_applicable"]:
            by_domain[relay["domain"]][relay["environment"]].append(relay["scores"][k])
    pools = [[fmean(values) for values in domain.values()] for domain in by_domain.values()]
    if all(len(pool) == 1 for pool in pools):
        pools = [[value for pool in pools for value in pool]]
    if sum(map(len, pools)) < 2:
        return None
    import numpy

    source = numpy.random.default_rng(rng(seed, "bootstrap", k).getrandbits(64))
    totals = numpy.zeros(RESAMPLES)
    for pool in pools:
        values = numpy.array(sorted(pool))
        totals += values[source.integers(0, len(values), (RESAMPLES, len(values)))].sum(axis=1)
    low, high = numpy.percentile(totals / sum(map(len, pools)), [2.5, 97.5])
    return float(low), float(high)
