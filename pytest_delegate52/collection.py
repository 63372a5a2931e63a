"""The pytest nodes: a suite, a collector for each environment, an item for each round trip."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pytest

from pytest_delegate52 import failure
from pytest_delegate52.relay import Relay, RoundTrip
from pytest_delegate52.runner import Stopped

if TYPE_CHECKING:
    from pytest_delegate52.session import Delegation


class Suite(pytest.Collector):
    """All relays of the run, beside the session's other tests."""

    def __init__(self, *, delegation: Delegation, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.delegation = delegation

    def collect(self) -> Iterator[pytest.Collector]:
        for each in self.delegation.environments:
            relays = [relay for relay in self.delegation.relays.values() if relay.environment is each]
            if any(self.delegation.wanted(trip) for relay in relays for trip in self.delegation.trips(relay)):
                yield EnvironmentNode.from_parent(self, name=each.key, nodeid=each.key, relays=relays)


class EnvironmentNode(pytest.Collector):
    """The relays on one environment."""

    def __init__(self, *, relays: list[Relay], **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.relays = relays

    def collect(self) -> Iterator[pytest.Item]:
        assert isinstance(self.parent, Suite)
        delegation = self.parent.delegation
        for relay in self.relays:
            for number, trip in enumerate(delegation.trips(relay), 1):
                if delegation.wanted(trip):
                    yield RoundTripItem.from_parent(
                        self,
                        name=trip.partition("::")[2],
                        nodeid=trip,
                        relay=relay,
                        number=number,
                        delegation=delegation,
                    )


class RoundTripItem(pytest.Item):
    """One round trip of a relay: waits for it and reports it."""

    def __init__(self, *, relay: Relay, number: int, delegation: Delegation, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.relay = relay
        self.number = number
        self.delegation = delegation
        self.trip: RoundTrip | None = None
        edit = relay.edits[number - 1]
        names = [relay.domain.name, relay.domain.category, edit.id, *edit.operations, relay.model.name]
        for name in dict.fromkeys(["delegate52", *names]):
            self.config.addinivalue_line("markers", f"{name}: see pytest-delegate52")
            self.add_marker(getattr(pytest.mark, name))

    def setup(self) -> None:
        if self.delegation.dry:
            return
        try:
            self.trip = self.delegation.result(self)
        except Stopped as error:
            pytest.skip(f"not run: {error}")
        if self.trip.not_applicable:
            pytest.skip(f"not applicable: {self.trip.not_applicable}")
        if self.trip.error:
            pytest.fail(self.trip.error, pytrace=False)

    def runtest(self) -> None:
        if self.trip is None:
            return
        key = {"relay": self.relay.id, "k": 2 * self.number}
        self.user_properties.append(("delegate52", {**key, "score": self.trip.value, "lost": self.trip.lost}))
        if self.trip.failed(self.delegation.settings.threshold):
            raise RelayFailed(self.trip)

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        if isinstance(excinfo.value, RelayFailed):
            return failure.text(excinfo.value.trip, self.relay, self.nodeid, self.delegation.run.path)
        return super().repr_failure(excinfo)

    def reportinfo(self) -> tuple[Any, None, str]:
        # With the name as its end, pytest would print an id with "::" for each "." of a model's name.
        return self.config.rootpath / self.relay.environment.key, None, f"{self.name} "


class RelayFailed(Exception):
    """A round trip after which its relay is not kept."""

    def __init__(self, trip: RoundTrip) -> None:
        super().__init__(f"RS@{2 * trip.number} = {trip.value}")
        self.trip = trip
