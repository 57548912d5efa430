"""Texts that are long, and repeat what the reading looks for, are read in a time that grows as they do."""

import json
import subprocess
import sys

import pytest

READ = """
import json
import sys
from otelcov.judge.causes import template
from otelcov.judge.claims import claims, claims_success, told
from otelcov.runs.content.prose import final_answer, own_words, react_request
from otelcov.runs.joining.doubles import random
from otelcov.runs.rules.boundaries import limits, of_error, reason, unsaid

for name, text in json.load(sys.stdin).items():
    print(name, flush=True)
    for read in (react_request, final_answer, own_words, random, limits, of_error, template):
        read(text)
    list(claims(text))
    claims_success(text)
    told("book_hotel", text)
    error = ("Error", text)
    unsaid(error)
    reason(error)
"""
TEXTS = {
    "blank lines": "Action: look" + "\n" * 200_000,
    "blanks": "Action:" + " " * 200_000 + "x",
    "blank lines before an action": "\n" * 200_000 + "Action",
    "blank lines after a heading": "\nCurrent Task:" + "\n" * 200_000 + "x",
    "blanks before what is expected": " " * 200_000 + "This is the expected criteria for your final answer:",
    "one limit after another": "UsageLimitExceeded." * 5_000 + "x y",
    "a limit in a word": "exceed" * 30_000,
    "no blank": "a" * 200_000,
    "addresses": "@" * 200_000,
    "one claim after another": "I have booked it and " * 20_000,
    "quotes": "content='" * 20_000,
    "blanks of a step in tags": "<action>a</action><action_input>" + " " * 200_000,
    "blanks of a tool in tags": "<action_input><action>" + " " * 200_000,
    "steps in tags": "</action_input>" + "<action>a</action><action_input>" * 20_000,
    "blanks in an object": '{"action": "a", "action_input": "' + " " * 200_000,
    "blanks of an answer in tags": "<output><thought>a</thought><answer>" + " " * 200_000,
    "thoughts in tags": "<output>" + "<thought>a</thought><answer>" * 20_000,
    "frames of a program": "x\n" + '  File "a"\n' * 20_000 + "x",
}


@pytest.mark.full
def test_it_ends():
    command = [sys.executable, "-c", READ]
    read = subprocess.run(command, input=json.dumps(TEXTS), text=True, timeout=180, check=True, stdout=subprocess.PIPE)
    assert read.stdout.splitlines() == [*TEXTS]
