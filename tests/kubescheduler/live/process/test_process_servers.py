"""The servers of a whole process: when it is ready, and what it says while it ends."""

from __future__ import annotations

import asyncio
import threading
from pathlib import Path
from typing import Any

import pytest
import yaml

from kubescheduler.engine.spec import EngineSpec
from kubescheduler.framework.contract.profile import LeaderElection
from kubescheduler.live.flags import parse_flags
from kubescheduler.live.klog import LogWriter
from kubescheduler.live.process.process_options import CommandLine, LiveSettings, ServerSettings, settings_of
from kubescheduler.live.process.scheduler_process import SchedulerProcess
from kubescheduler.live.serving.pages import configz_1_20
from kubescheduler.live.serving.scheduler_servers import InsecurePort, ServingSettings
from kubescheduler.releases.lookup import live_release
from tests.support.apiserver import FrontServer
from tests.support.live.serving import Got, Health, ServedScheduler, asking, kubeconfig
from tests.support.processes import SECONDS, until


def reachable(served: ServedScheduler, path: str) -> Got | None:
    """The answer of a server that may not listen yet."""
    try:
        return served.ask(path)
    except OSError:
        return None


def test_ready_once_everything_is_read(api_server: FrontServer, tmp_path: Path) -> None:
    """A process answers from the start, is ready when it has taken in all objects, and not while it ends."""
    may_read = threading.Event()

    async def hold(request: Any) -> None:
        if request.path.endswith("/nodes"):
            await asyncio.get_running_loop().run_in_executor(None, may_read.wait, SECONDS)

    api_server.faults.append(hold)
    serving = asking(kubeconfig(tmp_path, api_server.url))
    settings = LiveSettings(
        live_release("1.36"),
        EngineSpec(release="1.36").engine(lambda _: None),
        ServerSettings(master=api_server.url, qps=0),
        LeaderElection(leader_elect=True),
        serving=serving,
    )
    log: list[str] = []
    process = SchedulerProcess(settings, LogWriter(log.append))
    served = ServedScheduler(serving, Health(), log)
    statuses: list[int] = []
    thread = threading.Thread(target=lambda: statuses.append(process.run()))
    thread.start()
    try:
        until(lambda: reachable(served, "/livez") is not None)
        unready = served.ask("/readyz")
        assert unready.code == 500
        assert unready.body.startswith("[+]leaderElection ok\n[+]shutdown ok\n[-]sched-handler-sync failed")
        assert not [one for one in api_server.asked if "leases" in one.path]
        may_read.set()
        until(lambda: served.ask("/readyz").code == 200)
    finally:
        may_read.set()
        process.stop()
        thread.join(SECONDS)
    assert statuses == [0]
    assert reachable(served, "/livez") is None
    paths = [one.path.partition("?")[0] for one in api_server.asked]
    lookup = next(at for at, path in enumerate(paths) if "configmaps/extension" in path)
    assert lookup < paths.index("/apis/events.k8s.io/v1") < paths.index("/api/v1/nodes")


# --- from a command line -------------------------------------------------------------------------------


def served_by(release: str, *flags: str) -> ServingSettings:
    """What a command line comes to."""
    live = live_release(release)
    settings = settings_of(CommandLine(live, parse_flags(live.flags, flags)), lambda _: None, lambda _: None)
    assert settings.serving is not None
    return settings.serving


def both(address: str, port: int) -> tuple[InsecurePort, ...]:
    return (InsecurePort(address, port),)


@pytest.mark.parametrize("release", ["1.16", "1.20"])
def test_insecure_port(tmp_path: Path, release: str) -> None:
    """Flags say where the insecure port is; a file says it instead of them."""
    version = {"1.16": "v1alpha1", "1.20": "v1beta1"}[release]
    file = tmp_path / "config.yaml"
    document = {"apiVersion": f"kubescheduler.config.k8s.io/{version}", "kind": "KubeSchedulerConfiguration"}
    file.write_text(
        yaml.safe_dump({**document, "healthzBindAddress": "127.0.0.1:7", "metricsBindAddress": "0.0.0.0:8"})
    )
    table = {
        (): both("0.0.0.0", 10251),
        ("--address=127.0.0.1", "--port=5"): both("127.0.0.1", 5),
        ("--port=0",): (),
        (f"--config={file}", "--port=5"): (
            InsecurePort("127.0.0.1", 7, metrics=False),
            InsecurePort("0.0.0.0", 8, health=False),
        ),
    }
    for flags, ports in table.items():
        found = served_by(release, *flags)
        assert found.insecure == ports


GIVEN = """
apiVersion: kubescheduler.config.k8s.io/v1beta1
kind: KubeSchedulerConfiguration
profiles:
- schedulerName: mine
  plugins: {score: {disabled: [{name: ImageLocality}]}}
  pluginConfig:
  - {name: DefaultPreemption, args: {minCandidateNodesAbsolute: 7}}
"""
PREEMPTION = {"MinCandidateNodesPercentage": 10, "MinCandidateNodesAbsolute": 7}
POINTS = (
    *("QueueSort", "PreFilter", "Filter", "PostFilter", "PreScore", "Reserve", "Permit", "PreBind", "Bind"),
    "PostBind",
)
WITHOUT_IMAGES: dict[str, Any] = {
    "Score": {"Enabled": None, "Disabled": [{"Name": "ImageLocality", "Weight": 0}]},
    **dict.fromkeys(POINTS),
}


@pytest.mark.parametrize(
    ("flags", "source", "profiles"),
    [
        pytest.param((), {"Policy": None, "Provider": "DefaultProvider"},
                     [{"SchedulerName": "default-scheduler", "Plugins": None, "PluginConfig": None}], id="nothing"),
        pytest.param(("--scheduler-name=s", "--hard-pod-affinity-symmetric-weight=5",
                     "--algorithm-provider=ClusterAutoscalerProvider"),
                     {"Policy": None, "Provider": "ClusterAutoscalerProvider"},
                     [{"SchedulerName": "s", "Plugins": None, "PluginConfig": [{"Name": "InterPodAffinity",
                     "Args": {"HardPodAffinityWeight": 5}}]}], id="flags"),
        pytest.param(("--config=given.yaml",), {"Policy": None, "Provider": "DefaultProvider"},
                     [{"SchedulerName": "mine", "Plugins": WITHOUT_IMAGES,
                     "PluginConfig": [{"Name": "DefaultPreemption", "Args": PREEMPTION}]}], id="file"),
        pytest.param(("--policy-config-file=policy.json",),
                     {"Policy": {"File": {"Path": "policy.json"}, "ConfigMap": None}, "Provider": None},
                     [{"SchedulerName": "default-scheduler", "Plugins": None, "PluginConfig": None}], id="policy"),
    ],
)  # fmt: skip
def test_configuration_of_1_20(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    flags: tuple[str, ...],
    source: dict[str, Any],
    profiles: list[dict[str, Any]],
) -> None:
    """Profiles are as they were given, with args that have their defaults; verbosity 2 completes them."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "given.yaml").write_text(GIVEN)
    (tmp_path / "policy.json").write_text('{"kind": "Policy", "apiVersion": "v1", "predicates": [], "priorities": []}')
    shown = configz_1_20(served_by("1.20", *flags).configuration)
    assert (shown["AlgorithmSource"], shown["Profiles"]) == (source, profiles)
    completed = configz_1_20(served_by("1.20", "-v=2", *flags).configuration)["Profiles"]
    assert completed[0]["Plugins"]["QueueSort"] is not None


def test_configuration() -> None:
    """/configz shows what flags and defaults come to; 1.36 has no insecure port."""
    found = served_by("1.36", "--leader-elect=false", "--profiling=false", "--kube-api-burst=7")
    assert (found.insecure, found.profiling) == ((), False)
    document = found.configuration
    assert document["leaderElection"]["leaderElect"] is False
    assert (document["clientConnection"]["burst"], document["enableProfiling"]) == (7, False)
    old = served_by("1.16", "--port=3")
    assert (old.configuration["healthzBindAddress"], old.profiling) == ("0.0.0.0:3", False)
