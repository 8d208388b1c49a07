"""Colours of rules in the lab: told apart by everybody in both themes, and with letters that can be read."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

import kubescheduler as ks
from kubescheduler.lab.scene.scene import Scene
from kubescheduler.lab.scene.verbs import VERBS
from tests.support.pages.lab_page import LabPages, RunningLab
from tests.support.releases_tried import RELEASES_TRIED

COLOURS = 10
APART = 0.12
"""The least distance of two colours in OKLab; 0.02 is just seen by most."""
EYES = {
    "usual": np.eye(3),
    "no red": [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
    "no green": [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.01182, 0.04294, 0.968881]],
    "no blue": [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.3039]],
}
"""What colours are to eyes that lack a kind of cones, in linear RGB (Machado, Oliveira and Fernandes, 2009)."""
SHADES = """async rules => {
    const { letter, shading } = await import(new URL("components/shades.js", document.baseURI));
    return rules.map(rule => {
        const probe = document.createElement("b");
        document.body.append(Object.assign(probe, { textContent: letter(rule) }));
        Object.assign(probe.style, shading(rule));
        const { backgroundColor, color, backgroundImage: image } = getComputedStyle(probe);
        probe.remove();
        const numbers = text => text.match(/\\d+/g).slice(0, 3).map(Number);
        return { ground: numbers(backgroundColor), ink: numbers(color), lines: image !== "none", letter: letter(rule) };
    });
}"""


def linear(colour: list[int]) -> Any:
    """Red, green and blue as amounts of light."""
    parts = np.array(colour) / 255
    return np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4)


def oklab(light: Any) -> Any:
    """Where a colour is in OKLab."""
    cones = np.cbrt(
        np.array([[0.41222, 0.53633, 0.05145], [0.2119, 0.68068, 0.1074], [0.0883, 0.28172, 0.62998]])
        @ np.clip(light, 0, 1)
    )
    return np.array([[0.21045, 0.79362, -0.00407], [1.978, -2.42859, 0.45059], [0.0259, 0.78277, -0.80868]]) @ cones


def contrast(one: list[int], other: list[int]) -> float:
    """Of two colours, as WCAG has it."""
    low, high = sorted(float(np.dot([0.2126, 0.7152, 0.0722], linear(each))) for each in (one, other))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("release", RELEASES_TRIED)
def test_a_default_profile_has_no_more_rules_than_there_are_colours(release: str) -> None:
    """Of those that score by default."""
    cluster = ks.Cluster(release=release).node("a", cpu=4).node("b", cpu=4).pod("web", cpu=1)
    form = VERBS["tune"](Scene.opened(cluster), {"side": "a"})
    assert 5 < sum(bool(rule["on"]) for rule in form["rules"]) <= COLOURS


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_rules_are_told_apart(scheme: str, lab: RunningLab, lab_pages: LabPages) -> None:
    """Twenty by colour and lines, the ten of a profile by colour alone; all by their letters."""
    page = lab_pages.opened(lab, color_scheme=scheme)
    shades = page.evaluate(SHADES, [f"rule {at}" for at in range(2 * COLOURS)])
    assert len({each["letter"] for each in shades}) == 2 * COLOURS
    assert min(contrast(each["ground"], each["ink"]) for each in shades) >= 4.5
    assert len({(tuple(each["ground"]), each["lines"]) for each in shades}) == 2 * COLOURS
    for name, eye in EYES.items():
        seen = [oklab(np.array(eye) @ linear(each["ground"])) for each in shades[:COLOURS]]
        nearest = min(float(np.linalg.norm(one - other)) for one, other in itertools.combinations(seen, 2))
        assert nearest >= APART, name
