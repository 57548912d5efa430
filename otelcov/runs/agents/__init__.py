"""Agents and delegations: whose work each span is, and who handed work to whom."""
