"""Runs from spans: `reconstruct` is the one arrow of this package, `load` asks a store for it.

Each package of it imports only those above it:

    content     messages, arguments and results out of attributes, in whatever spelling
    rules       tables of what is known beforehand: boundaries, habits of instrumentations, errors told by a text
    trace       spans as a tree
    llm         model calls, each once
    tools       tool calls, each once
    agents      whose work each span is; delegations
    whole       a run as a whole: input, output, states, path, boundaries, end
    joining     what of one or several traces is one run
    shortcut    regular traces, straight from columns

`assemble` makes a run's row of all that, `reconstruct` makes the runs of a table, `slices` those of a table that is
larger than memory; `dialogue`, `filters` and `lines` read what they made.
"""

from otelcov.runs.load import load
from otelcov.runs.reconstruct import reconstruct, run_json

__all__ = ["load", "reconstruct", "run_json"]
