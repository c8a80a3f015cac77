"""Raddle simulates the networks of data centers: packet by packet, as flows, and live.

>>> import raddle
>>> experiment = raddle.Experiment("docs/examples/load-balancing.toml").set("scheme.routing=ecmp")
>>> run = experiment.run()                                  # doctest: +SKIP
>>> polars.DataFrame(run.flows)["slowdown"].quantile(0.99)  # doctest: +SKIP
"""

from . import _raddle
from ._catalogue import Entry, Explanation, Parameter, explain, list, parameters
from ._experiment import Experiment, from_networkx
from ._figures import Claim, Figure, Reproduction, Spread, reproduce
from ._raddle import Candidate, Node, Packet, Table, __version__
from ._results import Agreement, Run, Sweep
from ._routing import Routing
from .errors import ExperimentError, Interrupted, RaddleError, RaddleWarning, RunError, UsageError

# The bytes of the native module tell builds apart in the manifests of results.
_raddle.loaded_from(_raddle.__file__)

__all__ = [
    "Agreement",
    "Candidate",
    "Claim",
    "Entry",
    "Experiment",
    "ExperimentError",
    "Explanation",
    "Figure",
    "Interrupted",
    "Node",
    "Packet",
    "Parameter",
    "RaddleError",
    "RaddleWarning",
    "Reproduction",
    "Routing",
    "Run",
    "RunError",
    "Spread",
    "Sweep",
    "Table",
    "UsageError",
    "__version__",
    "explain",
    "from_networkx",
    "list",
    "parameters",
    "reproduce",
]
