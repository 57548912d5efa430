"""What is known beforehand, as tables: boundaries, the habits of single instrumentations, errors that a text tells."""
