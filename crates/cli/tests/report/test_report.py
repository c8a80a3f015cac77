"""The page of `raddle report` in Debian's Chromium. `make report` runs these tests; pictures go to target/report."""

import os
import pathlib
import subprocess

import pytest
from playwright.sync_api import Page, sync_playwright

RADDLE = pathlib.Path(os.environ["RADDLE"]).resolve()
PICTURES = pathlib.Path("target/report").resolve()

WORKLOAD = """
[workload]
arrivals = { kind = "poisson", load = 0.5 }
sizes = "web_search"
pairs = "uniform"
flows = 400
"""

EXPERIMENTS = {
    "clos": """
[topology]
kind = "folded_clos"
leaves = 3
spines = 2
hosts_per_leaf = 4
link_rate = "10 Gbps"
link_delay = "500 ns"
[scheme]
transport = "dctcp"
routing = "conga"
""",
    "torus": """
[topology]
kind = "torus"
dims = [3, 3, 3]
link_rate = "10 Gbps"
link_delay = "100 ns"
[scheme]
transport = "r2c2"
""",
    "lossless": """
[topology]
kind = "k_ary_n_tree"
k = 3
n = 2
link_rate = "10 Gbps"
link_delay = "500 ns"
[scheme]
transport = "cee"
routing = "d_mod_k"
flow_control = "pfc"
queue = "strict"
""",
}


@pytest.fixture(scope="session")
def report(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    """A report on one run of each experiment."""
    folder = tmp_path_factory.mktemp("report")
    for name, text in EXPERIMENTS.items():
        (folder / f"{name}.toml").write_text(text + WORKLOAD)
        run = [RADDLE, "run", f"{name}.toml", "--set", "record.series=true", "--out", name]
        subprocess.run(run, cwd=folder, check=True, stdout=subprocess.DEVNULL)
    subprocess.run([RADDLE, "report", *EXPERIMENTS], cwd=folder, check=True)
    return folder / "report.html"


@pytest.fixture(params=["light", "dark"])
def page(report: pathlib.Path, request: pytest.FixtureRequest):
    """The report in a theme. The test fails if the page logs an error or asks for a file."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path="/usr/bin/chromium", args=["--no-sandbox"])
        page = browser.new_page(color_scheme=request.param, viewport={"width": 1200, "height": 900})
        problems, requests = [], []
        page.on("console", lambda message: problems.append(message.text) if message.type in ("error", "warning") else None)
        page.on("pageerror", lambda error: problems.append(str(error)))
        page.on("request", lambda request: requests.append(request.url))
        page.goto(report.as_uri())
        page.theme = request.param
        yield page
        PICTURES.mkdir(parents=True, exist_ok=True)
        page.screenshot(path=PICTURES / f"{request.node.originalname}-{request.param}.png", full_page=True)
        browser.close()
        assert problems == []
        assert [url for url in requests if not url.startswith("data:")] == [report.as_uri()]


def test_pictures_have_alternatives_in_both_themes(page: Page) -> None:
    sections = page.locator("nav#sections a").all_inner_texts()
    assert {"Summary", "Slowdown by size", "Over time", "Fabric", "Hot links", "Flows", "Definitions"} <= set(sections)
    pictures = page.locator("svg[role=img], canvas[role=img]")
    assert pictures.count() > 8
    for picture in pictures.all():
        assert len((picture.get_attribute("aria-label") or "").split()) > 3
    background = page.evaluate("getComputedStyle(document.body).backgroundColor")
    level = sum(int(part) for part in background.removeprefix("rgb(").removesuffix(")").split(","))
    assert (level > 600) == (page.theme == "light"), background
    page.locator("details summary").first.press("Enter")
    page.locator("details table tr").nth(3).wait_for()


def test_the_keyboard_chooses_run_time_and_flow(page: Page) -> None:
    first = page.locator("[role=tab]").first
    first.focus()
    page.keyboard.press("ArrowRight")
    assert page.locator("[role=tab][aria-selected=true]").inner_text() == "torus"
    canvas = page.locator("canvas[role=img]")
    assert "torus" in canvas.get_attribute("aria-label")
    slider = page.locator("input[type=range]")
    slider.focus()
    page.keyboard.press("ArrowRight")
    assert " us" in slider.get_attribute("aria-valuetext")
    before = canvas.evaluate("canvas => canvas.toDataURL()")
    canvas.focus()
    page.keyboard.press("ArrowLeft")
    assert canvas.evaluate("canvas => canvas.toDataURL()") != before, "the torus does not turn"
    flow = page.get_by_role("button", name="Show the path of flow").first
    flow.focus()
    page.keyboard.press("Enter")
    assert "flow" in page.locator("figure.fabric .readout").inner_text().lower()
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.matches(':focus-visible')")
