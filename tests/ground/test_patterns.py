import re
import subprocess
import sys

import pytest

from otelcov.ground.patterns import late


def test_a_late_pattern_answers_as_a_compiled_one():
    text, pattern = "One two, one", r"\b(one)\b"
    told, asked = re.compile(pattern, re.I), late(pattern, re.I)
    assert asked.sub("1", text) == told.sub("1", text) == "1 two, 1"
    assert [m.span() for m in asked.finditer(text)] == [m.span() for m in told.finditer(text)]
    assert asked.pattern == pattern
    assert asked.search("none") is None


def test_an_error_of_a_late_pattern_is_told_where_it_is_used():
    wrong = late("(")
    with pytest.raises(re.error):
        wrong.search("")


def test_who_reconstructs_waits_for_few_patterns():
    """Hundreds of them would take longer than half of the modules that hold them."""
    code = """if True:
        import re._compiler as compiler
        import polars, numpy, pyarrow, otelcov.sums.answer
        told, compile = [], compiler.compile
        compiler.compile = lambda *given: told.append(given) or compile(*given)
        import otelcov.sums.live
        print(len(told))
    """
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert int(found.stdout) < 40
