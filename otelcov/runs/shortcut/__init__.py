"""The shortcut for the most regular traces: the same run rows straight from columns, without a tree.

`regular` says which traces these are; all others take the long way (`assemble`). Tests hold both ways equal.
"""
