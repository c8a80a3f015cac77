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

PROGRAM = """
[topology]
kind = "folded_clos"
leaves = 4
spines = 2
hosts_per_leaf = 18
link_rate = "100 Gbps"
link_delay = "500 ns"
[workload]
collective = "allreduce"
ranks = 72
size = "720 KB"
[scheme]
transport = "dctcp"
routing = "ecmp"
"""

SWEEP = """
[[sweep]]
name = "load"
key = "workload.arrivals.load"
values = [0.2, 0.4, 0.6, 0.8]
[[sweep]]
name = "routing"
key = "scheme.routing"
values = ["conga", "ecmp", "drill"]
"""


def raddle(folder: pathlib.Path, *arguments: str) -> None:
    subprocess.run([RADDLE, *arguments], cwd=folder, check=True, stdout=subprocess.DEVNULL)


@pytest.fixture(scope="session")
def report(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    """A report on one run of each experiment."""
    folder = tmp_path_factory.mktemp("report")
    for name, text in EXPERIMENTS.items():
        (folder / f"{name}.toml").write_text(text + WORKLOAD)
        raddle(folder, "run", f"{name}.toml", "--set", "record.series=true", "--out", name)
    raddle(folder, "report", *EXPERIMENTS)
    return folder / "report.html"


@pytest.fixture(scope="session")
def sweep(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    """A report on 36 runs: 12 groups of 3 seeds."""
    folder = tmp_path_factory.mktemp("sweep")
    (folder / "sweep.toml").write_text(EXPERIMENTS["clos"] + WORKLOAD.replace("400", "60") + SWEEP)
    raddle(folder, "sweep", "sweep.toml", "--seeds", "3", "--out", "sweep", "--quiet")
    raddle(folder, "report", "sweep")
    raddle(folder, "report", "sweep", "--detail", "sweep/0.8-drill-seed-3", "--out", "chosen.html")
    return folder / "report.html"


@pytest.fixture(scope="session")
def program(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    """A report on a program with more ranks than the page draws, with series and without them."""
    folder = tmp_path_factory.mktemp("program")
    (folder / "program.toml").write_text(PROGRAM)
    raddle(folder, "run", "program.toml", "--set", "record.series=true", "--out", "series")
    raddle(folder, "run", "program.toml", "--out", "plain")
    raddle(folder, "report", "series", "plain")
    return folder / "report.html"


@pytest.fixture(params=["light", "dark"])
def page(request: pytest.FixtureRequest):
    """The report in a theme. The test fails if the page logs an error or asks for a file."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path="/usr/bin/chromium", args=["--no-sandbox"])
        page = browser.new_page(color_scheme=request.param, viewport={"width": 1200, "height": 900})
        problems, requests = [], []
        page.on("console", lambda message: problems.append(message.text) if message.type in ("error", "warning") else None)
        page.on("pageerror", lambda error: problems.append(str(error)))
        page.on("request", lambda request: requests.append(request.url))
        report = request.getfixturevalue(getattr(request.function, "report", "report"))
        page.goto(report.as_uri())
        page.file = report
        page.theme = request.param
        yield page
        PICTURES.mkdir(parents=True, exist_ok=True)
        page.screenshot(path=PICTURES / f"{request.node.originalname}-{request.param}.png", full_page=True)
        browser.close()
        assert problems == []
        asked = {url for url in requests if not url.startswith("data:")}
        assert asked <= {file.as_uri() for file in report.parent.glob("*.html")}


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


def test_many_runs_are_groups_of_seeds(page: Page) -> None:
    assert "36 runs in 12 groups" in page.locator("section", has_text="Groups").first.inner_text()
    rows = page.locator("section[aria-labelledby=groups] .groups + .scroll tbody tr")
    assert rows.count() == 12
    assert all(row.locator("td").nth(1).inner_text() == "3" and "±" in row.inner_text() for row in rows.all())
    assert page.locator("[role=tab]").count() == 8
    picture = page.locator("section[aria-labelledby=groups] svg[role=img]")
    assert "ecmp: 4 points" in picture.get_attribute("aria-label")
    page.get_by_label("Measure").select_option(label="slowdown p99")
    page.get_by_label("routing").select_option(label="drill")
    label = picture.get_attribute("aria-label")
    assert label.startswith("slowdown p99.") and "drill: 4 points" in label and "ecmp" not in label
    assert page.file.stat().st_size < 4e6
    page.goto((page.file.parent / "chosen.html").as_uri())
    assert "is 1 of them: 0.8-drill-seed-3" in page.locator("section").first.inner_text()
    assert "In brackets" not in page.locator("main").inner_text()
    page.goto(page.file.as_uri())


def test_ranks_and_rates_follow_the_slider(page: Page) -> None:
    timeline = page.locator("figure.timeline")
    assert "64 of 72 ranks are drawn" in timeline.inner_text()
    assert "sending" in timeline.locator("svg[role=img]").get_attribute("aria-label")
    titles = page.locator("figure.chart h3").all_inner_texts()
    assert {"Throughput of senders", "Throughput of the largest flows", "Ranks over time"} <= set(titles)
    assert page.locator("line.cursor[visibility=visible]").count() == 0
    page.locator("input[type=range]").focus()
    for _ in range(9):
        page.keyboard.press("ArrowRight")
    # Two charts of links, two of rates, and the timeline.
    assert page.locator("line.cursor[visibility=visible]").count() == 5
    page.locator("[role=tab]").nth(1).click()
    panel = page.locator("#run").inner_text()
    assert "What ranks do over time is missing" in panel and "series = true" in panel
    assert page.locator("figure.ranks").count() == 1
    page.locator("[role=tab]").nth(0).click()


test_many_runs_are_groups_of_seeds.report = "sweep"
test_ranks_and_rates_follow_the_slider.report = "program"
