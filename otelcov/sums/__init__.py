"""Kept sums: what a report adds up, counted once.

    <store>/sums/<meaning>/kept.json     which files of the tables are counted, in which batches
    <store>/sums/<meaning>/batch-…       run rows (without content) and observation sums of some settled runs
    <store>/sums/<meaning>/rolled-…      the sums of all batches of an hour, or of a day
    <store>/sums/<meaning>/again-…       the runs that a report found beside them, for the next one (again.py)

`<meaning>` is a hash of what decides how spans are read: the dialects, the reconstruction, the observations and the
parts of the config that these look at. Another meaning is another folder, so nothing is ever read wrongly, and what
does not change the meaning (thresholds, gates, sides) costs nothing.

All of it can be deleted at any time: the next report counts again.
"""
