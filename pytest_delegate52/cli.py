"""The command `delegate52`: score two documents, list domains and environments, read a run's record."""

from __future__ import annotations

import difflib
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NoReturn

import click

from pytest_delegate52 import __version__
from pytest_delegate52.files import MOST_CHARACTERS


@click.group(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 80})
@click.version_option(__version__, prog_name="delegate52")
def main() -> None:
    """Tell how much of a document is left after delegated edits.

    Runs are made with pytest: pytest --delegate52-model=NAME
    """


@main.command()
@click.argument("domain")
@click.argument("reference", type=click.Path(exists=True, path_type=Path))
@click.argument("candidate", type=click.Path(exists=True, path_type=Path))
@click.option("--json", "as_json", is_flag=True, help="Print score, components, counts, differences, problems as JSON.")
@click.option("--most", default=20, show_default=True, help="Differences to print.")
def score(domain: str, reference: Path, candidate: Path, as_json: bool, most: int) -> None:
    """Compare CANDIDATE with REFERENCE, two files or folders of a DOMAIN's format.

    Exit status: 0 where the score is 1, 1 where it is below, 2 for an error.
    """
    from pytest_delegate52 import domains, scoring

    try:
        found_domain = domains.get(domain)
    except KeyError as error:
        _fail(str(error.args[0]))
    ours, theirs = (found_domain.parse(_read(path)) for path in (reference, candidate))
    found = scoring.score(found_domain.schema, ours, theirs)
    if as_json:
        told = {"domain": domain, "score": found.value, **found.to_json()}
        click.echo(json.dumps(told, ensure_ascii=False, indent=1))
    else:
        for line in _told(domain, found, len(ours.problems), most):
            click.echo(line)
    sys.exit(0 if found.value == 1 else 1)


def _told(domain: str, found: Any, unread: int, most: int) -> Iterator[str]:
    from pytest_delegate52 import failure

    yield f"{domain}: score {failure.score(found.value)}, {len(found.differences)} differences"
    yield ""
    yield f"{'component':<32}{'value':>8}"
    for collection, components in found.components.items():
        for name, value in components.items():
            if value is not None:
                yield f"{collection + '.' + name:<32}{failure.score(value):>8}"
    yield ""
    yield f"{'records':<20}{'reference':>10}{'candidate':>10}{'matched':>10}"
    for collection, counts in found.counts.items():
        yield f"{collection:<20}{counts['reference']:>10}{counts['candidate']:>10}{counts['matched']:>10}"
    if found.differences:
        yield ""
        yield from failure.differences([each._asdict() for each in found.differences[:most]])
        if len(found.differences) > most:
            yield f"... and {len(found.differences) - most} more (--most)"
    if unread:
        yield f"the reference has {unread} pieces of text that could not be read"
    if found.problems:
        yield f"the candidate has {len(found.problems)} pieces of text that could not be read"


@main.command("domains")
def list_domains() -> None:
    """List the domains, bundled and installed."""
    from pytest_delegate52 import domains

    for name in domains.names():
        domain = domains.get(name)
        first = domain.doc.strip().splitlines()[0] if domain.doc.strip() else ""
        click.echo(f"{name:<14}{domain.category:<10}{first}"[:80].rstrip())


@main.command("environments")
@click.argument("folder", type=click.Path(exists=True, file_okay=False, path_type=Path), required=False)
def list_environments(folder: Path | None) -> None:
    """List the bundled environments, or those at or below FOLDER, with their edit tasks."""
    from pytest_delegate52 import environment, tokens

    try:
        found = [environment.load(each) for each in environment.folders(folder)] if folder else environment.bundled()
    except environment.ManifestError as error:
        _fail("\n".join(error.faults))
    for each in found:
        size, aside = (sum(map(tokens.count, files.values())) for files in (each.seed, each.distractors))
        click.echo(f"{each.key}: {each.title}")
        click.echo(f"  seed {size:,} tokens, distractors {aside:,} tokens, {each.license}")
        for edit in each.edits:
            marks = " (judgement)" if edit.judgement else ""
            click.echo(f"  {edit.id:<24}{edit.title}{marks}")


@main.command()
@click.argument("run", type=click.Path(exists=True, file_okay=False, path_type=Path))
def summary(run: Path) -> None:
    """Print the summary of a RUN folder, from its record."""
    from pytest_delegate52 import results
    from pytest_delegate52 import summary as summaries

    folder = _run(run)
    for line in summaries.lines(results.figures(folder)):
        click.echo(line)


@main.command()
@click.argument("run", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.argument("item")
@click.option("--full", is_flag=True, help="Print raw answers and whole text diffs.")
def show(run: Path, item: str, full: bool) -> None:
    """Show one round trip of a RUN folder: instructions, answers, differences, text diff.

    ITEM is an id as pytest prints it: domain/slug::model[03-edit-id].
    """
    from pytest_delegate52 import failure
    from pytest_delegate52.records import Record

    folder = _run(run)
    header, record = folder.header(), Record.read(folder)
    trips = _trips(header)
    if item not in trips:
        near = difflib.get_close_matches(item, trips, n=3, cutoff=0.3) or list(trips)[:3]
        _fail(f"{run} has no round trip {item!r}; did you mean\n  " + "\n  ".join(near))
    relay, number = trips[item]
    for k in (2 * number - 1, 2 * number):
        for line in _step(folder, record, relay, k, full):
            click.echo(line)
    done = record.results.get((relay, 2 * number), {})
    if "score" in done:
        lost = f"; this round trip lost {done['lost']:.4f}"
        click.echo(f"\nRS@{2 * number} = {failure.score(done['score'])}{lost}; all differences from the seed:")
        for line in failure.differences(done.get("differences", [])):
            click.echo("  " + line)


def _step(folder: Any, record: Any, relay: str, k: int, full: bool) -> Iterator[str]:
    answer, result = record.answers.get((relay, k)), record.results.get((relay, k))
    event = answer or result or record.errors.get((relay, k))
    if event is None:
        yield f"interaction {k}: not run"
        return
    yield f"interaction {k}, {event['direction']}: {event['edit']}"
    if "error" in event and answer is None:
        yield f"  error: {event['error']}"
        return
    if answer is None:
        yield "  no call was made: the relay had ended"
        return
    yield f"  finish {answer['finish']}, {answer['completion_tokens']} tokens, {answer['seconds']} s"
    given, made = folder.texts(answer["given"]), folder.texts(result["files"]) if result else {}
    yield f"  given {', '.join(given) or 'nothing'}; answered {', '.join(made) or 'nothing'}"
    for note in (result or {}).get("notes", []):
        yield f"  note: {note}"
    if (result or {}).get("failure"):
        yield f"  no usable answer: {result['failure']}"
    if verdict := (result or {}).get("compliance"):
        progress = ", ".join(f"{name} {value:.2f}" for name, value in verdict["progress"].items()) or "not measured"
        yield f"  forward edit: {verdict['verdict']} {'; '.join(verdict['reasons'])} (progress: {progress})"
    if full:
        yield from ("  | " + line for line in answer["text"].splitlines())
    before, after = ("\n".join(files[name] for name in sorted(files)).splitlines() for files in (given, made))
    diff = list(difflib.unified_diff(before, after, "given", "answered", lineterm="", n=1))
    shown = diff if full else diff[:40]
    yield from ("  " + line for line in shown)
    if len(shown) < len(diff):
        yield f"  ... {len(diff) - len(shown)} more lines (--full)"


def _trips(header: dict[str, Any]) -> dict[str, tuple[str, int]]:
    from pytest_delegate52.relay import trip_id

    isolated = header["settings"]["mode"] == "isolated"
    return {
        trip_id(relay, number, edit, isolated): (relay, number)
        for relay, edits in header["relays"].items()
        for number, edit in enumerate(edits, 1)
    }


def _run(path: Path) -> Any:
    from pytest_delegate52.records import RunFolder

    folder = RunFolder(path)
    try:
        folder.header()
    except (OSError, ValueError) as error:
        _fail(f"{path} is no run folder: {error}")
    return folder


def _read(path: Path) -> dict[str, str]:
    """The text files at `path`; other bytes than UTF-8 are kept as replacement characters."""
    found = [path] if path.is_file() else sorted(each for each in path.rglob("*") if each.is_file())
    root = path.parent if path.is_file() else path
    files = {}
    for each in found:
        if each.stat().st_size > 4 * MOST_CHARACTERS:
            _fail(f"{each} has {each.stat().st_size:,} bytes; at most {4 * MOST_CHARACTERS:,} are read")
        files[each.relative_to(root).as_posix()] = each.read_bytes().decode("utf-8", "replace")
    if not files:
        _fail(f"{path} holds no files")
    return files


def _fail(message: str) -> NoReturn:
    click.echo(f"delegate52: {message}", err=True)
    sys.exit(2)
