"""The lab's page in Firefox."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.live.live_cluster import run
from tests.support.pages.lab_page import SETTLED, RunningLab

SCREENS = {
    "cluster": "Cluster",
    "why": "Why",
    "tune": "Tune",
    "hints": "Hints",
    "time": "Time",
    "sides": "Side by side",
    "class": "Class",
}
RANKING = "document.querySelector('ol.ranking').textContent"


def test_every_screen_and_a_slider(lab: RunningLab, tmp_path: Path) -> None:
    """Each is drawn without a fault or a message on the console; a weight that is moved changes the totals."""
    pytest.importorskip("aiohttp", reason="the extra is not installed: pip install 'kubescheduler[live]'")
    from tests.support.pages.browsers import NO_FIREFOX, FirefoxTab, firefox_path, firefox_tab

    program = firefox_path()
    if program is None:
        pytest.skip(NO_FIREFOX)

    async def screens(tab: FirefoxTab) -> None:
        for screen, title in SCREENS.items():
            await tab.evaluate(f"location.hash = '#screen={screen}'")
            await tab.until(f"document.querySelector('main#main[aria-label=\"{title}\"] > *:not(h1)')")
            await tab.until(f"({SETTLED})()")
            assert await tab.evaluate("document.querySelectorAll('main .faults').length") == 0, screen

    async def slider(tab: FirefoxTab) -> None:
        await tab.evaluate("location.hash = '#screen=tune'")
        await tab.until("document.querySelector('ol.ranking li')")
        await tab.until(f"({SETTLED})()")
        before = await tab.evaluate(RANKING)
        await tab.evaluate(
            """{
                const label = [...document.querySelectorAll(".weights label")]
                    .find(each => each.textContent.includes("NodeResourcesFit"));
                const slider = document.getElementById(label.htmlFor);
                slider.value = 7;
                slider.dispatchEvent(new Event("input", {bubbles: true}));
                true;
            }"""
        )
        await tab.until(f"{RANKING} !== {before!r}")

    async def all_of_it() -> list[str]:
        async with firefox_tab(str(program), tmp_path) as tab:
            await tab.open(lab.address)
            await screens(tab)
            await slider(tab)
            return tab.messages

    assert run(all_of_it()) == []
