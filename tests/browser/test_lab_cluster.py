"""The lab's cluster screen: pods moved by mouse, finger and keys; nodes that go; what is said of it."""

from __future__ import annotations

from typing import Any

import pytest

import kubescheduler as ks
from kubescheduler.lab.scene.scene import Scene
from kubescheduler.lab.scene.verbs import VERBS
from tests.support.pages.lab_page import PHONE, LabPages, Page, RunningLab, settled, show_screen, violations
from tests.support.pages.lab_server import lab_server
from tests.support.pages.layout_faults import layout_faults

POD, ROOMY, FULL = "shop/db-2", "worker-5", "worker-1"
"""The pod that is asked about, the node where it fits, and one where it does not."""


def card(page: Page, node: str) -> Any:
    return page.locator(f"article[data-node={node}]")


def pods_of(page: Page, node: str) -> list[str]:
    """Keys of the pods that a node's card shows."""
    texts = card(page, node).locator(".pod-box .unseen").all_inner_texts()
    return [text.partition(",")[0] for text in texts]


def bound(page: Page, node: str) -> None:
    """Waits until the node's card shows the pod."""
    card(page, node).locator(".pod-box", has_text=POD).wait_for()


def centre(found: Any) -> tuple[float, float]:
    box = found.bounding_box()
    return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2


def waiting(page: Page) -> Any:
    return page.locator(".pod-choice", has_text="db-2")


def opened(lab: RunningLab, lab_pages: LabPages, **options: Any) -> Page:
    page = lab_pages.opened(lab, **{"viewport": {"width": 1300, "height": 1300}, **options})
    card(page, ROOMY).wait_for()
    settled(page)
    return page


def test_a_pod_is_dragged_by_mouse_and_the_drag_undone(lab: RunningLab, lab_pages: LabPages) -> None:
    """Over the node the scheduler's word is shown; dropped there, the pod runs there; undone, it waits again."""
    page = opened(lab, lab_pages)
    page.mouse.move(*centre(waiting(page)))
    page.mouse.down()
    page.mouse.move(*centre(card(page, FULL)), steps=5)
    page.locator(".carried.bad", has_text="Insufficient cpu").wait_for()
    page.mouse.move(*centre(card(page, ROOMY)), steps=5)
    page.locator(".carried.good", has_text=f"fits {ROOMY}").wait_for()
    page.mouse.up()
    bound(page, ROOMY)
    assert page.locator(".carried").count() == 0
    page.keyboard.press("Control+z")
    page.locator(".toast", has_text="Undo").first.wait_for()
    waiting(page).wait_for()
    settled(page)
    assert POD not in pods_of(page, ROOMY)


def test_escape_ends_a_drag(lab: RunningLab, lab_pages: LabPages) -> None:
    """Nothing is moved then, and nothing asked about."""
    page = opened(lab, lab_pages)
    page.mouse.move(*centre(page.locator(".pod-choice", has_text="search-0")))
    page.mouse.down()
    page.mouse.move(*centre(card(page, ROOMY)), steps=5)
    page.locator(".carried").wait_for()
    page.keyboard.press("Escape")
    page.mouse.up()
    settled(page)
    assert page.locator(".carried").count() == 0
    assert page.locator(".toast").count() == 0
    assert waiting(page).get_attribute("aria-pressed") == "true"


def test_a_pod_is_dragged_by_finger(lab: RunningLab, lab_pages: LabPages) -> None:
    """By its handle, so that the list can still be scrolled."""
    page = opened(lab, lab_pages, has_touch=True)
    client = page.context.new_cdp_session(page)
    handle = page.get_by_role("button", name=f"Move {POD} to")

    def touch(kind: str, *points: tuple[float, float]) -> None:
        client.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": [{"x": x, "y": y} for x, y in points]})

    start, end = centre(handle), centre(card(page, ROOMY))
    touch("touchStart", start)
    for step in range(1, 6):
        part = step / 5
        touch("touchMove", (start[0] + (end[0] - start[0]) * part, start[1] + (end[1] - start[1]) * part))
    page.locator(".carried.good").wait_for()
    touch("touchEnd")
    bound(page, ROOMY)


def test_a_pod_is_moved_by_keys(lab: RunningLab, lab_pages: LabPages) -> None:
    """The list of nodes says of each what the scheduler says; Enter moves; the focus comes back."""
    page = opened(lab, lab_pages)
    page.get_by_role("button", name=f"Move {POD} to").focus()
    page.keyboard.press("Enter")
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("Find nodes by name").fill("worker")
    dialog.get_by_text(FULL, exact=True).wait_for()
    settled(page)
    dialog.locator(".node-choices button").first.focus()
    page.keyboard.press("End")
    page.keyboard.press("ArrowUp")
    dialog.locator(".verdict-line", has_text=f"✓ fits {ROOMY}").wait_for()
    page.keyboard.press("Enter")
    bound(page, ROOMY)
    assert page.get_by_role("dialog").count() == 0


def test_a_pod_that_does_not_fit_is_bound_only_after_a_word(lab: RunningLab, lab_pages: LabPages) -> None:
    """The evidence is shown, and where the scheduler would put it."""
    page = opened(lab, lab_pages)
    page.mouse.move(*centre(waiting(page)))
    page.mouse.down()
    page.mouse.move(*centre(card(page, FULL)), steps=5)
    page.mouse.up()
    dialog = page.get_by_role("dialog")
    dialog.get_by_text("Insufficient cpu", exact=False).first.wait_for()
    assert f"puts it on {ROOMY}" in dialog.inner_text()
    assert violations(page) == []
    dialog.get_by_role("button", name="Bind it there anyway").click()
    bound(page, FULL)


def test_a_late_answer_is_dropped(lab: RunningLab, lab_pages: LabPages) -> None:
    """What the scheduler says of a node that was left in the meantime is not shown for the next one."""
    page = opened(lab, lab_pages)
    held: list[Any] = []

    def hold(route: Any) -> None:
        if FULL in (route.request.post_data or ""):
            held.append(route)
        else:
            route.continue_()

    page.route("**/api/whatif", hold)
    page.mouse.move(*centre(waiting(page)))
    page.mouse.down()
    with page.expect_request("**/api/whatif"):
        page.mouse.move(*centre(card(page, FULL)), steps=5)
    page.mouse.move(*centre(card(page, ROOMY)), steps=5)
    page.locator(".carried.good", has_text=ROOMY).wait_for()
    for route in held:
        route.fulfill(json={"node": FULL, "fits": False, "refusals": [{"reason": "late"}], "version": 1})
    settled(page)
    assert "late" not in page.locator(".carried").inner_text()
    page.mouse.up()
    bound(page, ROOMY)


def test_a_node_is_killed_and_comes_back(lab: RunningLab, lab_pages: LabPages) -> None:
    """Its menu opens by keys; undo is offered where it was done."""
    page = opened(lab, lab_pages)
    before = pods_of(page, "worker-3")
    assert before
    card(page, "worker-3").get_by_role("button", name="Change worker-3").focus()
    page.keyboard.press("Enter")
    page.keyboard.press("k")
    page.keyboard.press("Enter")
    page.locator(".toast").wait_for()
    card(page, "worker-3").wait_for(state="detached")
    page.locator(".toast").get_by_role("button", name="Undo").click()
    card(page, "worker-3").wait_for()
    settled(page)
    assert pods_of(page, "worker-3") == before


def test_a_menu_closes_with_what_it_stands_at(lab: RunningLab, lab_pages: LabPages) -> None:
    """A window of another size, or one that was rolled, has its button elsewhere."""
    page = opened(lab, lab_pages)
    left = """async event => {
        const shown = () => document.querySelector(".menu-list") !== null;
        const turn = () => new Promise(done => setTimeout(done));
        document.querySelector("[data-node] [aria-haspopup=menu]").click();
        while (!shown()) await turn();
        dispatchEvent(new Event(event));
        while (shown()) await turn();
        return shown();
    }"""
    assert [page.evaluate(left, event) for event in ("resize", "scroll")] == [False, False]


def test_the_loss_of_a_node_is_told(lab: RunningLab, lab_pages: LabPages) -> None:
    """From its menu, of the node and of its zone, with nothing that sticks out; the cluster stays as it is."""
    page = lab_pages.opened(lab, viewport={"width": 390, "height": 844})
    settled(page)
    before = pods_of(page, "worker-3")
    for entry, said in (("What if it is drained …", "1 node drained: "), ("What if its zone is lost …", "zone east: ")):
        card(page, "worker-3").get_by_role("button", name="Change worker-3").click()
        page.get_by_role("menuitem", name=entry).click()
        dialog = page.get_by_role("dialog")
        dialog.locator("strong", has_text=said).wait_for()
        dialog.locator(".verdict-line", has_text="exit status").wait_for()
        assert layout_faults(page) == []
        assert violations(page) == []
        page.keyboard.press("Escape")
        dialog.wait_for(state="detached")
    assert pods_of(page, "worker-3") == before


def test_a_refused_edit_is_said_in_its_form(lab: RunningLab, lab_pages: LabPages) -> None:
    """And nowhere else: nothing is written on the console, and the form keeps what was typed."""
    page = opened(lab, lab_pages)
    page.get_by_role("button", name="Add to the cluster").click()
    page.get_by_role("menuitem", name="Node …").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("Name").fill(ROOMY)
    dialog.get_by_role("button", name="Add the node").click()
    dialog.locator(".problems", has_text=ROOMY).wait_for()
    assert dialog.get_by_label("Name").input_value() == ROOMY
    assert violations(page) == []


ADD, CHANGE = "[aria-label='Add to the cluster']", f"[aria-label='Change {FULL}']"
WEB = "shop/web-6d5f9-9xw7m"
BOX = f".pod-box[title^='{WEB}']"
FORMS: tuple[tuple[str, str, dict[str, str], str, str], ...] = (
    (ADD, "Node …", {"labels": "disk=ssd, spot"}, "Add the node", "Added node node-13"),
    (ADD, "Pods …", {"count": "2"}, "Add", "Added 2 pods: web"),
    (ADD, "From YAML …", {}, "Add", "Added 1 pod"),
    (CHANGE, "Taint …", {"key": "gpu"}, "Add the taint", f"Tainted node {FULL} with gpu:NoSchedule"),
    (CHANGE, "Label …", {"key": "team", "value": "data"}, "Set the label", f"Labelled node {FULL} with team=data"),
    (CHANGE, "Resize …", {"cpu": "9"}, "Resize", f"Resized node {FULL}: cpu 9"),
    (CHANGE, "Clone …", {"count": "2"}, "Clone", f"Cloned node {FULL} 2 times"),
    (CHANGE, "Edit YAML …", {}, "Apply", f"Edited Node {FULL}"),
    (BOX, "Edit YAML …", {}, "Apply", f"Edited Pod {WEB}"),
    (BOX, "Scale its workload …", {"replicas": "4"}, "Scale", f"Scaled {WEB} to 4 pods"),
)  # fmt: skip
"""What opens a menu, the entry, what is typed by field, the button, and what is said then."""


def test_every_form_makes_its_change(lab: RunningLab, lab_pages: LabPages) -> None:
    """By its menu, with what it begins with and what is typed, in which no spelling is looked at."""
    page = opened(lab, lab_pages)
    dialog = page.get_by_role("dialog")
    for opener, entry, typed, button, said in FORMS:
        page.locator(opener).click()
        page.get_by_role("menuitem", name=entry).click()
        for name, text in typed.items():
            dialog.locator(f"[name={name}]").fill(text)
            assert dialog.locator(f"[name={name}]").evaluate("field => field.spellcheck") is False
        dialog.get_by_role("button", name=button, exact=True).click()
        page.locator(".toast .text", has_text=said).wait_for()
        settled(page)
    tab = page.evaluate("sessionStorage.getItem('lab-tab')")
    [node] = lab.ask("cluster", tab=tab, find="node-13", **{"from": 0, "to": 1})["nodes"]
    assert node["labels"] == {"kubernetes.io/hostname": "node-13", "disk": "ssd", "spot": ""}


def test_of_two_taints_with_a_key_one_is_removed(lab: RunningLab, lab_pages: LabPages) -> None:
    """The other has another effect."""
    page = opened(lab, lab_pages)
    tab = page.evaluate("sessionStorage.getItem('lab-tab')")
    for effect in ("NoSchedule", "NoExecute"):
        lab.ask("edit", tab=tab, edit={"do": "taint", "node": ROOMY, "taint": f"gpu=a:{effect}"})
    card(page, ROOMY).get_by_role("button", name=f"Change {ROOMY}").click()
    page.get_by_role("menuitem", name="Taint").click()
    page.get_by_role("button", name="Remove gpu=a:NoExecute").click()
    page.locator(".listed li", has_text="gpu=a:NoExecute").wait_for(state="detached")
    assert page.locator(".listed li").all_inner_texts() == ["gpu=a:NoSchedule"]


def test_what_was_left_out_in_reading_is_noted(lab_pages: LabPages) -> None:
    """Such as a field that the release does not know: closed at first, below the key."""
    cluster = ks.Cluster(release="1.16").node("a").pod("web", spec={"schedulingGates": [{"name": "example.com/wait"}]})
    with lab_server(VERBS, lambda: Scene.opened(cluster)) as server:
        page = lab_pages.opened(server)
        page.get_by_text("1 note", exact=True).click()
        page.get_by_text("release 1.16 does not know it").wait_for()
        lab_pages.close()


def test_a_slip_in_yaml_is_at_its_line(lab: RunningLab, lab_pages: LabPages) -> None:
    """Of manifests, and of the configuration of a scheduler that is added."""
    page = opened(lab, lab_pages)
    dialog = page.get_by_role("dialog")
    page.get_by_role("button", name="Add to the cluster").click()
    page.get_by_role("menuitem", name="From YAML").click()
    dialog.locator(".cm-content").fill("kind: Pod\nmetadata: [")
    dialog.get_by_role("button", name="Add", exact=True).click()
    dialog.locator(".editor-problems li b", has_text="line 3").wait_for()
    page.keyboard.press("Escape")
    show_screen(page, "Side by side")
    page.get_by_role("button", name="Add a scheduler").click()
    dialog.get_by_label("Configured by").select_option("config")
    dialog.locator(".cm-content").fill("kind: [\n")
    dialog.get_by_role("button", name="Add", exact=True).click()
    dialog.locator(".editor-problems li b", has_text="line 2").wait_for()


def test_names_are_text(lab: RunningLab, lab_pages: LabPages) -> None:
    """Markup in what a cluster says is shown as it is."""
    page = opened(lab, lab_pages)
    card(page, ROOMY).get_by_role("button", name=f"Change {ROOMY}").click()
    page.get_by_role("menuitem", name="Taint").click()
    markup = "<img src=x onerror=document.title=1>"
    page.get_by_label("Value").fill(markup)
    page.get_by_role("button", name="Add the taint").click()
    settled(page)
    shown = page.locator("body").inner_text()
    assert markup in shown
    assert page.locator("img").count() == 0
    assert page.title() != "1"


def test_nothing_sticks_out(lab: RunningLab, lab_pages: LabPages) -> None:
    """At 200 % zoom no screen scrolls sideways."""
    page = lab_pages.opened(lab, viewport={"width": 640, "height": 450})
    for link in page.get_by_role("navigation").get_by_role("link").all():
        link.click()
        settled(page)
        over = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
        assert over <= 0, page.title()


def test_a_reload_shows_the_scene_as_it_was(lab: RunningLab, lab_pages: LabPages) -> None:
    """Its changes are on the server; and questions after it are newer than those before."""
    page = opened(lab, lab_pages)
    for text in ("w", "wo", "wor", ""):
        page.get_by_label("Find nodes by name").fill(text)
        settled(page)
    card(page, ROOMY).get_by_role("button", name=f"Change {ROOMY}").click()
    page.get_by_role("menuitem", name="Cordon no new pods").click()
    card(page, ROOMY).get_by_text("cordoned").wait_for()
    page.reload()
    card(page, ROOMY).get_by_text("cordoned").wait_for()
    settled(page)


def test_the_list_of_nodes_says_where_the_pod_fits(lab: RunningLab, lab_pages: LabPages) -> None:
    """From the field above the arrows lead into it; each node has its verdict."""
    page = opened(lab, lab_pages)
    page.get_by_role("button", name=f"Move {POD} to").click()
    dialog = page.get_by_role("dialog")
    dialog.locator(".node-choices button").first.wait_for()
    assert dialog.get_by_label("Find nodes by name").evaluate("field => field === document.activeElement")
    page.keyboard.press("ArrowDown")
    first = dialog.locator(".node-choices button").first
    assert first.evaluate("button => button === document.activeElement")
    assert "does not fit" in dialog.locator("li", has_text=FULL).inner_text()
    assert dialog.locator("li", has_text=ROOMY).locator(".fits", has_text="fits").count() == 1


def test_the_table_marks_verdict_and_chosen(lab: RunningLab, lab_pages: LabPages) -> None:
    """Of the pod that is asked about."""
    page = opened(lab, lab_pages)
    page.get_by_text("Table", exact=True).click()
    row = page.locator("main tbody tr", has_text=ROOMY)
    assert "goes here" in row.inner_text()
    assert row.get_attribute("class") == "chosen"
    assert page.locator("main tbody tr.chosen").count() == 1
    assert "✗ refused" in page.locator("main tbody tr", has_text=FULL).inner_text()
    assert violations(page) == []


def test_the_chosen_node_comes_into_view(lab: RunningLab, lab_pages: LabPages) -> None:
    """Where its card is far below, when another pod is chosen."""
    page = lab_pages.opened(lab, viewport={"width": 1000, "height": 500})
    page.locator(".pending h2 button").click()
    for pod, node in (("session-0", "cache-1"), ("db-2", ROOMY)):
        page.locator(".pod-choice", has_text=pod).click()
        page.wait_for_function(
            """node => {
                const found = document.querySelector(`article[data-node=${node}]`)?.getBoundingClientRect();
                return found && found.top >= 0 && found.bottom <= innerHeight + 1;
            }""",
            arg=node,
        )


def test_the_effect_of_a_taint_is_shown(lab: RunningLab, lab_pages: LabPages) -> None:
    """Where a chip has no room for all of it the key is cut."""
    page = lab_pages.opened(lab, "exercise=02-taints", viewport={"width": 1280, "height": 800})
    settled(page)
    effects = page.locator(".node-foot .taint > span:last-child")
    assert effects.count() > 1
    for each in effects.all():
        assert each.inner_text() in (":NoSchedule", ":NoExecute")
        box, card = each.bounding_box(), each.locator("xpath=ancestor::article").bounding_box()
        assert box["x"] + box["width"] <= card["x"] + card["width"]


@pytest.mark.parametrize("viewport", [PHONE, {"width": 1280, "height": 800}], ids=["phone", "wide"])
def test_notes_cover_nothing(lab: RunningLab, lab_pages: LabPages, viewport: dict[str, int]) -> None:
    """They stand in the bar, whose place is its own."""
    page = lab_pages.opened(lab, viewport=viewport)
    settled(page)
    page.evaluate(f"import('./api.js').then(api => api.edit({{do: 'cordon', node: '{ROOMY}'}}))")
    page.locator(".toast").hover()  # a note stays while it is pointed at
    assert violations(page, ("light",)) == []
    note, main = page.locator(".toast").bounding_box(), page.locator("main").bounding_box()
    assert note["y"] + note["height"] <= main["y"] + page.evaluate("scrollY")
    page.locator(".toast").get_by_role("button", name="Undo").click()
    page.locator(".toast", has_text="Undone: ").wait_for()
