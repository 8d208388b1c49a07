"""The fixture placements: records of where pods go, written and compared; and which are unused."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from clusterstate.errors import InputError
from kubescheduler.testing.placements import RecordedPlacement, read, record_path, written
from tests.kubescheduler.testing.conftest import CLUSTER, Project, node, pod

CHECK = 'def test(scheduler, placements):\n    placements.check(scheduler, "pods.json")'
UPDATE = "--placements-update"
RECORD = "__placements__/test_it/test.yaml"

RECORDED = """\
# Where the pods of test go. To write it anew: pytest --placements-update
pods:
- pod: default/a
  host: n2
  total: 100035
  tied: [n2]
- pod: default/big
  host: null
  message: '0/3 nodes are available: 3 Insufficient cpu.'
"""


@pytest.fixture
def recorded(shop: Project) -> Project:
    """With a test and its record."""
    shop.write("pods.json", [pod("a"), pod("big", "9")])
    shop.test(CHECK)
    assert f"written: {RECORD}" in shop.run(UPDATE, passed=1)
    return shop


def edited(project: Project, old: str, new: str) -> None:
    path = project.path / RECORD
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new), encoding="utf-8")


def test_record_is_readable(recorded: Project) -> None:
    """A record has pod, host, total and ties, or why there is no host."""
    assert (recorded.path / RECORD).read_text(encoding="utf-8") == RECORDED


def test_recorded_placements_pass(recorded: Project) -> None:
    """Pods that go where they went pass, without a word in the summary; an update changes nothing then.

    The check returns the placements.
    """
    recorded.test(
        CHECK.replace("placements.check", "found = placements.check") + "\n    assert found['default/a'] == 'n2'"
    )
    assert "written" not in recorded.run(passed=1)
    assert "written" not in recorded.run(UPDATE, passed=1)


def test_missing_record(shop: Project) -> None:
    """Without a record the test fails, and the message is what to type."""
    shop.write("pods.json", pod("a"))
    assert shop.message(CHECK) == [
        f"AssertionError: no placements are recorded in {RECORD}",
        "to record them: pytest --placements-update test_it.py::test",
    ]


def test_difference_is_explained(recorded: Project) -> None:
    """Pods that go elsewhere, come new or are gone: the message says why and what to type."""
    recorded.write("cluster.json", [node("n1", "9"), *CLUSTER[1:]])
    recorded.write("pods.json", [pod("new"), pod("big", "7")])
    assert recorded.message(CHECK) == [
        f"AssertionError: not as recorded in {RECORD}",
        "",
        "default/new: not recorded, now n1",
        "default/big: recorded no node, now n1",
        "recorded: 0/3 nodes are available: 3 Insufficient cpu.",
        "it fits on 1 of 3 nodes",
        "default/a: recorded n2, now not among the pods",
        "",
        "to accept this: pytest --placements-update test_it.py::test",
    ]


def test_recorded_host_is_explained(recorded: Project) -> None:
    """The message says why the pod no longer goes to the recorded host."""
    edited(recorded, "host: n2", "host: full")
    said = ["default/a: recorded full, now n2", "full is refused: GeneralPredicates: Insufficient cpu"]
    assert recorded.message(CHECK)[2:-2] == said


def test_totals_are_not_compared_unless_asked(recorded: Project) -> None:
    """Scores may change as long as the hosts stay, as between releases; exact compares all."""
    edited(recorded, "total: 100035\n  tied: [n2]", "total: 42\n  tied: [n2, n9]")
    edited(recorded, "3 Insufficient cpu", "3 Insufficient gold")
    recorded.run(passed=1)
    assert recorded.message(CHECK.replace('"pods.json"', '"pods.json", exact=True'))[2:-2] == [
        "default/a: still n2, but",
        "total: recorded 42, now 100035",
        "tied: recorded n2, n9, now n2",
        "default/big: still no node, but",
        "message: recorded '0/3 nodes are available: 3 Insufficient gold.', "
        "now '0/3 nodes are available: 3 Insufficient cpu.'",
    ]


def test_update_keeps_mode_and_links(recorded: Project) -> None:
    """With the option the record is written anew; it has the mode it had, and a link to one stays a link."""
    edited(recorded, "host: n2", "host: n1")
    there, kept = recorded.path / RECORD, recorded.path / "kept.yaml"
    there.rename(kept)
    kept.chmod(0o600)
    there.symlink_to(kept)
    recorded.run(UPDATE, passed=1)
    assert there.is_symlink()
    assert kept.read_text(encoding="utf-8") == RECORDED
    assert kept.stat().st_mode & 0o777 == 0o600


def test_an_update_that_fails_leaves_the_record(recorded: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    """The record is the old one, whole, and nothing else lies beside it."""
    edited(recorded, "host: n2", "host: n1")
    before = (recorded.path / RECORD).read_bytes()

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device", str(recorded.path / RECORD))

    monkeypatch.setattr("pathlib.Path.replace", full)
    output = recorded.run(UPDATE, failed=1)
    assert f"UsageError: kubescheduler: {RECORD}: cannot be used: No space left on device" in output
    assert (recorded.path / RECORD).read_bytes() == before
    assert [path.name for path in (recorded.path / RECORD).parent.iterdir()] == [Path(RECORD).name]


@pytest.mark.parametrize("args", [[], [UPDATE]], ids=["check", "update"])
@pytest.mark.parametrize("kind", ["folder", "pipe"])
def test_a_record_that_is_no_file(recorded: Project, kind: str, args: list[str]) -> None:
    """It is neither read nor replaced."""
    path = recorded.path / RECORD
    path.unlink()
    path.mkdir() if kind == "folder" else os.mkfifo(path)
    output = recorded.run(*args, failed=1)
    assert f"UsageError: kubescheduler: {RECORD}: cannot be used: it is no regular file" in output
    assert path.exists()
    assert not path.is_file()


def test_a_file_in_place_of_the_folder(shop: Project) -> None:
    """Records cannot be written below a file."""
    shop.write("pods.json", pod("a"))
    shop.write("__placements__", "")
    message = shop.message(CHECK, UPDATE)
    assert message == ["pytest.UsageError: kubescheduler: __placements__/test_it: cannot be used: Not a directory"]


def test_each_test_has_its_own_records(shop: Project) -> None:
    """Classes, parameters and names of checks are in the names of files; odd characters are replaced."""
    shop.write("pods.json", pod("a"))
    shop.test(
        "class TestShop:\n"
        '    @pytest.mark.parametrize("release", ["1.4", "a/b"])\n'
        "    def test(self, scheduler, placements, release):\n"
        '        placements.check(scheduler, "pods.json")\n'
        '        placements.check(scheduler, [{"metadata": {"name": "b"}, "spec": {}}], name="second")\n'
    )
    shop.run(UPDATE, passed=2)
    names = sorted(path.name for path in (shop.path / "__placements__/test_it").iterdir())
    odd = names[2].removesuffix(".yaml")
    assert odd.startswith("TestShop.test[a_b]-")
    assert names == ["TestShop.test[1.4].yaml", "TestShop.test[1.4]@second.yaml", f"{odd}.yaml", f"{odd}@second.yaml"]
    assert "unused" not in shop.run(passed=2)


@pytest.mark.parametrize(
    ("body", "lines"),
    [
        pytest.param('placements.check(scheduler, "pods.json", name="a/b")',
                     ["name: 'a/b': letters, digits, '_', '.' and '-' are possible"], id="name"),
        pytest.param('placements.check(scheduler, "pods.json"); placements.check(scheduler, "pods.json")',
                     [f"{RECORD}: checked a second time; give each check of a test its own name="], id="twice"),
        pytest.param('placements.check("release=1.16", "pods.json")',
                     ["scheduler: expected what the fixture scheduler gives, found str"], id="scheduler"),
        pytest.param("placements.check(scheduler, 4)",
                     ["pods: expected a file name, a manifest, YAML or JSON text, or an object, found 4"], id="pods"),
    ],
)  # fmt: skip
def test_wrong_use(body: str, lines: list[str], recorded: Project) -> None:
    """Wrong use of the fixture says what to do."""
    message = recorded.message(f"def test(scheduler, placements):\n    {body}")
    assert message == ["pytest.UsageError: kubescheduler: " + lines[0], *lines[1:]]


# --- files -----------------------------------------------------------------------------------


def test_records_survive_writing_and_reading(tmp_path: Path) -> None:
    """What is read is what was written, messages of several lines and odd names too."""
    records = [
        RecordedPlacement("default/a", "n1", 3, ("n1", "n-2", "true")),
        RecordedPlacement("default/1.0", "yes"),
        RecordedPlacement(
            "default/b", None, message="pod (b) failed to fit in any node\nfit failure on node (n): CPU: x\n"
        ),
        RecordedPlacement("b", None, message="no nodes available – é"),
    ]
    path = tmp_path / "record.yaml"
    path.write_text(written(records, "title"), encoding="utf-8")
    assert list(read(path).values()) == records


@pytest.mark.parametrize(
    ("text", "faults"),
    [
        pytest.param("[]", ["pods: must be a list, one entry a pod, not null"], id="no object"),
        pytest.param("pods: 3", ["pods: must be a list, one entry a pod, not 3"], id="no list"),
        pytest.param("pods: [1, {pod: a}, {pod: a, host: 3, hots: x}]",
                     ["pods[0]: must have pod and host, not 1", "pods[1].host: missing",
                     "pods[2].host: 3 is not possible here",
                     "pods[2].hots: there is no such field; fields are pod, host, total, tied, message"], id="fields"),
        pytest.param("pods: [", ["line 2, column 1: while parsing a flow node, did not find expected node content"],
                     id="no YAML"),
    ],
)  # fmt: skip
def test_broken_records(text: str, faults: list[str], tmp_path: Path) -> None:
    """A record that was edited wrongly is refused with every fault and its path."""
    path = tmp_path / "record.yaml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(InputError) as caught:
        read(path)
    assert list(caught.value.problems) == [f"{path}: {fault}" for fault in faults]


def test_long_names_are_cut(tmp_path: Path) -> None:
    """Names that are too long for a file stay different."""
    first, second = (record_path(tmp_path / "test_x.py", f"test[{'x' * 300}{end}]") for end in "ab")
    assert first != second
    assert len(first.name) < 150


# --- unused ----------------------------------------------------------------------------------


def test_unused_records_are_listed(recorded: Project) -> None:
    """Records of tests that are gone, or check no placements, are named in the summary; the run passes."""
    recorded.write("__placements__/test_it/test_gone.yaml", RECORDED)
    recorded.write("__placements__/test_it/test_gone@second.yaml", RECORDED)
    recorded.write("__placements__/test_it/test_plain.yaml", RECORDED)
    recorded.write("__placements__/test_removed/test.yaml", RECORDED)
    recorded.write("__placements__/test_other/test.yaml", RECORDED)
    recorded.write("test_other.py", CHECK)
    recorded.test(f"{CHECK}\ndef test_plain(): pass")
    lines = recorded.run("test_it.py", passed=2).splitlines()
    assert [line for line in lines if line.startswith("unused")] == [
        "unused, may be removed: __placements__/test_it/test_gone.yaml",
        "unused, may be removed: __placements__/test_it/test_gone@second.yaml",
        "unused, may be removed: __placements__/test_it/test_plain.yaml",
        "unused, may be removed: __placements__/test_removed/test.yaml",
    ]


def test_tests_that_did_not_run_use_their_records(recorded: Project) -> None:
    """A selection of tests makes no record unused."""
    recorded.test(f"{CHECK}\ndef test_other(): pass")
    for selection in (["-k", "other"], ["test_it.py::test_other"]):
        result = recorded.pytester.runpytest_subprocess("-p", "kubescheduler.testing.pytest_plugin", *selection)
        result.assert_outcomes(passed=1, deselected=int("-k" in selection))
        assert "unused" not in str(result.stdout)


def test_workers_report_to_the_main_process(recorded: Project) -> None:
    """With pytest-xdist the summary is the same, each line once."""
    pytest.importorskip("xdist")
    recorded.write("__placements__/test_it/test_gone.yaml", RECORDED)
    edited(recorded, "host: n2", "host: n1")
    plugins = ("-p", "xdist", "-p", "kubescheduler.testing.pytest_plugin")
    result = recorded.pytester.runpytest_subprocess(*plugins, "-n2", UPDATE)
    result.assert_outcomes(passed=1)
    lines = str(result.stdout).splitlines()
    assert [line for line in lines if line.startswith(("unused", "written"))] == [
        f"written: {RECORD}",
        "unused, may be removed: __placements__/test_it/test_gone.yaml",
    ]
