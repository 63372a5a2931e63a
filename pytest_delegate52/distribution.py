"""Work with pytest-xdist: relays kept whole and in order, each on the worker whose static share it is in.

The controller numbers the workers; relay number i of the collection belongs to worker i % n. Each worker knows its own
share and starts it ahead of the items, and live workers do not take from one another. A replacement for a killed worker
takes what that one had left, and goes on from the record; the item that was running is an ERROR and is not run twice.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from xdist.scheduler.loadscope import LoadScopeScheduling
from xdist.workermanage import WorkerController


class RelayScheduling(LoadScopeScheduling):
    """Units are relays; every other test is a unit of its own and goes to whoever is free."""

    def __init__(self, config: pytest.Config, log: Any, relay_of: Callable[[str], str | None]) -> None:
        super().__init__(config, log)
        self.collection: list[str] | None = None
        self._relay_of = relay_of

    def _split_scope(self, nodeid: str) -> str:
        return self._relay_of(nodeid) or nodeid

    def schedule(self) -> None:
        if self.collection is not None or not self._check_nodes_have_same_collection():
            super().schedule()
            return
        collected: list[str] = list(next(iter(self.registered_collections.values())))
        self.collection = collected
        for nodeid in collected:
            self.workqueue.setdefault(self._split_scope(nodeid), {})[nodeid] = False
        shares = {node: node.workerinput["delegate52"]["share"] for node in self.nodes}
        owners = {share[0]: node for node, share in shares.items() if share}
        relays = [scope for scope, unit in self.workqueue.items() if self._relay_of(next(iter(unit)))]
        for place, scope in enumerate(relays):
            if owner := owners.get(
                place % self.numnodes
            ):  # what a worker killed by now would have had stays in the queue
                self.workqueue.move_to_end(scope, last=False)
                self._assign_work_unit(owner)
        for node in self.nodes:  # other tests; a node is told to shut down when none are left
            self._reschedule(node)

    def remove_node(self, node: WorkerController) -> str | None:
        workload = self.assigned_work.pop(node)
        pending = [(scope, nodeid) for scope, unit in workload.items() for nodeid, done in unit.items() if not done]
        if not pending:
            return None
        scope, crashed = pending[0]
        if self._relay_of(crashed):
            workload[scope][crashed] = True
        self.workqueue.update({scope: unit for scope, unit in workload.items() if not all(unit.values())})
        for other in self.assigned_work:
            self._reschedule(other)
        return crashed
