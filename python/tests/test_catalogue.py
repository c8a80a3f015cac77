"""The names that experiments accept."""

import pytest

import raddle


def test_lists_name_what_experiments_accept() -> None:
    schemes = {(entry.list, entry.name) for entry in raddle.list()}
    assert {("transports", "r2c2"), ("routings", "expeditus")} <= schemes
    figures = {entry.name: entry.summary for entry in raddle.list("figures")}
    assert figures["pdq/fig6a"] == "Five flows one after another"
    assert all(entry.seconds["quick"] >= 0 for entry in raddle.list("figures") if "quick" in entry.seconds)
    assert sum("quick" in entry.seconds for entry in raddle.list("figures")) > 50


def test_explanations_are_texts_and_data() -> None:
    explained = raddle.explain("dctcp")
    assert explained.data["name"] == "dctcp" and "parameters of [scheme.dctcp]" in str(explained)
    with pytest.raises(raddle.UsageError, match="did you mean `dctcp`"):
        raddle.explain("dctpc")


def test_parameters_are_objects_with_units() -> None:
    parameters = {parameter.name: parameter for parameter in raddle.parameters("dctcp")}
    assert parameters["mss"].default == '"1460 B"' and parameters["mss"].range == "from 1 B to 8960 B"
