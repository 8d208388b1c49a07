"""The engine of a case, made where the case runs: of files that may have been sent there."""

from __future__ import annotations

import zlib
from typing import Any

import msgspec

from clusterstate.errors import InputError
from kubescheduler.engine.engine_contract import Engine
from kubescheduler.engine.spec import EngineSpec, Notice, no_notice
from kubescheduler.engine.spec_fields import FILES
from kubescheduler.extender.access import RECORD, ExtenderAccess, files_of
from kubescheduler.extender.client import HTTPExtender
from kubescheduler.extender.recorded_answers import forget_record
from kubescheduler.sweep.case_files import Contents, FileLocations
from kubescheduler.sweep.cases import Case, Configuration
from kubescheduler.sweep.custom_modules import CustomModules, loaded
from kubescheduler.sweep.reweighting import weighted_engine


def case_engine(case: Case, contents: Contents | None, here: FileLocations, notes: list[str]) -> Engine:
    """The engine. here: where the configuration's files are. notes: gets what may be unexpected.

    Raises InputError with every fault, also when a file is no longer what the case's id stands for.
    """
    configuration = case.configuration

    def note(text: str) -> None:
        notes.append(f"{configuration.label}: {here.by_given_names(text)}")

    local = msgspec.structs.replace(configuration, spec=_located(configuration, here))
    if local.digest() != case.configured:
        names = ", ".join(configuration.files)
        raise InputError(f"{names}: changed after the sweep began; run the same command again")
    return _made(local, case.options.modules, contents, note)


def _made(configuration: Configuration, modules: CustomModules, contents: Contents | None, notice: Notice) -> Engine:
    """With the custom rules and plugins."""
    spec = configuration.spec
    with loaded(modules, contents) as plugins:
        if spec.record.framework is not None:
            spec = msgspec.structs.replace(spec, plugins=(*spec.plugins, *plugins))
        return weighted_engine(spec, dict(configuration.weights), notice)


def _located(configuration: Configuration, here: FileLocations) -> EngineSpec:
    """The spec with its files where they are on this machine."""
    spec = configuration.spec
    paths: dict[str, Any] = {field: here.path(name) for field in FILES if (name := getattr(spec, field)) is not None}
    if configuration.recorded is not None:
        mode = ExtenderAccess.named(spec.extenders).mode
        paths["extenders"] = f"{mode} {here.path(configuration.recorded)}"
    if here.paths:
        paths["certificate_places"] = {name: here.path(name) for name in configuration.certificates}
    return msgspec.structs.replace(spec, **paths)


def with_certificates(configuration: Configuration, modules: CustomModules) -> Configuration:
    """The configuration with the certificate and key files of its extenders, to be sent along.

    Without any where no engine can be made of it: its cases say why.
    """
    try:
        engine = _made(configuration, modules, None, no_notice)
    except InputError:
        return configuration
    http = (extender for extender in engine.extenders if isinstance(extender, HTTPExtender))
    names = (name for extender in http for name in files_of(extender.config))
    return msgspec.structs.replace(configuration, certificates=tuple(dict.fromkeys(names)))


def gained(case: Case, contents: Contents, here: FileLocations) -> bytes:
    """What a record of extenders' answers gained while the case ran on a machine that was sent the file so far.

    The file is forgotten: it goes when the case ends.
    """
    name = case.configuration.recorded
    if name is None:
        return b""
    forget_record(here.path(name))
    if ExtenderAccess.named(case.configuration.spec.extenders).mode != RECORD:
        return b""
    try:
        with open(here.path(name), "rb") as file:
            found = file.read()
    except OSError:  # nothing was asked
        return b""
    return found[len(zlib.decompress(contents[name])) if name in contents else 0 :]
