"""Tool calls: requests, executions and results as evidence, each call once, with its status, arguments and result."""
