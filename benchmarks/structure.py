"""The shape of the source as counts: ``python -m benchmarks.structure [--all]``.

First how much there is: lines, files, what one decision walks through, what a release consists of. Then what should
stay small is counted and the worst places are listed: circles, comparisons with a release, names and functions that
occur twice, missing docstrings, long functions. ``AT_THEIR_AIM`` is held by a test.
"""

from __future__ import annotations

import ast
import gc
import itertools
import sys
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from fnmatch import fnmatch
from pathlib import Path
from types import FrameType
from typing import Any, TypeVar

import attrs

from kubescheduler.releases.names import RELEASE_NAMES

ROOT = Path(__file__).parents[1]
PACKAGES = ("algorithmprovider", "clusterstate", "kubecel", "kubescheduler", "predicates", "priorities")
MOST_FUNCTION_LINES = 80
RELEASE_RECORDS = ("kubescheduler/releases/*.py",)
"""The files that say what a release is; elsewhere no code asks which release it is."""
RELEASES, PROCESSES, NOTEBOOKS = "kubescheduler.releases.", "kubescheduler.live.", "kubescheduler.notebook"
"""A release says what its process is, although processes are of releases, and results how a notebook shows them: these
are imported when one runs, and when somebody looks."""
SAME_BASENAMES = ("__init__.py", "kubescheduler/cli/*.py")
"""Files that may be called as another one is: a command's module is named for the command."""
GIVEN = "shipped"
"""The folder of exercises, whose Python files are what students begin with, and no modules of the project's."""
SHOWN = 10

Function = ast.FunctionDef | ast.AsyncFunctionDef
N = TypeVar("N", bound=ast.AST)
COUNTED = frozenset(
    {
        *(ast.Import, ast.ImportFrom, ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef),
        *(ast.Compare, ast.MatchValue, ast.Dict),
    }
)
"""Types of nodes that the counts look at: a file is walked through once."""


@attrs.frozen
class SourceFile:
    """A parsed file of Python."""

    path: str
    """Below the project's root, with slashes."""
    text: str
    tree: ast.Module
    by_type: dict[type[ast.AST], list[Any]]
    """The nodes of the types in ``COUNTED``, in the order of ``ast.walk``."""

    def nodes(self, kind: type[N]) -> list[N]:
        """Those of a type."""
        return self.by_type.get(kind, [])

    @property
    def functions(self) -> list[Function]:
        """Those that wait among them."""
        return [*self.nodes(ast.FunctionDef), *self.nodes(ast.AsyncFunctionDef)]

    @property
    def module(self) -> str:
        """The dotted name under which it is imported."""
        return self.path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")


def source_files(folders: tuple[str, ...] = PACKAGES, root: Path = ROOT) -> list[SourceFile]:
    """Every Python file below the folders, in order of their paths."""
    paths = sorted(path for folder in folders for path in (root / folder).rglob("*.py") if GIVEN not in path.parts)
    collects = gc.isenabled()
    gc.disable()  # nothing here is garbage, and looking through millions of nodes again and again takes longest
    try:
        return [_parsed(path.relative_to(root).as_posix(), path.read_text(encoding="utf-8")) for path in paths]
    finally:
        if collects:
            gc.enable()


def _parsed(path: str, text: str) -> SourceFile:
    tree = ast.parse(text)
    by_type: dict[type[ast.AST], list[Any]] = defaultdict(list)
    for node in ast.walk(tree):
        if type(node) in COUNTED:
            by_type[type(node)].append(node)
    return SourceFile(path, text, tree, by_type)


# --- what is counted: each function gives one line per occurrence -----------------------------------------------


def circles(files: list[SourceFile]) -> Iterator[str]:
    """Pairs of siblings of a package that import one another, directly or by way of other siblings."""
    for package, edges in _sibling_imports(files).items():
        reached = {name: _reachable(name, edges) for name in edges}
        for one, other in itertools.combinations(sorted(edges), 2):
            if other in reached[one] and one in reached[other]:
                yield f"{package}: {one} <-> {other}"


def release_comparisons(files: list[SourceFile]) -> Iterator[str]:
    """Comparisons with a release's literal, or a constant that holds one, outside the releases' records.

    Whether a name is one of ``RELEASE_NAMES``, a record, may be asked anywhere.
    """
    constants = {file.module: set(_release_constants(file.tree)) for file in _outside_records(files)}
    for file in _outside_records(files):
        names = constants[file.module] | set(_imported_constants(file, constants))
        for node in file.nodes(ast.Compare):
            if any(_names_release(operand, names) for operand in (node.left, *node.comparators)):
                yield f"{file.path}:{node.lineno} {ast.unparse(node)}"
        for case in file.nodes(ast.MatchValue):
            if _names_release(case.value, names):
                yield f"{file.path}:{case.lineno} case {ast.unparse(case)}"


def release_tables(files: list[SourceFile]) -> Iterator[str]:
    """Mappings written out per release (two releases or more as keys) outside the releases' records."""
    for file in _outside_records(files):
        for node in file.nodes(ast.Dict):
            keys = [key.value for key in node.keys if isinstance(key, ast.Constant) and key.value in RELEASE_NAMES]
            if len(keys) > 1:
                yield f"{file.path}:{node.lineno} {{{', '.join(map(str, keys))}}}"


def repeated_basenames(files: list[SourceFile]) -> Iterator[str]:
    """File names that occur in several folders."""
    paths = [file.path for file in files if not any(fnmatch(file.path, f"*{known}") for known in SAME_BASENAMES)]
    yield from _repeated((path.rpartition("/")[2], path) for path in paths)


def repeated_classes(files: list[SourceFile]) -> Iterator[str]:
    """Names of public classes that several modules define."""
    found = ((node.name, file.path) for file in files for node in file.tree.body if isinstance(node, ast.ClassDef))
    yield from _repeated((name, path) for name, path in found if not name.startswith("_"))


def undocumented(files: list[SourceFile]) -> Iterator[str]:
    """Public functions, classes and methods without a docstring, their own or one of the method that they override."""
    classes = {node.name: node for file in files for node in file.nodes(ast.ClassDef)}
    for file in files:
        for name, node in _public(file.tree.body):
            owner, _, method = name.rpartition(".")
            if ast.get_docstring(node) is None and not _inherits_docstring(owner, method, classes):
                yield f"{file.path}:{node.lineno} {name}"


def repeated_functions(files: list[SourceFile]) -> Iterator[str]:
    """Functions of three statements or more whose bodies are the same, docstrings apart."""
    found = (
        (node.name, f"{file.path}:{node.lineno}", body)
        for file in files
        for node in file.functions
        if len(body := node.body[ast.get_docstring(node) is not None :]) > 2
    )
    places: dict[str, list[str]] = defaultdict(list)
    for name, place, body in found:
        places["".join(map(ast.dump, body))].append(f"{place} {name}")
    yield from (", ".join(same) for same in places.values() if len(same) > 1)


def protocols(files: list[SourceFile]) -> Iterator[str]:
    """Classes that are protocols."""
    for file in files:
        for node in file.nodes(ast.ClassDef):
            if any(ast.unparse(base).split("[")[0] == "Protocol" for base in node.bases):
                yield f"{file.path}:{node.lineno} {node.name}"


def long_functions(files: list[SourceFile]) -> Iterator[str]:
    """Functions over 80 lines."""
    for file in files:
        for node in file.functions:
            length = (node.end_lineno or node.lineno) - node.lineno + 1
            if length > MOST_FUNCTION_LINES:
                yield f"{file.path}:{node.lineno} {node.name}: {length} lines"


COUNTS: dict[str, Callable[[list[SourceFile]], Iterator[str]]] = {
    "circles among siblings": circles,
    "comparisons with a release": release_comparisons,
    "tables per release": release_tables,
    "basenames that occur twice": repeated_basenames,
    "class names that occur twice": repeated_classes,
    "functions that occur twice": repeated_functions,
    "protocols": protocols,
    "public without docstring": undocumented,
    "functions over 80 lines": long_functions,
}
"""What is counted; of the two counts per release, those outside the releases' records."""

AT_THEIR_AIM = (
    "circles among siblings",
    "comparisons with a release",
    "class names that occur twice",
    "public without docstring",
    "functions over 80 lines",
)
"""Counts that are 0 and stay so."""


# --- how much there is ------------------------------------------------------------------------------------------

CORE = ("kubescheduler/core",)
ATTEMPTS = (*CORE, "kubescheduler/framework/deciding", "kubescheduler/queue", "kubescheduler/cycle")
"""Where an attempt is made, from the queue to the binding."""


def amounts(files: list[SourceFile], tests: list[SourceFile]) -> Iterator[tuple[int, str]]:
    """(number, of what): lines and files of the product's files and of tests."""
    yield sum(_lines(file) for file in files), "lines of code"
    yield len(files), "files"
    yield sum(_lines(file) for file in tests), "lines of tests"
    for folders, name in ((CORE, "core"), (ATTEMPTS, "core, framework/deciding, queue and cycle")):
        parts = tuple(f"{folder}/" for folder in folders)
        yield sum(_lines(file) for file in files if file.path.startswith(parts)), f"lines of {name}"


def _lines(file: SourceFile) -> int:
    return file.text.count("\n")


def way_of_a_decision(release: str) -> tuple[list[str], list[str]]:
    """The files of kubescheduler that one decision walks through after others like it, rules apart, in the order in
    which it comes to them; and each call of a file into one that it was called from, a climb."""
    from kubescheduler import Cluster, Scheduler

    cluster = Cluster(release=release)
    for at in range(12):
        cluster = cluster.node(f"node-{at}")
    for at in range(4):
        cluster = cluster.pod(f"pod-{at}", cpu="100m")
    scheduler = Scheduler(cluster)
    *before, pod = cluster.pending()
    for each in before:
        scheduler.bind(scheduler.decide(each))
    files: dict[str, None] = {}
    climbs: dict[str, None] = {}
    stack = [""]
    product, rules = f"{ROOT}/kubescheduler/", f"{ROOT}/kubescheduler/framework/plugins/"

    def follow(frame: FrameType, event: str, _: object) -> None:
        if event == "return" and len(stack) > 1:
            stack.pop()
        elif event == "call":
            path = frame.f_code.co_filename
            if not path.startswith(product) or path.startswith(rules):
                stack.append(stack[-1])
                return
            path = path.removeprefix(f"{ROOT}/")
            if path != stack[-1] and path in stack:
                climbs[f"{stack[-1]} -> {path} {frame.f_code.co_name}"] = None
            files[path] = None
            stack.append(path)

    sys.setprofile(follow)
    try:
        scheduler.running.decide(pod)
    finally:
        sys.setprofile(None)
    return list(files), list(climbs)


def records_of(release: str) -> list[str]:
    """The names of the records that a release consists of, its view and its process with them."""
    import msgspec

    from kubescheduler.releases.lookup import release_named

    record = release_named(release)
    waiting: list[object] = [record, record.default_view, record.live and record.live()]
    found: dict[int, object] = {}
    while waiting:
        one = waiting.pop()
        names = one.__struct_fields__ if isinstance(one, msgspec.Struct) else getattr(one, "__attrs_attrs__", None)
        if id(one) in found or isinstance(one, type) or names is None:
            continue
        found[id(one)] = one
        waiting += [getattr(one, name if isinstance(name, str) else name.name) for name in names]
    return sorted(type(one).__name__ for one in found.values())


# --- details ----------------------------------------------------------------------------------------------------


def _sibling_imports(files: list[SourceFile]) -> dict[str, dict[str, set[str]]]:
    """Package → sibling → the siblings it imports; those for type checking count as well."""
    modules = {file.module for file in files}
    out: dict[str, dict[str, set[str]]] = defaultdict(lambda: defaultdict(set))
    for file in files:
        for imported in _imported(file, modules) - {file.module}:
            if file.module.startswith(RELEASES) and imported.startswith(PROCESSES):
                continue
            if imported.startswith(NOTEBOOKS):
                continue
            here, there = file.module.split("."), imported.split(".")
            depth = next((i for i, (a, b) in enumerate(zip(here, there, strict=False)) if a != b), None)
            if depth:  # a package and what is in it are no siblings, nor are two top-level packages
                out[".".join(here[:depth])][here[depth]].add(there[depth])
    return out


def _imported(file: SourceFile, modules: set[str]) -> set[str]:
    found = {name.name for node in file.nodes(ast.Import) for name in node.names} & modules
    for node in file.nodes(ast.ImportFrom):
        if node.module:
            inner = {f"{node.module}.{name.name}" for name in node.names}
            found |= (inner & modules) or ({node.module} & modules)
    return found


def _reachable(start: str, edges: dict[str, set[str]]) -> set[str]:
    reached: set[str] = set()
    waiting = list(edges[start])
    while waiting:
        name = waiting.pop()
        if name not in reached:
            reached.add(name)
            waiting += edges.get(name, ())
    return reached


def _outside_records(files: list[SourceFile]) -> list[SourceFile]:
    return [file for file in files if not any(fnmatch(file.path, pattern) for pattern in RELEASE_RECORDS)]


def _release_constants(tree: ast.Module) -> Iterator[str]:
    """The names that a module binds to a release or to several."""
    for node in tree.body:
        if isinstance(node, ast.Assign) and _names_release(node.value, set()):
            yield from (target.id for target in node.targets if isinstance(target, ast.Name))


def _imported_constants(file: SourceFile, constants: dict[str, set[str]]) -> Iterator[str]:
    for node in file.nodes(ast.ImportFrom):
        held = constants.get(node.module or "", set())
        yield from (name.asname or name.name for name in node.names if name.name in held)


def _names_release(node: ast.expr, constants: set[str]) -> bool:
    if isinstance(node, ast.Tuple | ast.List | ast.Set):
        return any(_names_release(item, constants) for item in node.elts)
    if isinstance(node, ast.Call):
        return any(_names_release(argument, constants) for argument in node.args if isinstance(argument, ast.Set))
    if isinstance(node, ast.Name):
        return node.id in constants
    return isinstance(node, ast.Constant) and node.value in RELEASE_NAMES


def _repeated(named: Iterator[tuple[str, str]]) -> Iterator[str]:
    places: dict[str, list[str]] = defaultdict(list)
    for name, path in named:
        places[name].append(path)
    yield from (f"{name}: {', '.join(paths)}" for name, paths in sorted(places.items()) if len(paths) > 1)


def _public(body: list[ast.stmt], prefix: str = "") -> Iterator[tuple[str, Function | ast.ClassDef]]:
    for node in body:
        if isinstance(node, Function | ast.ClassDef) and not node.name.startswith("_"):
            yield prefix + node.name, node
            if isinstance(node, ast.ClassDef):
                yield from _public(node.body, f"{node.name}.")


def _inherits_docstring(owner: str, method: str, classes: dict[str, ast.ClassDef]) -> bool:
    """Whether a base of a class, by its name, or a base of that has a docstring for the method."""
    bases = classes[owner].bases if owner in classes else ()
    for name in (ast.unparse(base).partition("[")[0].rpartition(".")[2] for base in bases):
        of_base = classes[name].body if name in classes and name != owner else ()
        if any(isinstance(node, Function) and node.name == method and ast.get_docstring(node) for node in of_base):
            return True
        if name != owner and _inherits_docstring(name, method, classes):
            return True
    return False


def folders(files: list[SourceFile]) -> list[tuple[str, int]]:
    """(folder, its files), the fullest first."""
    return Counter(file.path.rpartition("/")[0] for file in files).most_common()


def report(files: list[SourceFile], shown: int = SHOWN) -> Iterator[str]:
    """The lines that are printed: every count, then up to ``shown`` places of each."""
    found = {title: list(count(files)) for title, count in COUNTS.items()}
    defined = sum(1 for file in files for _ in _public(file.tree.body))
    yield from (f"{len(places):6}  {title}" for title, places in found.items())
    yield f"{defined:6}  public functions, classes and methods in all"
    fullest = folders(files)[:shown]
    for title, places in {"files per folder": [f"{name}: {n}" for name, n in fullest], **found}.items():
        if places:
            yield f"\n{title}:"
            yield from (f"  {place}" for place in places[:shown])
            if len(places) > shown:
                yield f"  … and {len(places) - shown} more (--all)"


def main(arguments: list[str]) -> None:
    """Prints the amounts and counts of the product's packages."""
    shown = sys.maxsize if "--all" in arguments else SHOWN
    files = source_files()
    print("\n".join(f"{number:6}  {of}" for number, of in amounts(files, source_files(("tests",)))))
    for release in (RELEASE_NAMES[1], RELEASE_NAMES[-1]):
        walked, climbs = way_of_a_decision(release)
        print(f"{len(walked):6}  files that a decision of {release} walks through, {len(climbs)} climbs")
        print(f"{len(records_of(release)):6}  records that {release} consists of")
        print("".join(f"          {each}\n" for each in (*walked, *climbs)) if shown > SHOWN else "", end="")
    print("\n".join(report(files, shown)))


if __name__ == "__main__":
    main(sys.argv[1:])
