"""What of one or several traces is one run: traces into fragments, fragments joined with what goes on elsewhere."""
