"""Figures: their claims, pictures, runs, ledger and Ctrl-C."""

import math
from pathlib import Path

import polars
import pytest
from conftest import small

import raddle
from raddle._figures import Style

FIGURE = """
[figure]
title = "Two routings & their <FCT>"

{experiment}
[[sweep]]
name = "routing"
key = "scheme.routing"
values = ["ecmp", "drill"]

[[plot]]
kind = "cdf"
of = "fct"
title = "FCT"
by = "routing"

[[claim]]
id = "slower"
section = "1"
says = "some flows take longer than others"
paper = 1.5
measure = {{ of = "slowdown", stat = "p99", at = {{ routing = "ecmp" }} }}
accept = [1.0, {most}]
why = "an example"

[[claim]]
id = "order"
section = "1"
says = "flow hashing is slower"
measure = {{ of = "fct", by = "routing", order = ["ecmp", "drill"] }}
why = "an order has no upper bound"
"""


def figure(folder: Path, name: str, most: str = "1e9", **values: object) -> Path:
    """Writes a figure of two runs, whose claim holds if a slowdown is from 1 to `most`."""
    experiment = raddle._raddle.toml_text(small().set(**values).resolved())
    path = folder / f"{name}.toml"
    path.write_text(FIGURE.format(experiment=experiment, most=most))
    return path


def test_a_figure_has_pictures_claims_and_runs(tmp_path: Path) -> None:
    done = raddle.reproduce(figure(tmp_path, "mine"), out=tmp_path / "out")
    assert done.complete and done.as_expected and done.moved is None and done.scale == "quick"
    (made,) = done.figures.values()
    claim, order = made.claims
    assert (claim.name, claim.verdict, claim.paper) == ("own/mine/slower", "holds", 1.5)
    assert (claim.accept, order.accept) == ((1.0, 1e9), (1.0, math.inf))
    assert claim.measured is not None and claim.measured > 1.0
    assert made.svg.read_text().startswith("<svg") and made.png.read_bytes().startswith(b"\x89PNG")
    assert made.pdf.read_bytes().startswith(b"%PDF")
    assert list(made.runs) == ["drill", "ecmp"] and made.runs["ecmp"].complete
    assert made.directory == tmp_path / "out" / "own" / "mine"
    shown = done._repr_html_()
    assert "Two routings &amp; their &lt;FCT&gt;" in shown and "data:image/svg+xml" in shown and "holds" in shown
    assert polars.DataFrame(done.claims)["verdict"].to_list() == ["holds", order.verdict]
    assert "own/mine/slower" in str(done) and f"digest   {done.digest}" in str(done)


def test_pictures_have_the_style_and_the_resolution_that_are_asked_for(tmp_path: Path) -> None:
    def width(style: Style | None, dpi: int | None) -> int:
        done = raddle.reproduce(figure(tmp_path, "mine"), out=tmp_path / "out", style=style, dpi=dpi)
        (made,) = done.figures.values()
        return int.from_bytes(made.png.read_bytes()[16:20], "big")

    # A column of 3.3 inches, at the 600 pixels per inch of papers and at 100; slides of 13.33 inches at 144.
    assert [width("paper", None), width("paper", 100), width("slides", None)] == [1_980, 330, 1_920]
    with pytest.raises(ValueError, match="style must be 'screen', 'paper' or 'slides'"):
        width("poster", None)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="dpi must be from 30 to 2400"):
        width(None, 10)


def test_a_claim_that_fails_is_a_result(tmp_path: Path) -> None:
    done = raddle.reproduce([figure(tmp_path, "mine", most="1.0")])
    assert done.claims[0].verdict == "FAILS" and not done.as_expected


def test_figures_of_papers_are_checked_against_the_ledger(tmp_path: Path) -> None:
    done = raddle.reproduce("r2c2/fig2", out=tmp_path / "out", check=True, record=tmp_path / "ledger.json")
    assert done.moved == [] and done.as_expected and "ledger   unchanged" in str(done)
    assert "r2c2/fig2" in (tmp_path / "ledger.json").read_text()
    with pytest.raises(raddle.UsageError, match="r2c2/fig99"):
        raddle.reproduce("r2c2/fig99")


def test_all_figures_are_never_meant_by_an_empty_list() -> None:
    with pytest.raises(ValueError, match="at least one figure"):
        raddle.reproduce([])


def test_progress_names_the_figure(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    raddle.reproduce(figure(tmp_path, "mine", workload__flows=20_000), progress=True)
    shown = capsys.readouterr().err
    assert "own/mine: 0 of 2 runs" in shown and "own/mine: 2 of 2 runs, 100%" in shown


@pytest.mark.usefixtures("ctrl_c")
def test_ctrl_c_leaves_finished_figures_and_runs(tmp_path: Path) -> None:
    names = [figure(tmp_path, "quick"), figure(tmp_path, "long", workload__flows=5_000_000)]
    raddle.reproduce(names[0], out=tmp_path / "out", progress=False)
    names.reverse()  # The first progress, at which Ctrl-C comes, is that of the long figure.
    with pytest.warns(raddle.RaddleWarning, match="finished runs are kept"), pytest.raises(raddle.Interrupted) as caught:
        raddle.reproduce(names, out=tmp_path / "out", threads=1, progress=True)
    done = caught.value.result
    assert not done.complete and set(done.figures) <= {"own/quick"}
    assert not (tmp_path / "out" / "own" / "long").exists()
