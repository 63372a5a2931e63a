"""What sets the exit status of a run: every relay kept, every domain ready, or nothing but errors."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from pytest_delegate52.session import Delegation


def exit_status(delegation: Delegation, session: pytest.Session) -> Any:
    """The exit status by `--delegate52-gate`; interruptions, errors and failures of other tests stand as they are."""
    status = session.exitstatus
    gate = delegation.settings.gate
    if gate == "kept" or status not in (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED):
        return status
    if delegation.errors or session.testsfailed > delegation.failed:
        return pytest.ExitCode.TESTS_FAILED
    if gate == "none":
        return pytest.ExitCode.OK
    from pytest_delegate52 import results

    found = results.figures(delegation.run)
    verdicts = [domain["ready"] for group in found["models"] for domain in group["domains"].values()]
    ready = bool(verdicts) and all(verdict == "yes" for verdict in verdicts)
    return pytest.ExitCode.OK if ready else pytest.ExitCode.TESTS_FAILED
