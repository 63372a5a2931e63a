"""Advances relays ahead of the items that wait for them: an asyncio loop in a thread of its own."""

from __future__ import annotations

import asyncio
import os
import queue
import threading
from collections.abc import Iterable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor

from pytest_delegate52.records import Record, RunFolder
from pytest_delegate52.relay import Context, Relay, RoundTrip

Trip = tuple[str, int]  # relay id, number of the round trip


class Stopped(Exception):
    """The runner was stopped before this round trip was done."""


class Runner:
    """Advances relays, at most `concurrency` calls at a time.

    `wanted` says how many round trips of each relay are needed. Each finished one resolves its future and is put into
    `finished`, in the order of completion. `broken` is what made the runner itself fail (a full disk).
    """

    def __init__(
        self, relays: Iterable[Relay], wanted: Mapping[str, int], run: RunFolder, record: Record, concurrency: int
    ) -> None:
        self.relays = {relay.id: relay for relay in relays if wanted.get(relay.id)}
        self.finished: queue.Queue[Trip] = queue.Queue()
        self.broken: OSError | None = None
        self._futures: dict[Trip, Future[RoundTrip]] = {
            (relay, number): Future() for relay in self.relays for number in range(1, wanted[relay] + 1)
        }
        self._wanted = wanted
        self._begun: set[str] = set()
        self._workers = ThreadPoolExecutor(max_workers=2, thread_name_prefix="delegate52-scoring")
        self._context = Context(run, record, self._workers, asyncio.Semaphore(max(1, concurrency)))
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._main, name="delegate52-runner", daemon=True)

    def start(self, relays: Iterable[str]) -> None:
        """Start these relays now; any other is started when its first result is asked for."""
        self._thread.start()
        asyncio.run_coroutine_threadsafe(self._watch(), self._loop)
        for relay in relays:
            self._begin(relay)

    def result(self, relay: str, number: int) -> RoundTrip:
        """The round trip, once it is done; `Stopped` where it will not be, `OSError` where the record can't be kept."""
        self._begin(relay)
        future = self._futures[relay, number]
        while not future.done():
            try:
                future.result(timeout=0.5)  # a wait that ends lets Ctrl-C through on every platform
            except TimeoutError:
                continue
        return future.result()

    def stop(self) -> None:
        """No new calls; calls in flight are given up. Every answer that has come is on disk."""
        if self._thread.is_alive():
            self._loop.call_soon_threadsafe(self._cancel)
            self._thread.join(timeout=10)
        self._workers.shutdown(wait=False, cancel_futures=True)

    async def _watch(self) -> None:
        """Stop when the run is over elsewhere: the controller has left the word, or has died."""
        parent = os.getppid()
        while os.getppid() == parent and not self._context.run.over:
            await asyncio.sleep(0.25)
        self._cancel()

    def _begin(self, relay: str) -> None:
        if relay in self.relays and relay not in self._begun:
            self._begun.add(relay)
            asyncio.run_coroutine_threadsafe(self._advance(self.relays[relay]), self._loop)

    async def _advance(self, relay: Relay) -> None:
        for number in range(1, self._wanted[relay.id] + 1):
            try:
                trip = await relay.advance(self._context)
            except OSError as error:  # the record can't be written: nothing more may be paid for
                self.broken = error
                self._cancel()
                return
            except Exception as error:  # a fault of a domain or an environment ends its relay, not the run
                self._settle(relay.id, number, error)
                for later in range(number + 1, self._wanted[relay.id] + 1):
                    self._settle(relay.id, later, Stopped(f"round trip {number} raised {error!r}"))
                return
            self._settle(relay.id, number, trip)

    def _settle(self, relay: str, number: int, outcome: RoundTrip | BaseException) -> None:
        future = self._futures[relay, number]
        if isinstance(outcome, BaseException):
            future.set_exception(outcome)
        else:
            future.set_result(outcome)
        self.finished.put((relay, number))

    def _cancel(self) -> None:
        for task in asyncio.all_tasks(self._loop):
            task.cancel()
        self._loop.call_soon(self._loop.stop)

    def _main(self) -> None:
        asyncio.set_event_loop(self._loop)
        self._loop.run_forever()
        left = asyncio.all_tasks(self._loop)
        self._loop.run_until_complete(asyncio.gather(*left, return_exceptions=True))
        self._loop.run_until_complete(self._loop.shutdown_asyncgens())
        for (relay, number), future in self._futures.items():
            if not future.done():
                self._settle(relay, number, self.broken or Stopped("the run was stopped before this round trip"))
        self._loop.close()
