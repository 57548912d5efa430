"""Test cases for agents, judged on the spans that their runs left.

from otelcov.cases import judge, parse
judge(parse(AGENT_TESTS), runs)
"""

from otelcov.cases.format import Case, parse, read, read_all
from otelcov.cases.judge import Judgement, judge

__all__ = ["Case", "Judgement", "judge", "parse", "read", "read_all"]
