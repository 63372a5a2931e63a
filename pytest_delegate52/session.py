"""One active run inside pytest: selects relays, starts the runner, hands round trips to items, sums up."""

from __future__ import annotations

import dataclasses
import os
import queue
import re
import sys
import time
from collections.abc import Iterator, Sized
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import pytest

from pytest_delegate52 import __version__, domains, environment, models, options, prompts, tokens
from pytest_delegate52.collection import RoundTripItem, Suite
from pytest_delegate52.environment import Environment, ManifestError
from pytest_delegate52.harness import HARNESSES
from pytest_delegate52.records import Record, RunFolder
from pytest_delegate52.relay import Relay, RoundTrip, sequence, trip_id
from pytest_delegate52.runner import Runner
from pytest_delegate52.settings import Settings

_KEY = re.compile(r"[a-z0-9_]+/[a-z0-9-]+")
SMALL: dict[str, Any] = {"round_trips": 2, "distractors": False, "seed_tokens": 350, "max_output_tokens": 1_200}


class Delegation:
    """The active plugin of a run, in the controller, in a worker or in the only process."""

    def __init__(self, config: pytest.Config) -> None:
        self.config = config
        self.worker: dict[str, Any] | None = getattr(config, "workerinput", None)
        self.started = time.monotonic()
        self.said: list[str] = []  # what was cut or left out, for the header and the summary
        self.runner: Runner | None = None
        self.failed = self.errors = self.passed = 0
        self.nodes = 0  # xdist workers set up so far
        self.wanted_ids: list[str] = []

        settings, chosen = options.settings(config)
        if self.worker is not None:
            settings = Settings.from_json(self.worker["delegate52"]["settings"])
        else:
            settings = self._for_small_models(settings, chosen)
        self.settings = settings
        try:
            self.template = prompts.template(settings.prompt)
        except ValueError as error:
            raise pytest.UsageError(f"--delegate52-prompt: {error}") from None
        roots = self._take_arguments()
        self.environments = self._cut(self._selected(roots))
        try:
            self.models = [models.create(name, settings) for name in settings.models]
            if self.worker is None and not self._dry:
                for model in self.models:
                    model.check()
        except models.UnusableModel as error:
            raise pytest.UsageError(f"--delegate52-model: {error}") from None
        self.relays = {relay.id: relay for relay in self._relays()}
        self._check_ids()
        self.run = RunFolder(Path(settings.output), self.worker["workerid"] if self.worker else "main")

    # ------------------------------------------------------------------------------------------------- selection

    @property
    def _dry(self) -> bool:
        """Nothing is to be called: --collect-only, --setup-plan, --setup-only."""
        option = self.config.option
        return any(
            getattr(option, name, False) for name in ("collectonly", "setupplan", "setuponly", "markers", "help")
        )

    def _for_small_models(self, settings: Settings, chosen: set[str]) -> Settings:
        """A model with a small window gets a cut run, unless the user said otherwise."""
        if not any(name.startswith("local/") for name in settings.models):
            return settings
        cuts = {name: value for name, value in SMALL.items()
                if name not in chosen and not (name == "distractors" and "no_distractors" in chosen)}  # fmt: skip
        if cuts:
            words = {
                "round_trips": "2 round trips instead of 10 (all: --delegate52-round-trips=10)",
                "distractors": "no distractors",
                "seed_tokens": f"seeds cut to about {SMALL['seed_tokens']} tokens (all: --delegate52-seed-tokens=9999)",
                "max_output_tokens": f"answers of at most {SMALL['max_output_tokens']:,} tokens",
            }
            self.said.append("small model, so the run is cut: " + "; ".join(words[name] for name in cuts))
        return dataclasses.replace(settings, **cuts)

    def _take_arguments(self) -> list[Path]:
        """Take our own ids and environment folders out of the arguments; returns the folders."""
        config, kept, roots = self.config, [], []
        if config.args_source is not pytest.Config.ArgsSource.ARGS:
            config.args = []
            return []
        for argument in config.args:
            file_part, _, rest = argument.partition("::")
            path = Path(config.invocation_params.dir, file_part)
            # pytest prints ids relative to where it was started, as if they were files below the root
            key = os.path.relpath(path, config.rootpath).replace(os.sep, "/")
            if not rest and path.is_dir() and next(environment.folders(path), None):
                roots.append(path)
            elif not path.exists() and (found := [each for each in (file_part, key) if _KEY.fullmatch(each)]):
                self.wanted_ids.append("::".join([found[0], rest]) if rest else found[0])
            else:
                kept.append(argument)
        config.args = kept
        return roots

    def _selected(self, roots: list[Path]) -> list[Environment]:
        try:
            if roots:
                found = [environment.load(folder) for root in roots for folder in environment.folders(root)]
            else:
                found = list(environment.bundled())
        except ManifestError as error:
            raise pytest.UsageError("broken environment:\n  " + "\n  ".join(error.faults)) from None
        for each in found:
            if each.domain not in domains.names():
                raise pytest.UsageError(f"{each.folder}: {_told(each.domain)}")
        for option, globs, known in (
            ("domain", self.settings.domains, [each.domain for each in found]),
            ("environment", self.settings.environments, [each.key for each in found]),
        ):
            for glob in globs:
                if not any(fnmatchcase(name, glob) for name in known):
                    raise pytest.UsageError(f"--delegate52-{option}: {_nearest(glob, known)}")
        return [
            each
            for each in found
            if any(fnmatchcase(each.domain, glob) for glob in self.settings.domains or ("*",))
            and any(fnmatchcase(each.key, glob) for glob in self.settings.environments or ("*",))
        ]

    def _cut(self, found: list[Environment]) -> list[Environment]:
        limit = self.settings.seed_tokens
        if limit is None:
            return found
        from pytest_delegate52.cutting import cut

        return [dataclasses.replace(each, seed=cut(domains.get(each.domain), each.seed, limit)) for each in found]

    def _relays(self) -> Iterator[Relay]:
        for each in self.environments:
            for model in self.models:
                for repeat in range(1, self.settings.repeats + 1):
                    harness = HARNESSES[self.settings.harness](self.template)
                    if self.settings.mode == "isolated":
                        for edit in each.edits:
                            yield Relay(each, model, harness, self.settings, [edit], repeat, only=edit.id)
                    else:
                        edits = sequence(each, self.settings, repeat)
                        yield Relay(each, model, harness, self.settings, edits, repeat)

    def trips(self, relay: Relay) -> list[str]:
        """The ids of a relay's round trips, in order."""
        isolated = self.settings.mode == "isolated"
        return [trip_id(relay.id, number, edit.id, isolated) for number, edit in enumerate(relay.edits, 1)]

    def _check_ids(self) -> None:
        everything = [name for relay in self.relays.values() for name in self.trips(relay)]
        for wanted in self.wanted_ids:
            if not any(_selects(wanted, name) for name in everything):
                known = everything if "[" in wanted else list(self.relays) if "::" in wanted else [
                    each.key for each in self.environments]  # fmt: skip
                raise pytest.UsageError(_nearest(wanted, known))

    def wanted(self, trip: str) -> bool:
        """Whether the ids on the command line select this round trip."""
        return not self.wanted_ids or any(_selects(wanted, trip) for wanted in self.wanted_ids)

    # ------------------------------------------------------------------------------------------------ collection

    @pytest.hookimpl(wrapper=True)
    def pytest_make_collect_report(self, collector: pytest.Collector) -> Any:
        report = yield
        if isinstance(collector, pytest.Session) and report.result is not None:
            report.result = [
                *report.result,
                Suite.from_parent(collector, name="delegate52", nodeid="delegate52", delegation=self),
            ]
        return report

    def pytest_report_header(self) -> list[str]:
        lines = [
            f"delegate52: {_count(self.environments, 'environment')}, {_count(self.relays, 'relay')}, "
            f"seed {self.settings.seed}"
        ]
        lines += [f"delegate52: {line}" for line in self.said]
        if not self._dry:
            lines.append(f"delegate52: record in {_relative(self.run.path)}" if self.settings.output else "")
        return [line for line in lines if line]

    # ---------------------------------------------------------------------------------------------------- running

    def pytest_sessionstart(self) -> None:
        if self.worker is not None or self._dry:
            return
        output = self.settings.output
        try:
            path = Path(output) if output else next_folder(Path(".delegate52", "runs"))
            path = path.absolute()
            if (path / "run.json").exists():
                raise pytest.UsageError(f"--delegate52-output: {path} already holds a run; name a new folder")
            self.run.path = path
            self.settings = dataclasses.replace(self.settings, output=str(path))
            self.run.create(self.header())
        except OSError as error:
            raise pytest.UsageError(
                f"--delegate52-output: can't write to {output or '.delegate52/runs'}: {error}"
            ) from None

    def header(self) -> dict[str, Any]:
        """What `run.json` says of the run."""
        versions = {"pytest-delegate52": __version__, "python": sys.version.split()[0], "pytest": pytest.__version__}
        return {
            "started": time.strftime("%Y-%m-%dT%H:%M:%S%z"),
            "versions": versions,
            "settings": self.settings.to_json(),
            "said": self.said,
            "environments": {each.key: _described(each) for each in self.environments},
            "relays": {relay.id: [edit.id for edit in relay.edits] for relay in self.relays.values()},
        }

    def start(self, items: list[RoundTripItem], share: tuple[int, int] | None = (0, 1)) -> Runner:
        """Start relays ahead of these items: those in `share` (number, of how many); with None each when it is due."""
        wanted: dict[str, int] = {}
        for item in items:
            wanted[item.relay.id] = max(wanted.get(item.relay.id, 0), item.number)
        if self.worker is not None:
            self.run.path = Path(self.settings.output)
        record = Record.read(self.run)
        concurrency = max(1, self.settings.concurrency // (share[1] if share else 1))
        self.runner = Runner(self.relays.values(), wanted, self.run, record, concurrency)
        ours = [relay for place, relay in enumerate(wanted) if share and place % share[1] == share[0]]
        self.runner.start(ours)
        return self.runner

    def result(self, item: RoundTripItem) -> RoundTrip:
        assert self.runner is not None
        return self.runner.result(item.relay.id, item.number)

    @property
    def dry(self) -> bool:
        return self._dry

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> object:
        if self._dry or (session.testsfailed and not session.config.option.continue_on_collection_errors):
            return None
        ours = [item for item in session.items if isinstance(item, RoundTripItem)]
        if self.worker is not None:
            share = self.worker["delegate52"]["share"]
            self.start(ours, tuple(share) if share else None)
            return None  # xdist's own loop takes the items the controller sends
        if not ours or self.config.pluginmanager.hasplugin("dsession"):
            return None
        runner = self.start(ours)
        try:
            self._loop(session, ours, runner)
        finally:
            runner.stop()
        return True

    def _loop(self, session: pytest.Session, ours: list[RoundTripItem], runner: Runner) -> None:
        """Other tests in their order, then round trips in the order in which they end."""
        others = [item for item in session.items if not isinstance(item, RoundTripItem)]
        for index, item in enumerate(others):
            following = others[index + 1] if index + 1 < len(others) else None
            item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
            _stop_if_told(session)
        waiting = {(item.relay.id, item.number): item for item in ours}
        progress = Progress(self, len(ours))
        while waiting:
            try:
                trip = runner.finished.get(timeout=1.0)
            except queue.Empty:
                progress.tick(len(waiting))
                continue
            if trip in waiting:  # else it was run only to reach a selected one
                progress.clear()
                if runner.broken is not None:
                    pytest.exit(
                        f"the record can't be written: {runner.broken}", returncode=pytest.ExitCode.INTERNAL_ERROR
                    )
                waited = waiting.pop(trip)
                waited.config.hook.pytest_runtest_protocol(item=waited, nextitem=None)
                _stop_if_told(session)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if "delegate52" not in report.keywords:
            return
        if report.failed:
            self.failed += report.when == "call"
            self.errors += report.when != "call"

    def pytest_keyboard_interrupt(self) -> None:
        if self.settings.output:
            self.run.end()

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        if self.worker is None and not self._dry and self.settings.output:
            self.run.end()
        if self.runner is not None:
            self.runner.stop()
        self.run.close()
        if self.worker is None and not self._dry and not self.config.option.collectonly:
            from pytest_delegate52 import gates

            session.exitstatus = gates.exit_status(self, session)

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        if self.worker is None and not self._dry and (self.run.path / "run.json").exists():
            from pytest_delegate52 import results, summary

            found = results.figures(self.run)
            results.write(self.run, found)
            for line in summary.lines(found, time.monotonic() - self.started):
                terminalreporter.write_line(line)

    # ---------------------------------------------------------------------------------------------- distribution

    @pytest.hookimpl(optionalhook=True, tryfirst=True)
    def pytest_xdist_make_scheduler(self, config: pytest.Config, log: Any) -> Any:
        from pytest_delegate52.distribution import RelayScheduling

        return RelayScheduling(config, log, self.relay_of)

    @pytest.hookimpl(optionalhook=True)
    def pytest_configure_node(self, node: Any) -> None:
        # A replacement for a killed worker has no share of its own: it begins a relay when its first item is due.
        count = len(node.nodemanager.specs)
        share = (self.nodes, count) if self.nodes < count else None
        node.workerinput["delegate52"] = {"settings": self.settings.to_json(), "share": share}
        self.nodes += 1

    @pytest.hookimpl(optionalhook=True)
    def pytest_handlecrashitem(self, crashitem: str, report: pytest.TestReport) -> None:
        if self.relay_of(crashitem):
            report.when = "setup"  # an ERROR: the infrastructure failed, not the model
            report.keywords = {"delegate52": 1}

    def relay_of(self, nodeid: str) -> str | None:
        """The relay that a node id belongs to, or None for any other test."""
        relay = nodeid if self.settings.mode == "isolated" else nodeid.rpartition("[")[0]
        return relay if relay in self.relays else None


class Progress:
    """One line about a run that waits for its models: rewritten on a terminal, now and then elsewhere, not under -q."""

    EVERY = 30.0

    def __init__(self, delegation: Delegation, trips: int) -> None:
        self.delegation = delegation
        self.trips = trips
        reporter = delegation.config.pluginmanager.getplugin("terminalreporter")
        self.writer = getattr(reporter, "_tw", None) if delegation.config.get_verbosity() >= 0 else None
        self.shown = False
        self.last = time.monotonic()

    def tick(self, waiting: int) -> None:
        if self.writer is None:
            return
        seconds = int(time.monotonic() - self.delegation.started)
        line = f"delegate52: {self.trips - waiting}/{self.trips} round trips, {seconds // 60}:{seconds % 60:02d}"
        if self.writer.hasmarkup:
            self.writer.write(f"\r{line}\x1b[K", flush=True)
            self.shown = True
        elif time.monotonic() - self.last >= self.EVERY:
            self.writer.line()
            self.writer.line(line)
            self.last = time.monotonic()

    def clear(self) -> None:
        if self.shown and self.writer is not None:
            self.writer.write("\r\x1b[K", flush=True)
            self.shown = False


def next_folder(root: Path) -> Path:
    """The first free `<n>` below `root`, made so that two runs never share one."""
    root.mkdir(parents=True, exist_ok=True)
    number = max((int(path.name) for path in root.iterdir() if path.name.isdigit()), default=0) + 1
    while True:
        try:
            path = root / f"{number:04d}"
            path.mkdir()
            return path
        except FileExistsError:
            number += 1


def _described(each: Environment) -> dict[str, Any]:
    edits = {
        edit.id: {"title": edit.title, "judgement": edit.judgement, "operations": list(edit.operations)}
        for edit in each.edits
    }
    return {
        "hash": each.hash,
        "domain": each.domain,
        "category": domains.get(each.domain).category,
        "title": each.title,
        "edits": edits,
        "seed_tokens": sum(map(tokens.count, each.seed.values())),
    }


def _count(things: Sized, name: str) -> str:
    return f"{len(things)} {name}{'' if len(things) == 1 else 's'}"


def _selects(wanted: str, trip: str) -> bool:
    return trip == wanted or trip.startswith((f"{wanted}[", f"{wanted}::"))


def _stop_if_told(session: pytest.Session) -> None:
    if session.shouldfail:
        raise session.Failed(session.shouldfail)
    if session.shouldstop:
        raise session.Interrupted(session.shouldstop)


def _told(domain: str) -> str:
    try:
        domains.get(domain)
    except KeyError as error:
        return str(error.args[0])
    return ""


def _nearest(wanted: str, known: list[str]) -> str:
    import difflib

    near = difflib.get_close_matches(wanted, known, n=3, cutoff=0.4) or sorted(set(known))[:5]
    return f"nothing matches {wanted!r}; did you mean {', '.join(dict.fromkeys(near))}?"


def _relative(path: Path) -> str:
    try:
        return str(path.relative_to(Path.cwd()))
    except ValueError:
        return str(path)
