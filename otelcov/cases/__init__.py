"""Test cases for agents, judged on the spans that their runs left.

from otelcov.cases import judge, parse
judge(parse(AGENT_TESTS), runs)
"""

from otelcov.cases.format import Case, parse, read, read_all
from otelcov.cases.judge import Judgement, judge, needed

__all__ = ["Case", "Judgement", "judge", "needed", "parse", "read", "read_all"]
