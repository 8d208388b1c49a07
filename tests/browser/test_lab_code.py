"""Code in a browser: a fault at its line, and its repair on the disk."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.pages.lab_page import LabPages, running_lab, settled, show_screen, violations

POLICY = """\
apiVersion: v1
kind: Policy
predicates: [{name: PodFitsResources}, {name: Odd}]
priorities: [{name: LeastRequestedPriority, weight: 1}]
"""
RULES = """\
from algorithmprovider import register_fit_predicate


def odd(pod, meta, node_info):
    number = node_info.node.metadata.name.rpartition("-")[2]
    return ANSWER, ["even"]


def register():
    register_fit_predicate("Odd", odd)
"""
FAULTY, SOUND = "int(numbr) % 2 == 1", "int(number) % 2 == 1"


def test_a_fault_is_shown_at_its_line_and_gone_once_it_is_mended(tmp_path: Path, lab_pages: LabPages) -> None:
    """With node and pod; the file is read anew when it is saved, without a reload of the page."""
    pytest.importorskip("starlette", reason="the extra is not installed: pip install 'kubescheduler[lab]'")
    rules = tmp_path / "workshop_rules.py"
    rules.write_text(RULES.replace("ANSWER", FAULTY), encoding="utf-8")
    (tmp_path / "policy.yaml").write_text(POLICY, encoding="utf-8")
    options = ["--release", "1.16", "--plugin", "workshop_rules:register", "--policy-config-file", "policy.yaml"]
    with running_lab(*options, cwd=str(tmp_path)) as lab:
        page = lab_pages.opened(lab)
        settled(page)
        waiting = page.locator(".pod-choice").first.inner_text()
        assert "! the attempt failed" in waiting
        assert "fits nowhere" not in waiting
        assert "numbr" in waiting
        show_screen(page, "Code")
        fault = page.locator(".source li.faulty")
        assert fault.get_attribute("value") == "6"
        assert "numbr" in fault.locator(".code-fault").inner_text()
        assert "node worker-1" in fault.locator(".where").inner_text()
        assert "pod shop/" in fault.locator(".where").inner_text()
        assert violations(page) == []
        page.set_viewport_size({"width": 1280, "height": 800})
        inner = "all => all.every(each => each.getBoundingClientRect().right <= each.closest('.pending').clientWidth)"
        assert page.locator(".pod-choice").evaluate_all(inner)
        rules.write_text(RULES.replace("ANSWER", SOUND), encoding="utf-8")
        page.wait_for_selector("text=loaded, no fault")
        assert fault.count() == 0
        settled(page)
        rules.write_text(RULES.replace("def odd(", "def odd)"), encoding="utf-8")
        page.wait_for_selector(".source li.faulty[value='4']")
        assert "SyntaxError" in page.locator(".code-fault").first.inner_text()
        page.context.close()
