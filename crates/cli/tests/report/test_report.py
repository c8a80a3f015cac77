"""The page of `raddle report` in Debian's Chromium. `make report` runs these tests; pictures go to target/report."""

import itertools
import math
import os
import pathlib
import subprocess

import pytest
from playwright.sync_api import Page, sync_playwright

RADDLE = pathlib.Path(os.environ["RADDLE"]).resolve()
PICTURES = pathlib.Path("target/report").resolve()
EXAMPLES = pathlib.Path("docs/report").resolve()

# The experiments of EXAMPLES.
BOOK = ["clos", "torus", "tree"]

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
name = "balancer"
values = [
    { label = "hashing", set = { "scheme.routing" = "ecmp" } },
    { label = "flowlets", set = { "scheme.routing" = "conga" } },
    { label = "drill", set = { "scheme.routing" = "drill" } },
]
[[plot]]
kind = "along"
of = "slowdown"
x = "load"
by = "balancer"
title = "Mean slowdown"
"""

LATE = """
[topology]
kind = "single_switch"
hosts = 4
link_rate = "10 Gbps"
link_delay = "500 ns"
[workload]
file = "late.txt"
[scheme]
transport = "dctcp"
queue = { kind = "fifo", mark_packets = 65 }
[record]
series = true
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
def book(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    """The report of which the book shows pictures."""
    folder = tmp_path_factory.mktemp("book")
    for name in BOOK:
        raddle(folder, "run", str(EXAMPLES / f"{name}.toml"), "--out", name)
    raddle(folder, "report", *BOOK)
    return folder / "report.html"


@pytest.fixture(scope="session")
def late(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    """A report on a run whose flows start after two seconds."""
    folder = tmp_path_factory.mktemp("late")
    (folder / "late.toml").write_text(LATE)
    (folder / "late.txt").write_text("3\n" + "".join(f"{host} 3 3 100 20000 2\n" for host in range(3)))
    raddle(folder, "run", "late.toml", "--out", "late")
    raddle(folder, "report", "late")
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


def test_numbers_are_written_as_in_texts(page: Page) -> None:
    # The numbers of the unit tests of crates/lab/src/notation.rs.
    numbers = [0, 0.5, 2.7834, 17.928, 950, 9999.6, 58408.44, 1 / 3, -4061.3, 0.00001234]
    written = ["0", "0.5", "2.783", "17.93", "950", "10000", "58408", "0.3333", "-4061", "0.000012"]
    assert page.evaluate("numbers => numbers.map(shown)", numbers) == written
    margins = [[4061.3, 1503.7], [2.5, 0.1234], [2.5, 1e-12], [2.5, None]]
    written = ["4061 ± 1500", "2.5 ± 0.12", "2.5", "2.5"]
    assert page.evaluate("numbers => numbers.map(([mean, margin]) => withMargin(mean, margin))", margins) == written


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
    # The sweep's labels, in its order.
    assert page.locator("section[aria-labelledby=groups] .legend li").all_inner_texts() == ["hashing", "flowlets", "drill"]
    assert "hashing: 4 points" in picture.get_attribute("aria-label")
    page.get_by_label("Measure").select_option(label="slowdown p99")
    page.get_by_label("balancer").select_option(label="drill")
    label = picture.get_attribute("aria-label")
    assert label.startswith("slowdown p99.") and "drill: 4 points" in label and "hashing" not in label
    plots = page.locator("section[aria-labelledby=plots] img")
    assert "Mean slowdown" in plots.get_attribute("alt") and "flowlets" in plots.get_attribute("alt")
    assert plots.evaluate("picture => picture.decode().then(() => picture.naturalWidth > 100)")
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


def test_ticks_of_a_late_run_differ(page: Page) -> None:
    for figure in page.locator("figure.chart").all():
        for anchor in ["middle", "end"]:
            names = figure.locator(f".axes text[text-anchor={anchor}]:not(.label)").all_text_contents()
            assert len(set(names)) == len(names), names
    label = page.locator("section[aria-labelledby=time] .axes text[text-anchor=middle]:not(.label)").first
    assert float(label.text_content()) >= 2e6, "all digits, and no letter"


def test_the_page_stands_still_and_nothing_is_cut(page: Page) -> None:
    canvas = page.locator("canvas[role=img]")
    for tab in page.locator("[role=tab]").all():
        tab.click()
        place = canvas.evaluate("canvas => canvas.offsetTop")
        for key in ["ArrowRight", "End"]:
            page.locator("input[type=range]").press(key)
            assert canvas.evaluate("canvas => canvas.offsetTop") == place, "the time moves the canvas"
    cut = page.locator(".scroll.cut")
    assert cut.count() > 0
    for box in cut.all():
        end = box.evaluate("box => box.getBoundingClientRect().top + box.clientHeight")
        bottoms = box.locator("tr").evaluate_all("rows => rows.map(row => row.getBoundingClientRect().bottom)")
        assert min(abs(bottom - end) for bottom in bottoms) < 1.5, "a table ends within a row"
    # The uppermost tick of each chart is at the top of its plot.
    tops = page.locator("figure.chart svg[role=img]").evaluate_all(
        "pictures => pictures.map(picture => Math.min(...[...picture.querySelectorAll('.axes text[text-anchor=end]')].map(text => Number(text.getAttribute('y')))))")
    assert all(top < 20 for top in tops), tops
    page.locator("[role=tab]").nth(1).click()
    # No ink touches the edge of the torus's canvas.
    edge = canvas.evaluate("""canvas => {
        const pixels = new Uint32Array(canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data.buffer);
        return [pixels.slice(0, canvas.width), pixels.slice(-canvas.width)].map(row => new Set(row).size);
    }""")
    assert edge == [1, 1]


def test_pictures_of_the_book(page: Page) -> None:
    page.set_viewport_size({"width": 880, "height": 900})
    PICTURES.mkdir(parents=True, exist_ok=True)
    for name in BOOK:
        page.get_by_role("tab", name=name).click()
        figure = page.locator("figure.fabric")
        if name == "tree":
            assert "paused" in page.locator("#run table th").all_inner_texts()
            page.get_by_label("Colour").select_option(label="queues")
            # The hotspot lasts from 1 to 3 ms.
            slider = page.locator("input[type=range]")
            slider.fill(str(int(slider.get_attribute("max")) // 2))
            assert "queue" in page.locator("canvas[role=img]").get_attribute("aria-label")
        picture = PICTURES / f"book-{name}-{page.theme}.png"
        figure.screenshot(path=picture)
        assert picture.stat().st_size < 150_000


def lab(colour: str) -> tuple[float, float, float]:
    """The CIE L*a*b* coordinates of a colour such as `#005a9e`."""
    parts = [int(colour[i:i + 2], 16) / 255 for i in (1, 3, 5)]
    r, g, b = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    x, y, z = (0.4124 * r + 0.3576 * g + 0.1805 * b) / 0.9505, 0.2126 * r + 0.7152 * g + 0.0722 * b, (0.0193 * r + 0.1192 * g + 0.9505 * b) / 1.089
    fx, fy, fz = (part ** (1 / 3) if part > 0.008856 else 7.787 * part + 16 / 116 for part in (x, y, z))
    return 116 * fy - 16, 500 * (fx - fy), 200 * (fy - fz)


def test_lines_differ_in_colour_or_dashes(page: Page) -> None:
    colours = page.evaluate("[...Array(8).keys()].map(i => getComputedStyle(document.documentElement).getPropertyValue(`--series-${i}`).trim())")
    for one, other in itertools.combinations(colours, 2):
        assert math.dist(lab(one), lab(other)) > 25, f"{one} is too like {other}"
    lines = page.evaluate("[...Array(32).keys()].map(i => colourOf(i) + dashOf(i))")
    assert len(set(lines)) == 32
    assert page.evaluate("dashOf(3)") == "" and page.evaluate("dashOf(4)") != ""


test_many_runs_are_groups_of_seeds.report = "sweep"
test_ticks_of_a_late_run_differ.report = "late"
test_pictures_of_the_book.report = "book"
test_ranks_and_rates_follow_the_slider.report = "program"
