"""A small experiment that all tests share."""

import os
import signal
from typing import Any

import pytest

import raddle
from raddle._progress import Progress

# A shell starts commands in the background with the signal of Ctrl-C ignored, and Python then keeps it ignored.
signal.signal(signal.SIGINT, signal.default_int_handler)


def small(**tables: Any) -> raddle.Experiment:
    """Eight hosts in a leaf-spine, and 100 flows of 20 KB."""
    experiment: dict[str, Any] = {
        "topology": {"kind": "folded_clos", "leaves": 2, "spines": 2, "hosts_per_leaf": 4,
                     "link_rate": "10 Gbps", "link_delay": "1 us"},
        "workload": {"flows": 100, "arrivals": {"kind": "poisson", "load": 0.4},
                     "sizes": {"kind": "fixed", "size": "20 KB"}, "pairs": "uniform"},
        "scheme": {"transport": "tcp-newreno", "routing": "ecmp"},
    }
    return raddle.Experiment(experiment | tables)


def long(**tables: Any) -> raddle.Experiment:
    """The same, with far more flows than a test has time for."""
    return small(**tables).set(workload__flows=5_000_000)


@pytest.fixture
def ctrl_c(monkeypatch: pytest.MonkeyPatch) -> None:
    """Sends the signal of Ctrl-C when a run with `progress=True` first shows progress."""
    shown: list[str] = []

    def show(_: Progress, text: str) -> None:
        if not shown:
            os.kill(os.getpid(), signal.SIGINT)
        shown.append(text)

    monkeypatch.setattr(Progress, "show", show)


@pytest.fixture
def experiment() -> raddle.Experiment:
    return small()
