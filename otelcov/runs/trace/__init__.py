"""Spans as a tree: attributes to columns, columns to facts, facts to nodes with parents, kinds and failures."""
