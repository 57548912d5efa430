"""`python -m otelcov`."""

from otelcov.cli import main

main()
