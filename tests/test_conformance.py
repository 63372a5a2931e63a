"""Every law, for every bundled domain."""

from pytest_delegate52 import domains
from pytest_delegate52.conformance import laws

for _name in domains.BUNDLED:
    globals()[f"TestLaws{_name.title()}"] = laws(_name)
