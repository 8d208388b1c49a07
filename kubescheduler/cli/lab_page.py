"""Opening the lab's page: what the command line names becomes scenes, and a server shows them."""

from __future__ import annotations

import os
import re
import secrets
import sys
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

import click
import msgspec
from click.core import ParameterSource

from clusterstate.errors import InputError, both
from kubescheduler.api.cluster import Cluster
from kubescheduler.cli import unexpected_problem
from kubescheduler.cli.cluster_files import notes_on_cluster, nothing_collected, read_shown
from kubescheduler.cli.cluster_options import ClusterPlace, check_standard_input
from kubescheduler.cli.common_options import in_a_process_of_its_own
from kubescheduler.cli.engine_options import EngineOptions, remark, remarks
from kubescheduler.lab import BUNDLED_CLUSTER, BUNDLED_RELEASE, BUNDLED_TITLE
from kubescheduler.lab.exercises.classroom import ClassBoard
from kubescheduler.lab.lab_application import AllowedHosts, LabApplication, LabParts, Listening, serve
from kubescheduler.lab.plugin_file import PluginFile, from_files, plugin_files
from kubescheduler.lab.scene.exercise_verbs import exercise_scene, folder_scene
from kubescheduler.lab.scene.lab_document import SceneOpenings
from kubescheduler.lab.scene.scene import Scene
from kubescheduler.lab.scene.scene_state import SceneState, Side, side_of
from kubescheduler.lab.scene.verbs import VERBS
from kubescheduler.lab.scene_process import SceneCode

SHORTEST_TOKEN = 16
"""Characters of a token that nobody finds by trying."""
PLAIN = re.compile(rf"[A-Za-z0-9_-]{{{SHORTEST_TOKEN},}}")


class PageOptions(msgspec.Struct, frozen=True):
    """Where and how the page is served."""

    listen: str | None
    """``ADDR:PORT``; None: a free port of the loopback interface."""
    token: str | None
    """What the page has to show; None: a new one."""
    browser: bool | None
    """Whether a browser is opened; None: where there is a display."""
    class_folder: str | None = None
    """The work of a class; None: none is shown."""

    def listening(self) -> Listening:
        """Raises InputError for an address that cannot be read, and for one beyond this machine without a token."""
        place = Listening() if self.listen is None else Listening.parse(self.listen)
        if self.token is not None and not PLAIN.fullmatch(self.token):
            raise InputError(f"--token: at least {SHORTEST_TOKEN} letters, digits, - or _")
        if place.anywhere and self.token is None:
            raise InputError(
                f"--listen {self.listen}: other machines can reach this address; say what they have to show: --token "
                f"{secrets.token_hex(SHORTEST_TOKEN)}"
            )
        return place

    def check_class(self) -> None:
        """Raises InputError for a folder that is not there; students' folders may come later."""
        if self.class_folder is not None and not Path(self.class_folder).is_dir():
            raise InputError(f"--class {self.class_folder}: there is no such folder")


def serve_page(
    cluster: Sequence[ClusterPlace],
    pod_files: Sequence[str],
    engine: EngineOptions,
    exercise: str | None,
    options: PageOptions,
) -> int:
    """Reads what the command line names, and serves it until a signal ends it. Raises InputError with every fault."""
    check_standard_input(cluster, pod_files)
    place, start = both(options.listening, partial(_start, cluster, pod_files, engine, exercise), options.check_class)
    board = None if options.class_folder is None else ClassBoard(Path(options.class_folder))
    lab = LabParts(
        code=SceneCode(VERBS, SceneOpenings(start, lambda: Scene(bundled_state()), exercise_scene), unexpected_problem),
        shared={} if board is None else {"classBoard": board.shown},
        token=options.token or secrets.token_hex(SHORTEST_TOKEN),
        hosts=AllowedHosts.of(place.names(), anywhere=place.anywhere),
    )
    return _serve(lab, place, browser=options.browser)


def _start(
    cluster: Sequence[ClusterPlace], pod_files: Sequence[str], engine: EngineOptions, exercise: str | None
) -> Callable[[], Scene]:
    """Makes the scene that a tab begins with, which is tried here. Raises InputError with every fault."""
    if exercise is not None:
        if cluster or pod_files:
            raise InputError("--exercise: it has a cluster and pods of its own")
        folder = Path(exercise)
        in_a_process_of_its_own()  # code of the folder's is run here to see whether it can be
        made = partial(folder_scene, folder) if folder.is_dir() else partial(exercise_scene, exercise)
        made()
        return made
    state = start_state(cluster, pod_files, engine)
    files = plugin_files(engine.plugin, state.sides[0].release)
    state = with_plugin_files(state, files)
    remarks(state.notes)
    return lambda: Scene(state, files)


def start_state(cluster: Sequence[ClusterPlace], pod_files: Sequence[str], engine: EngineOptions) -> SceneState:
    """What a tab begins with. Raises InputError with every fault."""
    said = click.get_current_context().get_parameter_source("release")
    if not cluster and said is ParameterSource.DEFAULT:  # neither the command line nor a settings file says it
        engine = engine._replace(said={**engine.said, "release": BUNDLED_RELEASE})
    places = cluster or (str(BUNDLED_CLUSTER),)
    with nothing_collected():
        read = partial(read_shown, places, engine.release, True, keep_manifests=True)
        side, there = both(partial(_side, engine), read)
    pods = [sys.stdin.read() if name == "-" else name for name in pod_files]
    title = ", ".join(str(place) for place in cluster) if cluster else BUNDLED_TITLE
    state = Scene.opened(there, pods=pods, sides=[side], title=title).state
    return msgspec.structs.replace(state, notes=tuple(dict.fromkeys((*notes_on_cluster(there), *state.notes))))


def with_plugin_files(state: SceneState, files: Sequence[PluginFile]) -> SceneState:
    """The state with plugins that are whatever their files say when a scheduler is made."""
    sides = (
        msgspec.structs.replace(
            side, spec=msgspec.structs.replace(side.spec, plugins=from_files(side.spec.plugins, files))
        )
        for side in state.sides
    )
    return msgspec.structs.replace(state, sides=tuple(sides))


def _side(engine: EngineOptions) -> Side:
    """What decides. Raises ConfigError where no engine can be made of it."""
    side = side_of(engine.spec(), tie_break=engine.tie_break, seed=engine.seed)
    side.spec.engine(remark)
    return side


def bundled_state() -> SceneState:
    """The cluster that comes with the package."""
    return Scene.opened(Cluster.read(BUNDLED_CLUSTER, release=BUNDLED_RELEASE), title=BUNDLED_TITLE).state


def _serve(lab: LabParts, place: Listening, *, browser: bool | None) -> int:
    application = LabApplication(lab)
    try:
        bound = place.bind()
    except BaseException:
        application.close()
        raise
    address = f"http://{place.shown_host()}:{bound.getsockname()[1]}/#token={lab.token}"

    def ready() -> None:
        click.echo(f"The lab is at {address} (Ctrl-C ends it)")
        sys.stdout.flush()
        if has_display() if browser is None else browser:
            _show_in_browser(address)

    serve(application, bound, ready)
    return 0


def has_display() -> bool:
    """Whether a browser would be seen: a terminal on a desktop, not one of another machine."""
    if not sys.stdout.isatty() or os.environ.get("SSH_CONNECTION"):
        return False
    return sys.platform in ("win32", "darwin") or bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))


def _show_in_browser(address: str) -> None:
    """In a thread: some browsers hold up who opens them."""
    import threading
    import webbrowser

    threading.Thread(target=webbrowser.open, args=(address,), daemon=True).start()
