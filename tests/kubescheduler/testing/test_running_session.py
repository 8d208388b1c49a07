"""How manifests are judged in tests, and the notes at the end of a run."""

from __future__ import annotations

import pytest

from clusterstate.errors import ConfigError
from kubescheduler.testing.running_session import judgement, note
from tests.kubescheduler.testing.conftest import Project, node, pod

MISSPELT = {**pod("a"), "spec": {**pod("a")["spec"], "toleration": []}}
UNKNOWN = "Pod default/a: spec.toleration: unknown field; did you mean tolerations?"
WARNED = "pods.json: Pod a: spec.toleration: unknown field; did you mean tolerations?"
NOTES = "kubescheduler notes"


def notes_of(output: str) -> list[str]:
    """The lines of the section of notes; none without it."""
    lines = output.splitlines()
    start = next((at for at, line in enumerate(lines) if NOTES in line), len(lines))
    end = next((at for at, line in enumerate(lines) if at > start and line.startswith("=")), len(lines))
    return [line for line in lines[start + 1 : end] if line]


@pytest.fixture
def misspelt(shop: Project) -> Project:
    """With pods.json, whose pod has a field that nobody knows."""
    shop.write("pods.json", MISSPELT)
    return shop


ASKING = {
    "place": "def test(scheduler):\n    scheduler.place('pods.json'{})",
    "schedule": "def test(scheduler):\n    scheduler.schedule('pods.json'{})",
    "compare": "def test(compare_placements):\n    compare_placements('', '', 'pods.json'{})",
    "assert": "def test(cluster):\n    assert_same_placements('', '', cluster, 'pods.json'{})",
    "assert without fixtures": "def test():\n    assert_same_placements('', '', 'cluster.json', 'pods.json'{})",
}
SETTING = "[pytest]\nkubescheduler_cluster = cluster.json\nkubescheduler_validate = {}\n"


@pytest.mark.parametrize("said", ["setting", "marker", "argument"])
@pytest.mark.parametrize("asking", ASKING)
def test_judgements(misspelt: Project, asking: str, said: str) -> None:
    """A fault as usual and when strict, one note for a warning, nothing when ignored; wherever it is said."""
    for judged in ("strict", "warn", "ignore"):
        misspelt.write("pytest.ini", SETTING.format(judged if said == "setting" else "strict"))
        marker = f'@pytest.mark.validate("{judged}")\n' if said == "marker" else ""
        misspelt.test(marker + ASKING[asking].format(f", validate='{judged}'" if said == "argument" else ""))
        output = misspelt.run("--strict-markers", **({"failed": 1} if judged == "strict" else {"passed": 1}))
        assert ("UsageError: kubescheduler: pods.json: " + UNKNOWN in output) == (judged == "strict")
        assert notes_of(output) == ([WARNED] if judged == "warn" else [])


def test_records(misspelt: Project) -> None:
    """The check of a record takes it too."""
    body = "def test(scheduler, placements):\n    placements.check(scheduler, 'pods.json', validate='warn')"
    misspelt.test(body)
    assert notes_of(misspelt.run("--placements-update", passed=1)) == [WARNED]


def test_the_cluster(shop: Project) -> None:
    """The cluster of the fixture is judged by the marker and the setting, and read anew for another judgement."""
    shop.write("cluster.json", [node("n1", taint=[])])
    shop.test(
        "def test_strict(cluster): pass\n"
        "@pytest.mark.validate('warn')\ndef test_warn(cluster): pass\n"
        "@pytest.mark.validate('ignore')\ndef test_ignore(cluster): pass"
    )
    output = shop.run(passed=2, errors=1)
    assert notes_of(output) == ["cluster.json: Node n1: spec.taint: unknown field; did you mean taints?"]


KNOWN = "known are strict, warn, ignore"
NAME_ONE = '@pytest.mark.validate: name one, as in @pytest.mark.validate("warn")'


@pytest.mark.parametrize(
    ("marker", "setting", "fault"),
    [
        ("", "lax", 'kubescheduler_validate: "lax" is not known; known are strict, warn, ignore'),
        ('@pytest.mark.validate("lax")', "", f'{NAME_ONE}: "lax" is not known; {KNOWN}'),
        ("@pytest.mark.validate", "", f"{NAME_ONE}: null is not known; {KNOWN}"),
    ],
    ids=["setting", "marker", "empty marker"],
)
def test_unknown_judgements(shop: Project, marker: str, setting: str, fault: str) -> None:
    """What is none of the three is a fault of the test that asks."""
    shop.write("pytest.ini", SETTING.format(setting))
    assert shop.fault(f"{marker}\ndef test(cluster): pass") == [f"kubescheduler: {fault}"]


def test_an_unknown_argument(shop: Project) -> None:
    """In words, at the line of the test."""
    message = shop.message("def test(scheduler):\n    scheduler.place('x.yaml', validate='lax')")
    assert message == ['pytest.UsageError: kubescheduler: validate: "lax" is not known; known are strict, warn, ignore']


def test_no_noise(shop: Project) -> None:
    """Failures say what differs and nothing else; what configurations have to say stands at the end, once."""
    shop.write("pods.json", pod("a"))
    policy = (shop.path / "packing.json").read_text().removesuffix("}")
    shop.write("packing.json", policy + ', "odd": 1}')
    shop.test(
        "OLD = 'release=1.16,policy=packing.json'\n"
        "@pytest.fixture\ndef both(cluster, scheduler):\n    return cluster\n"
        "@pytest.mark.scheduler(OLD)\n@pytest.mark.parametrize('release', ['1.16', '1.36'])\n"
        "def test_many(both, release):\n    assert_same_placements(OLD, f'release={release}', both, 'pods.json')\n"
        "@pytest.mark.scheduler(OLD)\n"
        "def test_one(scheduler):\n    assert scheduler.place('pods.json') == {'default/a': 'n2'}\n"
        "def test_last(compare_placements):\n    assert not compare_placements(OLD, '', 'pods.json').differs()\n"
    )
    output = shop.run(failed=4)
    assert "Captured" not in output
    assert "kubescheduler/" not in output
    assert output.count("AssertionError: 1 of 1 pod goes elsewhere\n") == 2 + 2
    assert output.count("odd: unknown key") == 1
    assert notes_of(output) == ["packing.json: odd: unknown key: release 1.16 ignores it"]


def test_workers(misspelt: Project) -> None:
    """Workers of pytest-xdist leave their notes to the main process."""
    misspelt.test("@pytest.mark.validate('warn')\n" + ASKING["place"].format(""))
    result = misspelt.pytester.runpytest_subprocess(
        "-p", "no:cacheprovider", "-p", "xdist", "-p", "kubescheduler.testing.pytest_plugin", "-n", "1"
    )
    result.assert_outcomes(passed=1)
    assert notes_of(str(result.stdout)) == [WARNED]


def test_outside_of_pytest(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a run of pytest there is no setting, and notes are warnings."""
    monkeypatch.setattr("kubescheduler.testing.running_session._running", [])
    assert judgement() is None
    assert judgement("ignore") == "ignore"
    with pytest.raises(ConfigError, match="known are strict, warn, ignore"):
        judgement("lax")
    with pytest.warns(UserWarning, match="odd"):
        note(["odd"])
