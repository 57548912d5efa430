"""A run as a whole: what it was asked and answered, could call, went through, met, and how it ended."""
