"""Results in notebooks: text, pages, data frames and Arrow tables."""

from __future__ import annotations

import sys
from html.parser import HTMLParser
from typing import Any

import attrs
import msgspec
import pytest

import kubescheduler as ks
from clusterstate.errors import ConfigError
from kubescheduler import Cluster, Decision, Scheduler, compare, pod, simulate
from kubescheduler.comparison.comparison import Comparison
from kubescheduler.core.results import ShownTable
from kubescheduler.notebook import WIDTH, arrow_table, data_frame
from kubescheduler.simulation.simulation_report import Report
from tests.support.comparisons import made_timeline, renamed
from tests.support.releases_tried import RELEASES_TRIED


def example(release: str) -> ks.Cluster:
    """The example's cluster."""
    return ks.Cluster.read("policy_examples/cluster.yaml", release=release)


@pytest.mark.parametrize("release", RELEASES_TRIED)
@pytest.mark.parametrize("pod", ["policy_examples/pod.yaml", ks.pod("big", cpu=99), ks.pod("tiny")])
def test_a_decision_in_fifteen_lines(release: str, pod: Any) -> None:
    """Where the pod goes, the totals of the best nodes, and why others were refused, in 80 columns."""
    decision = ks.Scheduler(example(release)).decide(pod)
    lines = str(decision).splitlines()
    assert len(lines) <= 15
    assert max(map(len, lines)) <= WIDTH
    assert (decision.host or "no node") in lines[0]
    totals = [line for line in lines if line.startswith("total")]
    assert not totals or str(decision.total()[decision.host or ""]) in totals[0].split()
    assert repr(decision) == f"<Decision {lines[0]}>"


def test_many_rules_and_nodes() -> None:
    """What has no room is counted."""
    cluster = ks.Cluster(release="1.36")
    for number in range(30):
        cluster = cluster.node(f"node-{number}", cpu=4 + number)
    text = str(ks.Scheduler(cluster).decide(ks.pod("web", cpu=1)))
    assert "27 more nodes that fit" in text


def results() -> dict[str, Any]:
    """Everything that prints as a table."""
    cluster = example("1.36")
    scheduler = ks.Scheduler(cluster)
    decision = scheduler.decide("policy_examples/pod.yaml")
    return {
        "why a node fits": decision.why(decision.host or ""),
        "why a node does not": decision.why("worker-6"),
        "hints": scheduler.hints(ks.pod("big", cpu=16)),
        "no hints": scheduler.hints("policy_examples/pod.yaml"),
        "capacity": ks.capacity(cluster, "policy_examples/pod.yaml"),
        "utilisation": cluster.utilisation(),
    }


SHOWN = {
    "why a node fits": ("worker-4: fits", "NodeResourcesFit", "51"),
    "why a node does not": ("worker-6: does not fit", "TaintToleration", "dedicated=batch:NoSchedule"),
    "hints": ("default/big: 0/7 nodes are available", "add one more node like worker-3, but with 16 cpu"),
    "no hints": ("nothing needs to change",),
    "capacity": ("default/web-3: 33 fit", "worker-3    15", "Insufficient cpu"),
    "utilisation": ("worker-2  memory    12Gi of 16Gi  75%", "3 of 4"),
}


@pytest.mark.parametrize("name", SHOWN)
def test_tables(name: str) -> None:
    """Text in 80 columns, and the same as HTML."""
    found = results()[name]
    text = str(found)
    assert all(part in text for part in SHOWN[name])
    assert max(map(len, text.splitlines())) <= WIDTH
    page = found._repr_html_()
    assert page.startswith("<div>")
    assert page.count("<tr") == (len(found.table().rows) + 1 if found.table().rows else 0)


def test_long_words_are_not_broken() -> None:
    """A line is longer rather than a word cut in two."""
    word = "x" * 200
    assert word in ShownTable("t", ("a", "b"), [(1, f"some {word}")]).text()


def test_amounts_as_kubernetes_writes_them() -> None:
    """Nodes and pods print with 8Gi, not with thousandths of bytes."""
    cluster = ks.Cluster().node("a", cpu=4, memory="8Gi", taints=["gpu:NoSchedule"]).pod("web", node="a", cpu="500m")
    assert str(cluster.nodes[0]) == "Node a: cpu 4, memory 8Gi, pods 110, gpu:NoSchedule"
    assert str(cluster.pods[0]) == "Pod default/web: on a, cpu 500m"
    assert cluster.utilisation().of("a")["cpu"] == 0.125
    assert [row.used for row in cluster.utilisation()] == ["500m", "0", "1"]


NASTY = '<script>alert("x")</script>&'


class Page(HTMLParser):
    """The tags and the text of a page; every tag has to be closed where it was opened."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.text = ""
        self._open: list[str] = []
        self.feed(text)
        self.close()
        assert not self._open

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        assert {name for name, _ in attributes} <= {"style"}
        self.tags.append(tag)
        if tag != "br":
            self._open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data + " "


def page_of(shown: Any) -> Page:
    return Page(shown._repr_html_())


def cluster(release: str) -> Cluster:
    """Three nodes, of which one is full and one is tainted."""
    return (
        Cluster(release=release)
        .node("a", cpu=4)
        .node("b", cpu=2)
        .node("c", cpu=4, taints=["x:NoSchedule"])
        .node("d", cpu=4)
        .pod("db", node="b", cpu=2)
    )


def decision_of(release: str) -> Decision:
    return Scheduler(cluster(release)).decide(pod("web", cpu=1))


def comparison_of() -> Comparison:
    found = cluster("1.16").pod("log", node="d", cpu=1, memory="2Gi")
    return compare(found, [pod("web", cpu=1), pod("huge", cpu=99)], new={"provider": "ClusterAutoscalerProvider"})


def report_of() -> Report:
    jobs = [pod(f"job-{n}", cpu=3, annotations={"kubescheduler/duration": "60"}) for n in range(3)]
    return simulate(Cluster().node("a", cpu=4), [*jobs, pod("huge", cpu=99)])


@pytest.mark.parametrize("release", RELEASES_TRIED)
def test_decisions_as_pages(release: str) -> None:
    """The page has the host, the scores of what fits and the reasons of what does not."""
    page = page_of(decision_of(release))
    assert f"default/web: a (2/4 nodes fit, release {release})" in page.text
    assert "Insufficient cpu" in page.text or "PodFitsResources" in page.text or release == "1.4"
    assert {"table", "td"} <= set(page.tags)


@pytest.mark.parametrize("release", RELEASES_TRIED)
def test_decisions_as_frames(release: str) -> None:
    """A row for each node: those that fit first, whole numbers whole, and reasons where a node was refused."""
    decision = decision_of(release)
    frame = decision.to_frame()
    assert list(frame.index) == ["a", "d", "b", "c"]
    assert frame["total"].to_dict()["a"] == decision.total()["a"]
    assert str(frame["total"].dtype) == "Int64"
    assert frame["fits"].tolist() == [True, True, False, False]
    assert frame["reasons"]["b"] == "; ".join(decision.reasons()["b"])
    priority = next(iter(decision.scores))
    assert frame[priority]["d"] == decision.score(priority)["d"]
    assert decision.to_arrow().column("node").to_pylist() == ["a", "d", "b", "c"]


@pytest.mark.parametrize("release", RELEASES_TRIED)
def test_refusals_show_what_they_were_made_of(release: str) -> None:
    """The page has the numbers of a refusal; once the cluster has changed it does without."""
    scheduler = Scheduler(cluster(release))
    decision = scheduler.decide(pod("web", cpu=1))
    assert "asks 1, 0 of 2 free" in page_of(decision).text
    other = scheduler.decide(pod("web", cpu=1))
    scheduler.running.cache.add_node(scheduler.cluster.nodes[1])
    assert "asks 1" not in page_of(other).text


def test_many_nodes_stay_a_small_page() -> None:
    """Ten nodes are shown and the others counted, however many there are; the chosen one is among those shown."""
    scheduler = Scheduler(Cluster().node("n").cloned("n", 500), tie_break="random", seed=1)
    decision = scheduler.decide(pod("web"))
    page = page_of(decision)
    assert page.tags.count("tr") == 11
    assert "and 491 more nodes that fit" in page.text
    assert f" {decision.host} " in page.text
    assert len(decision._repr_html_()) < 30_000


def test_comparisons() -> None:
    """The page names the pods that go elsewhere, with the cause; the frame has all pods."""
    found = comparison_of()
    page = page_of(found)
    assert "1 of 2 pods go elsewhere" in page.text
    assert "default/web" in page.text
    assert "default/huge" not in page.text
    frame = found.to_frame()
    assert list(frame.index) == ["default/web", "default/huge"]
    assert frame["moved"].tolist() == [True, False]
    assert found.to_arrow().num_rows == 2


def test_timelines() -> None:
    """The page has a row for each workload and step, and the changes that move pods; of foreign names nothing runs."""
    found = made_timeline(4, 3)
    page = page_of(found)
    assert "9 of 12 pods go elsewhere at some step from 1.18 to 1.26" in page.text
    assert "shop/Deployment/app-1" in page.text
    assert "shop/Deployment/app-0" not in page.text
    assert page.text.count("taint-toleration-weighs-3") == 4
    assert "TaintToleration weighs 3" in page.text
    assert NASTY in page_of(renamed(found, NASTY)).text
    assert "<table" not in made_timeline(1)._repr_html_()


def test_simulations() -> None:
    """The page has counts, waits and reasons; the frame has a row for each pod."""
    found = report_of()
    page = page_of(found)
    assert "3 of 4 pods placed" in page.text
    assert "Insufficient cpu" in page.text
    frame = found.to_frame()
    assert frame["outcome"].tolist() == ["finished", "finished", "finished", "pending"]
    assert str(frame["placed"].dtype) == "Float64"
    assert found.to_arrow().num_rows == 4


def test_foreign_text_is_escaped() -> None:
    """Names and reasons cannot become tags."""
    decision = decision_of("1.16")
    named = msgspec.structs.replace(decision.pod, metadata=msgspec.structs.replace(decision.pod.metadata, name=NASTY))
    shown = [
        attrs.evolve(decision, pod=named, error=NASTY, host=None, names=(NASTY, *decision.names[1:])),
        attrs.evolve(comparison_of(), names=(NASTY, "new")),
        attrs.evolve(report_of(), release=NASTY, resources=(NASTY,)),
    ]
    for each in shown:
        page = page_of(each)
        assert NASTY in page.text
        assert "script" not in page.tags


@pytest.mark.parametrize(
    "shown", [decision_of("1.36"), comparison_of(), report_of(), made_timeline()], ids=lambda s: type(s).__name__
)
def test_pages_have_no_colours_of_their_own(shown: Any) -> None:
    """Text keeps the page's colour and backgrounds are translucent, so that light and dark pages both read well."""
    text = shown._repr_html_()
    assert "color:inherit" in text
    assert "#" not in text
    assert "<script" not in text


@pytest.mark.parametrize(
    ("package", "make"), [("pandas", lambda: data_frame({"a": [1]}, "a")), ("pyarrow", lambda: arrow_table({}))]
)
def test_a_missing_package_is_named(package: str, make: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without pandas or pyarrow the error says what to install."""
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(ConfigError, match=rf"needs {package}, which is not installed: pip install"):
        make()
